"""Telegram as a process of its own, which forgets nothing when it is killed.

    python -m tests.chaos.bot_api FOLDER PORT CONTROL_PORT

The Bot API of tests/fakes/telegram at one port; at the other the person's phone, as HTTP and JSON
below /botphone: GET messages and toast, POST tap, say and send. Everything happens in one loop, and
what a request did is in the journal before its answer is written, and before a waiting poll's is.
FOLDER/identity.json says who the bot and the person are.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.chaos.journal import Journal
from tests.fakes.telegram.api import Api
from tests.fakes.telegram.chats import ChatRecord, Document, Json, Message, User
from tests.fakes.telegram.people import Phone, picture
from tests.fakes.telegram.replies import Later, Outcome, Reply
from tests.fakes.telegram.service import Features, Service
from tests.fakes.telegram.wire import Connection

LONGEST_WAIT = 30.0
RECENT = 100
PHONE = "phone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    token: str
    person: int
    name: str = "Ada"

    def write(self, folder: Path) -> None:
        (folder / "identity.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Identity:
        return cls(**json.loads((folder / "identity.json").read_text()))


class No(Exception):
    """The phone cannot do that."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Telegram:
    """The service, and its one private chat."""

    def __init__(self, folder: Path, *, in_loop: Callable[[Callable[[], None]], None]) -> None:
        identity = Identity.read(folder)
        self.service = service = Service(clock=None, features=Features())
        number = int(identity.token.partition(":")[0])
        service.token = identity.token
        service.bot = User(id=number, name="Bot", username=f"chaos_{number}_bot", is_bot=True)
        person = User(id=identity.person, name=identity.name)
        self.chat = ChatRecord(id=person.id, type="private", people={person.id: person})
        service.people[person.id] = person
        service.chats[self.chat.id] = self.chat
        self._journal = Journal(folder / "journal", service, self.chat)
        self._api = Api(service, in_loop=in_loop)
        self._phone = Phone(service, self.chat, person)
        self._doing: dict[str, Callable[[Json], object]] = {
            "messages": self._messages,
            "tap": self._tap,
            "toast": self._toast,
            "say": self._say,
            "send": self._send,
        }

    def close(self) -> None:
        self._journal.close()

    # ── the bot's side ────────────────────────────────────────────────────────────────────────────

    def call(
        self, token: str, method: str, params: Json, files: dict[str, Document]
    ) -> Outcome | Later:
        outcome = self._api.call(token, method, params, files)
        touched = [params.get("message_id"), *_sent(outcome)]
        self._journal.keep(*(self.chat.messages.get(it) for it in touched if it is not None))
        del self.service.requests[:-RECENT]
        return outcome

    # ── the person's side ─────────────────────────────────────────────────────────────────────────

    def control(
        self, who: str, method: str, params: Json, files: dict[str, Document]
    ) -> Outcome | Later:
        try:
            doing = self._doing.get(method)
            if who != PHONE or doing is None:
                raise No(404, f"there is no {who}/{method}")
            return _reply(doing(params))
        except No as error:
            return _reply({"error": error.why}, status=error.status)

    def _messages(self, params: Json) -> list[Json]:
        since = int(params.get("since", 0))
        versions = self._journal.versions
        return [
            _shown(message) | {"version": versions[message.id]}
            for message in self.chat.messages.values()
            if versions[message.id] > since
            and not message.service
            # Who looks anew sees what is there; who looks on hears what has gone, too.
            and (since or not message.deleted)
        ]

    def _tap(self, params: Json) -> Json:
        message = self._message(params["message"])
        data = params.get("data")
        if data is None:
            keys = picture(message).keys
            fitting = [key.data for key in keys if key.text == params.get("label")]
            if len(fitting) != 1 or fitting[0] is None:
                raise No(409, f"{len(fitting)} such buttons")
            data = fitting[0]
        query = self._phone.press(picture(message), str(data)).id
        self._journal.keep()
        return {"query": query}

    def _toast(self, params: Json) -> Json:
        query = self.service.queries.get(str(params["query"]))
        if query is None:
            raise No(404, "no such tap")
        return {"answered": query.answer is not None, "text": query.answer, "alert": query.alert}

    def _say(self, params: Json) -> Json:
        to = params.get("reply_to")
        answered = None if to is None else picture(self._message(to))
        said = self._phone.say(str(params["text"]), reply_to=answered)
        self._journal.keep(self.chat.messages[said.id])
        return {"message": said.id, "date": said.date}

    def _send(self, params: Json) -> Json:
        """A text as a file, with the same text as its caption."""
        text, number = str(params["text"]), f"file-{self.service.last_id + 1}"
        file = Document(name="answer.txt", content=text.encode(), kind="text/plain", id=number)
        answered = picture(self._message(params["reply_to"]))
        sent = self._phone.send(file, caption=text, reply_to=answered)
        self._journal.keep(self.chat.messages[sent.id])
        return {"message": sent.id, "date": sent.date}

    def _message(self, number: int) -> Message:
        message = self.chat.message(number)
        if message is None:
            raise No(404, f"there is no message {number}")
        return message


def _sent(outcome: Outcome | Later) -> list[int | None]:
    """The ids of the messages that a call made."""
    if not isinstance(outcome, Reply) or outcome.status != 200:
        return []
    if not outcome.body.startswith(b"{"):
        return []  # a file
    made = json.loads(outcome.body)["result"]
    several = made if isinstance(made, list) else [made]
    return [each.get("message_id") for each in several if isinstance(each, dict)]


def _shown(message: Message) -> Json:
    card = picture(message)
    markup = message.markup or {}
    return {
        "id": card.id,
        "from_bot": card.from_bot,
        "text": card.text,
        "rows": [
            [{"text": key["text"], "data": key.get("callback_data")} for key in row]
            for row in markup.get("inline_keyboard", ())
        ],
        "reply_to": card.reply_to,
        "force_reply": card.force_reply is not None,
        "date": card.date,
        "edited": card.edited,
        "edits": len(card.edits),
        "reactions": list(card.reactions),
        "deleted": card.deleted,
    }


def _reply(value: Any, *, status: int = 200) -> Reply:
    return Reply(status=status, body=json.dumps(value).encode())


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(call)


async def serve(folder: Path, port: int, control: int) -> None:
    loop = asyncio.get_running_loop()
    telegram = Telegram(folder, in_loop=lambda call: _soon(loop, call))
    connections: set[Connection] = set()
    for call, at in ((telegram.call, port), (telegram.control, control)):
        await loop.create_server(
            lambda call=call: Connection(call, connections, now=time.time),  # type: ignore[misc]
            "127.0.0.1",
            at,
        )
    await loop.run_in_executor(None, sys.stdin.read)  # it ends with whoever started it


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
