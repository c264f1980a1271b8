"""The commands of the owner that agents may run: defined in files, approved, run, reported.

definitions: definition files: their schema, how they are checked, and the commands in them
arguments: an agent's arguments, checked, and the argv and environment made of them
operations: runs of commands: recorded, approved, queued, followed to their ends
runner: the process that starts commands and outlives a restart of the hub
tools: the MCP tools of commands and of operations
"""
