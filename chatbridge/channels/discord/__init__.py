"""The Discord channel: cards as messages with buttons, selects and modals.

spec: what the rest of the program knows of Discord
settings: its table in the settings
channel: the bot, its chats, and how they start
api: Discord's REST interface, with its errors as ours
gateway: the connection that brings events, each dealt with exactly once
receiver: from events to form events
chat: one direct-message chat or channel as a surface
render: cards as Discord's markdown and components
doctor: its check
setup: its part of `chatbridge setup`
"""
