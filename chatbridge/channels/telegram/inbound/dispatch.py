"""Turns updates into what the chat kit knows: a tap, a command, a text. Carries out its replies.

A stranger's updates end here, without an effect and without an answer, unless they bring a code
that somebody at the terminal waits for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, Update, User

from chatbridge.channels.chat.callback_data import decode
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.document import Message as Note
from chatbridge.channels.chat.inbound import Origin, Spawn, patiently
from chatbridge.channels.chat.people import Allowlist, display_name
from chatbridge.channels.chat.receiver import COMMANDS, ButtonReceiver, Incoming
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.render import notices
from chatbridge.channels.telegram.render.html import write
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.pairing import Claim, Pairing
from chatbridge.core.ports import Clock

TAKEN_COMMANDS = ("start", *(name for name, _ in COMMANDS))
ANOTHER_BOTS = ""
_COMMAND = re.compile(r"/(\w+)(?:@(\w+))?(?:\s|$)")
TAKEN = "👍"


class Receiver(ButtonReceiver):
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
        caught_up: Callable[[], bool],
        pairing: Pairing | None = None,
    ) -> None:
        super().__init__(inbox, channel="telegram", clock=clock, spawn=spawn)
        self._api = api
        self._chats = chats
        self._people = people
        self._username = username
        self._migrated = migrated
        self._caught_up = caught_up
        self._pairing = pairing

    async def take(self, update: Update, cursor: ChannelState) -> None:
        """Deal with one update. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        if update.callback_query is not None:
            await self._tapped(update.callback_query, cursor)
        elif update.message is not None:
            await self._message(update.message, cursor)

    def _chat(self, number: int) -> Chat | None:
        return next((chat for chat in self._chats if chat.id == number), None)

    # ── taps ──────────────────────────────────────────────────────────────────────────────────────

    async def _tapped(self, query: CallbackQuery, cursor: ChannelState) -> None:
        """Every tap is answered, right after the commit, so that "Sent" is true. For a stranger the
        spinner stops, and that is all."""
        message = query.message
        chat = self._chat(message.chat.id) if message is not None else None
        if not self._people.allows(query.from_user.id) or message is None or chat is None:
            self._spawn(self._answer(query, ""))
            return
        by = _origin(query.from_user, chat, cursor)
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

    async def _message(self, message: Message, cursor: ChannelState) -> None:
        chat = self._chat(message.chat.id)
        supergroup = message.migrate_to_chat_id
        if chat is not None and not chat.private and supergroup is not None and supergroup < 0:
            # Telegram itself says so, whoever the person was that changed the group.
            self._migrated(chat, supergroup)
            return
        if chat is not None:
            chat.passed(message.message_id)
        if not (message.text or message.effective_attachment):
            return  # somebody joined, a title changed, …
        if message.sender_chat is not None:
            return  # in the name of a group or a channel: that may be anybody
        if self._claims(message):
            return  # whoever it was, what is said to them is for the terminal to decide
        if message.from_user is None or not self._people.allows(message.from_user.id):
            return
        command, incoming = self._command_in(message), self._incoming(message)
        if chat is None:
            if message.chat.id > 0 or command:
                not_here = notices.not_here(message.chat.id)
                self._spawn(self.answer(not_here, to=incoming, reply=False))
            return
        by = _origin(message.from_user, chat, cursor)
        if command is None:
            await self.text(incoming, by)
        else:
            words = " ".join((message.text or "").split()[1:])
            await self.command(command, words, incoming, by)

    def _command_in(self, message: Message) -> str | None:
        """The command that this message is; a text that only looks like one is a text. Where a
        prompt is out, an app sends a command from the menu as a reply to it."""
        text = (message.text or "").strip()
        found = _COMMAND.match(text)
        if found is None or found[1] not in TAKEN_COMMANDS:
            return None
        if _replied_to(message) is not None and found.end() < len(text):
            return None
        addressed = found[2] is None or found[2].casefold() == self._username.casefold()
        return found[1] if addressed else ANOTHER_BOTS

    def _claims(self, message: Message) -> bool:
        """Whether this is a Start with an open code, in the sender's own chat with the bot, which
        has their number."""
        user, words = message.from_user, (message.text or "").split()
        if self._pairing is None or user is None or user.is_bot or message.chat.id != user.id:
            return False
        if len(words) != 2 or words[0] != "/start":
            return False
        claim = Claim(
            channel="telegram",
            person=user.id,
            chat=user.id,
            name=display_name(user.full_name),
            username=display_name(user.username) if user.username else None,
        )
        return self._pairing.claim(words[1], claim)

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    async def say(self, said: Note, *, to: Incoming, reply: bool = True) -> None:
        send = partial(
            self._api.send,
            int(to.room),
            write(said.document, now=self._clock.time()),
            said.rows,
            silent=True,
            thread=_number(to.topic),
            reply_to=int(to.id) if reply else None,
        )
        await self.send_soon(send)

    async def send_file(self, file: File, *, to: Incoming) -> None:
        send = partial(self._api.send_file, int(to.room), file.name, file.content)
        at = partial(send, thread=_number(to.topic), reply_to=int(to.id))
        await patiently(at, self._clock)

    async def rewrite(self, message: Incoming, said: Note) -> None:
        html = write(said.document, now=self._clock.time())
        await self._api.edit(int(message.room), int(message.id), html, said.rows)

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
        return Incoming(
            room=room,
            id=number,
            text=message.text,
            at=message.date.timestamp(),
            topic=str(thread) if thread else None,
            ours=sender is not None and str(sender.id) == self._api.bot_id,
            buttons=_buttons(message),
            replied=self._incoming(replied) if replied is not None else None,
            quoted=bool(message.forward_origin or message.via_bot),
        )


def _number(topic: str | None) -> int | None:
    return int(topic) if topic else None


def _replied_to(message: Message) -> Message | None:
    """The message that a person chose to reply to. In a topic every plain message replies to the
    one that opened the topic."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _buttons(message: Message) -> tuple[str, ...]:
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    data = (button.callback_data for row in rows for button in row)
    return tuple(each for each in data if isinstance(each, str))


def _origin(user: User, chat: Chat, cursor: ChannelState) -> Origin:
    name = display_name(user.full_name)
    person = Person(name=name, channel="telegram", place=str(chat.id))
    prompt = CardRequest(typing=(user.id, name))
    return Origin(chat=chat, person=person, cursor=cursor, prompt=prompt)
