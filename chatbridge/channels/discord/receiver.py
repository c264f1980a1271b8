"""Turns events into what the chat kit knows: a tap, a modal, a command, a text. Answers them.

Discord waits three seconds for the answer to a tap, and then tells the person that it failed. It is
answered right after the commit. A stranger's events end here, without an effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from chatbridge.channels.chat.callback_data import Tap, Use, Write, decode, selected
from chatbridge.channels.chat.document import File, Message
from chatbridge.channels.chat.inbound import UNKNOWN, Origin, Spawn, patiently
from chatbridge.channels.chat.people import Allowlist, display_name
from chatbridge.channels.chat.receiver import ButtonReceiver, Incoming
from chatbridge.channels.discord.api import Api, Body, Me, Rejected, written_at
from chatbridge.channels.discord.chat import Chat
from chatbridge.channels.discord.gateway import WRITTEN, Event
from chatbridge.channels.discord.render import (
    CONTENT,
    NO_MENTIONS,
    SELECT,
    SILENT,
    body,
    ephemeral,
    escape,
    modal,
    write,
)
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import PostGone
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.ports import Clock
from chatbridge.core.text import clipped
from chatbridge.safe_json import value_at

COMMAND, TAP, SUBMIT = 2, 3, 5
MESSAGE, DEFERRED, MODAL = 4, 6, 9
PLAIN, REPLY = 0, 19
FORWARD = 1
TAKEN = "%F0%9F%91%8D"
NOTHING: Body = {"type": DEFERRED}
NOT_FOR_YOU = "You are not among those who may answer here."
SEE_BELOW = "Look at the card below."
CANNOT_READ = (
    "I cannot read a reply that does not mention me. Turn the @ in your reply on, or tap a button."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Incoming):
    """A command. What is said to it is the answer to its interaction."""

    token: str
    answered: list[bool] = field(default_factory=list)


class Receiver(ButtonReceiver):
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        me: Me,
        chats: Sequence[Chat],
        people: Allowlist[int],
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        super().__init__(inbox, channel="discord", clock=clock, spawn=spawn)
        self._api = api
        self._me = me
        self._chats = chats
        self._people = people

    async def take(self, event: Event, cursor: ChannelState) -> None:
        """Deal with one event. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again. :raises RetryLater: likewise.
        """
        await (self._written if event.name == WRITTEN else self._done)(event.data, cursor)

    def _chat(self, room: object) -> Chat | None:
        here = (chat for chat in self._chats if chat.is_there and chat.current_room() == room)
        return next(here, None)

    def _origin(self, user: Body, chat: Chat, cursor: ChannelState) -> Origin:
        name = display_name(user.get("global_name"), user.get("username"))
        person = Person(name=name, channel="discord", place=chat.current_room())
        return Origin(chat=chat, person=person, cursor=cursor)

    # ── taps, modals and commands ─────────────────────────────────────────────────────────────────

    async def _done(self, data: Body, cursor: ChannelState) -> None:
        user = value_at(data, "member", "user") or data.get("user") or {}
        chat, kind = self._chat(data.get("channel_id")), data.get("type")
        if not self._people.allows(_id(user)) or chat is None:
            if kind != COMMAND:
                self._spawn(self._answer(data, NOTHING))
                return
            known = self._people.allows(_id(user))
            self._spawn(self._answer(data, _said(_not_here(data) if known else NOT_FOR_YOU)))
            return
        by, answer = self._origin(user, chat, cursor), partial(self._answer, data)
        if kind == COMMAND:
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
        if isinstance(tap, Tap) and isinstance(tap.action, Use):
            message = await self._with_replied(message)
        old = written_at(str(data.get("id"))) < self._began
        told = await self.tap(tap, self._incoming(message), by, before_start=old)
        asked = None if told else await self.modal_after(tap)
        if asked is not None:
            return {"type": MODAL, "data": modal(asked)}
        return _said(escape(told)) if told else NOTHING

    async def _with_replied(self, message: Body) -> Body:
        """Discord does not always bring the message along that another one replies to."""
        replied = value_at(message, "message_reference", "message_id")
        if message.get("referenced_message") or not isinstance(replied, str):
            return message
        with suppress(PostGone, Rejected):
            found = await self._api.message(str(message.get("channel_id")), replied)
            return {**message, "referenced_message": found}
        return message

    async def _submitted(self, data: Body, by: Origin) -> Body:
        tap = decode(str(value_at(data, "data", "custom_id")))
        text = next(_typed(value_at(data, "data", "components")), "")
        if not isinstance(tap, Tap) or not isinstance(tap.action, Write):
            return _said(UNKNOWN)
        why = await self.submitted(tap.ask_id, tap.action.step, text, by)
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

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _written(self, message: Body, cursor: ChannelState) -> None:
        user, room = message.get("author") or {}, message.get("channel_id")
        chat = self._chat(room)
        if chat is not None:
            chat.passed(str(message.get("id")))
        if chat is not None and user.get("id") == self._me.id:
            if not message.get("message_reference"):
                await self.returned(self._incoming(message), chat)
            return
        if user.get("bot") or message.get("webhook_id"):
            return
        if message.get("type", PLAIN) not in (PLAIN, REPLY):
            return  # somebody joined, a message was pinned, …
        if not self._people.allows(_id(user)):
            return
        incoming = self._incoming(message)
        if chat is None:
            self._spawn(self.answer(_not_here(message), to=incoming, reply=False))
            return
        replied = incoming.replied
        if not chat.private and replied and replied.ours and not self._is_readable(message):
            await self.answer(CANNOT_READ, to=incoming)
            return
        await self.text(incoming, self._origin(user, chat, cursor))

    def _is_readable(self, message: Body) -> bool:
        """In a channel Discord shows a bot only messages that mention it, or reply to it so."""
        mentions = message.get("mentions") or ()
        return bool(message.get("content")) or any(
            value_at(each, "id") == self._me.id for each in mentions
        )

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    async def say(self, said: Message, *, to: Incoming, reply: bool = True) -> None:
        text = write(said.document, now=self._clock.time())
        drawn = body(text, said.rows, flags=SILENT)
        if isinstance(to, Asked):
            to.answered.append(True)
            with suppress(Rejected):  # too late, after downtime
                await self._api.answer(to.id, to.token, {"type": MESSAGE, "data": drawn})
            return
        send = partial(self._api.send, to.room, drawn, reply_to=to.id if reply else None)
        await self.send_soon(send)

    async def send_file(self, file: File, *, to: Incoming) -> None:
        plain = {"flags": SILENT, "allowed_mentions": NO_MENTIONS}
        send = partial(self._api.send, to.room, plain, reply_to=to.id, file=file)
        await patiently(send, self._clock)

    async def rewrite(self, message: Incoming, said: Message) -> None:
        text = write(said.document, now=self._clock.time())
        await self._api.edit(message.room, message.id, body(text, said.rows))

    async def take_buttons(self, message: Incoming) -> None:
        room, number = message.room, message.id
        shown = await self._api.message(room, number)
        left = [each for each in shown.get("components") or () if value_at(each, "type") != 1]
        await self._api.edit(room, number, {"content": shown.get("content"), "components": left})

    async def mark_taken(self, message: Incoming) -> None:
        chat = self._chat(message.room)
        if chat is not None and chat.private:  # elsewhere it would need another permission
            await self._api.react(message.room, message.id, TAKEN)

    def _incoming(self, message: Body) -> Incoming:
        replied, text = message.get("referenced_message"), str(message.get("content") or "")
        reference = message.get("message_reference") or {}
        mention = f"<@{self._me.id}>"
        return Incoming(
            room=str(message.get("channel_id")),
            id=str(message.get("id")),
            text=text.removeprefix(mention).removesuffix(mention).strip() or None,
            at=written_at(str(message.get("id", "0"))),
            ours=value_at(message, "author", "id") == self._me.id,
            buttons=tuple(_carried(message.get("components"))),
            replied=self._incoming(replied) if isinstance(replied, dict) else None,
            quoted=reference.get("type") == FORWARD,
        )


def _said(text: str) -> Body:
    return {"type": MESSAGE, "data": ephemeral(text)}


def _not_here(data: Body) -> str:
    """Said to someone who may answer, in a chat that gets no questions."""
    room = data.get("channel_id")
    return f"Questions do not arrive here. To get them here, add {room} to discord.channel_id."


def _id(user: Body) -> int:
    number = str(user.get("id", ""))
    return int(number) if number.isascii() and number.isdigit() else 0


def _carried(components: object) -> Iterator[str]:
    """What buttons and options carry."""
    for each in components if isinstance(components, list) else ():
        yield from _carried(value_at(each, "components"))
        options = value_at(each, "options") or ()
        data = [value_at(each, "custom_id"), *(value_at(option, "value") for option in options)]
        yield from (it for it in data if isinstance(it, str))


def _typed(components: object) -> Iterator[str]:
    """What stands in a modal's fields."""
    for each in components if isinstance(components, list) else ():
        inside = value_at(each, "component")
        yield from _typed([inside] if inside else value_at(each, "components"))
        if isinstance(value := value_at(each, "value"), str):
            yield value
