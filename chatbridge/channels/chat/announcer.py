"""Notices in one chat: what an agent tells its owner, how operations ended, and lists of many that
come at once."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Generic

from chatbridge.channels.chat import attachments, notices
from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.capabilities import Capabilities, T
from chatbridge.channels.chat.card import EXCERPT_LINES
from chatbridge.channels.chat.outcome import agent, project
from chatbridge.channels.chat.writer import ChatWriter, Drawing, MessageRejected, Outgoing, Sent
from chatbridge.core.errors import PostGone
from chatbridge.core.model import GLYPHS, Level, Notice
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader
from chatbridge.core.text import clipped, one_line, prose, visible

log = logging.getLogger(__name__)

MAX_SIZE = 3_800
"""For titles and messages; the rest of a message is for the first line."""
SHOWN = 1_000
"""How much is shown of a message that does not fit."""
TITLE = 200
TOGETHER, WITHIN = 5, 60.0
"""So many infos of a project in so many seconds become one list, which grows while more come."""


# ── what they say ─────────────────────────────────────────────────────────────────────────────────


def draw_notice(notice: Notice, chat: Capabilities[T]) -> doc.Message:
    if notice.operation is not None:
        return notices.operation_end(notice, notice.operation, chat)
    heading = doc.Lines((notices.notice_heading(notice),))
    said = doc.Group((heading, *_entry(notice, chat)), tight=True)
    return doc.Message(document=(said, *draw_files(notice, chat, said)))


def draw_files(
    notice: Notice, chat: Capabilities[T], said: doc.Block, *, most: int = MAX_SIZE
) -> doc.Document:
    """What a notice shows of its files below what it says, as far as there is room."""
    files = doc.Lines((attachments.listed(notice.attachments),))
    for lines in EXCERPT_LINES if notice.attachments else ():
        shown = (*attachments.excerpts(notice.attachments, lines), files)
        if chat.size_of(said, *shown) < most:
            return shown
    return (files,) if notice.attachments else ()


def draw_list(listed: Sequence[Notice], chat: Capabilities[T]) -> doc.Message | None:
    """Several of one kind in one message; None if they do not fit into it whole."""
    if ends := [(notice, notice.operation) for notice in listed if notice.operation]:
        return notices.operation_ends(ends)
    items = tuple(
        doc.Group((doc.line("•"), doc.Group(_entry(each, chat), tight=True)), inline=True)
        for each in listed
    )
    if chat.size_of(*items) > MAX_SIZE:
        return None
    first, agents = listed[0], {agent(each.agent.name) for each in listed}
    heading: doc.Line = notices.notice_heading(first)
    if len(agents) > 1:
        heading = (f"{GLYPHS[first.level]} ", doc.strong(project(first.project.name)))
    return doc.Message(document=(doc.line(*heading), *items))


def file_of(notice: Notice, chat: Capabilities[T]) -> doc.File | None:
    """The whole message, if a chat does not show all of it. An operation's output is sent when
    somebody asks for it."""
    whole = _message(notice, whole=True)
    if notice.operation is not None or not chat.is_cut(_entry(notice, chat)[-1], whole):
        return None
    return doc.File(name=f"notice-{notice.id[:8]}.txt", content=visible(notice.message).encode())


def _entry(notice: Notice, chat: Capabilities[T]) -> tuple[doc.Block, ...]:
    title, message = clipped(one_line(notice.title), TITLE), _message(notice)
    if chat.size_of(message) > MAX_SIZE - TITLE:
        message = replace(message, limit=SHOWN)
    return (doc.line(doc.strong(doc.Name(title))), message) if title else (message,)


def _message(notice: Notice, *, whole: bool = False) -> doc.Markdown:
    return doc.Markdown(source=prose(notice.message), asking=False, whole=whole)


# ── sending them ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """A notice that is out: in which message, and since when."""

    notice: Notice
    message: str
    at: float


@dataclass(slots=True)
class Recent:
    """The infos of one project and kind that may still become a list, or the list that may still
    grow."""

    out: list[Out] = field(default_factory=list)
    list: str | None = None
    """The message that is the list."""


Kind = tuple[str, str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """A list as it is about to be, stored before the edit: a hub that ends before the notice is
    recorded has the next one make the same edit, and not send the notice once more."""

    room: str
    message: str
    notices: tuple[tuple[str, str], ...]
    """Each with its message so far, the last of them without."""


read_growing = reader(Growing)


class Announcer(Generic[T]):
    def __init__(self, chat: ChatWriter[T], can: Capabilities[T], *, clock: Clock) -> None:
        self._chat = chat
        self._can = can
        self._clock = clock
        self._recent: dict[Kind, Recent] = {}
        self._sent: dict[tuple[str, str], Sent] = {}
        """By room and notice, if its file is not out yet."""
        self._uploads: dict[tuple[str, str], dict[str, str]] = {}
        """Likewise messages with files of its own."""
        self._growing: Growing | None = None
        """What an earlier process has left."""
        self._recalled = False

    async def announce(self, notice: Notice, room: str) -> str:
        """Return the message that shows it; empty if the service has not said it.
        :raises RetryLater: not done. What is out does not come again."""
        file, now = file_of(notice, self._can), self._clock.monotonic()
        # What can share a list: an agent's words stay apart from what chatbridge itself says.
        kind = (room, notice.project.key, notice.operation is not None)
        gathers = notice.level is Level.INFO and file is None and not notice.attachments
        if gathers and (listed := await self._joins(notice, kind, now)):
            return listed
        place = (room, notice.id)
        if place not in self._sent:
            topic = await self._chat.open_topic(room, notice.project)
            self._sent[place] = await self._chat.send(
                Outgoing(
                    room=room,
                    what=self._drawn(draw_notice(notice, self._can)),
                    key=("notice", self._chat.name, notice.id),
                    project=notice.project,
                    topic=topic,
                    silent=self._chat.is_silent(notice),
                )
            )
        if file is not None:
            await self._attach(file, notice, room, self._sent[place])
        await self.upload(notice, room, self._sent[place])
        message = self._sent.pop(place).id
        if gathers and message:
            self._recent.setdefault(kind, Recent()).out.append(
                Out(notice=notice, message=message, at=now)
            )
        return message

    async def _attach(self, file: doc.File, notice: Notice, room: str, to: Sent) -> None:
        try:
            await self._chat.send(
                Outgoing(
                    room=room,
                    what=doc.Upload.of(file),
                    key=("file", self._chat.name, notice.id),
                    project=notice.project,
                    topic=to.topic,
                    root=to.id,
                )
            )
        except MessageRejected as error:
            name = self._chat.name
            log.warning("%s does not take the whole of notice %s: %s", name, notice.id, error)

    async def upload(self, notice: Notice, room: str, to: Sent) -> None:
        """Send its files below it, and a line about those that could not be sent."""
        if not notice.attachments:
            return
        chat, out = self._chat, self._uploads.setdefault((room, notice.id), {})
        new = partial(Outgoing, room=room, project=notice.project, topic=to.topic, root=to.id)
        key = ("file", chat.name, notice.id)
        uploads = attachments.Uploads(chat=chat, new=new, key=key, clock=self._clock, out=out)
        sent = await uploads.run(attachments.captioned(notice.attachments))
        missing = [each for each in notice.attachments if each.digest in sent.missing]
        if missing:
            text = self._can.write((doc.line(*attachments.not_sent(missing)),), now=0.0)
            key = ("missing", chat.name, notice.id)
            await chat.send(new(what=Drawing(text=text), key=key))
        del self._uploads[room, notice.id]

    async def _joins(self, notice: Notice, kind: Kind, now: float) -> str | None:
        """The list that it is in now, if it is; the messages that this stands for are gone."""
        await self._resume(notice, kind, now)
        recent, room = self._recent.get(kind), kind[0]
        if recent is None or all(each.notice.id != notice.id for each in recent.out):
            self._forget(before=now - WITHIN)
            recent = self._recent.get(kind)
            if recent is None or (recent.list is None and len(recent.out) + 1 < TOGETHER):
                return None
            message = recent.list or recent.out[-1].message
            listed = draw_list([*(each.notice for each in recent.out), notice], self._can)
            if listed is None:
                del self._recent[kind]
                return None
            out = [(each.notice.id, each.message) for each in recent.out]
            growing = Growing(room=room, message=message, notices=(*out, (notice.id, "")))
            await self._chat.remember(self._key, json.dumps(asdict(growing)))
            if not await self._turned_into(room, message, listed):
                del self._recent[kind]
                return None
            recent.list = message
            recent.out.append(Out(notice=notice, message=message, at=now))
        for i, each in enumerate(recent.out):  # which may be all that is left to do
            if recent.list is not None and each.message != recent.list:
                await self._chat.remove(room, each.message)
                recent.out[i] = replace(each, message=recent.list)
        return recent.list or recent.out[-1].message

    async def _resume(self, notice: Notice, kind: Kind, now: float) -> None:
        """Go on with the list that an earlier process may have put this notice into."""
        if not self._recalled:
            text = await self._chat.recall(self._key)
            self._growing, self._recalled = read_growing(text) if text else None, True
        growing = self._growing
        if growing is None or growing.room != kind[0] or growing.notices[-1][0] != notice.id:
            return
        self._growing = None
        out = []
        for notice_id, message in growing.notices[:-1]:
            if (earlier := await self._chat.stored_notice(notice_id)) is None:
                return
            out.append(Out(notice=earlier, message=message, at=now))
        self._recent[kind] = Recent(out=out, list=growing.message)

    @property
    def _key(self) -> str:
        return f"list:{self._chat.name}"

    async def _turned_into(self, room: str, message: str, listed: doc.Message) -> bool:
        try:
            await self._chat.edit(room, message, self._drawn(listed), key=(), silent=True)
        except (MessageRejected, PostGone):
            return False  # somebody has deleted it
        return True

    def _drawn(self, message: doc.Message) -> Drawing[T]:
        return Drawing(text=self._can.write(message.document, now=0.0), rows=message.rows)

    def _forget(self, *, before: float) -> None:
        for key, recent in list(self._recent.items()):
            if recent.list is None:
                recent.out = [each for each in recent.out if each.at >= before]
            if not recent.out or recent.out[-1].at < before:
                del self._recent[key]
