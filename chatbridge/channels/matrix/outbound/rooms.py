"""Which rooms the bot goes to: the configured ones, or where people who may answer invite it. It
neither accepts nor refuses other invitations, so that nobody learns anything."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import Invite, RoomEvent
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatRefused, RetryLater
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)


class Rooms:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        chats: Sequence[Chat],
        people: Allowlist[str],
    ) -> None:
        self._api = api
        self._inbox = inbox
        self._chats = chats
        self._people = people
        self._entered: set[str] = set()
        """Rooms that the bot has joined, and has not heard of since."""
        self._successors: dict[str, str] = {}
        """Of rooms that were upgraded, until they have been followed."""

    async def recall(self) -> None:
        """A room that was upgraded, or that somebody invited the bot to, is not in the settings."""
        for chat in self._chats:
            if moved := await chat.recall(f"room:{chat.home}"):
                chat.room = moved
            if chat.room and (next_one := await chat.recall(f"successor:{chat.room}")):
                self._successors[chat.room] = next_one

    async def enter(self) -> None:
        """After the first sync: be where cards are to be shown."""
        for chat in self._chats:
            if chat.room is None:
                # A room that the bot has to itself with this person, from an earlier installation.
                both = {chat.home, self._api.user_id}
                own = [room for room in self._api.rooms() if set(self._api.members(room)) == both]
                if len(own) == 1:
                    await self._move(chat, own[0])
            elif self._api.is_in(chat.room):
                await chat.redraw_elsewhere()
            else:
                try:
                    await self._join(chat.room)
                except ChatRefused as error:
                    chat.trouble = str(error)
                    log.warning("%s", error)

    async def invited(self, invite: Invite) -> None:
        """:raises RetryLater: it has to be looked at again."""
        if not self._people.allows(invite.by):
            return
        chat = self._meant(invite)
        if chat is None:
            log.info("matrix: an invitation to %s was left alone", invite.room)
            return
        try:
            await self._join(invite.room)
        except ChatRefused as error:
            log.warning("%s", error)
            return
        if chat.room is None or chat.home == invite.by:
            await self._move(chat, invite.room)
        elif chat.room != invite.room:
            await self._follow(chat, invite.room)

    async def replaced(self, chat: Chat, tombstone: RoomEvent) -> None:
        """Somebody who may answer has upgraded the room."""
        successor = tombstone.content.get("replacement_room")
        if not isinstance(successor, str) or not successor.startswith("!") or chat.room is None:
            return
        await chat.remember(f"successor:{chat.room}", successor)
        self._successors[chat.room] = successor
        try:
            await self._join(successor)
        except ChatRefused:
            return  # an invitation may come
        await self._follow(chat, successor)

    async def heard(self) -> None:
        """After each batch: where the bot has just come in, cards can be shown now."""
        for chat in self._chats:
            successor = self._successors.get(chat.room or "")
            if successor is not None and self._api.is_in(successor):
                await self._follow(chat, successor)
        arrived = {room for room in self._entered if self._api.is_in(room)}
        for chat in self._chats:
            if chat.room in arrived:
                log.info("%s: the bot is in the room %s", chat.name, chat.room)
                chat.trouble = None
                for ask in await self._inbox.open_asks():
                    await self._inbox.redraw(ask.id)
        self._entered -= arrived

    # ── one room ──────────────────────────────────────────────────────────────────────────────────

    def _meant(self, invite: Invite) -> Chat | None:
        for chat in self._chats:
            if chat.room == invite.room:
                return chat
        for chat in self._chats:
            # Whoever is still in their room, and is invited elsewhere as well, must not take the
            # questions there without having meant to.
            is_home = chat.room is not None and chat.home in self._api.members(chat.room)
            if chat.home == invite.by and not is_home:
                return chat
            if self._successors.get(chat.room or "") == invite.room:
                return chat
        return None

    async def _follow(self, chat: Chat, successor: str) -> None:
        """Go on in a room that names the old one as what it was: anybody with the power to do so
        can put up a tombstone that leads anywhere.

        :raises RetryLater: it is tried again after the next batch.
        """
        status, began = await self._api.state(successor, "m.room.create")
        if status != 200:
            raise RetryLater(f"matrix: how the room {successor} began is not said ({status})")
        old = chat.room
        if value_at(began, "predecessor", "room_id") == old:
            level = logging.WARNING if chat.home.startswith("!") else logging.INFO
            log.log(level, "%s was upgraded: put %s into matrix.room_id", chat.name, successor)
            await self._move(chat, successor)
        else:
            log.warning("%s: %s does not say that it follows it", chat.name, successor)
        self._successors.pop(old or "", None)
        await self._inbox.forget("matrix", f"successor:{old}")

    async def _join(self, room: str) -> None:
        await self._api.join(room)
        self._entered.add(room)

    async def _move(self, chat: Chat, room: str) -> None:
        await chat.remember(f"room:{chat.home}", room)
        chat.room, chat.trouble = room, None
        self._entered.add(room)
