"""The chat kit with nothing behind it: one chat in memory, and people who write into it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from chatbridge.channels.chat.callback_data import Button, Tap, decode, encode, question_shown
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Files
from chatbridge.channels.chat.card_messages import from_text
from chatbridge.channels.chat.document import Rows, Upload
from chatbridge.channels.chat.incoming import Incoming, Sender
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.runs import write_plain
from chatbridge.channels.chat.simple import EventReceiver, SimpleChannel
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask, ChannelState
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from tests.fakes.clock import StillClock
from tests.fakes.inbox import Desk, open_desk

ROOM, TOO_LARGE = "room", "The memory lets bots fetch 1,000 bytes at most."
PATIENCE = 20.0
CAN = Capabilities(
    channel="memory",
    write=write_plain,
    size=len,
    card=2_000,
    buttons=Buttons(most_options=20, private=(30, 14), group=(30, 14)),
    files=Files(largest=100_000, fetched=1_000, too_large=TOO_LARGE),
)


@dataclass(slots=True)
class Sendable:
    """A file that somebody has on their phone."""

    content: bytes = b"the bytes of a photo"
    name: str | None = "photo.jpg"
    size: int | None = None
    voice: bool = False
    fails: BaseException | None = None
    """What happens after half of it."""
    goes_on: asyncio.Event | None = None
    """The second half comes then."""
    half: asyncio.Event = field(default_factory=asyncio.Event)
    """The first half is there."""
    fetches: int = 0

    @property
    def incoming(self) -> IncomingFile:
        return IncomingFile(read=self._read, name=self.name, size=self.size, voice=self.voice)

    async def _read(self) -> AsyncIterator[bytes]:
        self.fetches += 1
        middle = len(self.content) // 2
        yield self.content[:middle]
        self.half.set()
        if self.fails is not None:
            raise self.fails
        if self.goes_on is not None:
            await self.goes_on.wait()
        yield self.content[middle:]


@dataclass(slots=True, kw_only=True)
class Deed:
    """What somebody does: writes, or taps."""

    by: str
    message: Incoming
    data: str | None = None
    told: str = ""


@dataclass(slots=True)
class Posted:
    text: str
    rows: Rows
    answers: str = ""


class MemoryChat(ChatSurface[str]):
    def __init__(self, clock: Clock, *, private: bool) -> None:
        super().__init__(f"memory:{ROOM}", CAN, service="the memory", clock=clock)
        self.private = private
        self.messages: dict[str, Posted] = {}
        self._numbers = count(1)

    @property
    def viewer(self) -> str | None:
        return "ada" if self.private else None

    def current_room(self) -> str:
        return ROOM

    async def send(self, new: Outgoing[str]) -> Sent:
        name = f"bot{next(self._numbers)}"
        if isinstance(new.what, Upload):
            self.messages[name] = Posted(new.what.files[0].name, ())
        else:
            self.messages[name] = Posted(new.what.text, new.what.rows, new.answers)
        return Sent(id=name, at=self._clock.time())

    async def edit(
        self, room: str, message: str, drawing: Drawing[str], *, key: Key, silent: bool
    ) -> Sent:
        self.messages[message] = Posted(drawing.text, drawing.rows)
        return Sent(id=message)

    async def remove(self, room: str, message: str) -> None:
        del self.messages[message]


class MemoryReceiver(EventReceiver[Deed]):
    def __init__(self, reception: Reception, taken: list[str]) -> None:
        super().__init__(reception)
        self._taken = taken

    async def take(self, event: Deed, cursor: ChannelState) -> None:
        by = Sender(id=event.by, name=event.by)
        if event.data is None:
            text = event.message.text or ""
            command = text[1:].split()[0] if text.startswith("/") else None
            await self.written(event.message, by, cursor, direct=False, command=command)
        elif origin := self.allowed(by, event.message.room, cursor):
            event.told = await self.tap(decode(event.data), event.message, origin)

    async def take_buttons(self, message: Incoming) -> None:
        """They stay."""

    async def mark_taken(self, message: Incoming) -> None:
        self._taken.append(message.id)


class MemoryChannel(SimpleChannel[Deed]):
    name = "memory"

    def __init__(self, clock: Clock, deeds: list[Deed], *, private: bool) -> None:
        self.chat = MemoryChat(clock, private=private)
        self.deeds, self.more = deeds, asyncio.Event()
        self.taken: list[str] = []
        super().__init__([self.chat], ("ada",), clock=clock)

    def receiver(self, reception: Reception) -> MemoryReceiver:
        return MemoryReceiver(reception, self.taken)

    async def events(self, after: str | None, *, wait: bool) -> Sequence[tuple[str, Deed]]:
        if wait and len(self.deeds) <= int(after or 0):
            self.more.clear()
            await self.more.wait()
        return [(str(i), it) for i, it in enumerate(self.deeds, 1) if i > int(after or 0)]


@dataclass(slots=True, kw_only=True)
class MemoryDesk:
    """Ada, and a stranger, at a chat in memory."""

    desk: Desk
    channel: MemoryChannel
    clock: StillClock
    running: asyncio.Task[None]

    @property
    def said(self) -> list[str]:
        """What the bot has answered."""
        return [posted.text for posted in self.channel.chat.messages.values() if posted.answers]

    @property
    def taken(self) -> list[str]:
        return self.channel.taken

    async def card(self, ask: Ask) -> Incoming:
        chat = self.channel.chat
        async with asyncio.timeout(PATIENCE):
            while True:
                ask = await self.desk.inbox.ask(ask.id)
                post = await self.desk.inbox.post(ask.id, surface=chat.name)
                place = from_text(post.place) if post and post.revision >= ask.revision else None
                if place is not None:
                    return self.bots(place.root.event)
                await asyncio.sleep(0.002)

    def bots(self, id: str, *, replied: Incoming | None = None) -> Incoming:
        posted = self.channel.chat.messages[id]
        buttons = tuple(key.data for row in posted.rows for key in row)
        return Incoming(
            room=ROOM, id=id, text=posted.text, ours=True, buttons=buttons, replied=replied
        )

    async def send(
        self,
        *files: Sendable,
        to: Ask | Incoming | None = None,
        text: str | None = None,
        by: str = "ada",
        room: str = ROOM,
    ) -> Incoming:
        """Write a message, and let it be dealt with."""
        sent = await self.begin(*files, to=to, text=text, by=by, room=room)
        await self.dealt_with()
        return sent

    async def begin(
        self,
        *files: Sendable,
        to: Ask | Incoming | None = None,
        text: str | None = None,
        by: str = "ada",
        room: str = ROOM,
    ) -> Incoming:
        replied = await self.card(to) if isinstance(to, Ask) else to
        self.clock.advance(5.0)
        message = Incoming(
            room=room,
            id=f"{by}{len(self.channel.deeds)}",
            text=text,
            files=tuple(each.incoming for each in files),
            at=self.clock.time(),
            replied=replied,
        )
        self._do(Deed(by=by, message=message))
        return message

    async def tap_data(self, message: Incoming, button: Button) -> str:
        return await self._tap(message, encode(button))

    async def tap(self, ask: Ask, action: Event) -> str:
        tap = Tap(ask_id=ask.id, question=question_shown(ask), action=action)
        return await self._tap(await self.card(ask), encode(tap))

    async def press(self, label: str, *, about: Incoming) -> str:
        """A button of what the bot has answered to a message."""
        for name, posted in self.channel.chat.messages.items():
            for key in (key for row in posted.rows for key in row):
                if posted.answers == about.id and key.text == label:
                    return await self._tap(self.bots(name, replied=about), key.data)
        raise AssertionError(f"no button says {label}")

    async def _tap(self, message: Incoming, data: str) -> str:
        self.clock.advance(5.0)
        deed = Deed(by="ada", message=message, data=data)
        self._do(deed)
        await self.dealt_with()
        return deed.told

    async def dealt_with(self) -> None:
        """All that was done, with what is said to it."""
        async with asyncio.timeout(PATIENCE):
            await self.channel.drain()
            while beside := set(self.channel._beside._tasks):
                await asyncio.wait(beside)

    def _do(self, deed: Deed) -> None:
        self.channel.deeds.append(deed)
        self.channel.more.set()


@asynccontextmanager
async def running_memory(
    folder: Path,
    *,
    private: bool = True,
    policy: Policy | None = None,
    deeds: list[Deed] | None = None,
    clock: StillClock | None = None,
) -> AsyncIterator[MemoryDesk]:
    clock, up = clock or StillClock(), asyncio.Event()
    channel = MemoryChannel(clock, [] if deeds is None else deeds, private=private)
    policy = policy or Policy(approval_channels=frozenset({"memory"}))
    async with open_desk(folder, clock=clock, channel=channel, policy=policy, ready=up) as desk:
        running = asyncio.create_task(channel.run(desk.inbox, ready=up.set))
        async with asyncio.timeout(PATIENCE):
            await up.wait()
        try:
            yield MemoryDesk(desk=desk, channel=channel, clock=clock, running=running)
        finally:
            await desk.end_deliveries()
            running.cancel()
            await asyncio.wait({running}, timeout=PATIENCE)
