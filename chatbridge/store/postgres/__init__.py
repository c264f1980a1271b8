"""The store in a PostgreSQL database, on asyncpg.

store: opens the database
connection: one connection, lost and found again, and its errors
addresses: what is wrong with the address of a database
sql: the statements as PostgreSQL wants them
migrate: schema versions
lease: which of several hubs leads, as one of them sees it
hub_name: which of two hubs with one name keeps it
election: the lease's statements, and who takes part
tokens: the tokens of agents over HTTP
file_copies: the bytes of attachments
copying: takes over an SQLite database
ask_times: the query of how long asks took
"""
