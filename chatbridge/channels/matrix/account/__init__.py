"""The bot's Matrix account.

session: logs in, and keeps the log-in
keys: the device's keys for encryption
identity: signs the bot's device
bot: the account as the set-up uses it
"""
