"""The Bot API.

api: the requests that the channel makes
response_checks: reads what a server answers, in whatever form
errors: what its refusals and its silence mean, as the channel tells them apart
"""
