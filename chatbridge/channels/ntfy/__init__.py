"""Rings a phone through ntfy. A tap opens the inbox, or answers if the owner wants that.

api: the server, and what its refusals mean
channel: the topic that rings, and the one that answers come through
doctor: checks of the server and the topics
settings: the table of ntfy
setup: ntfy's part of `chatbridge setup`
spec: what the rest of the program knows of ntfy
"""
