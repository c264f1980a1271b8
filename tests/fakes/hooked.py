"""`chatbridge hook` as Claude Code runs it: a process, an event on its standard input."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Self

from tests.fakes.program import CHATBRIDGE, bare

Json = dict[str, Any]
PATIENCE = 40.0
"""Longer than a hook looks for a hub."""
EVENT: Json = {
    "session_id": "5f2a",
    "transcript_path": "/home/ada/.claude/projects/shop/5f2a.jsonl",
    "permission_mode": "default",
}
LIST: Json = {"command": "ls -l", "description": "Lists files"}


def permission(cwd: object, *, session: str = "5f2a", given: Json = LIST) -> Json:
    return {
        **EVENT,
        "session_id": session,
        "cwd": str(cwd),
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": given,
    }


class Hook:
    """`event` may be bytes that are no event at all."""

    def __init__(self, event: Json | bytes, environment: dict[str, str], *words: str) -> None:
        self.process = subprocess.Popen(
            [*CHATBRIDGE, "hook", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=bare(environment),
            process_group=0,
        )
        assert self.process.stdin is not None
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        self.process.stdin.write(data)
        self.process.stdin.close()
        self.process.stdin = None  # communicate() would write to it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def says(self) -> Json | None:
        """Its decision; None if it has none."""
        output = self.prints()
        if output is None:
            return None
        assert output.keys() == {"hookSpecificOutput"}
        found: Json = output["hookSpecificOutput"]
        return found

    def prints(self) -> Json | None:
        """All of its output; None if there is none. It always succeeds."""
        said, complaints = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, complaints
        assert b"Traceback" not in complaints, complaints.decode()
        if not said:
            return None
        output: Json = json.loads(said)
        return output


def hooked(event: Json | bytes, environment: dict[str, str]) -> Json | None:
    with Hook(event, environment) as hook:
        return hook.says()
