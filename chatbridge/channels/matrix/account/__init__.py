"""The bot's Matrix account.

log_in: logs in, and keeps the log-in
identity: signs the bot's device
bot: the account as the set-up uses it
"""
