"""The events of other clients' hooks under the names that Claude Code has for them.

Codex has Claude Code's form, and a `turn_id` beside it. Gemini CLI has names of its own. opencode
has no such hooks: our plug-in for it says so itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAUDE_CODE = "claude-code"
_GEMINI = {"AfterTool": "PostToolUse", "AfterAgent": "Stop"}


class HookEvent:
    """`client` as it calls itself towards an MCP server; `name` as Claude Code calls the event, or
    empty; `own_name` as this client calls it, in what it is told."""

    # No NamedTuple: its module takes as long to import as half of this command.
    def __init__(self, client: str, name: str, own_name: str) -> None:
        self.client, self.name, self.own_name = client, name, own_name


def named(event: dict[str, Any]) -> HookEvent:
    given = event.get("hook_event_name")
    own = given if isinstance(given, str) else ""
    if own in _GEMINI:
        return HookEvent("gemini-cli", _GEMINI[own], own)
    client = "codex" if "turn_id" in event else CLAUDE_CODE
    return HookEvent("opencode" if event.get("client") == "opencode" else client, own, own)
