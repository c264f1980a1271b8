"""A message from a person: an answer if it is clear which question it is for, and what it means;
else a kind word about what would be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatbridge.channels.matrix import notices
from chatbridge.channels.matrix.api import Api
from chatbridge.channels.matrix.cards import Cards, Found
from chatbridge.channels.matrix.chat import Chat
from chatbridge.channels.matrix.echoes import Echoes
from chatbridge.channels.matrix.people import person_of
from chatbridge.channels.matrix.place import Place, from_text
from chatbridge.channels.matrix.render import Drawing
from chatbridge.channels.matrix.voice import Voice
from chatbridge.channels.matrix.wire import RoomEvent, relation
from chatbridge.core import form
from chatbridge.core.asks import takes_late_answer
from chatbridge.core.card import Act
from chatbridge.core.errors import AskEnded
from chatbridge.core.model import Ask, Note
from chatbridge.core.ports import Clock, Inbox
from chatbridge.core.typed import Unclear, meant, takes_text
from chatbridge.core.words import clock_time

LOOKED_BACK = 50
"""How many ended asks are looked at for one that a message may have been meant for."""
HELP = ("!help", "help")

_QUOTE = re.compile(r"> <@[^>\n]*>.*\n(?:>.*\n)*\n")
"""What older clients put before a reply: the message that it replies to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """An ask that takes answers and has a card in this room."""

    ask: Ask
    place: Place


class Texts:
    def __init__(
        self,
        api: Api,
        inbox: Inbox,
        *,
        cards: Cards,
        echoes: Echoes,
        clock: Clock,
        voice: Voice,
        reactions: bool,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._cards = cards
        self._echoes = echoes
        self._clock = clock
        self._voice = voice
        self._reactions = reactions
        self._began = clock.time()

    async def take(self, event: RoomEvent, chat: Chat, cursor: Note | None) -> None:
        """:raises StoreError: nothing was put in. :raises RetryLater: likewise."""
        about, kind = relation(event.content), event.content.get("msgtype")
        if about.kind == "m.replace" or kind == "m.notice" or event.redacted:
            return  # a correction of what has been dealt with; or another bot
        found = await self._cards.meant_by(event, chat)
        text = _text(event) if kind in ("m.text", "m.emote") else None
        if found is not None:
            drawing = await self._reply(event, text, found, chat, cursor)
            if drawing is not None:
                self._voice.say(drawing, to=event, root=found.root)
        elif chat.viewer is not None and about.kind is None and about.reply_to is None:
            drawing = await self._plain(event, text, chat, cursor)
            if drawing is not None:
                self._voice.say(drawing, to=event)

    async def _reply(
        self, event: RoomEvent, text: str | None, found: Found, chat: Chat, cursor: Note | None
    ) -> Drawing | None:
        """What the person is told, if anything."""
        ask, said = found.ask, (text or "").strip().casefold()
        if said in ("discard", "!discard") and ask.kept and not ask.discarded:
            discarded = await self._inbox.discard(ask.id, cursor=cursor)
            return None if discarded.discarded else notices.ended(ask, now=self._clock.time())
        late = takes_late_answer(ask) and (ask.draft.late or said == "anyway")
        if not (ask.open or late):
            return notices.ended(ask, now=self._clock.time())
        if text is None:
            return notices.only_text()
        if self._is_for_an_older_step(found):
            return notices.said(form.STALE.why)
        return await self._put(event, text, ask, cursor)

    def _is_for_an_older_step(self, found: Found) -> bool:
        step = found.ask.draft.step
        if found.step is not None:
            return found.step != step
        if found.place is None:
            return True
        newest = found.place.newest
        # The form has moved on, and what shows that was not there yet when this was written.
        return newest.step != step or self._echoes.is_ahead(newest.event)

    async def _put(
        self, event: RoomEvent, text: str, ask: Ask, cursor: Note | None
    ) -> Drawing | None:
        does = meant(ask, text)
        if isinstance(does, Unclear):
            return notices.said(does.why)
        who = person_of(event.sender, name=self._api.name_of(event.room, event.sender))
        try:
            if Act.EXTEND in does:
                later = await self._inbox.extend(ask.id, cursor=cursor)
                at = clock_time(later.deadline or 0.0)
                moved = later.deadline != ask.deadline
                return notices.said(f"Ends {at} now." if moved else f"{at} is the latest allowed.")
            events = [each for each in does if not isinstance(each, Act)]
            step = await self._inbox.put(ask.id, *events, person=who, cursor=cursor)
        except AskEnded:
            return notices.ended(await self._inbox.ask(ask.id), now=self._clock.time())
        return notices.said(step.why) if isinstance(step, form.Refused) else None

    # ── neither a reply nor in a thread ───────────────────────────────────────────────────────────

    async def _plain(
        self, event: RoomEvent, text: str | None, chat: Chat, cursor: Note | None
    ) -> Drawing | None:
        """In a room that is one person's alone."""
        if text is None:
            return None
        if text.strip().casefold() in HELP:
            return notices.help_text(reactions=self._reactions)
        here = await self._open_in(chat)
        waiting = [each for each in here if takes_text(each.ask)]
        if len(waiting) == 1 and await self._clearly_for(here, event):
            return await self._put(event, text, waiting[0].ask, cursor)
        if here:
            return notices.which_one([each.ask for each in here], now=self._clock.time())
        return notices.nothing_waits()

    async def _open_in(self, chat: Chat) -> list[Open]:
        ended = await self._inbox.history(limit=LOOKED_BACK)
        late = [a for a in ended if a.draft.late and takes_late_answer(a) and takes_text(a)]
        found = []
        for ask in (*await self._inbox.open_asks(), *late):
            post = await self._inbox.post(ask.id, surface=chat.name)
            if post is not None:
                found.append(Open(ask=ask, place=from_text(post.place)))
        return found

    async def _clearly_for(self, here: list[Open], event: RoomEvent) -> bool:
        """Whether the one question that waits for text now was the only one when the message was
        written: nothing here has moved on or ended since. What was written while no hub was there
        may have been meant for anything."""
        if event.at < self._began:
            return False
        for each in here:
            newest = each.place.newest
            if newest.step != each.ask.draft.step or self._echoes.is_ahead(newest.event):
                return False
        ended = await self._inbox.history(limit=LOOKED_BACK)
        return not any((ask.settled_at or 0.0) >= event.at for ask in ended)


def _text(event: RoomEvent) -> str:
    body = event.content.get("body")
    if not isinstance(body, str):
        return ""
    about = relation(event.content)
    return _QUOTE.sub("", body, count=1) if about.reply_to and _QUOTE.match(body) else body
