"""A message from a person: an answer if it is clear which question it is for, else the question
which one is meant. Nothing that was typed has to be typed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from telegram import Message

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import Neither, Show, Tap, Use, decode
from chatbridge.channels.chat.card_messages import CardMessages
from chatbridge.channels.chat.card_visibility import any_unseen, shown_on
from chatbridge.channels.chat.inbound import ChatInput, reply_to
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.inbound.replies import Replies, person_of, replied_to, thread_of
from chatbridge.channels.telegram.outbound.card_messages import from_text, handle
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.forms import approval, form
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, ChannelState, View
from chatbridge.core.ports import Clock

TAKEN = "👍"
REPLY_TO_ONE = "Reply to the question you mean."


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCard:
    """An ask that takes answers and has a card in this chat."""

    ask: Ask
    place: CardMessages | None
    """None: what is stored of it cannot be read."""


class Texts:
    def __init__(
        self, api: Api, inbox: AskActions, *, input: ChatInput, clock: Clock, replies: Replies
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._input = input
        self._clock = clock
        self._replies = replies
        self._began = clock.time()

    async def take(self, message: Message, chat: Chat, cursor: ChannelState) -> None:
        """:raises StoreError: nothing was put in. :raises RetryLater: nothing was said."""
        replied = replied_to(message)
        found = await self._ask_of(replied, chat) if replied is not None else None
        if replied is not None and found is not None:
            await self._reply(message, found, replied, chat, cursor)
            await chat.found(found.id, replied.message_id)
        elif not chat.private and not self._is_ours(replied):
            pass  # people talk to each other
        elif not message.text:
            await self._replies.say(notices.ONLY_TEXT, to=message)
        else:
            await self._plain(message, chat, cursor)

    def _is_ours(self, message: Message | None) -> bool:
        """A prompt, for instance, whose number was never noted because a connection was cut."""
        sender = message.from_user if message is not None else None
        return sender is not None and str(sender.id) == self._api.bot_id

    async def _ask_of(self, replied: Message, chat: Chat) -> Ask | None:
        """The ask whose card this message is, or belongs to."""
        post = await self._inbox.post_at(handle(chat.id, replied.message_id), surface=chat.name)
        if post is not None:
            return await self._input.find(post.ask_id)
        # A card whose number is not known, because a connection was cut or nobody said it.
        if self._is_ours(replied) and replied.reply_markup is not None:
            for row in replied.reply_markup.inline_keyboard:
                for button in row:
                    data = button.callback_data
                    tap = decode(data) if isinstance(data, str) else None
                    if isinstance(tap, Tap) and not isinstance(tap.action, Show | Use | Neither):
                        chat.touched(tap.ask_id, str(replied.message_id))
                        return await self._input.find(tap.ask_id)
        return None

    async def _reply(
        self, message: Message, ask: Ask, replied: Message, chat: Chat, cursor: ChannelState
    ) -> None:
        if not (ask.open or takes_late_answer(ask)):
            await self._replies.say(self._input.ended(ask), to=message)
        elif not message.text:
            await self._replies.say(notices.ONLY_TEXT, to=message)
        elif await self._is_old_step(message, ask, replied, chat):
            await self._replies.say(form.STALE.why, to=message)
        else:
            await self._put(message, ask, chat, cursor)

    async def _is_old_step(self, message: Message, ask: Ask, replied: Message, chat: Chat) -> bool:
        """Whether the message was written for a step that is over."""
        post = await self._inbox.post(ask.id, surface=chat.name)
        place = from_text(post.place) if post is not None else None
        steps, meant = _steps(replied), str(replied.message_id)
        if place is None or (not place.root.event and steps):
            return ask.draft.step not in steps  # what it was drawn for
        if place.prompt is not None and meant == place.prompt.id:
            return place.prompt.step != ask.draft.step
        if meant not in (place.root.event, place.reminder):
            return ask.draft.step != 0  # a part of the question, or what is no longer there
        if place.root.step != ask.draft.step:
            return True
        written = _written(message)
        # Dates are whole seconds: in the one in which a question came nobody can have read it.
        unread = place.root.step > 0 and ask.draft.view is View.QUESTION
        return written < place.since or (unread and written == int(place.since))

    async def _put(self, message: Message, ask: Ask, chat: Chat, cursor: ChannelState) -> None:
        assert message.text is not None
        assert message.from_user is not None
        person = person_of(message.from_user, chat=chat.id)
        result = await self._input.put_text(ask, message.text, person=person, cursor=cursor)
        # Whether this arrives or not, the message has been dealt with.
        if (told := reply_to(result)) is not None:
            self._replies.spawn(self._replies.say(told, to=message))
        else:
            self._replies.spawn(self._api.react(chat.id, message.message_id, TAKEN))

    # ── not a reply ───────────────────────────────────────────────────────────────────────────────

    async def _plain(self, message: Message, chat: Chat, cursor: ChannelState) -> None:
        assert message.text is not None
        unseen = await any_unseen(self._inbox, chat.name, chat.visibility.shown_cards)
        here = await self._open_in(chat)
        waiting = [each for each in here if takes_text(each.ask)]
        takes_words = [each for each in here if takes_text(each.ask) or not each.ask.approval]
        # A reply to anything else, or somebody else's words, may be meant otherwise.
        foreign = message.forward_origin or message.via_bot or replied_to(message)
        clear = chat.private and not foreign and not unseen and len(waiting) == 1
        if clear and self._clearly_for(waiting[0], here, message, chat):
            await self._put(message, waiting[0].ask, chat, cursor)
        elif len(waiting) > 1:
            asks = [each.ask for each in waiting]
            await self._replies.say(notices.which_one(message.text, asks), to=message)
        elif len(waiting) == 1 or len(takes_words) == len(here) == 1:
            await self._replies.say(notices.use_it((waiting or here)[0].ask), to=message)
        elif here and not takes_words:
            asks = [each.ask for each in here]
            await self._replies.say(notices.open_asks(approval.TAP_IT.why, asks), to=message)
        elif here:
            asks = [each.ask for each in here]
            await self._replies.say(notices.open_asks(REPLY_TO_ONE, asks), to=message)
        else:
            await self._replies.say(notices.NOTHING_WAITS, to=message)

    async def _open_in(self, chat: Chat) -> Sequence[OpenCard]:
        found = await shown_on(self._inbox, chat.name)
        return [OpenCard(ask=ask, place=from_text(post.place)) for ask, post in found]

    def _clearly_for(
        self, only: OpenCard, here: Sequence[OpenCard], message: Message, chat: Chat
    ) -> bool:
        """Whether this was the one question that waited for text when the message was written, as
        it is now: nothing here has moved on or ended since, or just before without the person.
        What was written while no hub was there may have been meant for anything."""
        written = _written(message)
        places = [each.place for each in here if each.place is not None]
        if written < self._began or only.place is None or len(places) < len(here):
            return False
        if str(thread_of(message) or "") != (only.place.topic or ""):
            return False
        steps = [each.ask.draft.step for each in here]
        if any(
            place.root.step != step or place.since >= written
            for place, step in zip(places, steps, strict=True)
        ):
            return False
        return not chat.visibility.is_ambiguous(written, than=only.ask)


def _steps(card: Message) -> set[int]:
    """The steps that a card's buttons carry: one, as all are of one drawing."""
    rows = card.reply_markup.inline_keyboard if card.reply_markup is not None else ()
    found = [button.callback_data for row in rows for button in row]
    taps = [decode(data) for data in found if isinstance(data, str)]
    action = [tap.action for tap in taps if isinstance(tap, Tap)]
    steps = [getattr(each, "step", None) for each in action]
    return {step for step in steps if step is not None}


def _written(message: Message) -> float:
    return message.date.timestamp()
