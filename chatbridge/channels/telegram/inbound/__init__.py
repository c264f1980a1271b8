"""From Telegram's updates to form events.

poll: reads updates, each exactly once
dispatch: turns an update into a tap, a command or a text, and says what there is to say
"""
