"""Where asks, calls, posts and cursors are kept: one SQLite file.

sqlite: the store: opens the file and reads outside of transactions
transaction: what a transaction reads and writes, and a cache of it
writer: group commit: one transaction for works that wait at the same time
operations: commands that agents run
ask_times: how long asks took
rows: values as rows and back, summaries for lists, and rows that cannot be read
connection: one connection, the file under it, and its errors
migrate: schema versions
"""
