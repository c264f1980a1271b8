"""From cards and notices to messages in Matrix rooms.

chat: sends messages, edits and reactions in one room
multi_select_reactions: which reactions of people stand for which options
rooms: which rooms the bot goes to
visibility: what a room has shown, by the order of its timeline
"""
