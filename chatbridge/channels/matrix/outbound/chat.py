"""One room: sends messages and edits there, and keeps the bot's own reactions in order."""

from __future__ import annotations

import logging

from chatbridge.channels.chat.capabilities import Files
from chatbridge.channels.chat.card_messages import CardMessages
from chatbridge.channels.chat.document import Upload
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent, key_name
from chatbridge.channels.matrix.client import content
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.errors import MayNot, Rejected
from chatbridge.channels.matrix.client.events import Mark, marked
from chatbridge.channels.matrix.outbound.multi_select_reactions import MultiSelectReactions
from chatbridge.channels.matrix.outbound.visibility import OwnEvents, Visibility
from chatbridge.channels.matrix.render.card import MATRIX
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.matrix.render.notices import draw_notice
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.core.model import Ask, Notice
from chatbridge.core.ports import Clock, Shown
from chatbridge.digests import sha256_hex

log = logging.getLogger(__name__)

MAX_SURE = 1_000


class Chat(ChatSurface[Words]):
    idempotent = True
    hears_removals = True

    def __init__(
        self,
        api: Api,
        home: str,
        *,
        people: Allowlist[str],
        own_events: OwnEvents,
        clock: Clock,
        reactions: bool,
    ) -> None:
        """`home` is a room, or a person: then it is the room that they invite the bot to."""
        super().__init__(f"matrix:{home}", MATRIX, service="Matrix", clock=clock)
        self.home = home
        self.room = home if home.startswith("!") else None
        self.visibility: Visibility = Visibility(own_events=own_events, clock=clock)
        self.reactions = reactions
        self._api = api
        self._people = people
        self._sure: set[str] = set()
        """Cards of which every reaction is known: this hub has sent all, and none is in doubt. One
        that goes on below may be older than this hub."""

    def attach(self, inbox: AskActions) -> None:
        super().attach(inbox)
        self.picks = MultiSelectReactions(inbox, surface=self.name, clock=self._clock)

    @property
    def is_there(self) -> bool:
        return self.room is not None

    @property
    def viewer(self) -> str | None:
        others = set(self._api.members(self.room or "")) - {self._api.user_id}
        allowed = self._people.among(others)
        return allowed[0] if len(others) == 1 and allowed else None

    @property
    def files(self) -> Files | None:
        """None in quiet hours: there is no kind of message with a picture that makes no sound."""
        is_quiet = self._inbox.nights.is_quiet_on(self.name, self._clock.time())
        return None if is_quiet else super().files

    @property
    def strangers(self) -> int:
        return self._people.strangers_among(self._api.members(self.room or ""))

    def current_room(self) -> str:
        if self.room is None:
            raise ChatRefused(
                f"matrix: {self.home} has not invited the bot yet. Start a chat with "
                f"{self._api.user_id} in your Matrix app, or set matrix.room_id"
            )
        return self.room

    def digest(self, drawing: Drawing[Words]) -> str:
        return digest(drawing.text)

    async def reacted(self, ask: Ask, message: str) -> frozenset[int]:
        return frozenset((await self.picks.of(ask, message)).values())

    async def announce(self, notice: Notice) -> Shown:
        """Each as it comes, without a list of several."""
        room = self.current_room()
        with self.watched():
            sent = await self.send(
                Outgoing(
                    room=room,
                    what=Drawing(text=draw_notice(notice)),
                    key=("notice", self.name, notice.id),
                    silent=self.is_silent(notice),
                )
            )
            await self.announcer.upload(notice, room, sent)
        return Shown(place="", handles=(sent.id,))

    async def send(self, new: Outgoing[Words]) -> Sent:
        if isinstance(new.what, Upload):
            (file,) = new.what.files
            encrypted = self._api.is_encrypted(new.room)
            uploaded = await self._api.media.upload(file, encrypted=encrypted)
            made = content.file_message(file, uploaded)
        else:
            mentions = () if new.silent else self._people.among(self._api.members(new.room))
            made = content.message(new.what.text, notice=new.silent, mentions=mentions)
        if new.card is not None:
            ask_id, step = new.card
            made |= marked(Mark(ask_id=ask_id, step=step))
        after = new.after or new.answers
        if new.root is not None and after:
            made |= content.in_thread(new.root, after=after)
        elif new.root is not None or after:
            made |= content.in_reply(new.root or after)
        event = await self._api.send(new.room, made, tx=key_name(new.key))
        if new.card is not None:
            if len(self._sure) >= MAX_SURE:
                self._sure.clear()
            self._sure.add(event)
        return Sent(id=event)

    async def edit(
        self, room: str, message: str, drawing: Drawing[Words], *, key: Key, silent: bool
    ) -> Sent:
        made = content.edit(drawing.text, message, notice=silent)
        tx = key_name((*key, digest(drawing.text)))
        return Sent(id=await self._api.send(room, made, tx=tx))

    async def remove(self, room: str, message: str) -> None:
        try:
            await self._api.redact(room, message, tx=key_name(("redact", message)))
        except (MayNot, Rejected) as error:
            log.debug("%s: %s stays: %s", self.name, message, error)

    # ── reactions ─────────────────────────────────────────────────────────────────────────────────

    async def react(self, room: str, message: str, emoji: str) -> str | None:
        tx = key_name(("seed", message, emoji))
        try:
            return await self._api.react(room, message, emoji, tx=tx)
        except RetryLater as error:
            if error.after is None:
                self._sure.discard(message)
            raise
        except MayNot as error:
            log.warning("%s: without reactions, so answers are typed: %s", self.name, error)
            self.reactions = False
            return None

    async def finished(self, ask: Ask, place: CardMessages) -> None:
        """A reaction may have arrived though the hub was killed, or the connection lost, before it
        heard so."""
        for part in place.parts:
            if part.event not in self._sure:
                for event in await self._api.own_reactions(place.room, part.event):
                    await self.remove(place.room, event)
        await self.picks.forget(ask)


def digest(text: Words) -> str:
    return sha256_hex(f"{text.body}\0{text.html}".encode())[:16]
