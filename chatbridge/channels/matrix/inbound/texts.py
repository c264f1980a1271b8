"""A message in an ask's thread, or in reply to one of its messages: an answer if it is clear what
it means, else a kind word about what would be."""

from __future__ import annotations

import re

from chatbridge.channels.chat.inbound import ChatInput, reply_to
from chatbridge.channels.chat.notices import ONLY_TEXT
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.cards import Cards, Target
from chatbridge.channels.matrix.inbound.replies import Replies, person_of
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import Action, Unclear
from chatbridge.core.model import ChannelState

_QUOTE = re.compile(r"> <@[^>\n]*>.*\n(?:>.*\n)*\n")
"""What older clients put before a reply: the message that it replies to."""


class Texts:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        input: ChatInput,
        cards: Cards,
        own_events: OwnEvents,
        replies: Replies,
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._input = input
        self._cards = cards
        self._own_events = own_events
        self._replies = replies

    async def take(self, event: RoomEvent, chat: Chat, cursor: ChannelState | None) -> bool:
        """Whether it was for an ask.

        :raises StoreError: nothing was put in. :raises RetryLater: likewise.
        """
        found = await self._cards.meant_by(event, chat)
        if found is None:
            return False
        told = await self._reply(event, text_of(event), found, chat, cursor)
        self._replies.say(told, to=event, root=found.root)
        return True

    async def _reply(
        self,
        event: RoomEvent,
        text: str | None,
        found: Target,
        chat: Chat,
        cursor: ChannelState | None,
    ) -> str | None:
        """What the person is told, if anything."""
        ask, said = found.ask, (text or "").strip().casefold()
        if said in ("discard", "!discard") and ask.kept and not ask.discarded:
            discarded = await self._inbox.discard(ask.id, cursor=cursor)
            return None if discarded.discarded else self._input.ended(ask)
        late = takes_late_answer(ask) and (ask.draft.late or said == "anyway")
        if not (ask.open or late):
            return self._input.ended(ask)
        if text is None:
            return ONLY_TEXT
        meaning = await self._input.interpret(ask, text)
        if self._is_for_an_older_step(found) and not _is_for_any_step(meaning):
            return form.STALE.why
        if not isinstance(meaning, Unclear) and await self._input.is_unsent(ask, meaning, chat):
            return UNSENT
        await self._cards.adopt(found, chat)
        if isinstance(meaning, Unclear):
            return meaning.why
        person = person_of(event, self._api)
        return reply_to(await self._input.put(ask, *meaning, person=person, cursor=cursor))

    def _is_for_an_older_step(self, found: Target) -> bool:
        step = found.ask.draft.step
        if found.step is not None:
            return found.step != step
        assert found.place is not None, "a thread as a whole is known by where its messages are"
        newest = found.place.newest
        # The form has moved on, and what shows that was not there yet when this was written. The
        # thread's own root was, whether or not it has come back to us.
        ahead = newest.event != found.root and self._own_events.is_ahead(newest.event)
        return newest.step != step or ahead


def _is_for_any_step(meaning: tuple[Action, ...] | Unclear) -> bool:
    """More time, or a late answer: what the root offers wherever the form is."""
    first = None if isinstance(meaning, Unclear) else meaning[0]
    return isinstance(first, AskAction | form.AnswerAnyway)


def text_of(event: RoomEvent) -> str | None:
    """What somebody has typed; None for a picture, a request to verify, …"""
    kind, body = event.content.get("msgtype"), event.content.get("body")
    if kind not in ("m.text", "m.emote") or not isinstance(body, str):
        return None
    about = relation(event.content)
    return _QUOTE.sub("", body, count=1) if about.reply_to and _QUOTE.match(body) else body
