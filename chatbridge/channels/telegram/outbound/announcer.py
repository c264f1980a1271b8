"""Notices in one chat: what an agent tells its owner, how operations ended, and lists of many that
come at once."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.outcome import AGENT_LENGTH, PROJECT_LENGTH
from chatbridge.channels.chat.runs import Run, Text, blocks, cut, joined, width
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound.writer import Writer
from chatbridge.channels.telegram.render.card import Drawing, draw_end, draw_ends
from chatbridge.channels.telegram.render.html import readable, to_html
from chatbridge.core.model import GLYPHS, Level, Notice, Project
from chatbridge.core.ports import Clock
from chatbridge.core.text import clipped, isolated, one_line, prose, shortened, visible

log = logging.getLogger(__name__)

ROOM = 3_800
"""For titles and messages; the rest of Telegram's 4,096 is for the first line."""
SHOWN = 1_000
"""How much is shown of a message that does not fit."""
TITLE = 200
TOGETHER, WITHIN = 5, 60.0
"""So many infos of a project in so many seconds become one list, which grows while more come."""
HEADINGS = {Level.WARNING: "Warning", Level.ERROR: "Error"}


# ── what they say ─────────────────────────────────────────────────────────────────────────────────


def draw_notice(notice: Notice) -> Drawing:
    if notice.operation is not None:
        return draw_end(notice, notice.operation)
    return Drawing(html=_message([notice], _entry(notice)))


def draw_list(notices: Sequence[Notice]) -> Drawing | None:
    """Several of one kind in one message; None if they do not fit into it whole."""
    if ends := [(notice, notice.operation) for notice in notices if notice.operation]:
        return draw_ends(ends)
    whole = joined(_item(notice) for notice in notices)
    return Drawing(html=_message(notices, whole)) if width(whole) <= ROOM else None


def file_of(notice: Notice) -> File | None:
    """The whole message, if a chat does not show all of it. An operation's output is sent when
    somebody asks for it."""
    if notice.operation is not None:
        return None
    if _entry(notice) == _entry(notice, whole=True):
        return None
    return File(name=f"notice-{notice.id[:8]}.txt", content=visible(notice.message).encode())


def _message(notices: Sequence[Notice], body: Text) -> str:
    """With the first line that is ours, whoever wrote the rest."""
    first = notices[0]
    project = isolated(shortened(one_line(first.project.name), PROJECT_LENGTH))
    agents = {isolated(shortened(one_line(each.agent.name), AGENT_LENGTH)) for each in notices}
    heading = HEADINGS.get(first.level)
    names = [heading, project] if heading else [project]
    bold, *rest = [*names, *agents] if len(agents) == 1 else names
    head = (Run(f"{GLYPHS[first.level]} "), Run(bold, ("b",)), *(Run(f" · {it}") for it in rest))
    return readable(to_html(joined((head, body), apart="\n" if len(notices) == 1 else "\n\n")))


def _entry(notice: Notice, *, whole: bool = False) -> Text:
    title = clipped(one_line(notice.title), TITLE)
    heading = (Run(isolated(title), ("b",)),) if title else ()
    message = joined(blocks(prose(notice.message), whole=whole, asking=False))
    if not whole and width(message) > ROOM - TITLE:
        message = cut(message, SHOWN)
    return joined((heading, message), apart="\n")


def _item(notice: Notice) -> Text:
    return joined(((Run("•"),), _entry(notice)), apart=" ")


# ── sending them ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """A notice that is out: in which message, and since when."""

    notice: Notice
    message: int
    at: float


@dataclass(slots=True)
class Recent:
    """The infos of one project and kind that may still become a list, or the list that may still
    grow."""

    out: list[Out] = field(default_factory=list)
    list: int | None = None
    """The message that is the list."""

    def has(self, notice: Notice) -> bool:
        return any(each.notice.id == notice.id for each in self.out)


class Announcer:
    def __init__(
        self,
        writer: Writer,
        *,
        open_topic: Callable[[Project], Awaitable[int | None]],
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._open_topic = open_topic
        self._clock = clock
        self._recent: dict[tuple[str, bool], Recent] = {}
        self._sent: dict[str, tuple[int, int | None]] = {}
        """Of a notice whose file is not out yet: the message, and its topic."""

    async def announce(self, notice: Notice) -> None:
        """:raises RetryLater: not done. What is out does not come again."""
        file, now = file_of(notice), self._clock.monotonic()
        gathers = notice.level is Level.INFO and file is None
        if gathers and await self._joins(notice, now):
            return
        if notice.id not in self._sent:
            thread = await self._open_topic(notice.project)
            silent, drawing = notice.level is Level.INFO, draw_notice(notice)
            sent, thread = await self._writer.send(
                notice.project, thread, drawing.html, drawing.rows, silent=silent
            )
            self._sent[notice.id] = (sent.id, thread)
        message, thread = self._sent[notice.id]
        if file is not None:
            await self._attach(file, notice, message, thread)
        del self._sent[notice.id]
        if gathers and message != NO_NUMBER:
            out = Out(notice=notice, message=message, at=now)
            self._recent.setdefault(_kind(notice), Recent()).out.append(out)

    async def _attach(self, file: File, notice: Notice, message: int, thread: int | None) -> None:
        try:
            await self._writer.send(notice.project, thread, file, reply_to=message)
        except Rejected as error:
            log.warning("telegram does not take the whole of notice %s: %s", notice.id, error)

    async def _joins(self, notice: Notice, now: float) -> bool:
        """Whether it is in a list now, and the messages that the list stands for are gone."""
        recent = self._recent.get(_kind(notice))
        if recent is None or not recent.has(notice):  # else only the tidying up is left to do
            self._forget(before=now - WITHIN)
            recent = self._recent.get(_kind(notice))
            if recent is None or (recent.list is None and len(recent.out) + 1 < TOGETHER):
                return False
            drawing = draw_list([*(each.notice for each in recent.out), notice])
            message = recent.list or recent.out[-1].message
            if drawing is None or not await self._turned_into(message, drawing):
                del self._recent[_kind(notice)]
                return False
            recent.list = message
            recent.out.append(Out(notice=notice, message=message, at=now))
        for i, each in enumerate(recent.out):
            if recent.list is not None and each.message != recent.list:
                await self._writer.remove(each.message)
                recent.out[i] = replace(each, message=recent.list)
        return True

    async def _turned_into(self, message: int, drawing: Drawing) -> bool:
        try:
            await self._writer.edit(message, drawing.html, drawing.rows)
        except Rejected:
            return False  # somebody has deleted it
        return True

    def _forget(self, *, before: float) -> None:
        for key, recent in list(self._recent.items()):
            if recent.list is None:
                recent.out = [each for each in recent.out if each.at >= before]
            if not recent.out or recent.out[-1].at < before:
                del self._recent[key]


def _kind(notice: Notice) -> tuple[str, bool]:
    """What can share a list: an agent's words stay apart from what chatbridge itself says."""
    return notice.project.key, notice.operation is not None
