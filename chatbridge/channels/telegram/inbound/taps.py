"""A tap on a button: what it does, and the short word that Telegram shows for it.

Every tap is answered, right after the commit, so that "Sent" is true.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from telegram import CallbackQuery, Message

from chatbridge.channels.chat.callback_data import Neither, Output, Show, Use, decode
from chatbridge.channels.chat.card import toast
from chatbridge.channels.chat.inbound import ChatInput, Result, is_over, reply_to
from chatbridge.channels.chat.surface import CardRequest
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.inbound.outputs import Outputs
from chatbridge.channels.telegram.inbound.replies import Spawn, person_of
from chatbridge.channels.telegram.inbound.texts import TAKEN
from chatbridge.channels.telegram.outbound.card_messages import from_text
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.errors import RetryLater
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

ANSWER_WITHIN = 2.0
"""Telegram's spinner should not turn for longer, whatever the disk does."""
UNKNOWN = "This question is no longer here."
MESSAGE_GONE = "Your message is no longer there. Reply to the card you mean."


class Taps:
    def __init__(
        self, api: Api, inbox: AskActions, *, input: ChatInput, clock: Clock, spawn: Spawn
    ) -> None:
        """`spawn` runs what nobody has to wait for."""
        self._api = api
        self._inbox = inbox
        self._input = input
        self._clock = clock
        self._spawn = spawn
        self._outputs = Outputs(api, inbox, clock=clock, spawn=spawn)

    def ignore(self, query: CallbackQuery) -> None:
        """The spinner stops, and that is all."""
        self._spawn(self._answer(query, ""))

    async def take(self, query: CallbackQuery, chat: Chat, cursor: ChannelState) -> None:
        """Put the tap in, together with the cursor where it has an effect, and answer it.

        :raises StoreError: nothing was put in.
        """
        doing = asyncio.ensure_future(self._do(query, chat, cursor))
        slow = asyncio.ensure_future(self._clock.sleep(ANSWER_WITHIN))
        try:
            await asyncio.wait({doing, slow}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                self.ignore(query)
                await doing
                return
            self._spawn(self._answer(query, doing.result()))
        except Exception:
            self.ignore(query)  # whether it comes again or not: the spinner stops
            raise
        finally:
            doing.cancel()
            slow.cancel()

    async def _answer(self, query: CallbackQuery, text: str) -> None:
        for last in (False, True):
            try:
                await self._api.answer(query.id, text)
            except RetryLater as error:
                if last or error.after is not None:
                    raise
            except Rejected as error:
                log.debug("a tap could not be answered: %s", error)  # too old, after downtime
                return
            else:
                return

    async def _do(self, query: CallbackQuery, chat: Chat, cursor: ChannelState) -> str:
        """What the person is told."""
        tap, message = decode(query.data or ""), query.message
        if tap is None or message is None:
            return UNKNOWN
        if isinstance(tap, Output):
            return await self._outputs.asked(tap.operation_id, query, chat)
        if isinstance(tap.action, Neither):
            self._spawn(self._api.delete(chat.id, message.message_id))
            return ""
        ask = await self._input.find(tap.ask_id)
        if ask is None:
            self._spawn(self._api.take_buttons(chat.id, message.message_id))
            return UNKNOWN
        if isinstance(tap.action, Use):
            return await self._use(ask, tap.action, query, chat, cursor)
        if not isinstance(tap.action, Show):
            chat.touched(ask.id, str(message.message_id))
        person = person_of(query.from_user, chat=chat.id)
        result = await self._input.tap(
            tap,
            ask,
            surface=chat,
            person=person,
            typing=CardRequest(typing=(query.from_user.id, person.name)),
            cursor=cursor,
            is_early=partial(self._is_early, ask, message.message_id, chat),
        )
        asked_back = isinstance(tap.action, form.Explain | form.Rephrase)
        told = await self._toast(ask, result, asked_back=asked_back)
        if not isinstance(tap.action, Show):
            await self._retire_stray(ask, chat, message.message_id)
        return told

    async def _toast(self, ask: Ask, led_to: Result, *, asked_back: bool = False) -> str:
        """By how the ask is now: it may have timed out, or lost its agent, since it was drawn."""
        if isinstance(led_to, str):
            return led_to
        after = await self._inbox.ask(ask.id) if isinstance(led_to, form.Answered) else ask
        told = partial(toast, ask, led_to, kept=after.kept, asked_back=asked_back)
        return await off_loop(told, weight=weight_of(ask))

    async def _is_early(self, ask: Ask, message: int, chat: Chat) -> bool:
        """Whether the tap came too soon after the button appeared: a moment, or so soon that
        Telegram has not even said that the card is there."""
        if chat.just_shown(ask):
            return True
        if chat.has_posted(ask, str(message)):
            return False
        return await self._inbox.post(ask.id, surface=chat.name) is None

    async def _use(
        self, ask: Ask, use: Use, query: CallbackQuery, chat: Chat, cursor: ChannelState
    ) -> str:
        """The text was typed before; this tap says which question it is for."""
        if is_over(ask, use):
            return self._input.ended(ask)
        if use.step != ask.draft.step:
            return form.STALE.why
        asked = query.message
        assert asked is not None
        written = asked.reply_to_message if isinstance(asked, Message) else None
        if written is None or not written.text:
            return MESSAGE_GONE
        person = person_of(query.from_user, chat=chat.id)
        step = await self._input.put_text(ask, written.text, person=person, cursor=cursor)
        if (refused := reply_to(step)) is not None:
            return refused
        self._spawn(self._api.delete(chat.id, asked.message_id))
        self._spawn(self._api.react(chat.id, written.message_id, TAKEN))
        return await self._toast(ask, step)

    async def _retire_stray(self, ask: Ask, chat: Chat, message: int) -> None:
        """A card that was sent twice because a connection was cut: both work, the one that is not
        known goes as soon as somebody touches it."""
        await chat.found(ask.id, message)
        post = await self._inbox.post(ask.id, surface=chat.name)
        if post is None or chat.has_posted(ask, str(message)):
            return
        place = from_text(post.place)
        if place is None or not place.root.event:
            return
        if str(message) not in (place.root.event, place.reminder):
            self._spawn(chat.remove(str(chat.id), str(message)))
