"""Services that ring a phone and hold no conversation: what a notification says, and when it rings.

A service says how one is published and taken away. A person answers elsewhere, or by its buttons.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from chatbridge.channels.bell import Alert, Bell
from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import keyboard
from chatbridge.channels.chat.attachments import files_of
from chatbridge.channels.chat.callback_data import Tap, decode
from chatbridge.channels.chat.capabilities import Buttons, Seen
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.runs import write_plain
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.attached import CLIP
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.cards.phrases import format_only_on
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.forms import form
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import GLYPHS, Ask, Attachment, Level, Notice, QuestionType
from chatbridge.core.nights import summary as nights
from chatbridge.core.ports import Clock, Remark, Shown, Surface
from chatbridge.core.text import clipped, one_line, prose, shortened
from chatbridge.digests import sha256_hex

T = TypeVar("T")

TITLE, TEXT, CODE = 100, 500, 300
"""In characters: what a phone shows, and what services pass on to it in 4 KB."""
LISTED, OPTION = 4, 40
"""How many options the text names, and how much of each."""
ANSWERS = (form.Choose, form.Submit, form.Undo)
"""What a button can do."""
WIDTHS = (30, 14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    id: str
    """One of the same id takes its place."""
    title: str
    text: str
    page: str | None = None
    """What a tap opens."""
    keys: tuple[doc.Key, ...] = ()
    until: float | None = None
    """Nobody needs it after this time."""


class NotifierSurface(ABC):
    """A place that rings. Where the service cannot change a notification, it stays as it was
    published."""

    name: str
    channel: str
    persistent = idempotent = True
    pace = RateLimit()
    most_keys = 0
    """How many buttons that answer there can be."""
    silent = True
    """Whether there can be notifications without a sound. Otherwise only what rings is published,
    and it stays as it is until it rings again."""

    def __init__(self, clock: Clock, *, since: float = float("-inf")) -> None:
        """`since`: what came before is no reason to ring."""
        self._clock, self._since = clock, since
        self._trouble: str | None = None

    def attach(self, inbox: AskActions) -> None:
        """Call it before anything is shown."""
        self._inbox = inbox
        self._bell = Bell(nights=inbox.nights, clock=self._clock, since=self._since)

    @abstractmethod
    async def publish(self, new: Notification, alert: Alert) -> bool:
        """Whether it can be changed. :raises ChatbridgeError: as every channel does."""

    @abstractmethod
    async def clear(self, ask: Ask) -> None:
        """Take the notification of an ask away, which can be changed."""

    @abstractmethod
    def page_of(self, path: str) -> str | None:
        """The address of this page of the inbox, if a phone can open it."""

    @property
    def trouble(self) -> str | None:
        return self._trouble

    def wants(self, ask: Ask) -> bool:
        return False

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """A place is how often the ask was raised, and what is shown if that can be changed."""
        raised, _, shown = (place or "").partition(" ")
        attention = ask.attention
        times = self._inbox.nights.raised_on(self.name, attention)
        rings = raised != str(times)
        over = not ask.open or attention.snoozed_until is not None
        if shown and (over or (rings and self.silent)):
            # Also before it rings again: phones make no sound for one that is still there.
            await self._noted(self.clear(ask))
        if over:
            return Shown(place=raised, seen=self.silent or bool(shown))
        alert = self._bell.alert(ask) if rings else Alert.SILENT
        if alert is Alert.SILENT and not self.silent:
            return Shown(place=f"{times} {shown}".strip(), seen=bool(shown))
        only_on = self._inbox.only_on(ask, self.channel)
        new = await off_loop(
            lambda: self.drawn(build_card(ask, channel=self.channel, only_on=only_on)),
            weight=weight_of(ask),
        )
        shows = sha256_hex(json.dumps(asdict(new)).encode())[:16]
        if not rings and shown in ("", shows):
            return Shown(place=place or "")
        changes = await self._noted(self.publish(new, alert))
        if alert is not Alert.SILENT:
            self._bell.rang(ask)
        there = f"{times} {shows}" if changes else str(times)
        return Shown(place=there, messages=int(place is None))

    async def announce(self, notice: Notice) -> bool:
        alert = self._alert(notice.at, rings=notice.level is not Level.INFO)
        return await self._tell(lambda: self.drawn_notice(notice), alert)

    async def report(self, message: OwnerMessage) -> Shown:
        """Nobody writes here."""
        return Shown(place="")

    async def summarize(self, summary: nights.Summary, *, place: str | None, again: bool) -> Shown:
        """Once: what is open has notifications of its own."""
        if place is None:
            alert = self._alert(summary.period.end)
            await self._tell(lambda: self.drawn_summary(summary), alert)
        return Shown(place="out")

    def _alert(self, at: float, *, rings: bool = True) -> Alert:
        """Of what came at that time, and is told once."""
        quiet = self._inbox.nights.is_quiet
        rings = rings and at >= self._since and not quiet(self._clock.time())
        # Elsewhere it has come at that time, without a sound.
        rings = rings and (self.silent or not quiet(at))
        return Alert.RINGS if rings else Alert.SILENT

    async def _tell(self, draw: Callable[[], Notification], alert: Alert) -> bool:
        """Whether it was published."""
        if alert is Alert.SILENT and not self.silent:
            return False
        await self._noted(self.publish(draw(), alert))
        return True

    async def _noted(self, work: Awaitable[T]) -> T:
        """Note what is wrong. A pause that the service asks for is not."""
        try:
            found = await work
        except ChatbridgeError as error:
            self._trouble = self._trouble if getattr(error, "after", None) else str(error)
            raise
        self._trouble = None
        return found

    # ── a card as a notification ──────────────────────────────────────────────────────────────────

    def drawn(self, card: Card) -> Notification:
        lines = [plain(card.question or "Send these answers?")]
        names = [keyboard.label_of(choice) for choice in card.choices]
        keys = self._keys(card)
        # A button shows little of a long name, and a phone without buttons none of it.
        whole = keys and all(keyboard.fits(name, WIDTHS[1]) for name in names)
        if names and not (whole or card.approval or card.type is QuestionType.CONFIRM):
            keys = self._keys(card, listed=True)
            some = [keyboard.beside_ours(shortened(name, OPTION)) for name in names[:LISTED]]
            lines += [f"{number}. {name}" for number, name in enumerate(some, 1)]
            lines += ["…"] if len(names) > LISTED else []
        if card.subject is not None:
            lines.append(plain(card.subject.code)[:CODE])
        if card.only_on:
            lines.append(format_only_on(card.only_on))
        lines += _files(files_of(card))
        step = f"{card.number} of {card.count}" if card.count > 1 else None
        return Notification(
            id=card.ask_id,
            title=_title(card, step),
            text="\n".join(lines),
            page=self.page_of(f"/asks/{card.ask_id}"),
            keys=keys,
        )

    def drawn_notice(self, notice: Notice) -> Notification:
        title = line(f"{GLYPHS[notice.level]} {notice.project.name}", notice.title)
        text = "\n".join((plain(notice.message), *_files(notice.attachments)))
        return Notification(id=notice.id, title=title, text=text)

    def drawn_summary(self, summary: nights.Summary) -> Notification:
        return Notification(
            id=f"summary-{summary.period.end:.0f}",
            title=line(f"{nights.GLYPH} {summary.heading}"),
            text="\n".join(summary.counts),
            page=summary.inbox,
        )

    def _keys(self, card: Card, *, listed: bool = False) -> tuple[doc.Key, ...]:
        """Those that answer, if all options fit. Approvals have none."""
        if not self.most_keys or card.approval or len(card.choices) > self.most_keys:
            return ()
        buttons = Buttons(most_options=self.most_keys, private=WIDTHS, group=WIDTHS)
        rows = keyboard.rows(card, Seen(now=0.0), buttons, listed=listed)
        return tuple(key for row in rows for key in row if _answers(key))


class Notifier(NotifierSurface):
    """A channel with one surface: itself."""

    remarks = ()

    def __init__(self, context: ChannelContext) -> None:
        super().__init__(context.clock)
        self.channel, self._page = self.name, context.inbox
        self._poll: PollLoop[Any] | None = None
        """Reads answers, if there can be any."""

    @abstractmethod
    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None: ...

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    @property
    def trouble(self) -> str | None:
        return (self._poll and self._poll.trouble) or self._trouble

    async def drain(self) -> None:
        if self._poll is not None:
            await self._poll.drain()

    def page_of(self, path: str) -> str | None:
        page = self._page()
        return f"{page}{path}" if page else None

    async def tell(self, remark: Remark) -> None:
        if self.name not in remark.told:
            new = Notification(id=remark.id, title="chatbridge", text=plain(remark.text))
            await self._tell(lambda: new, Alert.SILENT)
            remark.told.add(self.name)


def _title(card: Card, step: str | None) -> str:
    if card.what_next:
        return line(f"{card.glyph} {card.title}")
    return line(f"{card.glyph} {card.project}", card.title or card.agent, step)


def _answers(key: doc.Key) -> bool:
    tap = decode(key.data)
    return isinstance(tap, Tap) and isinstance(tap.action, ANSWERS)


def line(*parts: str | None) -> str:
    return clipped(one_line(" · ".join(filter(None, parts))), TITLE)


def _files(attachments: Sequence[Attachment]) -> list[str]:
    """How many there are. Their names would take room that the question needs."""
    count = len(attachments)
    how_many = "1 file, which is" if count == 1 else f"{count} files, which are"
    return [f"{CLIP} {how_many} in the inbox."] if count else []


def plain(source: str) -> str:
    """An agent's markdown as text that fits."""
    block = doc.Markdown(source=prose(source), limit=TEXT, asking=False)
    return write_plain((block,), now=0.0)
