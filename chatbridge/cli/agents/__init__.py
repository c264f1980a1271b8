"""Commands about agents: their hooks, tokens, and the tools they may use.

hook: `chatbridge hook`, which Claude Code's hooks call
hook_events: the events of other clients' hooks, under the names that Claude Code has
transcript: whether Claude Code has gone on without its hook
serve: `chatbridge serve` and `token`
definition_files: `chatbridge tools`
"""
