"""The MCP tools: arguments become an ask, its end becomes a result. None knows a channel."""
