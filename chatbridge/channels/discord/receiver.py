"""Turns events into what the chat kit knows: a tap, a modal, a command, a text.

Discord waits three seconds for the answer to a tap, and then tells the person that it failed. It is
answered right after the commit.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from chatbridge.channels.chat.callback_data import MeantFor, Tap, Use, decode, selected
from chatbridge.channels.chat.document import Message
from chatbridge.channels.chat.inbound import Origin
from chatbridge.channels.chat.incoming import Incoming, Modal, Sender
from chatbridge.channels.chat.markdown_writer import escape
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.receiver import NOT_FOR_YOU, ButtonReceiver, Reception
from chatbridge.channels.discord.api import Api, Body, Me, Rejected, written_at
from chatbridge.channels.discord.chat import Chat
from chatbridge.channels.discord.gateway import WRITTEN
from chatbridge.channels.discord.render import (
    CONTENT,
    ROW,
    SELECT,
    SILENT,
    VOICE,
    body,
    ephemeral,
    modal,
)
from chatbridge.channels.sockets.files import incoming
from chatbridge.channels.sockets.resumed import Event
from chatbridge.core.errors import PostGone
from chatbridge.core.model import ChannelState
from chatbridge.core.text import clipped
from chatbridge.safe_json import texts_at, value_at

COMMAND, TAP, SUBMIT = 2, 3, 5
MESSAGE, DEFERRED, MODAL = 4, 6, 9
PLAIN, REPLY = 0, 19
FORWARD = 1
TAKEN = "%F0%9F%91%8D"
NOTHING: Body = {"type": DEFERRED}
NOT_HERE = "Questions do not arrive here. To get them here, add {} to discord.channel_id."
SEE_BELOW = "See below."
CANNOT_READ = (
    "I cannot read a reply that does not mention me. Turn the @ in your reply on, or tap a button."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Incoming):
    """A command. What is said to it is the answer to its interaction."""

    token: str
    answered: list[bool] = field(default_factory=list)


class Receiver(ButtonReceiver):
    def __init__(self, reception: Reception, *, api: Api, me: Me) -> None:
        super().__init__(reception)
        self._api = api
        self._me = me

    async def take(self, event: Event, cursor: ChannelState) -> None:
        """Deal with one event. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again. :raises RetryLater: likewise.
        """
        await (self._message if event.name == WRITTEN else self._done)(event.data, cursor)

    # ── taps, modals and commands ─────────────────────────────────────────────────────────────────

    async def _done(self, data: Body, cursor: ChannelState) -> None:
        sender = _sender(value_at(data, "member", "user") or data.get("user") or {})
        room, kind = str(data.get("channel_id")), data.get("type")
        by, answer = self.allowed(sender, room, cursor), partial(self._answer, data)
        if by is None:
            why = NOT_HERE.format(room) if self._people.allows(sender.id) else NOT_FOR_YOU
            told = why if kind == COMMAND else self.told_stranger(sender, room)
            self._spawn(answer(_said(told) if told else NOTHING))
        elif kind == COMMAND:
            await self._commanded(data, by)
        elif kind == SUBMIT:
            await self.in_time(self._submitted(data, by), answer)
        elif kind == TAP:
            await self.in_time(self._tapped(data, by), answer)

    async def _tapped(self, data: Body, by: Origin) -> Body:
        name = str(value_at(data, "data", "custom_id"))
        tap = decode(name)
        if value_at(data, "data", "component_type") == SELECT:
            tap = selected(name, map(str, value_at(data, "data", "values") or ()))
        message = data.get("message") or {}
        if isinstance(tap, MeantFor) or (isinstance(tap, Tap) and isinstance(tap.action, Use)):
            message = await self._with_replied(message)
        old = written_at(str(data.get("id"))) < self._began
        then = await self.tap_or_form(tap, self._incoming(message), by, before_start=old)
        if isinstance(then, Modal):
            return {"type": MODAL, "data": modal(then)}
        return _said(escape(then)) if then else NOTHING

    async def _with_replied(self, message: Body) -> Body:
        """Discord does not always bring the message along that another one replies to."""
        replied = value_at(message, "message_reference", "message_id")
        if not message.get("referenced_message") and isinstance(replied, str):
            with suppress(PostGone, Rejected):
                found = await self._api.message(str(message.get("channel_id")), replied)
                return {**message, "referenced_message": found}
        return message

    async def _submitted(self, data: Body, by: Origin) -> Body:
        fields = value_at(data, "data", "components")
        text = next(texts_at(fields, "value", below=("component", "components")), "")
        why = await self.submitted(str(value_at(data, "data", "custom_id")), text, by)
        if why is None:
            return NOTHING
        # The modal is closed, and what was typed would be gone with it.
        return _said(clipped(f"{escape(why)}\nYou wrote:\n{escape(text)}", CONTENT))

    async def _commanded(self, data: Body, by: Origin) -> None:
        name, options = value_at(data, "data", "name"), value_at(data, "data", "options") or ()
        words = " ".join(str(value_at(option, "value") or "") for option in options)
        number, token = str(data.get("id")), str(data.get("token"))
        room = by.chat.current_room()
        asked = Asked(room=room, id=number, token=token, at=written_at(number))
        await self.command(str(name), words, asked, by)
        if not asked.answered:
            self._spawn(self._answer(data, _said(SEE_BELOW)))

    async def _answer(self, data: Body, answer: Body | None) -> None:
        with suppress(Rejected):  # too late, after downtime
            token = str(data.get("token"))
            await self._api.answer(str(data.get("id")), token, answer or NOTHING)

    async def say(self, said: Message, *, to: Incoming, reply: bool = True) -> None:
        if not isinstance(to, Asked):
            await super().say(said, to=to, reply=reply)
            return
        to.answered.append(True)
        drawing = self._writer(to).drawn(said)
        drawn = body(drawing.text, drawing.rows, flags=SILENT)
        with suppress(Rejected):  # too late, after downtime
            await self._api.answer(to.id, to.token, {"type": MESSAGE, "data": drawn})

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _message(self, message: Body, cursor: ChannelState) -> None:
        incoming, author = self._incoming(message), message.get("author") or {}
        chat = self.chat_at(incoming.room)
        if isinstance(chat, Chat):
            chat.passed(incoming.id)
            if incoming.ours and not message.get("message_reference"):
                await self.returned(incoming, chat)
        if author.get("bot") or message.get("webhook_id"):
            return
        if message.get("type", PLAIN) not in (PLAIN, REPLY):
            return  # somebody joined, a message was pinned, …
        sender, replied = _sender(author), incoming.replied
        if chat and not chat.private and replied and replied.ours and not incoming.text:
            mentioned = [value_at(each, "id") for each in message.get("mentions") or ()]
            if self._me.id not in mentioned and self._people.allows(sender.id):
                await self.answer(CANNOT_READ, to=incoming)
                return
        direct = message.get("guild_id") is None
        await self.written(incoming, sender, cursor, direct=direct)

    def _incoming(self, message: Body) -> Incoming:
        replied, text = message.get("referenced_message"), str(message.get("content") or "")
        reference = message.get("message_reference") or {}
        mention, shown = f"<@{self._me.id}>", message.get("components")
        return Incoming(
            room=str(message.get("channel_id")),
            id=str(message.get("id")),
            text=text.removeprefix(mention).removesuffix(mention).strip() or None,
            files=incoming(
                message.get("attachments"),
                self._api.fetch,
                name="filename",
                is_voice=lambda _: bool(message.get("flags", 0) & VOICE),
            ),
            at=written_at(str(message.get("id", "0"))),
            ours=value_at(message, "author", "id") == self._me.id,
            buttons=tuple(texts_at(shown, "custom_id", "value", below=("components", "options"))),
            replied=self._incoming(replied) if isinstance(replied, dict) else None,
            quoted=reference.get("type") == FORWARD,
            source=message,
        )

    def written_at(self, message: Incoming) -> WrittenAt:
        if isinstance(message, Asked):  # which is no message that could be replied to
            return WrittenAt(room=message.room)
        return super().written_at(message)

    async def take_buttons(self, message: Incoming) -> None:
        shown = message.source
        left = [each for each in shown.get("components") or () if value_at(each, "type") != ROW]
        rest = {"content": shown.get("content") or None, "components": left}
        await self._api.edit(message.room, message.id, rest)

    async def mark_taken(self, message: Incoming) -> None:
        chat = self.chat_at(message.room)
        if chat is not None and chat.private:  # elsewhere it would need another permission
            await self._api.react(message.room, message.id, TAKEN)


def _sender(user: Body) -> Sender:
    number, username = str(user.get("id", "")), user.get("username")
    return Sender(
        id=int(number) if number.isascii() and number.isdigit() else 0,
        name=display_name(user.get("global_name"), username),
        username=display_name(username) or None,
    )


def _said(text: str) -> Body:
    return {"type": MESSAGE, "data": ephemeral(text)}
