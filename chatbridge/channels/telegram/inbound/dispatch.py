"""Turns updates into what the chat kit knows: a tap, a command, a text. Carries out its replies.

A stranger's updates end here, without an effect and without an answer, unless they bring a code
that somebody at the terminal waits for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, Update, User

from chatbridge.channels.chat.callback_data import Output, Quiet, Tap, decode
from chatbridge.channels.chat.card_lookup import CardLookup, is_current
from chatbridge.channels.chat.document import File, paragraph
from chatbridge.channels.chat.document import Message as Note
from chatbridge.channels.chat.inbound import (
    UNKNOWN,
    ChatInput,
    NeedsYesOrNo,
    Origin,
    Said,
    Spawn,
    Tapped,
    patiently,
    reply_to,
)
from chatbridge.channels.chat.notices import ONLY_TEXT, yes_or_no
from chatbridge.channels.chat.outputs import Outputs
from chatbridge.channels.chat.people import Allowlist, display_name
from chatbridge.channels.chat.scene import CardRequest
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.outbound.chat import Chat
from chatbridge.channels.telegram.render import notices
from chatbridge.channels.telegram.render.html import write
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import RetryLater
from chatbridge.core.forms.form import STALE, Refused
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.pairing import Claim, Pairing
from chatbridge.core.ports import Clock

COMMANDS = ("start", *(name for name, _ in notices.COMMANDS))
ANOTHER_BOTS = ""
_COMMAND = re.compile(r"/(\w+)(?:@(\w+))?(?:\s|$)")
TAKEN = "👍"
ANSWER_WITHIN = 2.0
"""Telegram's spinner should not turn for longer, whatever the disk does."""


