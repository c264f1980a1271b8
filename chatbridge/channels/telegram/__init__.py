"""The Telegram channel: cards as messages with buttons, taps and replies as form events.

spec: what the rest of the program knows of Telegram
settings: its table in the settings
channel: the bot, its chats, and how they start
client: the Bot API
inbound: from updates to form events
outbound: from cards to messages
render: cards as HTML and keyboards
doctor: its check
setup: its part of `chatbridge setup`
"""
