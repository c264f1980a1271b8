"""The homeserver's API.

api: the requests that the channel makes, by matrix-nio
errors: what a server can refuse, and what its answers mean
events: what comes from a server, in a checked form
media: files in its content repository
content: what is in the messages that the bot sends
"""
