"""A chat channel as a plug-in writes one with the chat kit: a bot on a board, with buttons, edits
and replies. It has no threads, no files, no reactions and no prompts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from operator import eq

from chatbridge.channels.chat import runs
from chatbridge.channels.chat.callback_data import Output, Quiet, Tap, decode
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Lengths
from chatbridge.channels.chat.card_lookup import CardLookup
from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.channel import ChatChannel
from chatbridge.channels.chat.document import Document, File, Message, paragraph
from chatbridge.channels.chat.inbound import (
    UNKNOWN,
    ChatInput,
    NeedsYesOrNo,
    Origin,
    Said,
    Spawn,
    Tapped,
    reply_to,
)
from chatbridge.channels.chat.notices import yes_or_no
from chatbridge.channels.chat.outputs import Outputs
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.poll_loop import PollLoop
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


class Receiver:
    def __init__(
        self, board: Board, inbox: AskActions, chat: BoardChat, *, clock: Clock, spawn: Spawn
    ) -> None:
        self._board = board
        self._chat = chat
        self._clock = clock
        self._input = ChatInput(inbox, channel="board", clock=clock, typed=False)
        self._outputs = Outputs(inbox, spawn)
        self._cards = CardLookup(inbox)

    async def take(self, event: Event, cursor: ChannelState) -> None:
        person = Person(name=event.person, channel="board", place=ROOM)
        by = Origin(chat=self._chat, person=person, cursor=cursor)
        if event.data is not None:
            event.told.set_result(await self._tap(event.note, decode(event.data), by))
        elif event.note.text.startswith("/"):
            name, _, words = event.note.text[1:].partition(" ")
            if said := await self._input.command(name, by, words=words):
                self._say(said, to=event.note)
        else:
            await self._text(event.note, by)

    async def _tap(self, note: Note, tap: Tap | Output | Quiet | None, by: Origin) -> str:
        chat, cards = self._chat, self._cards
        if tap is None:
            return UNKNOWN
        if isinstance(tap, Output):
            send, say = partial(self._send_file, to=note), self._say_later(note)
            return await self._outputs.asked(tap.operation_id, chat, send=send, say=say)
        if isinstance(tap, Quiet):
            told, said = await self._input.quiet(tap.words, by)
            if isinstance(said, Message):
                note.text = write(said.document, now=self._clock.time())
                note.rows = said.rows
            return told
        if tap.is_on_card:
            chat.memory.touched(tap.ask_id, note.id)
        written = self._board.notes.get(note.reply_to or "")
        told, then = await self._input.tap(
            tap,
            by,
            is_early=partial(cards.is_early, message=note.id, chat=chat),
            written=written.text if written else None,
        )
        if then is Tapped.LOSES_BUTTONS:
            note.rows = ()
        elif then is not Tapped.STAYS:
            await chat.remove(ROOM, note.id)
        elif tap.is_on_card and (ask := await self._input.find(tap.ask_id)):
            await cards.found(ask.id, note.id, chat)
            if await cards.is_stray(ask, note.id, chat):
                await chat.remove(ROOM, note.id)
        return told

    async def _text(self, note: Note, by: Origin) -> None:
        """A reply to a card is for that. Beside the cards people talk to one another."""
        replied = self._board.notes.get(note.reply_to or "")
        if replied is None or replied.by != BOT:
            return
        keys = (key for row in replied.rows for key in row)
        buttons = [tap for key in keys if isinstance(tap := decode(key.data), Tap)]
        ask_id = await self._cards.ask_at(replied.id, self._chat, buttons=buttons)
        ask = await self._input.find(ask_id) if ask_id else None
        if ask is None:
            self._say(await self._input.ask_back(note.text, self._chat.name), to=note)
            return
        stale = await self._cards.is_stale(
            ask, self._chat, message=replied.id, buttons=buttons, written=note.at
        )
        result = await self._input.text(ask, note.text, by, stale=stale)
        told = yes_or_no(result.ask) if isinstance(result, NeedsYesOrNo) else reply_to(result)
        if told is not None:
            self._say(told, to=note)
        await self._cards.found(ask.id, replied.id, self._chat)

    def _say(self, said: Said, *, to: Note) -> None:
        said = paragraph(said) if isinstance(said, str) else said
        said = Message(document=said) if isinstance(said, tuple) else said
        text = write(said.document, now=self._clock.time())
        self._board.post(BOT, text, said.rows, reply_to=to.id)

    def _say_later(self, to: Note) -> Callable[[str], Awaitable[None]]:
        async def say(words: str) -> None:
            self._say(words, to=to)

        return say

    async def _send_file(self, file: File, *, to: Note) -> None:
        self._board.post(BOT, file.content.decode(errors="replace"), reply_to=to.id)


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
