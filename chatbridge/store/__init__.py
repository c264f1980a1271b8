"""Where asks, calls, posts and cursors are kept: one SQLite file, or a PostgreSQL database.

sql_store: the store over either: reads outside of transactions
transaction: what a transaction reads and writes, and a cache of it
writer: group commit: one transaction for works that wait at the same time
operations: commands that agents run
ask_times: how long asks took
audit: the lines of the audit trail
search: the index of the search in the history
grams: in which texts which three characters are
rows: values as rows and back, summaries for lists, and rows that cannot be read
database: what all of this needs of a database
fence: whether this hub may still write, where there are several
sqlite: one file
postgres: a server, for several hubs of which one leads
"""
