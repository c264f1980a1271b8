"""Routes each update to the part that it is for: a tap, a command, a text.

A stranger's updates end here, without an effect and without an answer, unless they bring a code
that somebody at the terminal waits for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from telegram import CallbackQuery, Message, Update

from chatbridge.channels.chat.inbound import ChatInput
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.inbound.replies import (
    Replies,
    Spawn,
    claim_of,
    person_of,
    replied_to,
)
from chatbridge.channels.telegram.inbound.taps import Taps
from chatbridge.channels.telegram.inbound.texts import Texts
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.render import notices
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Clock

COMMANDS = ("start", *(name for name, _ in notices.COMMANDS))
ANOTHER_BOTS = ""
_COMMAND = re.compile(r"/(\w+)(?:@(\w+))?(?:\s|$)")


class Receiver:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        chats: Sequence[Chat],
        people: Allowlist[int],
        username: str,
        clock: Clock,
        spawn: Spawn,
        migrated: Callable[[Chat, int], None],
        pairing: Pairing | None = None,
    ) -> None:
        self._chats = chats
        self._people = people
        self._pairing = pairing
        self._migrated = migrated
        self._username = username
        self._input = ChatInput(inbox, channel="telegram", clock=clock, typed=False)
        self._replies = Replies(api, clock=clock, spawn=spawn)
        self._taps = Taps(api, inbox, input=self._input, clock=clock, spawn=spawn)
        self._texts = Texts(api, inbox, input=self._input, clock=clock, replies=self._replies)

    async def take(self, update: Update, cursor: ChannelState) -> None:
        """Deal with one update. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        if update.callback_query is not None:
            await self._tap(update.callback_query, cursor)
        elif update.message is not None:
            await self._message(update.message, cursor)

    async def _tap(self, query: CallbackQuery, cursor: ChannelState) -> None:
        chat = self._chat(query.message.chat.id) if query.message is not None else None
        if self._people.allows(query.from_user.id) and chat is not None:
            await self._taps.take(query, chat, cursor)
        else:
            self._taps.ignore(query)

    async def _message(self, message: Message, cursor: ChannelState) -> None:
        chat = self._chat(message.chat.id)
        supergroup = message.migrate_to_chat_id
        if chat is not None and not chat.private and supergroup is not None and supergroup < 0:
            # Telegram itself says so, whoever the person was that changed the group.
            self._migrated(chat, supergroup)
            return
        if not (message.text or message.effective_attachment):
            return  # somebody joined, a title changed, …
        if message.sender_chat is not None:
            return  # in the name of a group or a channel: that may be anybody
        if self._claims(message):
            return  # whoever it was, what is said to them is for the terminal to decide
        if message.from_user is None or not self._people.allows(message.from_user.id):
            return
        command = self._command_in(message)
        if chat is None:
            if message.chat.id > 0 or command:
                not_here = notices.not_here(message.chat.id)
                self._replies.spawn(self._replies.say(not_here, to=message, reply=False))
        elif command is not None:
            person = person_of(message.from_user, chat=chat.id)
            said = (
                notices.help_text(private=chat.private)
                if command in ("start", "help")
                else await self._input.command(command, surface=chat, person=person, cursor=cursor)
            )
            if said is not None:
                await self._replies.say(said, to=message, reply=False)
        else:
            await self._texts.take(message, chat, cursor)

    def _command_in(self, message: Message) -> str | None:
        """The command that this message is; a text that only looks like one is a text. Where a
        prompt is out, an app sends a command from the menu as a reply to it."""
        text = (message.text or "").strip()
        found = _COMMAND.match(text)
        if found is None or found[1] not in COMMANDS:
            return None
        if replied_to(message) is not None and found.end() < len(text):
            return None
        addressed = found[2] is None or found[2].casefold() == self._username.casefold()
        return found[1] if addressed else ANOTHER_BOTS

    def _claims(self, message: Message) -> bool:
        """Whether this is a Start with an open code, in the sender's own chat with the bot."""
        user, words = message.from_user, (message.text or "").split()
        if self._pairing is None or user is None or user.is_bot or message.chat.id != user.id:
            return False
        if len(words) != 2 or words[0] != "/start":
            return False
        return self._pairing.claim(words[1], claim_of(user))

    def _chat(self, number: int) -> Chat | None:
        return next((chat for chat in self._chats if chat.id == number), None)
