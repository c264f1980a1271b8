"""The topic as a surface: what is published to it, and when it rings."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from math import inf
from typing import Any, TypeVar

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import keyboard
from chatbridge.channels.chat.callback_data import Tap, decode
from chatbridge.channels.chat.capabilities import Buttons, Seen
from chatbridge.channels.chat.runs import write_plain
from chatbridge.channels.ntfy.answers import ACTIONS, Answers, signed
from chatbridge.channels.ntfy.api import Api, Json
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected
from chatbridge.core.model import GLYPHS, Ask, ChannelState, Level, Notice, Priority
from chatbridge.core.nights import summary as nights
from chatbridge.core.nights.policy import ONE_RING_SECONDS, Sound
from chatbridge.core.ports import Remark, Shown, Surface
from chatbridge.core.text import clipped, one_line, prose, title_of
from chatbridge.digests import sha256_hex
from chatbridge.redaction import hide

T = TypeVar("T")

SILENT, RINGS, URGENT = 2, 3, 5
MOST_ACTIONS = 3
TITLE, TEXT = 100, 600
"""In characters. With its buttons a message has to fit into 4 KB, or it does not reach phones."""
BUTTONS = Buttons(most_options=MOST_ACTIONS, private=(30, 14), group=(30, 14))


class NtfyChannel:
    name = "ntfy"
    persistent = True
    pace = RateLimit(message=5.0, edit=5.0, burst=200.0)
    idempotent = True
    remarks = ()

    def __init__(self, table: Ntfy, context: ChannelContext) -> None:
        self._table, self._clock, self._page = table, context.clock, context.inbox
        self._answers: Answers | None = None
        self._trouble: str | None = None
        self._rang_at = -inf  # for all that came by the clock then
        self._updates = True  # as long as the server has not shown that it is too old

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    @property
    def trouble(self) -> str | None:
        return (self._answers and self._answers.trouble) or self._trouble

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        self._inbox, known = inbox, await inbox.note(self.name, "secret")
        self._secret = known.value if known else secrets.token_hex(32)
        await inbox.remember(
            ChannelState(channel=self.name, key="secret", value=self._secret, at=0)
        )
        async with Api(self._table) as self._api:
            if self._table.answers:
                topic = self._table.answers_to
                answers = Answers(self._api, topic, self._secret, inbox, self._clock)
                await answers.begin()
                self._answers = answers
            ready()
            await (self._answers.run() if self._answers else asyncio.Event().wait())

    async def drain(self) -> None:
        if self._answers is not None:
            await self._answers.drain()

    def wants(self, ask: Ask) -> bool:
        return False

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        if not ask.open:
            await self._noted(self._api.clear(self._table.topic, ask.id))
            return Shown(place="")
        only_on = self._inbox.only_on(ask, self.name)
        message = await off_loop(
            lambda: self._drawn(build_card(ask, channel=self.name, only_on=only_on)),
            weight=weight_of(ask),
        )
        shows = f"{ask.attention.raised} {sha256_hex(json.dumps(message).encode())[:16]}"
        rings = place is None or place.split()[:1] != shows.split()[:1]
        if not rings and (place == shows or not self._updates):
            return Shown(place=shows)
        loud = rings and self._is_loud(ask)
        high = URGENT if ask.attention.priority is Priority.URGENT else RINGS
        self._updates = await self._publish(ask.id, high if loud else SILENT, **message)
        return Shown(place=shows, messages=int(place is None))

    def _is_loud(self, ask: Ask) -> bool:
        now = self._clock.time()
        sound = self._inbox.nights.sound(ask, now=now)
        if sound is Sound.ONCE and now - self._rang_at >= ONE_RING_SECONDS:
            self._rang_at, sound = now, Sound.LOUD
        return sound is Sound.LOUD

    async def announce(self, notice: Notice) -> bool:
        silent = notice.level is Level.INFO or self._inbox.nights.is_quiet(self._clock.time())
        title = _line(f"{GLYPHS[notice.level]} {notice.project.name}", notice.title)
        message = _plain(notice.message)
        await self._publish(notice.id, SILENT if silent else RINGS, title=title, message=message)
        return True

    async def summarize(self, summary: nights.Summary, *, place: str | None, again: bool) -> Shown:
        """Once: what is open has notifications of its own."""
        if place is None:
            name, text = f"summary-{summary.period.end:.0f}", "\n".join(summary.counts)
            title = _line(f"{nights.GLYPH} {summary.heading}")
            await self._publish(name, RINGS, title=title, message=text, click=summary.inbox)
        return Shown(place="out")

    async def tell(self, remark: Remark) -> None:
        if self.name not in remark.told:
            text = _plain(remark.text)
            await self._publish(remark.id, SILENT, title="chatbridge", message=text)
            remark.told.add(self.name)

    async def _publish(self, sequence: str, priority: int, **message: Any) -> bool:
        where: Json = {"topic": self._table.topic, "sequence_id": sequence, "priority": priority}
        return await self._noted(self._api.publish(**where, **message))

    async def _noted(self, work: Awaitable[T]) -> T:
        """Note what is wrong. A pause that the server asks for is not."""
        try:
            found = await work
        except (ChatRefused, TokenRejected, RetryLater) as error:
            self._trouble = self._trouble if getattr(error, "after", None) else str(error)
            raise
        self._trouble = None
        return found

    # ── a card as a notification ──────────────────────────────────────────────────────────────────

    def _drawn(self, card: Card) -> Json:
        lines = [_plain(card.question or "Send these answers?")]
        if card.subject is not None:
            lines.append(_plain(card.subject.code)[:300])
        if card.only_on:
            lines.append(f"Answer it here: {', '.join(map(title_of, card.only_on))}")
        step = f"{card.number} of {card.count}" if card.count > 1 else None
        page = f"{self._page()}/asks/{card.ask_id}" if self._page() else None
        opens = [{"action": "view", "label": "Open inbox", "url": page}] if page else []
        return {
            "title": _line(f"{card.glyph} {card.project}", card.title or card.agent, step),
            "message": "\n".join(lines),
            "click": page,
            "actions": [*self._actions(card), *opens][:MOST_ACTIONS],
        }

    def _actions(self, card: Card) -> Iterator[Json]:
        """The buttons that answer, if all options fit. Approvals have none."""
        if not self._table.answers or card.approval or len(card.choices) > MOST_ACTIONS:
            return
        url = f"{self._table.server}/{self._table.answers_to}"
        for key in sum(keyboard.rows(card, Seen(now=0.0), BUTTONS, listed=False), ()):
            if isinstance(tap := decode(key.data), Tap) and isinstance(tap.action, ACTIONS):
                body = signed(key.data, self._secret)
                yield {"action": "http", "label": key.text, "url": url, "body": body}


def _line(*parts: str | None) -> str:
    return clipped(one_line(" · ".join(filter(None, parts))), TITLE)


def _plain(source: str) -> str:
    """An agent's markdown as text that fits."""
    block = doc.Markdown(source=prose(source), limit=TEXT, asking=False)
    return write_plain((block,), now=0.0)


def build(table: Ntfy, context: ChannelContext) -> NtfyChannel:
    key = table.token.get_secret_value() if table.token else ""
    for secret in (table.topic, table.answers_to, key):
        hide(secret)
    return NtfyChannel(table, context)
