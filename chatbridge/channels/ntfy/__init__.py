"""Rings a phone through ntfy. A tap opens the inbox, or answers if the owner wants that.

answers: what comes back through the second topic
api: the server, and what its refusals mean
channel: the topic as a surface, and what is published to it
doctor: checks of the server and the topics
settings: the table of ntfy
setup: ntfy's part of `chatbridge setup`
spec: what the rest of the program knows of ntfy
"""
