"""From what an agent gives to what is run: arguments, a program, a folder, an environment."""
