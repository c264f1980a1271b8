"""What people paste into Claude Code's settings is the same in both places, and is JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

from chatbridge.cli.agents.hook import HELP

PAGE = Path(__file__).resolve().parents[2] / "docs" / "claude-code.md"
EVENTS = ["PreToolUse", "PermissionRequest", "Notification", "PostToolUse", "Stop"]


def test_the_help_and_the_page_have_the_same_settings() -> None:
    in_help = json.loads(HELP[HELP.index("  {\n") :])
    found = re.search(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert json.loads(found[1]) == in_help
    assert list(in_help["hooks"]) == EVENTS


def test_every_hook_calls_the_command_with_a_time_out() -> None:
    hooks = json.loads(HELP[HELP.index("  {\n") :])["hooks"]
    for event, (entry,) in hooks.items():
        (hook,) = entry["hooks"]
        limit = " --limit 3600" if event == "Stop" else ""
        assert (hook["type"], hook["command"]) == ("command", f"chatbridge hook{limit}")
        assert hook["timeout"] in ([3600] if limit else [60, 600])


def test_the_flag_is_the_pages_first_example() -> None:
    first = PAGE.read_text(encoding="utf-8").split("```")[1]
    assert "--permission-prompt-tool mcp__chatbridge__approve_tool_use" in first
