"""The hub's socket, and the MCP sessions of the links that connect to it.

listener: accepts connections, and closes them in order
peers: who may connect, and see which asks
processes: who has started a process, and whether it has a terminal
session: one MCP session, its private lines, and the forms that it has open at its client
"""
