"""How an operation ended: the runner's word as a stage and a result, and as a line of the log."""

from __future__ import annotations

import shlex
import signal

from chatbridge.commands.operations.outputs import Printed
from chatbridge.commands.operations.runner_port import End
from chatbridge.core.operation import Operation, Result, Stage
from chatbridge.core.text import one_line

UNKNOWN = "chatbridge or the machine was stopped, and nobody knows how it ended"
LONGEST_LINE = 500
LONGEST_ARGUMENT = 200


def stage_of(end: End) -> Stage:
    match end.how:
        case "exited":
            return Stage.SUCCEEDED if end.exit_code == 0 else Stage.FAILED
        case "not_started":
            return Stage.FAILED
        case "timed_out":
            return Stage.TIMED_OUT
        case "stopped":
            # Where nobody asked for it the runner says why.
            return Stage.INTERRUPTED if end.error else Stage.CANCELLED
        case "lost":
            return Stage.INTERRUPTED


def result_of(end: End, printed: Printed, *, reason: str | None = None) -> Result:
    """`reason`: why it was cancelled, if it was."""
    stage = stage_of(end)
    why = end.error or (UNKNOWN if stage is Stage.INTERRUPTED else None)
    return Result(
        exit_code=end.exit_code,
        signal=end.signal,
        head=printed.head,
        tail=printed.tail,
        size=end.size or printed.size,
        left_out=end.left_out,
        reason=reason if stage is Stage.CANCELLED else why,
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def log_line(operation: Operation) -> str:
    """What was run, how long it took and how it ended."""
    result = operation.result
    code = "none" if result.exit_code is None else result.exit_code
    ended = f"exit={code}" if result.signal is None else f"signal={result.signal}"
    took = operation.took(operation.ended_at or 0.0)
    return (
        f"operation {operation.id} {operation.stage} {ended} "
        f"seconds={took:.1f} argv={_command(operation.plan.argv)}"
    )


def _command(argv: tuple[str, ...]) -> str:
    """Left out are whole arguments only: a piece of a secret could no longer be told as one."""
    shown: list[str] = []
    for at, argument in enumerate(argv):
        said = one_line(shlex.quote(argument))
        if len(said) > LONGEST_ARGUMENT:
            said = f"[{len(argument)} characters]"
        if sum(map(len, shown)) + len(said) > LONGEST_LINE:
            return " ".join([*shown, f"[{len(argv) - at} more]"])
        shown.append(said)
    return " ".join(shown)
