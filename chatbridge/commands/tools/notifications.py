"""Notifications to connected clients: an operation has ended, the tools have changed, definition
files cannot be used.

Nothing blocks on a client that does not read. What it misses it finds with `status`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

from mcp_types import LoggingLevel

from chatbridge.commands.definitions.problems import Problem
from chatbridge.commands.tools import presentation
from chatbridge.core.cards.operation_summary import CHARACTERS, LINES, for_people, last_lines
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.model import CallName, Level, OperationEnd, Project
from chatbridge.core.operation import Operation, Stage
from chatbridge.core.text import one_line
from chatbridge.projects import settings_of

Json = dict[str, Any]

MAX_WAITING = 100
"""Messages for one client, and for all who are not connected; the oldest give way."""
MAX_PROBLEMS = 20
LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From the least severe to the most."""
_LEVEL_OF: dict[Stage, LoggingLevel] = {
    Stage.SUCCEEDED: "info",
    Stage.CANCELLED: "warning",
    Stage.DENIED: "warning",
}

ANNOUNCED = frozenset((Stage.SUCCEEDED, Stage.FAILED, Stage.TIMED_OUT, Stage.INTERRUPTED))
"""Stages that are announced. Whoever cancelled or denied an operation knows of it."""
_HOW = {Stage.SUCCEEDED: "", Stage.TIMED_OUT: "timed out", Stage.INTERRUPTED: "interrupted"}


class Listener(Protocol):
    """A session, as far as it can be told something."""

    link: str
    project: Project
    folder: str | None
    level: LoggingLevel

    async def push(self, method: str, params: Json | None = None) -> None:
        """Does nothing where it cannot be said."""
        ...


@dataclass(frozen=True, slots=True)
class _Push:
    method: str
    params: Json | None = None
    level: LoggingLevel | None = None
    """Of a message that clients can do without."""


@dataclass(frozen=True, slots=True)
class _Mailbox:
    waiting: asyncio.Queue[_Push] = field(default_factory=lambda: asyncio.Queue(MAX_WAITING))
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, push: _Push) -> None:
        if self.waiting.full():
            self.waiting.get_nowait()
        self.waiting.put_nowait(push)

    async def empty_for(self, session: Listener) -> None:
        """Say it, once the client can be told something: which level it wants is known then."""
        await self.ready.wait()
        while True:
            push = await self.waiting.get()
            if push.level is None or LEVELS.index(push.level) >= LEVELS.index(session.level):
                await session.push(push.method, push.params)


class Pushes:
    def __init__(self) -> None:
        self.other_tools = False
        """Whether there are other tools than the hub before this one had."""
        self._problems: tuple[Problem, ...] = ()
        self._mailboxes: dict[Listener, _Mailbox] = {}
        self._unsaid: deque[tuple[str, _Push]] = deque(maxlen=MAX_WAITING)
        """Ends for links that are not here: what an earlier hub began may have ended by the time
        that its link has found this one."""
        self._quiet: Counter[str] = Counter()
        self._left: set[str] = set()
        self._arrived = asyncio.Event()

    @asynccontextmanager
    async def to(self, session: Listener) -> AsyncIterator[None]:
        mailbox = self._mailboxes[session] = _Mailbox()
        for link, push in list(self._unsaid):
            if link == session.link:
                self._unsaid.remove((link, push))
                mailbox.put(push)
        self._arrived.set()
        telling = asyncio.ensure_future(mailbox.empty_for(session))
        try:
            yield
        finally:
            del self._mailboxes[session]
            telling.cancel()
            await asyncio.wait({telling})

    async def connected(self, link: str) -> None:
        while all(session.link != link for session in self._mailboxes):
            self._arrived.clear()
            await self._arrived.wait()

    def ready(self, session: Listener) -> None:
        if mailbox := self._mailboxes.get(session):
            mailbox.ready.set()
            self._warn(session, mailbox)

    def resumed(self, session: Listener) -> None:
        """Its client has seen the tools of an earlier hub."""
        if self.other_tools and (mailbox := self._mailboxes.get(session)):
            mailbox.put(_OTHER_TOOLS)

    def tools_changed(self) -> None:
        for mailbox in self._mailboxes.values():
            mailbox.put(_OTHER_TOOLS)

    def problems(self, found: Sequence[Problem]) -> None:
        """These definition files cannot be used now. Who connects later is told, too."""
        self._problems = tuple(found)
        for session, mailbox in self._mailboxes.items():
            if mailbox.ready.is_set():
                self._warn(session, mailbox)

    def ended(self, operation: Operation) -> None:
        """Its end is stored. The agent that called is told, unless a call returns the result: one
        that is here, or one that waits for it and comes again after a restart of the hub."""
        gone = operation.delivered or operation.id in self._left
        self._left.discard(operation.id)
        if operation.id in self._quiet or (operation.plan.synchronous and not gone):
            return
        push = _message(_LEVEL_OF.get(operation.stage, "error"), presentation.message(operation))
        link = operation.call.link
        own = [it for session, it in self._mailboxes.items() if session.link == link]
        for mailbox in own:
            mailbox.put(push)
        if not own:
            self._unsaid.append((link, push))

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

    def _warn(self, session: Listener, mailbox: _Mailbox) -> None:
        concerned = session.folder is not None and settings_of(session.project.key).enabled
        if self._problems and concerned:
            mailbox.put(_message("warning", _unusable(self._problems)))


_OTHER_TOOLS = _Push("notifications/tools/list_changed")


def _message(level: LoggingLevel, data: Json) -> _Push:
    params = {"level": level, "logger": "chatbridge", "data": data}
    return _Push("notifications/message", params, level)


def _unusable(problems: Sequence[Problem]) -> Json:
    files = list(dict.fromkeys(str(problem.file) for problem in problems))
    what = "file" if len(files) == 1 else "files"
    return {
        "message": f"The definition {what} {', '.join(files)} cannot be used, so there are no "
        "tools from there. Tell the person that you work for; this says what to mend: chatbridge "
        "tools check",
        "problems": [problem.as_json() for problem in problems[:MAX_PROBLEMS]],
    }


async def announce(notices: Notices, operation: Operation, *, after: float) -> None:
    """Tell the chats that an operation has ended, if it took longer than `after` seconds: one
    notice, however often this is called for an operation. :raises StoreError:"""
    took = operation.took(operation.ended_at or 0.0)
    if operation.stage not in ANNOUNCED or took <= after:
        return
    result, succeeded, how = operation.result, operation.stage is Stage.SUCCEEDED, _how(operation)
    tail = "" if succeeded else last_lines(result.tail or result.head, LINES, characters=CHARACTERS)
    more = bool(result.tail) or for_people(result.head).strip() != tail.strip()
    end = OperationEnd(
        id=operation.id,
        title=operation.title,
        succeeded=succeeded,
        how=how,
        took=took,
        tail=tail,
        whole=result.size > 0 and more,
    )
    ended = f"failed: {how} after" if how else "finished after"
    await notices.send(
        # No request has such an id: one is JSON.
        CallName(link=operation.call.link, request=f"operation {operation.id}"),
        project=operation.project,
        agent=operation.agent,
        message=f"{one_line(operation.title)} {ended} {format_duration(took)}",
        level=Level.INFO if succeeded else Level.ERROR,
        operation=end,
    )


def _how(operation: Operation) -> str:
    if operation.stage in _HOW:
        return _HOW[operation.stage]
    result = operation.result
    started = result.exit_code is not None or result.signal is not None
    return presentation.exited(result) if started else "not started"
