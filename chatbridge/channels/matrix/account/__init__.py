"""The bot's Matrix account.

log_in: with a token, or once with a password
session: the log-in that is kept
keys: the device's keys for encryption
identity: signs the bot's device
discovery: finds the homeserver of an account
bot: the account as the set-up uses it
"""
