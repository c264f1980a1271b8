"""What one hub knows of the runner's commands: which run, which have ended. Each end is told once.

Owns the bookkeeping and the records beside the outputs, as far as they are the hub's. How a hub
gets to know is `runner_line`'s business.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, get_args

from chatbridge.commands.operations.runner_port import End, How
from chatbridge.commands.runner import records

log = logging.getLogger(__name__)

_NONE = type(None)
_END: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "how": (str,),
    "exit_code": (int, _NONE),
    "signal": (int, _NONE),
    "size": (int,),
    "left_out": (int,),
    "started_at": (float, int, _NONE),
    "ended_at": (float, int),
    "error": (str, _NONE),
}


class Known:
    def __init__(self, outputs: str, ended: Callable[[End], None]) -> None:
        self._outputs, self._ended = outputs, ended
        self.running: set[str] = set()
        self.forgotten: set[str] = set()
        """The runner may not know yet that they are."""
        self._ends: dict[str, End] = {}
        self._files: dict[str, str] = {}
        """The names of their outputs."""

    def all(self) -> Mapping[str, End | None]:
        return {**dict.fromkeys(self.running), **self._ends}

    def has_ended(self, operation_id: str) -> bool:
        """And is not forgotten."""
        return operation_id in self._ends

    def runs(self, operation_id: str) -> None:
        """The runner has it; its end may have come first."""
        if operation_id not in self._ends:
            self.running.add(operation_id)

    def end(self, ends: Iterable[records.Record]) -> None:
        for record in ends:
            end = _end(record)
            if end is None:
                log.warning("the record of an end cannot be used: %s", record)
                continue
            self.running.discard(end.id)
            if end.id not in self._ends and end.id not in self.forgotten:
                self._ends[end.id] = end
                self._files[end.id] = os.path.basename(str(record.get("output", end.id)))
                self._ended(end)

    def forget(self, operation_id: str) -> bool:
        """False: there is nothing to forget."""
        name = self._files.pop(operation_id, None)
        if name is None:
            return False
        del self._ends[operation_id]
        self.forgotten.add(operation_id)
        records.remove(os.path.join(self._outputs, name) + records.END)
        return True


def _end(record: records.Record) -> End | None:
    """What a record says; None: nobody of ours has written it."""
    known: dict[str, Any] = {name: record[name] for name in _END.keys() & record.keys()}
    for name, value in known.items():
        if type(value) not in _END[name] or (isinstance(value, float) and not isfinite(value)):
            return None
    if known.get("how") not in get_args(How):
        return None
    try:
        return End(**known)
    except TypeError:  # something is missing
        return None
