"""The store in one SQLite file.

store: opens the file, and looks whether it is still there
connection: one connection, the file under it, and its errors
reading: how the file is read by who does not write
migrate: schema versions
ask_times: the query of how long asks took
"""