@dataclass
class Receiver:
    api: Api
    inbox: AskActions
    _: KW_ONLY
    chats: Sequence[Chat]
    people: Allowlist[int]
    username: str
    clock: Clock
    spawn: Spawn
    migrated: Callable[[Chat, int], None]
    caught_up: Callable[[], bool]
    pairing: Pairing | None = None

    def __post_init__(self) -> None:
        self._input = ChatInput(self.inbox, channel="telegram", clock=self.clock, typed=False)
        self._outputs = Outputs(self.inbox, self.spawn)
        self._cards = CardLookup(self.inbox)
        self._began = self.clock.time()

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
        return next((chat for chat in self.chats if chat.id == number), None)

    # ── taps ──────────────────────────────────────────────────────────────────────────────────────

    async def _tapped(self, query: CallbackQuery, cursor: ChannelState) -> None:
        """Every tap is answered, right after the commit, so that "Sent" is true. For a stranger the
        spinner stops, and that is all."""
        chat = self._chat(query.message.chat.id) if query.message is not None else None
        if not self.people.allows(query.from_user.id) or chat is None:
            self.spawn(self._answer(query, ""))
            return
        by = _origin(query.from_user, chat, cursor)
        doing = asyncio.ensure_future(self._tap(query, chat, by))
        slow = asyncio.ensure_future(self.clock.sleep(ANSWER_WITHIN))
        try:
            await asyncio.wait({doing, slow}, return_when=asyncio.FIRST_COMPLETED)
            # Also if it fails, and comes again: the spinner stops.
            told = doing.result() if doing.done() and not doing.exception() else ""
            self.spawn(self._answer(query, told))
            await doing
        finally:
            doing.cancel()
            slow.cancel()

    async def _answer(self, query: CallbackQuery, text: str) -> None:
        with suppress(Rejected):  # too old, after downtime
            try:
                await self.api.answer(query.id, text)
            except RetryLater as error:
                if error.after is not None:
                    raise
                await self.api.answer(query.id, text)

    async def _tap(self, query: CallbackQuery, chat: Chat, by: Origin) -> str:
        """What the person is told."""
        tap, message = decode(query.data or ""), query.message
        if tap is None or message is None:
            return UNKNOWN
        if isinstance(tap, Output):
            send, say = partial(self._send_file, to=message), partial(self._say, to=message)
            return await self._outputs.asked(tap.operation_id, chat, send=send, say=say)
        number = message.message_id
        if isinstance(tap, Quiet):
            # Telegram does not say when. What was there at the start is over, as with commands.
            told, said = await self._input.quiet(tap.words if self.caught_up() else "", by)
            if isinstance(said, Note):
                html = write(said.document, now=self.clock.time())
                self.spawn(self.api.edit(chat.id, number, html, said.rows))
            return told
        name = str(number)
        if tap.is_on_card:
            chat.memory.touched(tap.ask_id, name)
        written = message.reply_to_message if isinstance(message, Message) else None
        told, then = await self._input.tap(
            tap,
            by,
            is_early=partial(self._cards.is_early, message=name, chat=chat),
            written=written.text if written else None,
        )
        if then is Tapped.LOSES_BUTTONS:
            self.spawn(self.api.take_buttons(chat.id, number))
        elif then is not Tapped.STAYS:
            self.spawn(self.api.delete(chat.id, number))
        elif tap.is_on_card and (ask := await self._input.find(tap.ask_id)):
            await self._cards.found(ask.id, name, chat)
            if await self._cards.is_stray(ask, name, chat):
                self.spawn(chat.remove(str(chat.id), name))
        if written and then is Tapped.HAS_ITS_TEXT:
            self.spawn(self.api.react(chat.id, written.message_id, TAKEN))
        return told

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _message(self, message: Message, cursor: ChannelState) -> None:
        chat = self._chat(message.chat.id)
        supergroup = message.migrate_to_chat_id
        if chat is not None and not chat.private and supergroup is not None and supergroup < 0:
            # Telegram itself says so, whoever the person was that changed the group.
            self.migrated(chat, supergroup)
            return
        if chat is not None:
            chat.passed(message.message_id)
        if not (message.text or message.effective_attachment):
            return  # somebody joined, a title changed, …
        if message.sender_chat is not None:
            return  # in the name of a group or a channel: that may be anybody
        if self._claims(message):
            return  # whoever it was, what is said to them is for the terminal to decide
        if message.from_user is None or not self.people.allows(message.from_user.id):
            return
        command = self._command_in(message)
        if chat is None:
            if message.chat.id > 0 or command:
                not_here = notices.not_here(message.chat.id)
                self.spawn(self._say(not_here, to=message, reply=False))
            return
        by = _origin(message.from_user, chat, cursor)
        if command is None:
            await self._text(message, chat, by)
        elif command in ("start", "help"):
            await self._say(notices.help_text(private=chat.private), to=message, reply=False)
        else:
            # Dates are whole seconds. What was meant while no hub was there is over: "until 08:00"
            # would be another morning.
            old = message.date.timestamp() + 1 <= self._began
            words = "" if old else " ".join((message.text or "").split()[1:])
            if said := await self._input.command(command, by, words=words):
                await self._say(said, to=message, reply=False)

    def _command_in(self, message: Message) -> str | None:
        """The command that this message is; a text that only looks like one is a text. Where a
        prompt is out, an app sends a command from the menu as a reply to it."""
        text = (message.text or "").strip()
        found = _COMMAND.match(text)
        if found is None or found[1] not in COMMANDS:
            return None
        if _replied_to(message) is not None and found.end() < len(text):
            return None
        addressed = found[2] is None or found[2].casefold() == self.username.casefold()
        return found[1] if addressed else ANOTHER_BOTS

    def _claims(self, message: Message) -> bool:
        """Whether this is a Start with an open code, in the sender's own chat with the bot, which
        has their number."""
        user, words = message.from_user, (message.text or "").split()
        if self.pairing is None or user is None or user.is_bot or message.chat.id != user.id:
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
        return self.pairing.claim(words[1], claim)

    async def _text(self, message: Message, chat: Chat, by: Origin) -> None:
        """An answer if it is clear which question it is for, else the question which one is meant:
        nothing that was typed has to be typed again.

        :raises StoreError: nothing was put in. :raises RetryLater: nothing was said.
        """
        replied, cards = _replied_to(message), self._cards
        sender = replied.from_user if replied is not None else None
        # A prompt, for instance, whose number was never noted because a connection was cut.
        ours = sender is not None and str(sender.id) == self.api.bot_id
        name, buttons = (str(replied.message_id), _buttons(replied)) if replied else ("", [])
        ask_id = (
            await cards.ask_at(name, chat, buttons=buttons if ours else ()) if replied else None
        )
        ask = await self._input.find(ask_id) if ask_id else None
        if ask is not None:
            written = message.date.timestamp()
            stale = await cards.is_stale(ask, chat, message=name, buttons=buttons, written=written)
            await self._put(message, ask, by, stale=stale)
            await cards.found(ask.id, name, chat)
        elif not chat.private and not ours:
            pass  # people talk to each other
        elif not message.text:
            await self._say(ONLY_TEXT, to=message)
        elif only := await self._clearly_meant(message, chat):
            await self._put(message, only, by)
        else:
            await self._say(await self._input.ask_back(message.text, chat.name), to=message)

    async def _clearly_meant(self, message: Message, chat: Chat) -> Ask | None:
        written = message.date.timestamp()
        # A reply to anything else, or somebody else's words, may be meant otherwise; what was
        # written while no hub was there, for anything.
        foreign = message.forward_origin or message.via_bot or _replied_to(message)
        if not chat.private or foreign or written < self._began:
            return None
        thread = _thread_of(message)
        topic = str(thread) if thread else None
        current = partial(is_current, chat=chat, written=written, topic=topic)
        shown_cards = chat.visibility.shown_cards
        only = await self._input.clearly_meant(chat.name, shown_cards, is_current=current)
        if only is None or chat.visibility.is_ambiguous(written, than=only):
            return None
        return only

    async def _put(self, message: Message, ask: Ask, by: Origin, *, stale: bool = False) -> None:
        result = await self._input.text(ask, message.text or None, by, stale=stale)
        # Whether these arrive or not, the message has been dealt with.
        if isinstance(result, NeedsYesOrNo):
            await self._say(yes_or_no(result.ask), to=message)
        elif isinstance(result, Refused) and result != STALE:
            self.spawn(self._say(result.why, to=message))
        elif (told := reply_to(result)) is not None:
            await self._say(told, to=message)
        else:
            self.spawn(self.api.react(message.chat.id, message.message_id, TAKEN))

    async def _send_file(self, file: File, *, to: MaybeInaccessibleMessage) -> None:
        send = partial(self.api.send_file, to.chat.id, file.name, file.content)
        at = partial(send, thread=_thread_of(to), reply_to=to.message_id)
        await patiently(at, self.clock)

    async def _say(self, said: Said, *, to: MaybeInaccessibleMessage, reply: bool = True) -> None:
        """:raises RetryLater: telegram cannot be reached."""
        if isinstance(said, str):
            said = paragraph(said)
        if isinstance(said, tuple):
            said = Note(document=said)
        send = partial(
            self.api.send,
            to.chat.id,
            write(said.document, now=self.clock.time()),
            said.rows,
            silent=True,
            thread=_thread_of(to),
            reply_to=to.message_id if reply else None,
        )
        try:
            await send()
        except RetryLater as error:
            if error.after is None:
                raise
            # Nobody's tap has to wait for it.
            self.spawn(patiently(send, self.clock, pause=error.after))


def _thread_of(message: MaybeInaccessibleMessage) -> int | None:
    """The topic that a message stands in. One of more than two days ago is only a number."""
    if isinstance(message, Message) and message.is_topic_message:
        return message.message_thread_id
    return None


def _replied_to(message: Message) -> Message | None:
    """The message that a person chose to reply to. In a topic every plain message replies to the
    one that opened the topic."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _buttons(message: Message) -> list[Tap]:
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    data = (button.callback_data for row in rows for button in row)
    taps = (decode(each) for each in data if isinstance(each, str))
    return [tap for tap in taps if isinstance(tap, Tap)]


def _origin(user: User, chat: Chat, cursor: ChannelState) -> Origin:
    name = display_name(user.full_name)
    person = Person(name=name, channel="telegram", place=str(chat.id))
    prompt = CardRequest(typing=(user.id, name))
    return Origin(chat=chat, person=person, cursor=cursor, prompt=prompt)
