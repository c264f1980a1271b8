"""The events of other clients' hooks under the names that Claude Code has for them.

Codex has Claude Code's form, and a `turn_id` beside it. Gemini CLI has names of its own. opencode
has no such hooks: our plug-in for it says so itself.
"""

from __future__ import annotations

from collections import namedtuple  # not `typing`, whose import takes a tenth of the whole hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAUDE_CODE = "claude-code"
_GEMINI = {"AfterTool": "PostToolUse", "AfterAgent": "Stop"}
HookEvent = namedtuple("HookEvent", ("client", "name", "own_name"))
"""The client as it calls itself towards an MCP server; the event as Claude Code calls it, or empty;
the event as this client calls it, in what it is told."""


def identify(event: dict[str, Any]) -> HookEvent:
    given = event.get("hook_event_name")
    own = given if isinstance(given, str) else ""
    if own in _GEMINI:
        return HookEvent("gemini-cli", _GEMINI[own], own)
    client = "codex" if "turn_id" in event else CLAUDE_CODE
    return HookEvent("opencode" if event.get("client") == "opencode" else client, own, own)
