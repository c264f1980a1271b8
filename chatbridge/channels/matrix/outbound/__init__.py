"""From cards and notices to messages in Matrix rooms.

chat: sends messages, edits and reactions in one room
card_messages: what is stored of an ask's messages and reactions in a room
rooms: which rooms the bot goes to
visibility: what a room has shown, by the order of its timeline
"""
