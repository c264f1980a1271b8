"""Requests of a person's commands, over the links' socket.

server: connections, requests and replies; the status, and codes for `pair` and `setup`
asks: what is open, the history, answers as words or JSON
messages: the connected agents, messages to them, and what hooks collect
"""
