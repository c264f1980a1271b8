"""How a Matrix room shows what the kit says.

card: what a room can do, and what is sent about an ask
html: a document as HTML and as plain text
notices: what the bot says outside of cards
"""
