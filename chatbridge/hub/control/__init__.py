"""Requests of a person's commands, over the links' socket.

server: connections, requests and replies; the status
asks: what is open, the history, answers
answer_parser: an answer as words or JSON
pairing: codes for `pair` and `setup`
"""
