"""A pretended Discord on loopback, after discord-api-docs.

limits: what messages, components and modals may be
markdown: what a person reads of a message
world: people, channels and messages, and what a bot is shown of them
gateway: sessions, resuming, close codes
rest: the REST interface, rate limits, answers to interactions
server: all of it as one server, with people in front of it

What could not be confirmed without a real account is in docs/decisions-channels.md.
"""
