"""MCP clients by the name they give themselves."""

from __future__ import annotations

from chatbridge.core.model import Agent

_NAMES = {
    "claude-code": "Claude Code",
    "claude-ai": "Claude",
    "codex-mcp-client": "Codex",
    "gemini-cli-mcp-client": "Gemini CLI",
    "opencode": "opencode",
    "cline": "Cline",
    "zed": "Zed",
    "goose": "Goose",
    "visual studio code": "VS Code",
    "cursor-vscode": "Cursor",
    "windsurf-client": "Windsurf",
}


def agent_of(client: str | None, title: str | None = None) -> Agent:
    """The agent behind a client's name, as people know it."""
    if not client:
        return Agent(client="", name="agent")
    return Agent(client=client, name=_NAMES.get(client.lower()) or title or client)
