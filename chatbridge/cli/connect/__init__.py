"""Edits MCP clients' own configuration: adds chatbridge, and takes it out again.

command: `chatbridge connect` and `disconnect`
catalogue: the clients: where their files are, and what an entry looks like
machine: where this user's files are, and how this chatbridge is started
installed: the clients on this machine: how they are connected, and what they lack
plans: what would be written, as a diff, and the writing
document: a file's content with our entry in it, or without
editing: what the editors have in common
jsonc: the editor of JSON with comments
toml_text: the editor of TOML
yaml_text: the editor of YAML
marked_text: the editor of text that is anybody's, with a paragraph of ours
hooks: our hooks among those of others, written and taken out
own_hooks: which hooks are ours
texts: the paragraph for agents, and the plug-in that does for opencode what hooks do elsewhere
files: reads, replaces and backs up files
"""
