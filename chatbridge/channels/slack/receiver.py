"""Turns what happened in Slack into what the chat kit knows: a tap, a modal, a command, a text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from chatbridge.channels.chat.callback_data import Button, decode, selected
from chatbridge.channels.chat.incoming import Incoming, Modal, Sender
from chatbridge.channels.chat.notices import not_here
from chatbridge.channels.chat.people import Names
from chatbridge.channels.chat.receiver import ButtonReceiver, Reception
from chatbridge.channels.chat.runs import Run, write_plain
from chatbridge.channels.chat.writer import Drawing, MessageRejected
from chatbridge.channels.slack import render
from chatbridge.channels.slack.api import Api, Json
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.sockets.files import incoming
from chatbridge.channels.sockets.retold import Told, seconds
from chatbridge.core.errors import PostGone, RetryLater
from chatbridge.core.model import ChannelState
from chatbridge.safe_json import texts_at, value_at

SUBTYPES = (None, "file_share", "thread_broadcast")
"""Of messages that a person has written."""
TOO_SLOW = "Slack did not open the window. Tap again, or reply in the question's thread."


class Receiver(ButtonReceiver):
    prefix, threaded = "/chatbridge ", True

    def __init__(self, reception: Reception, *, api: Api, me: str) -> None:
        super().__init__(reception)
        self._api, self._me = api, me
        self.names = Names(api.name_of)

    async def take(self, it: Told, cursor: ChannelState) -> Json | None:
        """Deal with one. The cursor is committed together with an effect on an ask. Return what
        its acknowledgement says. :raises StoreError: it has to be taken again. :raises RetryLater:
        likewise."""
        known: dict[str, Callable[[Json, ChannelState], Awaitable[Json | None]]] = {
            "message": self._message,
            "command": self._command,
            "block_actions": self._tapped,
            "view_submission": self._submitted,
        }
        return await known[it.kind](it.data, cursor) if it.kind in known else None

    async def name_of(self, by: Sender) -> str:
        return await self.names.ask(str(by.id))

    def _sender(self, user: object) -> Sender:
        return Sender(id=str(user), name=self.names.of(str(user)))

    # ── taps and modals ───────────────────────────────────────────────────────────────────────────

    async def _tapped(self, data: Json, cursor: ChannelState) -> None:
        user, room = str(value_at(data, "user", "id")), str(value_at(data, "channel", "id"))
        by = self.allowed(self._sender(user), room, cursor)
        actions, message = data.get("actions"), data.get("message")
        if by is None and (told := self.told_stranger(self._sender(user), room)):
            self._spawn(self._whisper(room, user, told))
        if by is None or not isinstance(actions, list) or not isinstance(message, dict):
            return
        action = actions[0] if actions else None
        on = self._incoming(message, room, await self._answered(action, room))
        old = seconds(value_at(action, "action_ts")) < self._began
        then = await self.tap_or_form(_meaning(action), on, by, before_start=old)
        if isinstance(then, Modal):
            self._spawn(self._open(then, str(data.get("trigger_id")), room, user))
        elif isinstance(then, str):
            self._spawn(self._whisper(room, user, then))

    async def _answered(self, action: object, room: str) -> Incoming | None:
        """The message that the tapped one was an answer to."""
        where = render.answered_by(value_at(action, "block_id"))
        with suppress(PostGone):  # with all of its thread
            found = await self._api.message(room, *where) if where is not None else None
            return self._incoming(found, room) if found is not None else None
        return None

    async def _open(self, form: Modal, trigger: str, room: str, user: str) -> None:
        try:
            await self._api.open_modal(trigger, render.modal(form, room=room))
        except (MessageRejected, RetryLater):  # it can be opened for three seconds only
            await self._whisper(room, user, TOO_SLOW)

    async def _whisper(self, room: str, user: str, told: str) -> None:
        await self._api.whisper(room, user, render.drawn(Drawing(text=(Run(told),))))

    async def _submitted(self, data: Json, cursor: ChannelState) -> Json | None:
        view, sender = data.get("view"), self._sender(value_at(data, "user", "id"))
        room, _, kept = str(value_at(view, "private_metadata")).partition(" ")
        by = self.allowed(sender, room, cursor)
        text = value_at(view, "state", "values", render.FIELD, render.INPUT, "value")
        if by is None or not isinstance(text, str):
            return None
        why = await self.submitted(kept, text, by)
        return {"response_action": "errors", "errors": {render.FIELD: why}} if why else None

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _message(self, data: Json, cursor: ChannelState) -> None:
        room, user, ts = str(data.get("channel")), data.get("user"), str(data.get("ts"))
        root, chat = data.get("thread_ts", ts), self.chat_at(room)
        # Slack also tells of each edit so, with a time of its own.
        if isinstance(chat, Chat) and root == ts and not data.get("hidden"):
            chat.passed(ts)
            if user == self._me:
                chat.shows(texts_at(data.get("files"), "id", below=()), ts)
                await self.returned(self._incoming(data, room), chat)
        if data.get("subtype") not in SUBTYPES or data.get("bot_id") or user == self._me:
            return
        replied = None
        if root != ts:
            replied = Incoming(room=room, id=str(root), ours=data.get("parent_user_id") == self._me)
        incoming, direct = self._incoming(data, room, replied), data.get("channel_type") == "im"
        await self.written(incoming, self._sender(user), cursor, direct=direct)

    async def _command(self, data: Json, cursor: ChannelState) -> Json | None:
        room, sender = str(data.get("channel_id")), self._sender(data.get("user_id"))
        if by := self.allowed(sender, room, cursor):
            here = Incoming(room=room, id="", at=self._clock.time())
            await self.command_line(str(data.get("text") or ""), here, by)
        elif self._people.allows(sender.id):  # the bot may not write there
            return {"text": write_plain(not_here(room, self._setting), now=0.0)}
        return None

    def _incoming(self, data: Json, room: str, replied: Incoming | None = None) -> Incoming:
        text, ts = data.get("text"), str(data.get("ts") or "")
        return Incoming(
            room=room,
            id=ts,
            text=render.typed_text(text) if isinstance(text, str) and text else None,
            files=incoming(data.get("files"), self._api.fetch, name="name", is_voice=_is_voice),
            at=seconds(ts),
            ours=data.get("user") == self._me,
            buttons=tuple(texts_at(data.get("blocks"), "value", below=("elements", "options"))),
            replied=replied,
            source=data,
        )

    async def take_buttons(self, message: Incoming) -> None:
        await self._api.edit(message.room, message.id, render.without_buttons(message.source))

    async def mark_taken(self, message: Incoming) -> None:
        await self._api.react(message.room, message.id, "+1")


def _meaning(action: object) -> Button | None:
    """What a button or a list means."""
    several, one = value_at(action, "selected_options"), value_at(action, "selected_option")
    if isinstance(several, list) or one is not None:
        values = several if isinstance(several, list) else [one]
        picked = [str(value_at(each, "value") or "") for each in values]
        return selected(str(value_at(action, "action_id") or ""), picked)
    return decode(str(value_at(action, "value") or ""))


def _is_voice(file: object) -> bool:
    return bool(value_at(file, "subtype") == "slack_audio")
