"""The bot's Matrix account.

session: logs in, and keeps the log-in
identity: signs the bot's device
bot: the account as the set-up uses it
"""
