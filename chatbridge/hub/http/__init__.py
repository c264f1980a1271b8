"""MCP over HTTP, for agents on other machines.

serving: whether and where the hub listens
guard: hosts, origins and tokens that are let in
tokens: the files of tokens
agents: one request, from its body to the last byte of its response
sessions: sessions, and when they end
wire: bodies and responses of one request
"""
