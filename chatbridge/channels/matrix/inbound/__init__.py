"""From events of Matrix rooms to form events.

poll: reads events, each exactly once
dispatch: routes an event to the part that it is for
cards: the ask that a reaction, a reply or a thread points at
taps: reactions to cards
texts: messages in a card's thread, or in reply to it
unaddressed_messages: messages beside the cards
unreadable: messages whose encryption key is missing
replies: what the bot says beside cards
"""
