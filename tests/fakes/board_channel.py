"""A chat channel as a plug-in writes one with the chat kit: a bot on a board, with buttons, edits
and replies. It has no threads, no files, no reactions and no prompts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from operator import eq

from chatbridge.channels.chat import runs
from chatbridge.channels.chat.callback_data import decode
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Lengths
from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.channel import ChatChannel
from chatbridge.channels.chat.document import Document, File, Message
from chatbridge.channels.chat.inbound import Origin, Spawn
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.receiver import ButtonReceiver, Incoming
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import PostGone
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import number
from tests.fakes.board import Board, Event, Note

BOT, ROOM = "bot", "main"


def write(document: Document, *, now: float) -> str:
    return "".join(run.text for run in runs.write(document, now=now))


BOARD: Capabilities[str] = Capabilities(
    channel="board",
    write=write,
    size=len,
    card=2_000,
    lengths=(
        Lengths(question=1_000, label=200, description=120),
        Lengths(question=300, label=40, description=0, options=20, scale=4),
    ),
    approval_question=200,
    path=160,
    code=1_200,
    ended_code=600,
    output=1_500,
    page=1_800,
    buttons=Buttons(most_options=20, private=(30, 14), group=(30, 14)),
)


class BoardChat(ChatSurface[str]):
    private = False
    reactions = False
    viewer = None

    def __init__(self, board: Board, *, clock: Clock) -> None:
        super().__init__(f"board:{ROOM}", BOARD, service="the board", clock=clock)
        self.visibility = Visibility("board", clock=clock)
        self._board = board

    def current_room(self) -> str:
        return ROOM

    def messages_after(self, message: str) -> int:
        names = [*self._board.notes]
        return len(names) - names.index(message) - 1 if message in names else 0

    async def send(self, new: Outgoing[str]) -> Sent:
        assert isinstance(new.what, Drawing)
        what, root = new.what, new.root
        note = self._board.post(BOT, what.text, what.rows, reply_to=root, silent=new.silent)
        return Sent(id=note.id, at=note.at)

    async def edit(
        self, room: str, message: str, drawing: Drawing[str], *, key: Key, silent: bool
    ) -> Sent:
        note = self._board.notes.get(message)
        if note is None:
            raise PostGone
        note.text, note.rows = drawing.text, drawing.rows
        return Sent(id=message)

    async def remove(self, room: str, message: str) -> None:
        self._board.notes.pop(message, None)


class Receiver(ButtonReceiver):
    def __init__(
        self, board: Board, inbox: AskActions, chat: BoardChat, *, clock: Clock, spawn: Spawn
    ) -> None:
        super().__init__(inbox, channel="board", clock=clock, spawn=spawn)
        self._board = board
        self._chat = chat

    async def take(self, event: Event, cursor: ChannelState) -> None:
        person = Person(name=event.person, channel="board", place=ROOM)
        by = Origin(chat=self._chat, person=person, cursor=cursor)
        message = self._incoming(event.note)
        if event.data is not None:
            event.told.set_result(await self.tap(decode(event.data), message, by))
        elif event.note.text.startswith("/"):
            name, _, words = event.note.text[1:].partition(" ")
            await self.command(name, words, message, by)
        else:
            await self.text(message, by)

    async def say(self, said: Message, *, to: Incoming, reply: bool = True) -> None:
        text = write(said.document, now=self._clock.time())
        self._board.post(BOT, text, said.rows, reply_to=to.id)

    async def send_file(self, file: File, *, to: Incoming) -> None:
        self._board.post(BOT, file.content.decode(errors="replace"), reply_to=to.id)

    async def rewrite(self, message: Incoming, said: Message) -> None:
        note = self._board.notes[message.id]
        note.text, note.rows = write(said.document, now=self._clock.time()), said.rows

    async def take_buttons(self, message: Incoming) -> None:
        self._board.notes[message.id].rows = ()

    def _incoming(self, note: Note) -> Incoming:
        replied = self._board.notes.get(note.reply_to or "")
        return Incoming(
            room=ROOM,
            id=note.id,
            text=note.text,
            at=note.at,
            ours=note.by == BOT,
            buttons=tuple(key.data for row in note.rows for key in row),
            replied=self._incoming(replied) if replied else None,
        )


class Poll(PollLoop[Sequence[Event]]):
    channel = "board"

    def __init__(
        self,
        board: Board,
        inbox: AskActions,
        *,
        clock: Clock,
        people: Allowlist[str],
        take: Callable[[Event, ChannelState], Awaitable[None]],
    ) -> None:
        super().__init__(inbox, clock=clock, cursor_key="number")
        self._board = board
        self._people = people
        self._take = take
        self._number = 0

    async def begin(self) -> None:
        known = await self.stored_cursor()
        self._number = number(known.value) or 0 if known is not None else 0

    async def read(self, *, wait: bool) -> Sequence[Event]:
        return await self._board.events(self._number, wait=wait)

    async def deal_with(self, batch: Sequence[Event]) -> bool:
        for event in batch:
            if self._people.allows(event.person):
                cursor = self.cursor(str(event.number))
                take = partial(self._take, event, cursor)
                await self.process(event.number, take, committed=partial(eq, cursor.value))
            if not event.told.done():
                event.told.set_result("")
            self._number = event.number
        return bool(batch)


class BoardChannel(ChatChannel[BoardChat]):
    name = "board"

    def __init__(self, board: Board, people: Iterable[str], *, clock: Clock) -> None:
        super().__init__([BoardChat(board, clock=clock)], clock=clock, hold=nullcontext)
        self._board = board
        self._people = Allowlist("board", [*people], clock=clock)

    def troubles(self) -> Iterable[str | None]:
        return ()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        (chat,) = self._chats
        chat.attach(inbox)
        receiver = Receiver(self._board, inbox, chat, clock=self._clock, spawn=self._beside.spawn)
        self._poll = poll = Poll(
            self._board, inbox, clock=self._clock, people=self._people, take=receiver.take
        )
        await poll.begin()
        ready()
        try:
            await poll.run()
        finally:
            await self._beside.end()
