"""The store in a PostgreSQL database, on asyncpg.

store: opens the database
connection: one connection, lost and found again, and its errors
sql: the statements as PostgreSQL wants them
migrate: schema versions
copying: takes over an SQLite database
file_copies: the bytes of attachments
ask_times: the query of how long asks took
"""
