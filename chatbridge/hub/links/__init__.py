"""The hub's socket, and the MCP sessions of the links that connect to it.

listener: accepts connections, and closes them in order
peers: who may connect, and see which asks
session: one MCP session, and its private lines
pending_elicitations: forms that a session has open at its client
"""
