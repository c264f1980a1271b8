"""The channel: a file as the service, one chat in it, and what the lines that people write mean."""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatbridge import safe_json
from chatbridge.channels.chat.callback_data import decode
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Files
from chatbridge.channels.chat.document import File, Rows, Upload
from chatbridge.channels.chat.incoming import Incoming, Sender
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.receiver import Reception
from chatbridge.channels.chat.runs import write_plain
from chatbridge.channels.chat.simple import EventReceiver, SimpleChannel
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent
from chatbridge.channels.checks import CheckContext, Finding, fine
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.errors import AttachmentError, PostGone
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge_notebook.spec import Settings

Line = dict[str, Any]

NAME, ROOM = "notebook", "page"
LOOK_EVERY = 0.2
KEYS = Buttons(most_options=20, private=(30, 14), group=(30, 14))
FILES = Files(largest=100_000)
CAN = Capabilities(channel=NAME, write=write_plain, size=len, card=2_000, buttons=KEYS, files=FILES)


class Notebook:
    """The service. A line with an `id` is a message of the bot's, or changes it; a line with `by`
    is what somebody does."""

    def __init__(self, file: Path) -> None:
        self.messages: dict[str, Line] = {}
        self._deeds: dict[int, Line] = {}  # by where their lines end
        self._file, self._end = file, 0
        self._look()

    def post(self, text: str, rows: Rows = (), *, name: str = "", **more: Any) -> str:
        name = name or secrets.token_hex(4)
        buttons = [[key.text, key.data] for row in rows for key in row]
        self.append({"id": name, "text": text, "buttons": buttons, **more})
        return name

    def append(self, line: Line) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._look()

    def deeds(self, after: int) -> list[tuple[str, Line]]:
        self._look()
        self._deeds = {end: line for end, line in self._deeds.items() if end > after}
        return [(str(end), line) for end, line in self._deeds.items()]

    def _look(self) -> None:
        with self._file.open("ab+") as file:
            file.seek(self._end)
            while (raw := file.readline()).endswith(b"\n"):  # else somebody is writing it
                self._end += len(raw)
                with suppress(ValueError):
                    self._keep(safe_json.loads(raw))

    def _keep(self, line: object) -> None:
        if isinstance(line, dict) and "by" in line:
            self._deeds[self._end] = line
        elif isinstance(line, dict) and "text" in line:
            self.messages[str(line["id"])] = line
        elif isinstance(line, dict):
            self.messages.pop(str(line.get("id")), None)


class Chat(ChatSurface[str]):
    """How a message is sent, changed and removed."""

    private = reactions = False
    viewer = None

    def __init__(self, notebook: Notebook, clock: Clock) -> None:
        super().__init__(f"{NAME}:{ROOM}", CAN, service="the notebook", clock=clock)
        self._notebook = notebook

    def current_room(self) -> str:
        return ROOM

    async def send(self, new: Outgoing[str]) -> Sent:
        if isinstance(new.what, Upload):
            (file,) = new.what.files  # there are no albums
            content = await asyncio.to_thread(read, file)
            name = self._notebook.post(content, file=file.name, caption=file.caption)
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


def read(file: File) -> str:
    """A text; of anything else, which file it is."""
    content = Path(file.path).read_bytes() if file.path else file.content
    is_text = file.type.startswith("text/")
    return content.decode(errors="replace") if is_text else f"[{file.name}] {file.caption}"


class Receiver(EventReceiver[Line]):
    """Who did what to which message."""

    def __init__(self, notebook: Notebook, reception: Reception) -> None:
        super().__init__(reception)
        self._notebook = notebook

    async def take(self, event: Line, cursor: ChannelState) -> None:
        by, text = Sender(id=str(event["by"]), name=str(event["by"])), str(event.get("text", ""))
        to = self._message(str(event.get("to")))
        if "tap" in event:
            origin = self.allowed(by, ROOM, cursor)
            if origin and to and (told := await self.tap(decode(str(event["tap"])), to, origin)):
                self._notebook.post(told, to=by.name)
            return
        command = text[1:].partition(" ")[0] if text.startswith("/") else None
        now = self._clock.time()
        files = tuple(map(sent_file, event.get("files", ())))
        written = Incoming(room=ROOM, id=cursor.value, text=text, files=files, at=now, replied=to)
        await self.written(written, by, cursor, direct=False, command=command)

    def _message(self, name: str) -> Incoming | None:
        if (line := self._notebook.messages.get(name)) is None:
            return None
        buttons = tuple(data for _, data in line["buttons"])
        return Incoming(room=ROOM, id=name, text=line["text"], ours=True, buttons=buttons)

    async def take_buttons(self, message: Incoming) -> None:
        self._notebook.post(message.text or "", name=message.id)


def sent_file(line: Line) -> IncomingFile:
    """A service is asked for the content here: only once it is known who sent it, and for what."""

    async def read() -> AsyncIterator[bytes]:
        try:
            yield base64.b64decode(line["content"], validate=True)
        except ValueError:
            raise AttachmentError("That file is damaged. Send it again.") from None

    return IncomingFile(read=read, name=str(line.get("name")))


class NotebookChannel(SimpleChannel[Line]):
    name = NAME

    def __init__(self, table: Settings, context: ChannelContext) -> None:
        self._notebook = Notebook(table.file or Path())
        chat = Chat(self._notebook, context.clock)
        super().__init__([chat], table.allowed_users, clock=context.clock)

    def receiver(self, reception: Reception) -> Receiver:
        return Receiver(self._notebook, reception)

    async def events(self, after: str | None, *, wait: bool) -> Sequence[tuple[str, Line]]:
        """A place is where a line ends."""
        found = self._notebook.deeds(int(after or 0))
        while wait and not found:
            await asyncio.sleep(LOOK_EVERY)
            found = self._notebook.deeds(int(after or 0))
        return found


async def check(table: Settings, context: CheckContext) -> Sequence[Finding]:
    return [fine(NAME, f"writes to {context.shown(table.file or Path())}")]
