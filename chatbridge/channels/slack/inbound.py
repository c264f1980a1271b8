"""Turns what happened in Slack into what the chat kit knows: a tap, a command, a text. Carries out
its replies.

What a stranger does ends here, without an effect and without an answer, unless it brings a code
that somebody at the terminal waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from chatbridge import safe_json
from chatbridge.channels.chat.callback_data import Output, Quiet, Tap, decode, selected
from chatbridge.channels.chat.document import File, Message
from chatbridge.channels.chat.inbound import Origin, Spawn, patiently
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.receiver import ButtonReceiver, Incoming, Modal
from chatbridge.channels.chat.runs import Run, write
from chatbridge.channels.slack.api import Api, Json, Rejected, seconds
from chatbridge.channels.slack.chat import Chat
from chatbridge.channels.slack.poll import Happened
from chatbridge.channels.slack.render import (
    FIELD,
    INPUT,
    blocks_of,
    message_blocks,
    modal,
    notified,
    typed_text,
    without_buttons,
)
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, RetryLater
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.pairing import PREFIX, Claim, Pairing
from chatbridge.core.ports import Clock
from chatbridge.safe_json import value_at

SUBTYPES = (None, "file_share", "thread_broadcast")
"""Of messages that a person has written."""
TAKEN = "+1"
REPLY_TO = "reply"
COMMANDS = ("pending", "history", "cancel", "quiet")
HELP = (
    "Your agents' questions arrive here. Tap a button to answer. For an answer in your own words, "
    "reply in the question's thread{private}.\n"
    "/chatbridge pending: open questions\n"
    "/chatbridge history: the last ten that have ended\n"
    "/chatbridge cancel: cancel an open question\n"
    "/chatbridge quiet: quiet hours, on or off"
)
NOT_HERE = "The questions come elsewhere: slack.channel_id does not name this conversation."
TOO_SLOW = "Slack did not open the window. Tap again, or reply in the question's thread."


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage(Incoming):
    blocks: object = None


class Receiver(ButtonReceiver):
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        chats: Sequence[Chat],
        people: Allowlist[str],
        me: str,
        clock: Clock,
        spawn: Spawn,
        pairing: Pairing | None = None,
    ) -> None:
        super().__init__(inbox, channel="slack", clock=clock, spawn=spawn)
        self._api = api
        self._chats = chats
        self._people = people
        self._me = me
        self._pairing = pairing
        self._names: dict[str, str] = {}

    async def take(self, it: Happened, cursor: ChannelState) -> Json | None:
        """Deal with one. The cursor is committed together with an effect on an ask. Return what
        its acknowledgement says.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        match it.kind:
            case "message":
                await self._message(it.data, cursor)
            case "command":
                await self._command(it.data, cursor)
            case "block_actions":
                await self._tapped(it.data, cursor)
            case "view_submission":
                return await self._submitted(it.data, cursor)
        return None

    def _origin(self, user: object, room: object, cursor: ChannelState) -> Origin | None:
        """None: a stranger, or another conversation."""
        chat = next((chat for chat in self._chats if chat.id and chat.id == room), None)
        if not isinstance(user, str) or not self._people.allows(user) or chat is None:
            return None
        name = self._names.get(user, user)  # nobody's tap waits for another request
        person = Person(name=name, channel="slack", place=chat.place)
        return Origin(chat=chat, person=person, cursor=cursor)

    async def learn_names(self, people: Sequence[str]) -> None:
        """What those are called who may answer; else their ids have to do."""
        for user in people:
            self._names[user] = await self._name_of(user)

    async def _name_of(self, user: str) -> str:
        try:
            return (await self._api.name_of(user)).name
        except ChatbridgeError:
            return user

    # ── taps and modals ───────────────────────────────────────────────────────────────────────────

    async def _tapped(self, data: Json, cursor: ChannelState) -> None:
        user, room = value_at(data, "user", "id"), value_at(data, "channel", "id")
        by = self._origin(user, room, cursor)
        actions, message = data.get("actions"), data.get("message")
        if by is None or not isinstance(actions, list) or not isinstance(message, dict):
            return
        action = actions[0] if actions else None
        tap = _meaning(action)
        replied = await self._replied(value_at(action, "block_id"), str(room))
        before = await self._revision(tap)
        old = seconds(value_at(action, "action_ts")) < self._began
        on = self._incoming(message, str(room), replied)
        told = await self.tap(tap, on, by, before_start=old)
        if before is not None and await self._revision(tap) != before:
            told = ""  # the card says it all
        trigger = data.get("trigger_id")
        if told:
            self._spawn(self._whisper(str(room), str(user), told))
        elif isinstance(trigger, str) and (form := await self.modal_after(tap)):
            card = str(message.get("ts"))
            self._spawn(self._open(form, trigger, room=str(room), card=card, user=str(user)))

    async def _revision(self, tap: Tap | Output | Quiet | None) -> int | None:
        ask = await self._input.find(tap.ask_id) if isinstance(tap, Tap) else None
        return ask.revision if ask is not None else None

    async def _open(self, form: Modal, trigger: str, *, room: str, card: str, user: str) -> None:
        try:
            await self._api.open_modal(trigger, modal(form, room=room, card=card))
        except (Rejected, RetryLater):  # it can be opened for three seconds only
            await self._whisper(room, user, TOO_SLOW)

    async def _whisper(self, room: str, user: str, told: str) -> None:
        text = (Run(told),)
        await self._api.whisper(room, user, notified(text), message_blocks(text, ()))

    async def _submitted(self, data: Json, cursor: ChannelState) -> Json | None:
        view = data.get("view")
        try:
            kept = safe_json.loads(str(value_at(view, "private_metadata")))
        except ValueError:
            return None
        by = self._origin(value_at(data, "user", "id"), value_at(kept, "room"), cursor)
        text = value_at(view, "state", "values", FIELD, INPUT, "value")
        step = value_at(kept, "step")
        if by is None or not isinstance(text, str) or type(step) is not int:
            return None
        why = await self.submitted(str(value_at(kept, "ask")), step, text, by)
        return {"response_action": "errors", "errors": {FIELD: why}} if why else None

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _message(self, data: Json, cursor: ChannelState) -> None:
        room, user, ts = data.get("channel"), data.get("user"), str(data.get("ts"))
        root = _thread(data)
        chat = next((chat for chat in self._chats if chat.id == room), None)
        if chat is not None and root is None:
            chat.passed(ts)
        if data.get("subtype") not in SUBTYPES or data.get("bot_id") or user == self._me:
            return
        if await self._claims(data):
            return  # whoever it was, what is said to them is for the terminal to decide
        by = self._origin(user, room, cursor)
        if by is None:
            direct = data.get("channel_type") == "im"
            if chat is None and direct and isinstance(user, str) and self._people.allows(user):
                self._spawn(self._whisper(str(room), user, NOT_HERE))
            return
        replied = None
        if root is not None:
            ours = data.get("parent_user_id") == self._me
            replied = Incoming(room=str(room), id=root, ours=ours)
        await self.text(self._incoming(data, str(room), replied), by)

    async def _claims(self, data: Json) -> bool:
        """Whether this is an open code, in the sender's own conversation with the bot."""
        user, words = data.get("user"), str(data.get("text") or "").split()
        if self._pairing is None or data.get("channel_type") != "im" or len(words) != 1:
            return False
        if not isinstance(user, str) or not words[0].startswith(PREFIX):
            return False
        name = await self._name_of(user)
        claim = Claim(channel="slack", person=user, chat=user, name=name)
        return self._pairing.claim(words[0], claim)

    async def _command(self, data: Json, cursor: ChannelState) -> None:
        room, user = data.get("channel_id"), data.get("user_id")
        by = self._origin(user, room, cursor)
        if by is None:
            return
        name, _, words = str(data.get("text") or "").strip().partition(" ")
        here = Incoming(room=str(room), id="", at=self._clock.time())
        if name in COMMANDS:
            await self.command(name, words, here, by)
        else:
            private = ", or send it as a message" if by.chat.private else ""
            await self.answer(HELP.format(private=private), to=here, reply=False)

    async def _replied(self, block: object, room: str) -> Incoming | None:
        """The message that the tapped one was an answer to, by the name of its buttons."""
        words = block.split(" ") if isinstance(block, str) else []
        if len(words) != 4 or words[0] != REPLY_TO:
            return None
        _, ts, root, _ = words
        found = await self._api.message(room, ts, root=root)
        return self._incoming(found, room, None) if found is not None else None

    def _incoming(self, data: Json, room: str, replied: Incoming | None) -> SlackMessage:
        text, ts = data.get("text"), str(data.get("ts") or "")
        return SlackMessage(
            room=room,
            id=ts,
            text=typed_text(text) if isinstance(text, str) and text else None,
            at=seconds(ts),
            ours=data.get("user") == self._me,
            replied=replied,
            blocks=data.get("blocks"),
        )

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    async def say(self, said: Message, *, to: Incoming, reply: bool = True) -> None:
        """In the thread of what it answers; in a conversation of two, below it."""
        root = to.replied.id if to.replied is not None else None
        name = f"{REPLY_TO} {to.id} {root or to.id}" if reply and to.id else ""
        chat = next((chat for chat in self._chats if chat.id == to.room), None)
        if reply and root is None and to.id and chat is not None and not chat.private:
            root = to.id
        now = self._clock.time()
        text = write(said.document, now=now)
        blocks = message_blocks(text, said.rows, name=name)
        send = partial(self._api.send, to.room, notified(text), blocks, thread=root)
        try:
            await send()
        except RetryLater as error:
            if error.after is None:
                raise
            # Nobody's tap has to wait for it.
            self._spawn(patiently(send, self._clock, pause=error.after))

    async def send_file(self, file: File, *, to: Incoming) -> None:
        send = partial(self._api.send_file, to.room, file.name, file.content, to.id or None)
        await patiently(send, self._clock)

    async def rewrite(self, message: Incoming, said: Message) -> None:
        now = self._clock.time()
        text = notified(write(said.document, now=now))
        blocks = blocks_of(said.document, said.rows, now=now)
        await self._api.edit(message.room, message.id, text, blocks)

    async def take_buttons(self, message: Incoming) -> None:
        blocks = without_buttons(getattr(message, "blocks", None))
        await self._api.edit(message.room, message.id, "…", blocks)

    async def mark_taken(self, message: Incoming) -> None:
        await self._api.react(message.room, message.id, TAKEN)


def _thread(data: Json) -> str | None:
    """The root of the thread that this message is in, if it is not that itself."""
    root = data.get("thread_ts")
    return root if isinstance(root, str) and root != data.get("ts") else None


def _meaning(action: object) -> Tap | Output | Quiet | None:
    """What a button or a list means."""
    several, one = value_at(action, "selected_options"), value_at(action, "selected_option")
    if isinstance(several, list) or one is not None:
        values = several if isinstance(several, list) else [one]
        picked = [str(value_at(each, "value") or "") for each in values]
        return selected(str(value_at(action, "action_id") or ""), picked)
    return decode(str(value_at(action, "value") or ""))
