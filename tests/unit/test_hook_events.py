"""Events of other clients' hooks, as the real programs sent them."""

from __future__ import annotations

from typing import Any

import pytest

from chatbridge.cli.agents.hook_events import identify

Json = dict[str, Any]
CODEX = {"session_id": "01a1", "turn_id": "01a2", "cwd": "/srv", "model": "gpt-5.1-codex"}
GEMINI = {"session_id": "4a8e", "cwd": "/srv", "timestamp": "2026-11-18T07:06:32.485Z"}


@pytest.mark.parametrize(
    ("event", "client", "name"),
    [
        ({"hook_event_name": "PostToolUse", "prompt_id": "e042"}, "claude-code", "PostToolUse"),
        ({"hook_event_name": "Stop", "stop_hook_active": False}, "claude-code", "Stop"),
        ({**CODEX, "hook_event_name": "PostToolUse"}, "codex", "PostToolUse"),
        ({**CODEX, "hook_event_name": "Stop"}, "codex", "Stop"),
        ({**GEMINI, "hook_event_name": "AfterTool"}, "gemini-cli", "PostToolUse"),
        ({**GEMINI, "hook_event_name": "AfterAgent"}, "gemini-cli", "Stop"),
        ({"client": "opencode", "hook_event_name": "Stop"}, "opencode", "Stop"),
    ],
)
def test_an_event_is_known_by_its_client_and_claude_codes_name(
    event: Json, client: str, name: str
) -> None:
    found = identify(event)
    assert (found.client, found.name) == (client, name)
    assert found.own_name == event["hook_event_name"], "it is told so under its own name"


@pytest.mark.parametrize(
    "event",
    [{}, {"hook_event_name": ["Stop"]}, {"hook_event_name": None, "client": {"opencode": 1}}],
)
def test_what_is_no_event_is_nobodys(event: Json) -> None:
    found = identify(event)
    assert (found.client, found.name, found.own_name) == ("claude-code", "", "")
