"""An agent's arguments for a command, checked, and what the command is started with.

argv: values and paths, checked against the definition, and the list of arguments made of them
executable: the program's file, the environment of commands, and which folders are trusted
"""
