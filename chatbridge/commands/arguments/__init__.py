"""An agent's arguments for a command, checked, and what the command is started with.

values: values and paths, checked against the definition
argv: the list of arguments
executable: the file of a program, the PATH of commands, and which folders are trusted
environment: the environment variables of a command
input_schema: the input schema and description of a command's tool
"""
