"""From cards and notices to Telegram's messages.

chat: sends, edits and removes messages in one chat, each project's in its topic
card_messages: what is stored of an ask's messages in a chat
"""
