"""Definition files: what they may say, how they are read and checked, and the commands in them."""
