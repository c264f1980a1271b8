"""What commands have in common: how they run, print and ask.

running: exit codes, error messages, argument parsers
prompts: questions to the person at the terminal
tables: tables, on a terminal and in a pipe
wording: paths, numbers and times as commands print them
"""
