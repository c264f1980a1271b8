"""Ways to a person. Each folder is one channel, which knows `core`, `markdown` and the chat kit.

spec: what the rest of the program knows of a channel
registry: the built-in channels, and those of plug-ins
checks: what a channel's part of `doctor` is given and returns
bot_checks: what `doctor` finds of a bot, whatever the service
errors: what goes wrong with any service: tokens, certificates, pauses
chat: what chat channels have in common
bell: when something rings that is no message in a chat
notifier: what services have in common that ring a phone and hold no conversation
sockets: what channels with a websocket have in common
telegram: Telegram
matrix: Matrix
slack: Slack
discord: Discord
ntfy: ntfy, which rings
web: the web inbox
"""
