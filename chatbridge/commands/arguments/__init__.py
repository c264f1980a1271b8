"""An agent's arguments for a command, checked, and what the command is started with.

values: values and paths, checked against the definition
argv: the list of arguments
executable: the program's file, the environment of commands, and which folders are trusted
"""
