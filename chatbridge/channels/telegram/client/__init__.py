"""The Bot API.

api: the requests that the channel makes
response_checks: reads what a server answers, in whatever form
errors: what Telegram can refuse, as the channel tells it apart
"""
