"""Only the part that a link starts."""
