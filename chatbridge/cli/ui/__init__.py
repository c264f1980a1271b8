"""What commands have in common: how they run, print and ask.

running: arguments, exit codes, error messages
prompts: questions to the person at the terminal
tables: tables, on a terminal and in a pipe
qr: QR codes
wording: others' texts, paths, numbers and times as commands print them
"""
