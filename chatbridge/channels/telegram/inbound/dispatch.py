"""Turns updates into what the chat kit knows: a tap, a command, a text, files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, Update, User

from chatbridge.channels.chat.agent_receiver import TELL
from chatbridge.channels.chat.callback_data import decode
from chatbridge.channels.chat.commands import COMMANDS
from chatbridge.channels.chat.inbound import Origin
from chatbridge.channels.chat.incoming import Incoming, Sender
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.receiver import ButtonReceiver, Reception
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.attached import Attached, attached
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import ChannelState

TAKEN_COMMANDS = ("start", *(name for name, _ in COMMANDS))
ANOTHER_BOTS = ""
_COMMAND = re.compile(r"/(\w+)(?:@(\w+))?(?:\s|$)")
TAKEN = "👍"
ALBUMS = 20


class Receiver(ButtonReceiver):
    lists_people = True

    def __init__(
        self,
        reception: Reception,
        *,
        api: Api,
        username: str,
        migrated: Callable[[Chat, int], None],
        caught_up: Callable[[], bool],
    ) -> None:
        super().__init__(reception)
        self._api = api
        self._username = username
        self._migrated = migrated
        self._caught_up = caught_up
        self._albums: dict[str, Sequence[Message]] = {}
        """The last ones: a reply names one message of an album only."""

    async def take(self, updates: Sequence[Update], cursor: ChannelState) -> None:
        """Deal with one update, or with those of an album. The cursor is committed together with an
        effect on an ask.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        query = updates[0].callback_query
        if query is not None:
            await self._tapped(query, cursor)
        elif messages := [update.message for update in updates if update.message is not None]:
            await self._message(messages, cursor)

    def origin(self, by: Sender, chat: ChatSurface[Any], cursor: ChannelState | None) -> Origin:
        prompt = CardRequest(typing=(int(by.id), by.name))
        return replace(super().origin(by, chat, cursor), prompt=prompt)

    # ── taps ──────────────────────────────────────────────────────────────────────────────────────

    async def _tapped(self, query: CallbackQuery, cursor: ChannelState) -> None:
        """Every tap is answered, right after the commit, so that "Sent" is true. For a stranger the
        spinner stops, and that is all."""
        message, sender = query.message, _sender(query.from_user)
        by = self.allowed(sender, str(message.chat.id), cursor) if message is not None else None
        if by is None or message is None:
            self._spawn(self._answer(query, ""))
            return
        # Telegram does not say when: what was there at the start counts as old.
        old = not self._caught_up()
        doing = self.tap(decode(query.data or ""), self._incoming(message), by, before_start=old)
        await self.in_time(doing, lambda told: self._answer(query, told or ""))

    async def _answer(self, query: CallbackQuery, text: str) -> None:
        with suppress(Rejected):  # too old, after downtime
            try:
                await self._api.answer(query.id, text)
            except RetryLater as error:
                if error.after is not None:
                    raise
                await self._api.answer(query.id, text)

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _message(self, messages: Sequence[Message], cursor: ChannelState) -> None:
        message = messages[0]
        chat = self.chat_at(str(message.chat.id))
        supergroup = message.migrate_to_chat_id
        if isinstance(chat, Chat):
            if not chat.private and supergroup is not None and supergroup < 0:
                # Telegram itself says so, whoever the person was that changed the group.
                self._migrated(chat, supergroup)
                return
            chat.passed(messages[-1].message_id)
            if message.media_group_id is not None:
                self._albums[message.media_group_id] = messages
                if len(self._albums) > ALBUMS:
                    del self._albums[next(iter(self._albums))]
        if not (message.text or message.effective_attachment):
            return  # somebody joined, a title changed, …
        if message.sender_chat is not None or message.from_user is None:
            return  # in the name of a group or a channel: that may be anybody
        incoming = self._incoming(message)
        await self.written(
            incoming,
            _sender(message.from_user),
            cursor,
            direct=message.chat.id == message.from_user.id and not message.from_user.is_bot,
            command=self._command_in(message, incoming.text),
        )

    def _command_in(self, message: Message, text: str | None) -> str | None:
        """The command that this message is; a text that only looks like one is a text. Where a
        prompt is out, an app sends a command from the menu as a reply to it."""
        text = (text or "").strip()
        found = _COMMAND.match(text)
        if found is None or found[1] not in TAKEN_COMMANDS:
            return None
        says_more = _replied_to(message) is not None and found.end() < len(text)
        if found[1] != TELL and (says_more or message.text is None):
            return None
        addressed = found[2] is None or found[2].casefold() == self._username.casefold()
        return found[1] if addressed else ANOTHER_BOTS

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    async def take_buttons(self, message: Incoming) -> None:
        await self._api.take_buttons(int(message.room), int(message.id))

    async def mark_taken(self, message: Incoming) -> None:
        await self._api.react(int(message.room), int(message.id), TAKEN)

    def _incoming(self, message: MaybeInaccessibleMessage) -> Incoming:
        """One of more than two days ago is only a number."""
        room, number = str(message.chat.id), str(message.message_id)
        if not isinstance(message, Message):
            return Incoming(room=room, id=number)
        replied, sender = _replied_to(message), message.from_user
        thread = message.message_thread_id if message.is_topic_message else None
        album = self._albums.get(message.media_group_id or "", [message])
        files = tuple(map(self._file, filter(None, map(attached, album))))
        captions = "\n".join(each.caption for each in album if each.caption)
        return Incoming(
            room=room,
            id=number,
            text=(captions or None) if files else message.text,
            files=files,
            at=message.date.timestamp(),
            topic=str(thread) if thread else None,
            ours=sender is not None and str(sender.id) == self._api.bot_id,
            buttons=_buttons(message),
            replied=self._incoming(replied) if replied is not None else None,
            quoted=bool(message.forward_origin or message.via_bot),
        )

    def _file(self, it: Attached) -> IncomingFile:
        fetch = partial(self._api.fetch, it.id)
        return IncomingFile(read=fetch, name=it.name, size=it.size, voice=it.voice)


def _replied_to(message: Message) -> Message | None:
    """The message that a person chose to reply to. In a topic every plain message replies to the
    one that opened the topic."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _buttons(message: Message) -> tuple[str, ...]:
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    data = (button.callback_data for row in rows for button in row)
    return tuple(each for each in data if isinstance(each, str))


def _sender(user: User) -> Sender:
    username = display_name(user.username) if user.username else None
    return Sender(id=user.id, name=display_name(user.full_name), username=username)
