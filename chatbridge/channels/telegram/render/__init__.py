"""How Telegram shows what the kit says.

card: what Telegram can do, and what is sent about an ask
html: its tags and its limits
"""
