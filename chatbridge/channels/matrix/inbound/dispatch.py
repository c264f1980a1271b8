"""What comes in: each event goes to the part that it is for, or to nobody.

A stranger's events end here, without an effect and without an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from chatbridge.channels.chat.inbound import ChatInput
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.cards import Cards
from chatbridge.channels.matrix.inbound.replies import Replies, Spawn
from chatbridge.channels.matrix.inbound.taps import Taps
from chatbridge.channels.matrix.inbound.texts import Texts
from chatbridge.channels.matrix.inbound.unaddressed_messages import UnaddressedMessages
from chatbridge.channels.matrix.inbound.unreadable import Held, Unreadable
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.channels.matrix.render import notices
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.forms import form
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock


class Receiver:
    def __init__(
        self,
        api: Api,
        inbox: AskActions,
        *,
        chats: Sequence[Chat],
        people: Allowlist[str],
        own_events: OwnEvents,
        clock: Clock,
        spawn: Spawn,
        reactions: bool,
        replaced: Callable[[Chat, RoomEvent], Awaitable[None]],
    ) -> None:
        """`replaced` is told of a room that has a successor."""
        self._api = api
        self._inbox = inbox
        self._chats = chats
        self._people = people
        self._own_events = own_events
        self._replaced = replaced
        self._replies = replies = Replies(api, clock=clock, spawn=spawn)
        self._input = ChatInput(inbox, channel="matrix", clock=clock, typed=True)
        self._cards = cards = Cards(api, inbox, input=self._input)
        self._texts = Texts(
            api, inbox, input=self._input, cards=cards, own_events=own_events, replies=replies
        )
        self._plain = UnaddressedMessages(
            api,
            inbox,
            input=self._input,
            own_events=own_events,
            clock=clock,
            replies=replies,
            reactions=reactions,
        )
        self._taps = Taps(
            api, inbox, input=self._input, cards=cards, plain=self._plain, replies=replies
        )
        self.unreadable = Unreadable(api, inbox, clock=clock, replies=replies, take=self._take_late)

    def coming(self, events: Sequence[RoomEvent]) -> None:
        """What `take` will be given next."""
        self.unreadable.coming(events)
        self._own_events.coming(e.id for e in events if e.sender == self._api.user_id)

    async def take(self, event: RoomEvent, cursor: ChannelState | None) -> None:
        """Deal with one event. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        if event.sender == self._api.user_id:
            self._own_events.passed(event.id)
            for each in self._chats:  # a room's successor may be its chat's already
                each.visibility.came_back(event.id)
            if (own := self._chat(event.room)) is not None:
                await self._cards.returned(event, own)
            return
        chat = self._chat(event.room)
        if chat is None or event.type == "m.room.member" or not self._people.allows(event.sender):
            return
        if event.unreadable:
            found = await self._cards.meant_by(event, chat)
            ask = found.ask if found is not None else None
            step = ask.draft.step if ask is not None else None
            await self.unreadable.hold(event, ask=ask.id if ask else None, step=step)
            return
        match event.type:
            case "m.reaction":
                await self._taps.take(event, chat, cursor)
            case "m.room.redaction":
                await self._taps.take_back(event, chat, cursor)
            case "m.room.message" if _is_new(event):
                if not await self._texts.take(event, chat, cursor):
                    await self._plain.take(event, chat, cursor)
            case "m.room.tombstone" if event.state_key == "":
                await self._replaced(chat, event)
            case _:
                pass

    def given_up(self, event: RoomEvent) -> None:
        """It could not be dealt with, however often it was tried."""
        if self._chat(event.room) is not None and self._people.allows(event.sender):
            self._replies.say(notices.failed(), to=event)

    async def after(self, *, keys: bool) -> None:
        """After each batch; with some, keys may have come."""
        await self._plain.settle()
        for chat in self._chats:
            chat.visibility.read_on()
        if keys:
            await self.unreadable.try_again()

    async def _take_late(self, event: RoomEvent, held: Held, left: ChannelState) -> None:
        """A message that could not be read when it came. It counts for what was asked then."""
        if held.ask is None:
            chat = self._chat(event.room)
            if chat is not None and _is_new(event):
                await self._plain.take_late(event, chat)
            return
        ask = await self._inbox.ask(held.ask)
        if ask.draft.step != held.step and (ask.open or takes_late_answer(ask)):
            self._replies.say(form.STALE.why, to=event)
        else:
            await self.take(event, left)

    def _chat(self, room: str) -> Chat | None:
        return next((chat for chat in self._chats if chat.room == room), None)


def _is_new(message: RoomEvent) -> bool:
    """Neither removed, nor a correction of what has been dealt with, nor another bot's."""
    edit = relation(message.content).kind == "m.replace"
    return not (message.redacted or edit or message.content.get("msgtype") == "m.notice")
