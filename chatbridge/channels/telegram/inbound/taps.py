"""A tap on a button: what it does, and the short word that Telegram shows for it.

Every tap is answered, right after the commit, so that "Sent" is true.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from telegram import CallbackQuery, Message

from chatbridge.channels.chat import approvals
from chatbridge.channels.chat.callback_data import (
    Neither,
    Output,
    Show,
    Tap,
    Use,
    Write,
    decode,
    question_shown,
)
from chatbridge.channels.chat.card import toast
from chatbridge.channels.chat.card_requests import Wish
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.inbound.outputs import Outputs
from chatbridge.channels.telegram.inbound.people import person_of
from chatbridge.channels.telegram.inbound.replies import Spawn
from chatbridge.channels.telegram.inbound.texts import TAKEN, put_text
from chatbridge.channels.telegram.outbound.card_messages import from_text
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import UNSENT, clock_time, format_end, format_only_on
from chatbridge.core.errors import AskEnded, NotHere, RetryLater, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import allows
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import AskActions, Clock

log = logging.getLogger(__name__)

ANSWER_WITHIN = 2.0
"""Telegram's spinner should not turn for longer, whatever the disk does."""
UNKNOWN = "This question is no longer here."
MESSAGE_GONE = "Your message is no longer there. Reply to the card you mean."


class Taps:
    def __init__(self, api: Api, inbox: AskActions, *, clock: Clock, spawn: Spawn) -> None:
        """`spawn` runs what nobody has to wait for."""
        self._api = api
        self._inbox = inbox
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
        try:
            ask = await self._inbox.ask(tap.ask_id)
            if not isinstance(tap.action, Show | Use):
                chat.touched(ask.id, message.message_id)
            told = await self._apply(tap, ask, query, chat, cursor)
        except UnknownAsk:
            self._spawn(self._api.take_buttons(chat.id, message.message_id))
            return UNKNOWN
        except NotHere as error:
            told = format_only_on(error.channels)
        except AskEnded:
            ask = await self._inbox.ask(tap.ask_id)
            told = format_end(ask, now=self._clock.time())
        if not isinstance(tap.action, Show | Use):
            await self._retire_stray(ask, chat, message.message_id)
        return told

    async def _apply(
        self, tap: Tap, ask: Ask, query: CallbackQuery, chat: Chat, cursor: ChannelState
    ) -> str:
        person = person_of(query.from_user, chat=chat.id)
        typing = Wish(typing=(query.from_user.id, person.name))
        match tap.action:
            case Neither():
                return ""
            case Show() | Write() | Use() if _over(ask, tap.action):
                raise AskEnded(ask.id, status=ask.status)
            case Write(step=step) | Use(step=step) if step != ask.draft.step:
                return form.STALE.why
            case Show():
                chat.wishes.add(ask.id, Wish(anew=True))
                await self._inbox.redraw(ask.id)
                return ""
            case Write():
                chat.wishes.add(ask.id, typing)
                await self._inbox.redraw(ask.id)
                return ""
            case Use():
                return await self._use(ask, query, chat, cursor)
            case AskAction.EXTEND:
                later = await self._inbox.extend(ask.id, person=person, cursor=cursor)
                moved = later.deadline != ask.deadline
                at = clock_time(later.deadline or 0.0)
                return f"Ends {at} now." if moved else f"{at} is the latest allowed."
            case AskAction.DISCARD:
                later = await self._inbox.discard(ask.id, cursor=cursor)
                if not later.discarded:
                    raise AskEnded(ask.id, status=ask.status)
                return "Discarded."
            case _:
                pass
        # Its step says as much; a card that was drawn for another question must not pass, ever.
        if ask.open and tap.question != question_shown(ask):
            return form.STALE.why
        if _allows(ask, tap):
            if await self._is_early(ask, query, chat):
                return approvals.EARLY
            if await chat.lacks(ask):
                return UNSENT
        led_to = await self._inbox.put(ask.id, tap.action, person=person, cursor=cursor)
        if isinstance(tap.action, form.Other | form.AskExplain) and isinstance(led_to, form.Moved):
            chat.wishes.add(ask.id, typing)
        asked_back = isinstance(tap.action, form.Explain | form.Rephrase)
        return await self._toast(ask, led_to, asked_back=asked_back)

    async def _toast(self, ask: Ask, led_to: form.Step, *, asked_back: bool = False) -> str:
        """By how the ask is now: it may have timed out, or lost its agent, since it was drawn."""
        after = await self._inbox.ask(ask.id) if isinstance(led_to, form.Answered) else ask
        told = partial(toast, ask, led_to, kept=after.kept, asked_back=asked_back)
        return await off_loop(told, weight=weight_of(ask))

    async def _is_early(self, ask: Ask, query: CallbackQuery, chat: Chat) -> bool:
        """Whether the button came up under the thumb: a moment ago, or so lately that Telegram has
        not even said that it is there."""
        if chat.just_shown(ask):
            return True
        message = query.message.message_id if query.message is not None else 0
        if chat.has_posted(ask, message):
            return False
        return await self._inbox.post(ask.id, surface=chat.name) is None

    async def _use(self, ask: Ask, query: CallbackQuery, chat: Chat, cursor: ChannelState) -> str:
        """The text was typed before; this tap says which question it is for."""
        asked = query.message
        assert asked is not None
        written = asked.reply_to_message if isinstance(asked, Message) else None
        if written is None or not written.text:
            return MESSAGE_GONE
        person = person_of(query.from_user, chat=chat.id)
        step = await put_text(self._inbox, ask, written.text, person=person, cursor=cursor)
        if isinstance(step, form.Refused):
            return step.why
        self._spawn(self._api.delete(chat.id, asked.message_id))
        self._spawn(self._api.react(chat.id, written.message_id, TAKEN))
        return await self._toast(ask, step)

    async def _retire_stray(self, ask: Ask, chat: Chat, message: int) -> None:
        """A card that was sent twice because a connection was cut: both work, the one that is not
        known goes as soon as somebody touches it."""
        await chat.found(ask.id, message)
        post = await self._inbox.post(ask.id, surface=chat.name)
        if post is None or chat.has_posted(ask, message):
            return
        place = from_text(post.place)
        if place is None or place.card == NO_NUMBER:
            return
        if message not in (place.card, place.reminder):
            self._spawn(chat.remove(message))


def _allows(ask: Ask, tap: Tap) -> bool:
    """Whether it would allow something as the form is now. Who denies may be quick."""
    step = getattr(tap.action, "step", None)
    return ask.approval and ask.open and allows(tap.action) and step == ask.draft.step


def _over(ask: Ask, action: Show | Write | Use) -> bool:
    """Whether the ask is past what this button is for. A text may still be a late answer."""
    if isinstance(action, Show):
        return not ask.open
    late = takes_late_answer(ask) and (ask.draft.late or isinstance(action, Use))
    return not (ask.open or late)
