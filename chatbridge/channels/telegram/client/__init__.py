"""The Bot API.

api: the requests that the channel makes
uploads: the files that it takes
attached: the files that people send
response_checks: reads what a server answers, in whatever form
errors: what its refusals and its silence mean, as the channel tells them apart
"""
