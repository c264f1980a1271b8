"""A pretended Discord on loopback, after discord-api-docs.

limits: what messages, components and modals may be
markdown: what a person reads of a message
world: people, channels and messages, and what a bot is shown of them
gateway: sessions, resuming, close codes
rest: the REST interface, rate limits, answers to interactions
server: all of it as one server, with people in front of it

A bot of discord.py 2.7 has connected to it, sent, edited, heard taps and answered them, and sent
files. That it resumes here was not seen.

What could not be confirmed without a real account: for how long a session can be resumed (180 s
here) and a nonce counts (300 s here, "a few minutes" in the documentation); whether the 2,000
characters are code points (here) or UTF-16 units, so the channel counts the larger; whether the
message of a tap brings along the message that it replies to (here it does not); how a client reads
marks in unusual places; what a notification shows of a message of text components; whether a button
of an older drawing can still be tapped (here it can).
"""
