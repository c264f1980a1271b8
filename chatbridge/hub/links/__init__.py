"""The hub's socket, and the MCP sessions of the links that connect to it.

entrance: accepts connections, and checks their first lines
listener: the links of the hub that leads, and their order of closing
peers: who may connect, and see which asks
processes: who has started a process, and whether it has a terminal
session: one MCP session, its private lines, and the forms that it has open at its client
streams: a session's lines as messages of the SDK
"""
