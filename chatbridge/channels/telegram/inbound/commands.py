"""The bot's commands, for allowed people only."""

from __future__ import annotations

import re

from telegram import Message

from chatbridge.channels.chat import approvals
from chatbridge.channels.chat import notices as chat_notices
from chatbridge.channels.chat.card_requests import Wish
from chatbridge.channels.chat.document import Document
from chatbridge.channels.chat.document import Message as Note
from chatbridge.channels.telegram.inbound.people import person_of
from chatbridge.channels.telegram.inbound.replies import Voice
from chatbridge.channels.telegram.inbound.texts import replied_to
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.render import notices
from chatbridge.core.cards.phrases import format_end, format_only_on
from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.ports import AskActions, Clock

NAMES = ("start", *(name for name, _ in notices.COMMANDS))
ANOTHER_BOTS = ""
LISTED = 10
_COMMAND = re.compile(r"/(\w+)(?:@(\w+))?(?:\s|$)")


class Commands:
    def __init__(self, inbox: AskActions, *, username: str, clock: Clock, voice: Voice) -> None:
        self._voice = voice
        self._inbox = inbox
        self._username = username
        self._clock = clock

    def name_in(self, message: Message) -> str | None:
        """The command that this message is; a text that only looks like one is a text. Where a
        prompt is out, an app sends a command from the menu as a reply to it."""
        text = (message.text or "").strip()
        found = _COMMAND.match(text)
        if found is None or found[1] not in NAMES:
            return None
        if replied_to(message) is not None and found.end() < len(text):
            return None
        addressed = found[2] is None or found[2].casefold() == self._username.casefold()
        return found[1] if addressed else ANOTHER_BOTS

    async def run(self, name: str, message: Message, chat: Chat, cursor: ChannelState) -> None:
        said = await self._answer(name, message, chat, cursor)
        if said is not None:
            await self._voice.say(said, to=message, reply=False)

    async def _answer(
        self, name: str, message: Message, chat: Chat, cursor: ChannelState
    ) -> str | Document | Note | None:
        """What the bot says to it, if anything."""
        match name:
            case "pending":
                listed = await self._inbox.open_rows(limit=chat_notices.LISTED_AT_MOST)
                return chat_notices.pending(listed)
            case "history":
                rows = await self._inbox.past_rows(limit=LISTED)
                return chat_notices.history(rows, channel="telegram")
            case "cancel":
                listed = await self._inbox.open_rows(limit=chat_notices.LISTED_AT_MOST)
                if listed.only is not None:
                    ask = await self._inbox.ask(listed.only.id)
                    return await self._ask_to_cancel(ask, message, chat, cursor)
                return chat_notices.pending(listed)
            case "start" | "help":
                return notices.help_text(private=chat.private)
            case _:
                return None

    async def _ask_to_cancel(
        self, ask: Ask, message: Message, chat: Chat, cursor: ChannelState
    ) -> str | Document | Note | None:
        """The only open card asks whether to cancel, at the bottom of the chat. An approval comes
        there as it is: it is denied, not cancelled."""
        assert message.from_user is not None
        if ask.approval:
            chat.wishes.add(ask.id, Wish(anew=True))
            await self._inbox.redraw(ask.id)
            channels = self._inbox.only_on(ask, "telegram")
            return format_only_on(channels) if channels else approvals.NOT_CANCELLED
        event = form.AskCancel(step=ask.draft.step)
        try:
            step = await self._inbox.put(
                ask.id, event, person=person_of(message.from_user, chat=chat.id), cursor=cursor
            )
        except AskEnded:
            ended = await self._inbox.ask(ask.id)
            return format_end(ended, now=self._clock.time())
        chat.wishes.add(ask.id, Wish(anew=True))
        if isinstance(step, form.Refused):  # it asks already
            await self._inbox.redraw(ask.id)
        return None
