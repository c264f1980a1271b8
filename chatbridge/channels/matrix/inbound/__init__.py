"""From events of Matrix rooms to form events.

poll: reads events, each exactly once
dispatch: turns an event into a reaction or a text, and carries out what comes of it
agents: messages to agents
cards: the ask that a reaction, a reply or a thread points at
files: the file of a message
replies: what the bot says beside cards, and its question which ask is meant
unreadable: messages whose encryption key is missing
"""
