"""From cards and notices to messages in Matrix rooms.

chat: one room as a surface
card_messages: which messages and reactions an ask has in a room
rooms: which rooms the bot goes to
visibility: what a room has shown, by the order of its timeline
"""
