"""What connected clients are told without having asked: how an operation ended, that there are
other tools, and which definition files cannot be used.

Owns who is connected and what waits to be said to them. Nobody waits for a client that does not
read; what it is not told it finds with `status`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol, get_args

from mcp_types import LoggingLevel

from chatbridge.commands.definitions.problems import Problem
from chatbridge.commands.tools import told
from chatbridge.core.model import Project
from chatbridge.core.operation import Operation, Stage
from chatbridge.projects import settings_of

log = logging.getLogger(__name__)

Json = dict[str, Any]

MOST_WAITING = 100
"""Messages for one client; the oldest give way."""
MOST_PROBLEMS = 20
LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From the least severe to the most."""
_LEVEL_OF: dict[Stage, LoggingLevel] = {
    Stage.SUCCEEDED: "info",
    Stage.CANCELLED: "warning",
    Stage.DENIED: "warning",
}


class Listener(Protocol):
    """A session, as far as it can be told something."""

    link: str
    project: Project
    folder: str | None
    level: LoggingLevel

    async def push(self, method: str, params: Json | None = None) -> None:
        """Does nothing where it cannot be said."""
        ...


class Pushes:
    def __init__(self) -> None:
        self.other_tools = False
        """Whether there are other tools than the hub before this one had."""
        self._problems: tuple[Problem, ...] = ()
        self._waiting: dict[Listener, asyncio.Queue[tuple[str, Json | None]]] = {}
        self._quiet: Counter[str] = Counter()
        self._left: set[str] = set()
        self._arrived = asyncio.Event()

    # ── who is connected ──────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def to(self, session: Listener) -> AsyncIterator[None]:
        """It is told meanwhile."""
        waiting: asyncio.Queue[tuple[str, Json | None]] = asyncio.Queue(MOST_WAITING)
        self._waiting[session] = waiting
        self._arrived.set()
        telling = asyncio.ensure_future(_tell(session, waiting))
        try:
            yield
        finally:
            del self._waiting[session]
            telling.cancel()
            await asyncio.wait({telling})

    async def connected(self, link: str) -> None:
        """Returns when it is."""
        while all(session.link != link for session in self._waiting):
            self._arrived.clear()
            await self._arrived.wait()

    def ready(self, session: Listener) -> None:
        """It has shaken hands."""
        if self._problems and _concerned(session):
            self._message(session, "warning", _unusable(self._problems))

    def resumed(self, session: Listener) -> None:
        """Its client has seen the tools of an earlier hub."""
        if self.other_tools:
            self._put(session, "notifications/tools/list_changed", None)

    # ── what they are told ────────────────────────────────────────────────────────────────────────

    def tools_changed(self) -> None:
        for session in self._waiting:
            self._put(session, "notifications/tools/list_changed", None)

    def problems(self, found: Sequence[Problem]) -> None:
        """These definition files cannot be used now. Who connects later is told, too."""
        self._problems = tuple(found)
        for session in self._waiting:
            self.ready(session)

    def ended(self, operation: Operation) -> None:
        """Its end is stored. The agent that called is told, unless a call returns the result: one
        that is here, or one that waits for it and comes again after a restart of the hub."""
        gone = operation.delivered or operation.id in self._left
        self._left.discard(operation.id)
        if operation.id in self._quiet or (operation.plan.synchronous and not gone):
            return
        level = _LEVEL_OF.get(operation.stage, "error")
        for session in self._waiting:
            if session.link == operation.call.link:
                self._message(session, level, told.message(operation))

    @contextmanager
    def quiet(self, *operations: str) -> Iterator[None]:
        """A call waits for these and returns their results itself."""
        self._quiet.update(operations)
        try:
            yield
        finally:
            self._quiet -= Counter(operations)

    def left(self, operation_id: str) -> None:
        """The call that was to return its result has ended without it."""
        self._left.add(operation_id)

    def _message(self, session: Listener, level: LoggingLevel, data: Json) -> None:
        if LEVELS.index(level) >= LEVELS.index(session.level):
            params = {"level": level, "logger": "chatbridge", "data": data}
            self._put(session, "notifications/message", params)

    def _put(self, session: Listener, method: str, params: Json | None) -> None:
        waiting = self._waiting.get(session)
        if waiting is None:
            return
        if waiting.full():
            waiting.get_nowait()
        waiting.put_nowait((method, params))


async def _tell(session: Listener, waiting: asyncio.Queue[tuple[str, Json | None]]) -> None:
    while True:
        await session.push(*await waiting.get())


def _concerned(session: Listener) -> bool:
    """Whether commands are for it at all."""
    return session.folder is not None and settings_of(session.project.key).enabled


def _unusable(problems: Sequence[Problem]) -> Json:
    files = list(dict.fromkeys(str(problem.file) for problem in problems))
    what = "file" if len(files) == 1 else "files"
    return {
        "message": f"The definition {what} {', '.join(files)} cannot be used, so there are no "
        "tools from there. Tell the person that you work for; this says what to mend: chatbridge "
        "tools check",
        "problems": [problem.as_json() for problem in problems[:MOST_PROBLEMS]],
    }
