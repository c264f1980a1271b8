"""One room as a surface: posts cards, edits them, and keeps their reactions in order.

Owns which messages an ask has in this room: the root, the steps in its thread, pages, a reminder.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.document import Document
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.planner import (
    NO_REMINDER,
    AddReaction,
    CardMessage,
    EditCard,
    PlainStep,
    Posted,
    RemoveReaction,
    SendAttachment,
    SendCard,
    SendReminder,
    Step,
    Wanted,
    is_reminder_due,
    is_untouched,
    plan,
    sends_message,
)
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.content import transaction
from chatbridge.channels.matrix.client.errors import MayNot, Rejected
from chatbridge.channels.matrix.client.events import Mark, marked
from chatbridge.channels.matrix.outbound.card_messages import (
    OVER,
    BotReaction,
    CardMessages,
    MultiSelectReactions,
    Part,
    from_text,
    to_text,
)
from chatbridge.channels.matrix.outbound.visibility import OwnEvents, Visibility
from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.card import (
    draw_card,
    draw_past,
    draw_reminder,
    draw_root,
    pages_of,
)
from chatbridge.channels.matrix.render.html import Words, write
from chatbridge.channels.matrix.render.notices import draw_notice
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater
from chatbridge.core.forms.emoji_shortcuts import reactions
from chatbridge.core.model import Ask, ChannelState, Level, Notice, QuestionType
from chatbridge.core.ports import Clock, Remark, Shown

log = logging.getLogger(__name__)

MAX_SURE = 1_000


class Chat(ChatSurface):
    pace = RateLimit()
    """Every homeserver has limits of its own, and says so when they are reached."""

    def __init__(
        self,
        api: Api,
        home: str,
        *,
        people: Allowlist[str],
        own_events: OwnEvents,
        clock: Clock,
        reactions: bool,
    ) -> None:
        """`home` is a room, or a person: then it is the room that they invite the bot to."""
        super().__init__(f"matrix:{home}", service="Matrix", clock=clock)
        self.home = home
        self.room = home if home.startswith("!") else None
        self.visibility = Visibility(own_events=own_events, clock=clock)
        self._api = api
        self._people = people
        self._own_events = own_events
        self._reactions = reactions
        self._sure: set[str] = set()
        """Asks of which every reaction is known: all were sent by this hub, and none in doubt."""

    @property
    def is_there(self) -> bool:
        return self.room is not None

    def attach(self, inbox: AskActions) -> None:
        super().attach(inbox)
        self.picks = MultiSelectReactions(inbox, surface=self.name, clock=self._clock)

    @property
    def viewer(self) -> str | None:
        """Whose room this is, if it is one person's alone."""
        others = set(self._api.members(self.room or "")) - {self._api.user_id}
        allowed = self._people.among(others)
        return allowed[0] if len(others) == 1 and allowed else None

    @property
    def strangers(self) -> int:
        return self._people.strangers_among(self._api.members(self.room or ""))

    async def lost(self, ask: Ask, event: str) -> None:
        """Somebody has removed a message of this ask's."""
        value = " ".join((*await self._removed(ask), event))
        key, now = self._lost_key(ask), self._clock.time()
        await self._inbox.remember(ChannelState(channel="matrix", key=key, value=value, at=now))

    async def _removed(self, ask: Ask) -> list[str]:
        note = await self._inbox.note("matrix", self._lost_key(ask))
        return note.value.split() if note is not None else []

    def _lost_key(self, ask: Ask) -> str:
        return f"lost:{self.name}:{ask.id}"

    async def announce(self, notice: Notice) -> bool:
        async with self._writing() as room:
            loud = notice.level is not Level.INFO
            mentions = self._allowed_in(room) if loud else ()
            new = content.message(draw_notice(notice), notice=not loud, mentions=mentions)
            await self._api.send(room, new, tx=transaction("notice", self.name, notice.id))
        return True

    async def tell(self, remark: Remark) -> None:
        assert self.room is not None
        new = content.message(notices.remark(remark.text), notice=True)
        await self._api.send(self.room, new, tx=transaction("tell", remark.id, self.name))

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        async with self._writing() as room:
            known = from_text(place) if place else None
            if place and known is None:
                self.visibility.shown_cards.gone(ask)
                raise PostGone  # wherever it is
            return await self._show(ask, known, room)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[str]:
        """The room to write to. What goes wrong there is this surface's trouble."""
        if self.room is None:
            raise ChatRefused(
                f"matrix: {self.home} has not invited the bot yet. Start a chat with "
                f"{self._api.user_id} in your Matrix app, or set matrix.room_id"
            )
        with self.watched():
            yield self.room

    async def _show(self, ask: Ask, place: CardMessages | None, room: str) -> Shown:
        """One step at a time: each is recorded before the next."""
        if place is not None and place.room != room:
            self.visibility.shown_cards.gone(ask)
            raise PostGone  # it is in the room that this one was
        removed = await self._removed(ask)
        place, old = _without(place, removed)
        card = await self.card_of(ask)
        step = await self._next_step(ask, card, place)
        if step is not None:
            place = await self._do(step, ask, card, place, room, removed)
            place = replace(place, parts=(*place.parts, *old))
        assert place is not None
        left = await self._next_step(ask, card, place)
        if left is None and card.view is None:
            await self._sweep(ask, place)
            await self.picks.forget(ask)
            await self._inbox.forget("matrix", self._lost_key(ask))
        return Shown(
            place=to_text(place),
            handles=tuple(part.event for part in place.parts),
            messages=sends_message(step),
            complete=left is None,
            cleanup_only=isinstance(left, RemoveReaction) or left is PlainStep.REMOVE_REMINDER,
        )

    async def _next_step(
        self, ask: Ask, card: Card, place: CardMessages | None
    ) -> Step[Words] | None:
        multi = card.type is QuestionType.MULTI_SELECT
        reacted = await self.picks.of(ask, place.newest.event) if multi and place else {}
        seen = Seen(
            now=self._clock.time(),
            reactions=self._reactions,
            reacted=frozenset(reacted.values()),
            viewer=self.viewer,
        )
        return await off_loop(partial(next_step, ask, card, place, seen), weight=weight_of(ask))

    async def lacks(self, ask: Ask) -> bool:
        """Whether something that has to be read before this is allowed is not known to be out."""
        post = await self._inbox.post(ask.id, surface=self.name)
        place = from_text(post.place) if post else None
        return await off_loop(
            lambda: _lacks_pages(build_card(ask, channel="matrix"), place), weight=weight_of(ask)
        )

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────

    async def _do(
        self,
        step: Step[Words],
        ask: Ask,
        card: Card,
        place: CardMessages | None,
        room: str,
        removed: Sequence[str],
    ) -> CardMessages:
        if isinstance(step, SendCard):
            return await self._post(step.drawing, ask, card, place, room, removed)
        assert place is not None
        root = place.root.event
        match step:
            case SendAttachment(number=number):
                page = content.message(pages_of(card)[number], notice=True)
                new = {**page, **content.in_thread(root, after=place.newest.event)}
                tx = transaction("page", root, str(number))
                return replace(place, pages=(*place.pages, await self._api.send(room, new, tx=tx)))
            case EditCard(message=event, drawing=drawing):
                tx = transaction("edit", event, str(ask.revision), digest(drawing))
                new = content.edit(drawing, event, notice=event != root)
                sent = await self._api.send(room, new, tx=tx)
                if card.view is None and event == place.newest.event:
                    self.visibility.shown(ask, by=sent, viewer=self.viewer)
                return place.having(replace(place[event], shows=digest(drawing)))
            case AddReaction(message=event, emoji=emoji):
                return await self._react(place[event], emoji, place, ask.id)
            case RemoveReaction(message=event, emoji=emoji):
                part = place[event]
                await self._take_away(room, next(s.event for s in part.seeds if s.emoji == emoji))
                seeds = tuple(seed for seed in part.seeds if seed.emoji != emoji)
                return place.having(replace(part, seeds=seeds))
            case SendReminder(drawing=drawing):
                reminder = content.message(drawing, mentions=self._allowed_in(room))
                new = {**reminder, **content.in_thread(root, after=place.newest.event)}
                sent = await self._api.send(room, new, tx=transaction("remind", root))
                return replace(place, reminder=sent)
            case PlainStep.REMOVE_REMINDER:
                await self._take_away(room, place.reminder or NO_REMINDER)
                return replace(place, reminder=NO_REMINDER)
            case _:
                raise AssertionError(f"Matrix has no {step}")

    async def _post(
        self,
        drawing: Words,
        ask: Ask,
        card: Card,
        place: CardMessages | None,
        room: str,
        removed: Sequence[str],
    ) -> CardMessages:
        if place is None:
            await self.explain_gap(partial(self._explain, room))
        # Who is asked for the next step has just answered the one before: it is silent.
        mentions = self._allowed_in(room) if place is None else ()
        new = {
            **content.message(drawing, notice=place is not None, mentions=mentions),
            **marked(Mark(ask_id=ask.id, step=card.step)),
        }
        if place is not None:
            new |= content.in_thread(place.root.event, after=place.newest.event)
        tx = transaction("card", self.name, ask.id, str(card.step), *removed)
        if place is not None:
            self.visibility.showing(ask)
        sent = await self._api.send(room, new, tx=tx)
        self._own_events.sent(sent)
        if place is None:
            self.visibility.posted(ask, by=sent, viewer=self.viewer)
        else:
            self.visibility.shown(ask, by=sent, viewer=self.viewer)
        part = Part(
            event=sent,
            step=card.step,
            view=ask.draft.view,
            at=min(ask.draft.at, len(ask.questions) - 1),
            shows=digest(drawing),
        )
        if place is not None:
            return place.having(part)
        if len(self._sure) >= MAX_SURE:
            self._sure.clear()
        self._sure.add(ask.id)
        late = is_reminder_due(ask, now=self._clock.time())
        return CardMessages(room=room, parts=(part,), reminder=NO_REMINDER if late else None)

    async def _explain(self, room: str, why: Document, since: float) -> None:
        new = content.message(write(why, now=self._clock.time()), notice=True)
        await self._api.send(room, new, tx=transaction("gap", self.name, str(since)))

    async def _react(
        self, part: Part, emoji: str, place: CardMessages, ask_id: str
    ) -> CardMessages:
        tx = transaction("seed", part.event, emoji)
        try:
            event = await self._api.react(place.room, part.event, emoji, tx=tx)
        except RetryLater as error:
            if error.after is None:
                self._sure.discard(ask_id)
            raise
        except MayNot as error:
            log.warning("%s: without reactions, so answers are typed: %s", self.name, error)
            self._reactions = False
            return place
        seed = BotReaction(emoji=emoji, event=event)
        return place.having(replace(part, seeds=(*part.seeds, seed)))

    async def _sweep(self, ask: Ask, place: CardMessages) -> None:
        """A reaction may have arrived though the hub was killed, or the connection lost, before it
        heard so."""
        if ask.id not in self._sure:
            for part in place.parts:
                for event in await self._api.own_reactions(place.room, part.event):
                    await self._take_away(place.room, event)

    async def _take_away(self, room: str, event: str) -> None:
        try:
            await self._api.redact(room, event, tx=transaction("redact", event))
        except (MayNot, Rejected) as error:
            log.debug("%s: %s stays: %s", self.name, event, error)

    def _allowed_in(self, room: str) -> list[str]:
        return self._people.among(self._api.members(room))


