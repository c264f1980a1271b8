"""The Matrix channel: cards as messages in threads, reactions and replies as form events.

spec: what the rest of the program knows of Matrix
settings: its table in the settings
channel: the account, its rooms, and how they start
account: the bot's account: log-in, device, keys
client: the homeserver's API
inbound: from events to form events
outbound: from cards to messages
render: cards as HTML and reactions
doctor: its check
setup: its part of `chatbridge setup`
"""
