"""Commands about agents: who is connected, their hooks, tokens, and the tools they may use.

messages: `chatbridge agents` and `tell`
hook: `chatbridge hook`, which Claude Code's hooks call
transcript: whether Claude Code has gone on without its hook
serve: `chatbridge serve` and `token`
definition_files: `chatbridge tools`
"""
