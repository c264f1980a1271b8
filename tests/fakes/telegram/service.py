"""The service's whole state, and the changes that both the bot and people can make to it.

Everything is done under one lock, `changed`, which tells who waits that something happened.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import (
    CHANCE,
    EMPTY,
    ChatRecord,
    Document,
    Json,
    Message,
    User,
    gone_json,
    message_json,
)
from tests.fakes.telegram.entities import Formatted
from tests.fakes.telegram.faults import PATIENCE, Faults
from tests.fakes.telegram.limits import RateLimits
from tests.fakes.telegram.updates import Updates


class Times(Protocol):
    def time(self) -> float: ...

    def monotonic(self) -> float: ...


@dataclass(slots=True, kw_only=True)
class Request:
    """One request of the bot, as it came in."""

    method: str
    params: Json
    files: dict[str, Document]
    at: float
    status: int | None = None
    """What it was answered with; None as long as it has no answer."""
    description: str = ""


@dataclass(slots=True, kw_only=True)
class Query:
    """A tap that may be answered once, for a while."""

    at: float
    answer: str | None = None
    alert: bool = False
    expired: bool = False


@dataclass(slots=True, kw_only=True)
class Features:
    topics_enabled: bool = False
    times: bool = True
    """Whether the server knows `tg-time`."""
    reads_all: bool = False
    """What getMe says of the bot's privacy mode in groups: true if it is off."""


class Service:
    def __init__(self, *, clock: Times | None, features: Features) -> None:
        self.clock: Times = clock or time
        self.features = features
        self.changed = threading.Condition(threading.RLock())
        bot_id = CHANCE.randrange(10**9, 10**10)
        self.token = f"{bot_id}:" + "".join(CHANCE.choices("ABCDEFGHabcdefgh0123456789_-", k=35))
        self.bot = User(id=bot_id, name="Test bot", username=f"test_{bot_id}_bot", is_bot=True)
        self.revoked = False
        self.people: dict[int, User] = {}
        self.chats: dict[int, ChatRecord] = {}
        self.updates = Updates(now=self.clock.time, lock=self.changed)
        self.rates = RateLimits(self.clock.monotonic)
        self.faults = Faults()
        self.requests: list[Request] = []
        self.queries: dict[str, Query] = {}
        self.commands: dict[str, list[Json]] = {}
        self.files: dict[str, Document] = {}
        self.paths: dict[str, tuple[Document, float]] = {}
        """Where files can be fetched, and until when."""
        self.local_folder = ""
        """Where a server that runs with --local has its files."""
        self.last_id = CHANCE.randrange(100, 10_000)

    def now(self) -> int:
        return int(self.clock.time())

    def until(self, condition: Callable[[], Any], failure: Callable[[], str]) -> None:
        """Wait, with a bound, until something is so."""
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE), failure()

    def new_id(self, chat: ChatRecord) -> int:
        """Supergroups count their own messages; all other chats share one count."""
        if chat.type == "supergroup":
            return max(chat.messages, default=0) + 1
        self.last_id += 1
        return self.last_id

    def post(
        self,
        chat: ChatRecord,
        sender: User,
        body: Formatted = EMPTY,
        *,
        source: str = "",
        markup: Json | None = None,
        thread: int | None = None,
        reply_to: Message | None = None,
        silent: bool = False,
        preview: Json | None = None,
        document: Document | None = None,
        album: str | None = None,
        service: Json | None = None,
    ) -> Message:
        message = Message(
            id=self.new_id(chat),
            chat=chat,
            sender=sender,
            date=self.now(),
            body=body,
            source=source,
            markup=markup,
            thread=thread,
            reply_to=reply_to,
            silent=silent,
            preview=preview,
            document=document,
            album=album,
            service=service or {},
        )
        chat.messages[message.id] = message
        self.changed.notify_all()
        return message

    def tell_bot(self, message: Message, kind: str = "message") -> None:
        """Queue a person's message, if the bot may see it."""
        if message.chat.refusal is None and self._visible(message):
            self.updates.add(kind, message_json(message))

    def _visible(self, message: Message) -> bool:
        chat, text = message.chat, message.body.text
        if chat.private or not chat.privacy or message.service:
            return True
        if message.reply_to is not None and message.reply_to.sender == self.bot:
            return not message.reply_to.service
        first = next(iter(text.split()), "")
        command, _, name = first.partition("@")
        return command.startswith("/") and name in ("", self.bot.username)

    def tap(self, chat: ChatRecord, message_id: int, person: User, data: str) -> str:
        """A callback query; its id."""
        query_id = str(CHANCE.randrange(10**17, 10**18))
        self.queries[query_id] = Query(at=self.clock.time())
        message = chat.message(message_id)
        shown = gone_json(chat, message_id) if message is None else message_json(message)
        self.updates.add(
            "callback_query",
            {
                "id": query_id,
                "from": person.json(),
                "message": shown,
                "chat_instance": str(abs(hash((self.bot.id, chat.id)))),
                "data": data,
            },
        )
        return query_id

    def answer(self, query_id: str, text: str, *, alert: bool) -> bool:
        """False: there is no such query any more."""
        query = self.queries.get(query_id)
        if query is None or query.expired or query.answer is not None:
            return False
        if self.clock.time() - query.at > limits.QUERY_SECONDS:
            return False
        query.answer, query.alert = text, alert
        self.changed.notify_all()
        return True

    def delete(self, message: Message) -> None:
        message.deleted = True
        self.changed.notify_all()

    def membership(self, chat: ChatRecord, person: User, *, was: str, now: str) -> None:
        """Tell the bot that a person let it in or threw it out."""
        member = self.bot.json()
        self.updates.add(
            "my_chat_member",
            {
                "chat": chat.json(),
                "from": person.json(),
                "date": self.now(),
                "old_chat_member": _status(member, was),
                "new_chat_member": _status(member, now),
            },
        )

    def migrate(self, old: ChatRecord, by: User) -> ChatRecord:
        new = ChatRecord(
            id=-1_000_000_000_000 - CHANCE.randrange(10**9, 10**10),
            type="supergroup",
            title=old.title,
            people=old.people,
            privacy=old.privacy,
        )
        self.chats[new.id] = new
        old.migrated_to = new.id
        self.tell_bot(self.post(old, by, service={"migrate_to_chat_id": new.id}))
        self.tell_bot(self.post(new, by, service={"migrate_from_chat_id": old.id}))
        return new

    def open_topic(self, chat: ChatRecord, name: str, by: User, colour: int) -> int:
        message = self.post(
            chat, by, service={"forum_topic_created": {"name": name, "icon_color": colour}}
        )
        message.thread = message.id
        chat.topics[message.id] = name
        return message.id

    def close_topic(self, chat: ChatRecord, thread: int) -> bool:
        """Delete a topic with all that is in it."""
        if chat.topics.pop(thread, None) is None:
            return False
        for message in chat.messages.values():
            if message.thread == thread:
                message.deleted = True
        self.changed.notify_all()
        return True


def _status(user: Json, status: str) -> Json:
    return {"user": user, "status": status, **({"until_date": 0} if status == "kicked" else {})}
