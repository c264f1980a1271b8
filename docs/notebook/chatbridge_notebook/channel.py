"""The channel: a file as the service, one chat in it, what arrives, and the loop that reads."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from chatbridge import safe_json
from chatbridge.channels.chat.callback_data import decode
from chatbridge.channels.chat.capabilities import Buttons, Capabilities
from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.channel import ChatChannel
from chatbridge.channels.chat.document import File, Rows
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.chat.receiver import ButtonReceiver, Incoming, Reception, Sender
from chatbridge.channels.chat.runs import write_plain
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.channels.checks import CheckContext, Finding, fine
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import PostGone
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge_notebook.spec import Settings

Line = dict[str, Any]

NAME, ROOM = "notebook", "page"
LOOK_EVERY = 0.2
KEYS = Buttons(most_options=20, private=(30, 14), group=(30, 14))
CAN = Capabilities(channel=NAME, write=write_plain, size=len, card=2_000, buttons=KEYS)


class Notebook:
    """The service. A line with an `id` is a message of the bot's, or changes it; a line with `by`
    is what somebody does."""

    def __init__(self, file: Path) -> None:
        self.messages: dict[str, Line] = {}
        self.deeds: dict[int, Line] = {}  # by where their lines end
        self._file, self._end = file, 0

    def post(self, text: str, rows: Rows = (), *, name: str = "", **more: Any) -> str:
        name = name or secrets.token_hex(4)
        buttons = [[key.text, key.data] for row in rows for key in row]
        self.append({"id": name, "text": text, "buttons": buttons, **more})
        return name

    def append(self, line: Line) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.look()

    def look(self) -> None:
        with self._file.open("ab+") as file:
            file.seek(self._end)
            while (raw := file.readline()).endswith(b"\n"):  # else somebody is writing it
                self._end += len(raw)
                with suppress(ValueError):
                    self._keep(safe_json.loads(raw))

    def _keep(self, line: object) -> None:
        if isinstance(line, dict) and "by" in line:
            self.deeds[self._end] = line
        elif isinstance(line, dict) and "text" in line:
            self.messages[str(line["id"])] = line
        elif isinstance(line, dict):
            self.messages.pop(str(line.get("id")), None)


class Chat(ChatSurface[str]):
    private = reactions = False
    viewer = None

    def __init__(self, notebook: Notebook, clock: Clock) -> None:
        super().__init__(f"{NAME}:{ROOM}", CAN, service="the notebook", clock=clock)
        self.visibility = Visibility(NAME, clock=clock)
        self._notebook = notebook

    def current_room(self) -> str:
        return ROOM

    async def send(self, new: Outgoing[str]) -> Sent:
        if isinstance(new.what, File):
            name = self._notebook.post(new.what.content.decode(errors="replace"))
        else:
            name = self._notebook.post(new.what.text, new.what.rows, silent=new.silent)
        return Sent(id=name, at=self._clock.time())

    async def edit(
        self, room: str, message: str, drawing: Drawing[str], *, key: Key, silent: bool
    ) -> Sent:
        if message not in self._notebook.messages:
            raise PostGone
        return Sent(id=self._notebook.post(drawing.text, drawing.rows, name=message))

    async def remove(self, room: str, message: str) -> None:
        self._notebook.append({"id": message})


class Receiver(ButtonReceiver):
    def __init__(self, notebook: Notebook, reception: Reception) -> None:
        super().__init__(reception)
        self._notebook = notebook

    async def take(self, line: Line, cursor: ChannelState) -> None:
        by, text = Sender(id=str(line["by"]), name=str(line["by"])), str(line.get("text", ""))
        to = self._incoming(str(line.get("to")))
        if "tap" in line:
            origin = self.allowed(by, ROOM, cursor)
            if origin and to and (told := await self.tap(decode(str(line["tap"])), to, origin)):
                self._notebook.post(told, to=by.name)
            return
        now, command = self._clock.time(), None
        if text.startswith("/"):
            command = text[1:].partition(" ")[0]
        written = Incoming(room=ROOM, id=cursor.value, text=text, at=now, replied=to)
        await self.written(written, by, cursor, direct=False, command=command)

    def _incoming(self, name: str) -> Incoming | None:
        if (line := self._notebook.messages.get(name)) is None:
            return None
        buttons = tuple(data for _, data in line["buttons"])
        return Incoming(room=ROOM, id=name, text=line["text"], ours=True, buttons=buttons)

    async def take_buttons(self, message: Incoming) -> None:
        self._notebook.post(message.text or "", name=message.id)


class Poll(PollLoop[Sequence[int]]):
    channel = NAME

    def __init__(
        self, notebook: Notebook, receiver: Receiver, inbox: AskActions, clock: Clock
    ) -> None:
        super().__init__(inbox, clock=clock, cursor_key="end")
        self._notebook, self._receiver = notebook, receiver

    async def begin(self) -> None:
        self._notebook.look()
        if known := await self.stored_cursor():
            self._forget(int(known.value))

    def _forget(self, end: int) -> None:
        for done in [each for each in self._notebook.deeds if each <= end]:
            del self._notebook.deeds[done]

    async def read(self, *, wait: bool) -> Sequence[int]:
        self._notebook.look()
        while wait and not self._notebook.deeds:
            await asyncio.sleep(LOOK_EVERY)
            self._notebook.look()
        return [*self._notebook.deeds]

    async def deal_with(self, batch: Sequence[int]) -> bool:
        for end in batch:
            take = partial(self._receiver.take, self._notebook.deeds[end])
            await self.process_at(str(end), take)
            self._forget(end)
        return bool(batch)


class NotebookChannel(ChatChannel[Chat]):
    name = NAME

    def __init__(self, file: Path, people: Iterable[str], *, clock: Clock) -> None:
        self._notebook = Notebook(file)
        super().__init__([Chat(self._notebook, clock)], clock=clock, hold=nullcontext)
        self._people = Allowlist(NAME, [*people], clock=clock)

    def troubles(self) -> Iterable[str | None]:
        return ()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        (chat,), clock, notebook = self._chats, self._clock, self._notebook
        chat.attach(inbox)
        reception = Reception(
            inbox=inbox,
            channel=NAME,
            chats=self._chats,
            people=self._people,
            clock=clock,
            spawn=self._beside.spawn,
        )
        self._poll = poll = Poll(notebook, Receiver(notebook, reception), inbox, clock)
        await poll.begin()
        ready()
        try:
            await poll.run()
        finally:
            await self._beside.end()


def build(table: Settings, context: ChannelContext) -> NotebookChannel:
    assert table.file is not None
    return NotebookChannel(table.file, table.allowed_users, clock=context.clock)


async def check(table: Settings, context: CheckContext) -> Sequence[Finding]:
    return [fine(NAME, f"writes to {context.shown(table.file or Path())}")]