def _without(
    place: CardMessages | None, removed: Sequence[str]
) -> tuple[CardMessages | None, tuple[Part, ...]]:
    """What is left of it; if the root is gone, only messages that others take the place of."""
    if place is None:
        return None, ()
    parts = tuple(part for part in place.parts if part.event not in removed)
    if place.root.event in removed:
        return None, tuple(replace(part, step=OVER) for part in parts)
    return replace(place, parts=parts), ()


# ── what is to be done ────────────────────────────────────────────────────────────────────────────


def next_step(ask: Ask, card: Card, place: CardMessages | None, seen: Seen) -> Step[Words] | None:
    """The next step towards showing the ask as it is. Pure."""
    seen = replace(seen, unsent=_lacks_pages(card, place))

    def draw_finished(message: CardMessage) -> Words:
        assert place is not None
        part = place[message.id]
        return draw_past(ask, view=part.view, at=part.at)

    wanted = Wanted(
        step=card.step if card.view is not None else None,
        card=lambda: draw_card(card, seen),
        root=lambda: draw_root(card, seen),
        past=draw_finished,
        reminder=lambda: draw_reminder(card, seen),
        digest=digest,
        reactions=tuple(each.emoji for each in reactions(card)) if seen.reactions else (),
        attachments=len(pages_of(card)),
        remind=is_reminder_due(ask, now=seen.now),
        untouched=is_untouched(ask),
    )
    return next(plan(wanted, _posted(place) if place is not None else None), None)


def _posted(place: CardMessages) -> Posted:
    return Posted(
        cards=tuple(
            CardMessage(
                id=part.event,
                step=None if part.step == OVER else part.step,
                shows=part.shows,
                reactions=tuple(seed.emoji for seed in part.seeds),
            )
            for part in place.parts
        ),
        attachments=len(place.pages),
        reminder=place.reminder,
    )


def _lacks_pages(card: Card, place: CardMessages | None) -> bool:
    return card.approval and len(pages_of(card)) > (len(place.pages) if place else 0)


def digest(drawing: Words) -> str:
    return hashlib.sha256(f"{drawing.body}\0{drawing.html}".encode()).hexdigest()[:16]
