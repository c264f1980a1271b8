"""MCP over HTTP, for agents on other machines.

serving: whether and where the hub listens
guard: hosts, origins and tokens that are let in
tokens: the files of tokens
shared_tokens: the same, where several hubs share a database
agents: what a request does, and when its answer counts as delivered
sessions: sessions, and each request until the last byte of its response
"""
