"""The morning summary as a message: what it says, and which ask each of its numbers stands for.

Numbers stay with their asks, because a person's reaction counts only once: an ask that has ended
stays in the list, until another one needs its number.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Generic

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.callback_data import Show, Tap, encode, question_shown
from chatbridge.channels.chat.capabilities import Capabilities, Seen, T
from chatbridge.channels.chat.keyboard import in_rows
from chatbridge.channels.chat.notices import NUMBERS_A_ROW, ask_entry, ends
from chatbridge.channels.chat.writer import ChatWriter, Drawing, MessageRejected, Outgoing
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.cards.build import state_of
from chatbridge.core.cards.card import GLYPHS
from chatbridge.core.errors import PostGone
from chatbridge.core.forms.emoji_shortcuts import NUMBERS
from chatbridge.core.model import Ask
from chatbridge.core.nights.summary import GLYPH, NOTES, Summary, read_sent
from chatbridge.core.ports import Shown
from chatbridge.core.stored_json import reader
from chatbridge.digests import sha256_hex

LISTED_AT_MOST = 10
"""As many as there are emoji of numbers."""
OPEN_INBOX = "Open the inbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMessage:
    """Where a summary is, and what it shows."""

    room: str
    message: str  # Empty if the service has not said it
    asks: tuple[str, ...] = ()  # By their numbers
    shows: str = ""  # Digest of its drawing; empty if that is not known
    seeds: int = 0  # For how many numbers the bot has reacted
    link: bool = True  # The service takes the address of the inbox

    def to_text(self) -> str:
        return json.dumps(asdict(self))


read_message = reader(SummaryMessage)


def numbered(known: Sequence[str], waiting: Sequence[Ask]) -> tuple[str, ...]:
    """The ids of the asks to list, by their numbers; `known` are those of the list before."""
    still_open = {ask.id for ask in waiting}
    new = [ask.id for ask in waiting if ask.id not in known]
    room = LISTED_AT_MOST - len(known)
    found, left = [*known, *new[:room]], new[room:]
    for i, ask_id in enumerate(found):
        if left and ask_id not in still_open:
            found[i] = left.pop(0)
    return tuple(found)


def draw_summary(
    summary: Summary, listed: Sequence[Ask], seen: Seen, *, buttons: bool
) -> doc.Message:
    heading: doc.Line = (f"{GLYPH} ", doc.strong(summary.heading))
    counts = tuple((line,) for line in summary.counts)
    more = len(summary.waiting) - sum(ask.open for ask in listed)
    after: list[doc.Line] = [(f"and {more} more",)] if more else []
    if not buttons:
        if any(ask.open for ask in listed):
            how = "React with" if seen.reactions else "Reply with"
            after.append((f"{how} a number to bring its card down here.",))
        if summary.inbox:
            after.append((f"{OPEN_INBOX}: {summary.inbox}",))
    items = doc.Numbered(items=tuple((_entry(ask),) for ask in listed))
    entries = doc.Group((items, doc.Lines(tuple(after))), tight=True)
    document = (doc.Lines((heading, *counts)), *((entries,) if listed or after else ()))
    return doc.Message(document=document, rows=tuple(_rows(summary, listed)) if buttons else ())


def _entry(ask: Ask) -> doc.Line:
    entry, attention = ask_entry(ask), ask.attention
    if not ask.open:
        ended = ask.status.value.replace("_", " ")
        return (f"{GLYPHS[state_of(ask)]} ", *entry, f" · {ended}")
    if attention.snoozed_until is not None:
        return (*entry, " · snoozed until ", doc.Time(attention.snoozed_until))
    return (*entry, *(ends(ask.deadline) or (" · no limit",)))


def _rows(summary: Summary, listed: Sequence[Ask]) -> Iterator[tuple[doc.Key, ...]]:
    taps = {
        number: Tap(ask_id=ask.id, question=question_shown(ask), action=Show())
        for number, ask in enumerate(listed, 1)
        if ask.open
    }
    keys = [doc.Key(text=str(number), data=encode(tap)) for number, tap in taps.items()]
    yield from in_rows(keys, NUMBERS_A_ROW)
    if summary.inbox:
        yield (doc.Key(text=OPEN_INBOX, url=summary.inbox),)


# ── sending it ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SummaryWriter(Generic[T]):
    """Writes the summary of one chat."""

    chat: ChatWriter[T]
    can: Capabilities[T]
    inbox: AskActions
    react: Callable[[str, str, str], Awaitable[object]]
    """As the chat does."""

    async def listed_in(self, message: str) -> tuple[str, ...]:
        """The asks of the latest summary by their numbers, if this is its message."""
        note = await self.inbox.note(NOTES, self.chat.name)
        sent = read_sent(note.value) if note is not None else None
        found = read_message(sent.place) if sent is not None and sent.place else None
        return found.asks if found is not None and found.message == message else ()

    async def write(self, summary: Summary, seen: Seen, *, place: str | None, again: bool) -> Shown:
        """:raises PostGone: it is nowhere, or in what this chat was before."""
        room, known = self.chat.current_room(), read_message(place) if place else None
        if place and (known is None or known.room != room):
            raise PostGone
        asks = numbered(known.asks if known else (), summary.waiting)
        found = {ask.id: ask for ask in summary.waiting}
        listed = [found.get(each) or await self.inbox.ask(each) for each in asks]
        draw = partial(self._draw, listed=listed, seen=seen)
        if known is None:
            return await self._send(summary, room, draw, asks, again=again)
        drawing = draw(summary if known.link else replace(summary, inbox=None))
        if known.message and known.shows != (shows := _digest(drawing)):
            key = ("summary-edit", known.message, str(summary.at))
            await self.chat.edit(room, known.message, drawing, key=key, silent=False)
            known = replace(known, asks=asks, shows=shows)
        elif known.message and seen.reactions and not self.can.buttons:
            for number in range(known.seeds, len(asks)):
                await self.react(room, known.message, NUMBERS[number])
            known = replace(known, seeds=len(asks))
        written = known.to_text()
        return Shown(place=written, complete=written == place)

    async def _send(
        self,
        summary: Summary,
        room: str,
        draw: Callable[[Summary], Drawing[T]],
        asks: tuple[str, ...],
        *,
        again: bool,
    ) -> Shown:
        drawing, link = draw(summary), True
        key = ("summary", self.chat.name, str(summary.period.end))
        silent = self.inbox.nights.is_quiet_on(
            self.chat.name, summary.at
        )  # its set time may be in quiet hours
        new = Outgoing(room=room, what=drawing, key=key, silent=silent)
        try:
            sent = await self.chat.send(new)
        except MessageRejected:
            if summary.inbox is None:
                raise
            # Telegram, for instance, takes no address without a dot in its host.
            drawing, link = draw(replace(summary, inbox=None)), False
            sent = await self.chat.send(replace(new, what=drawing))
        shows = "" if again else _digest(drawing)  # what was sent before may say something else
        shown = SummaryMessage(room=room, message=sent.id, asks=asks, shows=shows, link=link)
        return Shown(place=shown.to_text(), messages=1, complete=False)

    def _draw(self, summary: Summary, *, listed: Sequence[Ask], seen: Seen) -> Drawing[T]:
        message = draw_summary(summary, listed, seen, buttons=self.can.buttons is not None)
        return Drawing(text=self.can.write(message.document, now=seen.now), rows=message.rows)


def _digest(drawing: Drawing[T]) -> str:
    return sha256_hex(repr(drawing).encode())[:16]
