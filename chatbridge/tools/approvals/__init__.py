"""`approve_tool_use`: permissions that a client asks for.

tool: the tool, and Claude Code's own questions as a form
subject: what the card shows of a command, a change or another input
"""
