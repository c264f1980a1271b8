"""The MCP tools of commands and of operations.

tool_list: all tools that agents are offered
changes: how clients without a handshake hear of another list
tool: the tool of one command, with its input schema and description
operation_tools: `status`, `await` and `cancel`
presentation: operations as models read them
notifications: what clients and chats are told without having asked
"""
