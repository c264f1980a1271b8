"""Operations as models read them: records, sentences, and what a command printed."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chatbridge.core.cards.operation_summary import for_people, last_lines
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.operation import Operation, Result, Stage
from chatbridge.core.text import shortened

Json = dict[str, Any]

LAST_LINES = 12
MAX_LAST_CHARACTERS = 2_000
MAX_COMMAND_CHARACTERS = 2_000
"""Characters of a command line, where the operation is only named."""
NOTHING_PRINTED = "(no output)"
_ENDS = {
    Stage.SUCCEEDED: "succeeded",
    Stage.FAILED: "failed",
    Stage.TIMED_OUT: "timed out",
    Stage.CANCELLED: "was cancelled",
    Stage.DENIED: "was not allowed",
    Stage.INTERRUPTED: "was interrupted",
}


def command_line(operation: Operation) -> str:
    """As a shell would need it. Nothing of it ever goes through one."""
    return shortened(for_people(shlex.join(operation.plan.argv)), MAX_COMMAND_CHARACTERS)


def sentence(operation: Operation) -> str:
    """How it ended: `git status failed: exit 128 after 0.2 s`."""
    said, result = f"{operation.title} {_ENDS[operation.stage]}", operation.result
    after = ""
    if operation.started_at is not None:
        after = f" after {format_duration(operation.took(operation.ended_at or 0.0))}"
    if result.reason:
        return f"{said}{after}: {for_people(result.reason)}"
    if operation.stage is not Stage.FAILED:
        return f"{said}{after}"
    return f"{said}: {exited(result)}{after}"


def exited(result: Result) -> str:
    if result.signal is None:
        return f"exit {result.exit_code}"
    try:
        return f"ended by {signal.Signals(result.signal).name}"
    except ValueError:
        return f"ended by signal {result.signal}"


def on_the_way(operation: Operation, now: float) -> str:
    match operation.stage:
        case Stage.AWAITING_APPROVAL:
            return f"{operation.title} waits until a person allows it"
        case Stage.QUEUED:
            return f"{operation.title} waits for its turn"
        case _:
            return f"{operation.title} has run for {format_duration(operation.took(now))}"


def _brief(operation: Operation) -> Json:
    return {"operationId": operation.id, "tool": operation.tool, "status": operation.stage.value}


def _without(found: Json, *empty: object) -> Json:
    return {key: value for key, value in found.items() if value not in empty}


def record(
    operation: Operation, now: float, *, file: Path | None = None, whole: bool = False
) -> Json:
    """One operation in a list; `whole`: with what it printed, and where all of that is."""
    found: Json = {
        **_brief(operation),
        "command": command_line(operation),
        "folder": operation.plan.folder,
        "seconds": round(operation.took(now), 1),
        "exitCode": operation.result.exit_code,
        "signal": operation.result.signal,
        "reason": operation.result.reason,
    }
    if whole and operation.started_at is not None:
        found["output"] = _output(operation, file)
    elif operation.ended and operation.stage is not Stage.SUCCEEDED:
        found["lastLines"] = _last(operation)
    return _without(found, None, "")


def message(operation: Operation) -> Json:
    """What the client is pushed when it has ended."""
    found: Json = {
        **_brief(operation),
        "exitCode": operation.result.exit_code,
        "seconds": round(operation.took(operation.ended_at or 0.0), 1),
        "lastLines": _last(operation),
        "message": f"{sentence(operation)}. Call status with this operationId for its output.",
    }
    return _without(found, None, "")


def started(
    operation: Operation,
    now: float,
    *,
    hints: Sequence[str],
    others: Sequence[Operation],
    follow: str,
) -> Json:
    """What a call returns at once. `follow`: what the agent does next."""
    found: Json = {
        **_brief(operation),
        "command": command_line(operation),
        "meanwhile": list(hints),
        "running": [
            {"operationId": each.id, "tool": each.tool, "seconds": round(each.took(now), 1)}
            for each in others
            if not each.ended and each.id != operation.id
        ],
        "next": follow,
    }
    if operation.stage is not Stage.AWAITING_APPROVAL and not operation.ended:
        found["status"] = "started"
    return _without(found, "", [])


def printed(operation: Operation, file: Path | None) -> str:
    """As text, both ends if there is more."""
    result = operation.result
    parts = [for_people(result.head).rstrip("\n")]
    if missing := _left_out(operation):
        how_much = "most" if result.left_out else "all"
        where = f"; {how_much} of it is in {file}" if file else ""
        parts.append(f"… {missing:,} bytes left out{where} …")
    if result.tail:
        parts.append(for_people(result.tail).rstrip("\n"))
    return "\n".join(parts) if any(part.strip() for part in parts) else NOTHING_PRINTED


def _output(operation: Operation, file: Path | None) -> Json:
    result = operation.result
    found: Json = {
        "head": for_people(result.head),
        "tail": for_people(result.tail),
        "leftOut": _left_out(operation),
    }
    if file is not None and result.size:
        found["file"] = str(file)
    return {key: value for key, value in found.items() if key == "head" or value not in ("", 0)}


def _left_out(operation: Operation) -> int:
    """How many bytes lie between the two ends."""
    result = operation.result
    if not result.tail:
        return 0
    return max(result.size - len(result.head.encode()) - len(result.tail.encode()), 0)


def _last(operation: Operation) -> str:
    text = operation.result.tail or operation.result.head
    return last_lines(text, LAST_LINES, characters=MAX_LAST_CHARACTERS)
