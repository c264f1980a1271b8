"""A message in an ask's thread, or in reply to one of its messages: an answer if it is clear what
it means, else a kind word about what would be."""

from __future__ import annotations

import re
from functools import partial

from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.cards import Cards, Found
from chatbridge.channels.matrix.inbound.own_events import Echoes
from chatbridge.channels.matrix.inbound.people import person_of
from chatbridge.channels.matrix.inbound.replies import Voice
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT, clock_time, format_only_on
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import allows
from chatbridge.core.forms.typed_input import Action, Unclear, interpret
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import AskActions, Clock

Meaning = tuple[Action, ...] | Unclear

_QUOTE = re.compile(r"> <@[^>\n]*>.*\n(?:>.*\n)*\n")
"""What older clients put before a reply: the message that it replies to."""


class Texts:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        cards: Cards,
        echoes: Echoes,
        clock: Clock,
        voice: Voice,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._cards = cards
        self._echoes = echoes
        self._clock = clock
        self._voice = voice

    async def take(self, event: RoomEvent, chat: Chat, cursor: ChannelState | None) -> bool:
        """Whether it was for an ask.

        :raises StoreError: nothing was put in. :raises RetryLater: likewise.
        """
        found = await self._cards.meant_by(event, chat)
        if found is None:
            return False
        drawing = await self._reply(event, text_of(event), found, chat, cursor)
        if drawing is not None:
            self._voice.say(drawing, to=event, root=found.root)
        return True

    async def _reply(
        self,
        event: RoomEvent,
        text: str | None,
        found: Found,
        chat: Chat,
        cursor: ChannelState | None,
    ) -> Words | None:
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
        action = await _meant(ask, text)
        if self._is_for_an_older_step(found) and not _is_for_any_step(action):
            return notices.said(form.STALE.why)
        if ask.approval and _allows(action) and await chat.lacks(ask):
            return notices.said(UNSENT)
        await self._cards.adopt(found, chat)
        return await self._put(event, action, ask, cursor)

    def _is_for_an_older_step(self, found: Found) -> bool:
        step = found.ask.draft.step
        if found.step is not None:
            return found.step != step
        assert found.place is not None, "a thread as a whole is known by where its messages are"
        newest = found.place.newest
        # The form has moved on, and what shows that was not there yet when this was written. The
        # thread's own root was, whether or not it has come back to us.
        ahead = newest.event != found.root and self._echoes.is_ahead(newest.event)
        return newest.step != step or ahead

    async def put(
        self, event: RoomEvent, text: str, ask: Ask, cursor: ChannelState | None
    ) -> Words | None:
        """A text for this ask, as it is now; what the person is told, if anything."""
        return await self._put(event, await _meant(ask, text), ask, cursor)

    async def _put(
        self, event: RoomEvent, action: Meaning, ask: Ask, cursor: ChannelState | None
    ) -> Words | None:
        if isinstance(action, Unclear):
            return notices.said(action.why)
        who = person_of(event.sender, name=self._api.name_of(event.room, event.sender))
        try:
            if AskAction.EXTEND in action:
                later = await self._inbox.extend(ask.id, person=who, cursor=cursor)
                at = clock_time(later.deadline or 0.0)
                moved = later.deadline != ask.deadline
                return notices.said(f"Ends {at} now." if moved else f"{at} is the latest allowed.")
            events = [each for each in action if not isinstance(each, AskAction)]
            step = await self._inbox.put(ask.id, *events, person=who, cursor=cursor)
        except AskEnded:
            return notices.ended(await self._inbox.ask(ask.id), now=self._clock.time())
        except NotHere as error:
            return notices.said(format_only_on(error.channels))
        return notices.said(step.why) if isinstance(step, form.Refused) else None


async def _meant(ask: Ask, text: str) -> Meaning:
    return await off_loop(partial(interpret, ask, text), weight=weight_of(ask))


def _is_for_any_step(action: Meaning) -> bool:
    """More time, or a late answer: what the root offers wherever the form is."""
    return not isinstance(action, Unclear) and isinstance(action[0], AskAction | form.AnswerAnyway)


def _allows(action: Meaning) -> bool:
    return not isinstance(action, Unclear) and any(map(allows, action))


def text_of(event: RoomEvent) -> str | None:
    """What somebody has typed; None for a picture, a request to verify, …"""
    kind, body = event.content.get("msgtype"), event.content.get("body")
    if kind not in ("m.text", "m.emote") or not isinstance(body, str):
        return None
    about = relation(event.content)
    return _QUOTE.sub("", body, count=1) if about.reply_to and _QUOTE.match(body) else body
