"""From cards and notices to Telegram's messages.

chat: one chat as a surface
card_messages: which messages an ask has in a chat
announcer: notices, and lists of many
writer: sends into a chat, each project into its topic
visibility: what a chat has shown, by Telegram's clock
"""
