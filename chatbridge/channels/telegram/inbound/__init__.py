"""From Telegram's updates to form events.

poll: reads updates, each exactly once
dispatch: routes an update to the part that it is for
taps: a tap on a button
texts: a message that is an answer, or may be one
outputs: an operation's output as a file
replies: who wrote, and what the bot says beside cards
"""
