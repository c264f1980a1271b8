"""The store in one SQLite file.

store: opens the file, and looks whether it is still there
connection: one connection, the file under it, and its errors
migrate: schema versions
ask_times: the query of how long asks took
"""
