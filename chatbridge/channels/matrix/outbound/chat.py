"""One room as a surface: posts cards, edits them, and keeps their reactions in order.

Owns which messages an ask has in this room: the root, the steps in its thread, a reminder. What
they say is `render`'s business, what is to be done next `plan`'s, what a person does `receive`'s.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import assert_never

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.content import transaction
from chatbridge.channels.matrix.client.errors import MayNot, Rejected
from chatbridge.channels.matrix.client.events import Mark, marked
from chatbridge.channels.matrix.inbound.multi_select_reactions import Picks
from chatbridge.channels.matrix.inbound.own_events import Echoes
from chatbridge.channels.matrix.inbound.people import People
from chatbridge.channels.matrix.outbound.card_messages import (
    OVER,
    Part,
    Place,
    Seed,
    from_text,
    to_text,
)
from chatbridge.channels.matrix.outbound.planner import (
    NO_REMINDER,
    AddSeed,
    Deed,
    Edit,
    Remind,
    Send,
    SendPage,
    TakeReminder,
    TakeSeed,
    digest,
    missing_pages,
    next_deed,
    too_late_to_remind,
)
from chatbridge.channels.matrix.outbound.visibility import Sightings
from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.matrix.render.notices import draw_notice
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater
from chatbridge.core.model import Ask, ChannelState, Level, Notice, QuestionType
from chatbridge.core.ports import AskActions, Clock, Remark, Shown

log = logging.getLogger(__name__)

WORTH_TELLING = 5 * 60.0
REMEMBERED = 1_000


class Chat:
    persistent = True
    pace = RateLimit()
    """Every homeserver has limits of its own, and says so when they are reached."""

    def __init__(
        self, api: Api, home: str, *, people: People, echoes: Echoes, clock: Clock, reactions: bool
    ) -> None:
        """`home` is a room, or a person: then it is the room that they invite the bot to."""
        self.name = f"matrix:{home}"
        self.home = home
        self.room = home if home.startswith("!") else None
        self.trouble: str | None = None
        self._api = api
        self._people = people
        self.sightings = Sightings(echoes=echoes, clock=clock)
        self._echoes = echoes
        self._clock = clock
        self._reactions = reactions
        self._down_since: float | None = None
        self._sure: set[str] = set()
        """Asks of which every reaction is known: all were sent by this hub, and none in doubt."""

    def attach(self, inbox: AskActions) -> None:
        """Before anything is shown."""
        self._inbox = inbox
        self.picks = Picks(inbox, surface=self.name, clock=self._clock)

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
                self.sightings.attention.gone(ask)
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
        try:
            yield self.room
        except ChatRefused as error:
            self.trouble = str(error)
            raise
        except RetryLater as error:
            if error.after is None:  # a pause that a server asks for is no trouble
                self.trouble = str(error)
                self._down_since = self._down_since or self._clock.time()
            raise
        self.trouble = self._down_since = None

    async def _show(self, ask: Ask, place: Place | None, room: str) -> Shown:
        if place is not None and place.room != room:
            self.sightings.attention.gone(ask)
            raise PostGone  # it is in the room that this one was
        removed = await self._removed(ask)
        place, old = _without(place, removed)
        weight = weight_of(ask)
        drawn = partial(
            build_card,
            ask,
            channel="matrix",
            latest_deadline=self._inbox.latest_deadline(ask),
            only_on=self._inbox.only_on(ask, "matrix"),
        )
        card = await off_loop(drawn, weight=weight)
        seen = await self._seen(ask, card, place)
        deed = await off_loop(partial(next_deed, ask, card, place, seen), weight=weight)
        if deed is not None:
            place = await self._do(deed, ask, card, place, room, removed)
            place = replace(place, parts=(*place.parts, *old))
        assert place is not None
        seen = await self._seen(ask, card, place)
        left = await off_loop(partial(next_deed, ask, card, place, seen), weight=weight)
        if left is None and card.view is None:
            await self._sweep(ask, place)
            await self.picks.forget(ask)
            await self._inbox.forget("matrix", self._lost_key(ask))
        return Shown(
            place=to_text(place),
            handles=tuple(part.event for part in place.parts),
            messages=isinstance(deed, Send | SendPage | Remind),
            complete=left is None,
            cleanup_only=isinstance(left, TakeSeed | TakeReminder),
        )

    async def _seen(self, ask: Ask, card: Card, place: Place | None) -> Seen:
        multi = card.type is QuestionType.MULTI_SELECT
        reacted = await self.picks.of(ask, place.newest.event) if multi and place else {}
        return Seen(
            now=self._clock.time(),
            reactions=self._reactions,
            reacted=frozenset(reacted.values()),
            viewer=self.viewer,
            unsent=await off_loop(partial(missing_pages, card, place), weight=weight_of(ask)),
        )

    async def lacks(self, ask: Ask) -> bool:
        """Whether something that has to be read before this is allowed is not known to be out."""
        post = await self._inbox.post(ask.id, surface=self.name)
        place = from_text(post.place) if post else None
        return await off_loop(
            lambda: missing_pages(build_card(ask, channel="matrix"), place), weight=weight_of(ask)
        )

    # ── deeds ─────────────────────────────────────────────────────────────────────────────────────

    async def _do(
        self,
        deed: Deed,
        ask: Ask,
        card: Card,
        place: Place | None,
        room: str,
        removed: Sequence[str],
    ) -> Place:
        if isinstance(deed, Send):
            return await self._post(deed.drawing, ask, card, place, room, removed)
        assert place is not None
        match deed:
            case SendPage(number=number, drawing=drawing):
                new = {
                    **content.message(drawing, notice=True),
                    **content.in_thread(place.root.event, after=place.newest.event),
                }
                tx = transaction("page", place.root.event, str(number))
                sent = await self._api.send(room, new, tx=tx)
                return replace(place, pages=(*place.pages, sent))
            case Edit(part=part, drawing=drawing):
                notice = part.event != place.root.event
                sent = await self._edit(part, drawing, ask, room, notice=notice)
                if card.view is None and part.event == place.newest.event:
                    self.sightings.shown(ask, by=sent, viewer=self.viewer)
                return place.having(replace(part, shows=digest(drawing)))
            case AddSeed(part=part, emoji=emoji):
                return await self._seed(part, emoji, place, room, ask.id)
            case TakeSeed(part=part, seed=seed):
                await self._take_away(room, seed.event)
                return place.having(
                    replace(part, seeds=tuple(each for each in part.seeds if each != seed))
                )
            case Remind(drawing=drawing):
                new = {
                    **content.message(drawing, mentions=self._allowed_in(room)),
                    **content.in_thread(place.root.event, after=place.newest.event),
                }
                sent = await self._api.send(room, new, tx=transaction("remind", place.root.event))
                return replace(place, reminder=sent)
            case TakeReminder(event=event):
                await self._take_away(room, event)
                return replace(place, reminder=NO_REMINDER)
            case _:
                assert_never(deed)

    async def _post(
        self,
        drawing: Words,
        ask: Ask,
        card: Card,
        place: Place | None,
        room: str,
        removed: Sequence[str],
    ) -> Place:
        if place is None:
            await self._explain_gap(room)
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
            self.sightings.showing(ask)
        sent = await self._api.send(room, new, tx=tx)
        self._echoes.sent(sent)
        if place is None:
            self.sightings.posted(ask, by=sent, viewer=self.viewer)
        else:
            self.sightings.shown(ask, by=sent, viewer=self.viewer)
        part = Part(
            event=sent,
            step=card.step,
            view=ask.draft.view,
            at=min(ask.draft.at, len(ask.questions) - 1),
            shows=digest(drawing),
        )
        if place is not None:
            return place.having(part)
        if len(self._sure) >= REMEMBERED:
            self._sure.clear()
        self._sure.add(ask.id)
        late = too_late_to_remind(ask, now=self._clock.time())
        return Place(room=room, parts=(part,), reminder=NO_REMINDER if late else None)

    async def _explain_gap(self, room: str) -> None:
        """Say why the first card after a long time without network comes late."""
        since, now = self._down_since, self._clock.time()
        if since is not None and now - since >= WORTH_TELLING:
            why = notices.unreachable(since=since, now=now)
            tx = transaction("gap", self.name, str(since))
            await self._api.send(room, content.message(why, notice=True), tx=tx)
            self._down_since = None

    async def _edit(self, part: Part, drawing: Words, ask: Ask, room: str, *, notice: bool) -> str:
        tx = transaction("edit", part.event, str(ask.revision), digest(drawing))
        new = content.edit(drawing, part.event, notice=notice)
        return await self._api.send(room, new, tx=tx)

    async def _seed(self, part: Part, emoji: str, place: Place, room: str, ask_id: str) -> Place:
        try:
            event = await self._api.react(
                room, part.event, emoji, tx=transaction("seed", part.event, emoji)
            )
        except RetryLater as error:
            if error.after is None:
                self._sure.discard(ask_id)
            raise
        except MayNot as error:
            log.warning("%s: without reactions, so answers are typed: %s", self.name, error)
            self._reactions = False
            return place
        seed = Seed(emoji=emoji, event=event)
        return place.having(replace(part, seeds=(*part.seeds, seed)))

    async def _sweep(self, ask: Ask, place: Place) -> None:
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


def _without(place: Place | None, removed: Sequence[str]) -> tuple[Place | None, tuple[Part, ...]]:
    """What is left of it; if the root is gone, only messages that others take the place of."""
    if place is None:
        return None, ()
    parts = tuple(part for part in place.parts if part.event not in removed)
    if place.root.event in removed:
        return None, tuple(replace(part, step=OVER) for part in parts)
    return replace(place, parts=parts), ()
