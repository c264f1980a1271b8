"""An agent's arguments for a command, checked, and what the command is started with.

argv: values and paths, checked against the definition, and the list of arguments made of them
paths: paths, through every link
executable: the program's file, and which folders are trusted
environment: the variables that a command gets
"""
