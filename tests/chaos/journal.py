"""What Telegram must not forget, record by record in a file that is only ever appended to.

A record is written in one go; one that was cut off by a kill was acknowledged to nobody, and is
dropped.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
from pathlib import Path
from typing import Any

from tests.fakes.telegram.chats import ChatRecord, Message
from tests.fakes.telegram.service import Query, Service
from tests.fakes.telegram.updates import Update

_PLAIN = [
    field.name
    for field in dataclasses.fields(Message)
    if field.name not in ("chat", "sender", "reply_to")
]
_SIZE = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    version: int
    messages: tuple[dict[str, Any], ...]
    updates: tuple[Update, ...]
    """New ones."""
    waiting: tuple[int, ...]
    """The ids of all that are not confirmed."""
    queries: tuple[tuple[str, Query], ...]
    next_update: int
    last_message: int
    allowed: tuple[str, ...] | None
    commands: tuple[tuple[str, Any], ...]


class Journal:
    """Of one service with one chat. `versions`: when each message changed last, as a count."""

    def __init__(self, file: Path, service: Service, chat: ChatRecord) -> None:
        self.versions: dict[int, int] = {}
        self._service, self._chat = service, chat
        self._version = 0
        self._waiting: dict[int, Update] = {}
        self._answers: dict[str, str | None] = {}
        self._open: set[str] = set()
        self._facts: object = None
        self._replay(file)
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def close(self) -> None:
        os.close(self._file)

    def keep(self, *messages: Message | None) -> None:
        """What has changed since the last time; these messages are, if any."""
        service, updates = self._service, self._service.updates
        changed = [message for message in messages if message is not None]
        waiting = {update.id: update for update in updates.pending}
        queries = [
            (key, query)
            for key, query in _newest(service.queries, len(self._answers), self._open)
            if key not in self._answers or self._answers[key] != query.answer
        ]
        facts = (updates._allowed, {**service.commands})
        same = waiting.keys() == self._waiting.keys() and facts == self._facts
        if same and not changed and not queries:
            return
        self._version += 1
        record = Record(
            version=self._version,
            messages=tuple(_flat(message) for message in changed),
            updates=tuple(it for it in waiting.values() if it.id not in self._waiting),
            waiting=tuple(waiting),
            queries=tuple(queries),
            next_update=updates._next,
            last_message=service.last_id,
            allowed=updates._allowed,
            commands=tuple(service.commands.items()),
        )
        data = pickle.dumps(record)
        os.write(self._file, len(data).to_bytes(_SIZE) + data)
        self._facts = facts
        self._note(record, waiting)

    def _note(self, record: Record, waiting: dict[int, Update]) -> None:
        self._waiting = waiting
        for flat in record.messages:
            self.versions[flat["id"]] = record.version
        for key, query in record.queries:
            self._answers[key] = query.answer
            (self._open.discard if query.answer is not None else self._open.add)(key)

    def _replay(self, file: Path) -> None:
        if not file.exists():
            return
        data, at = file.read_bytes(), 0
        while (end := at + _SIZE + int.from_bytes(data[at : at + _SIZE])) <= len(data) > at:
            self._apply(pickle.loads(data[at + _SIZE : end]))  # noqa: S301 - our own
            at = end
        os.truncate(file, at)

    def _apply(self, record: Record) -> None:
        service, updates = self._service, self._service.updates
        self._version = record.version
        for flat in record.messages:
            message = self._chat.messages[flat["id"]] = self._message(flat)
            if message.document is not None:
                service.files[message.document.id] = message.document
        known = self._waiting | {update.id: update for update in record.updates}
        waiting = {number: known[number] for number in record.waiting}
        updates._queue = list(waiting.values())
        updates._next, updates._allowed = record.next_update, record.allowed
        service.queries.update(record.queries)
        service.commands.update(record.commands)
        service.last_id = record.last_message
        self._note(record, waiting)

    def _message(self, flat: dict[str, Any]) -> Message:
        sender, reply_to = flat["sender"], flat["reply_to"]
        people = {**self._chat.people, self._service.bot.id: self._service.bot}
        return Message(
            chat=self._chat,
            sender=people[sender],
            reply_to=None if reply_to is None else self._chat.messages.get(reply_to),
            **{name: flat[name] for name in _PLAIN},
        )


def _flat(message: Message) -> dict[str, Any]:
    """Without the objects that it knows: those have records of their own."""
    reply_to = message.reply_to
    return {name: getattr(message, name) for name in _PLAIN} | {
        "sender": message.sender.id,
        "reply_to": None if reply_to is None else reply_to.id,
    }


def _newest(queries: dict[str, Query], known: int, open_ones: set[str]) -> list[tuple[str, Query]]:
    """Those that may have changed: new ones are at the end."""
    new = list(queries.items())[known:]
    return [(key, queries[key]) for key in open_ones] + new
