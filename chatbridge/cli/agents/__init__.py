"""Commands about agents: who is connected, their hooks, tokens, and the tools they may use.

commands: the arguments of these commands
messages: `chatbridge agents` and `tell`
hook: `chatbridge hook`, which the hooks of Claude Code and other clients call
hook_events: the events of other clients under Claude Code's names
collect: what the owner has written to the agent whose client runs a hook
transcript: what Claude Code's record of a session shows
serve: `chatbridge serve` and `token`
definition_files: `chatbridge tools`
"""
