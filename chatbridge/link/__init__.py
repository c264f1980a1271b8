"""The link: what an MCP client spawns. Standard library only, because every client pays for it."""
