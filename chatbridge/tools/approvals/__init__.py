"""`approve_tool_use`: permissions that a client asks for.

tool: the tool, and Claude Code's own questions as a form
scope: what can be allowed in advance, and the owner's rules
subject: what the card shows of a command, a change or another input
"""
