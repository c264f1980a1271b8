"""Writing into one chat: a message as the kit hands it to a channel, and what becomes of it.

A channel says how a message is sent, edited and removed. The kit notes what is wrong with the chat,
and explains a gap.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.capabilities import Capabilities, Files, T
from chatbridge.channels.chat.document import File, Message, Rows, Upload
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater
from chatbridge.core.model import ChannelState, Level, Notice, Project
from chatbridge.core.ports import AttachmentStore, Clock
from chatbridge.digests import sha256_hex

R = TypeVar("R")

GAP_WORTH_EXPLAINING_SECONDS = 5 * 60.0
SEND_TRIES = 6


class MessageRejected(ChatbridgeError):
    """The service does not take this request, however often it is made."""


async def patiently(send: Callable[[], Awaitable[R]], clock: Clock, *, pause: float = 0.0) -> R:
    """Send after a pause, and again after those that the service asks for. What nobody has answered
    may have arrived: that is not sent again. :raises RetryLater:"""
    for _ in range(SEND_TRIES - 1):
        await clock.sleep(pause)
        try:
            return await send()
        except RetryLater as error:
            if error.after is None:
                raise
            pause = error.after
    await clock.sleep(pause)
    return await send()


def open_content(file: File) -> BinaryIO:
    """The file's content, to be read while it is sent. :raises MessageRejected: it has gone."""
    if file.path is None:
        return io.BytesIO(file.content)
    try:
        return open(file.path, "rb")
    except OSError as error:
        raise MessageRejected(f"{file.name} cannot be read ({error.strerror})") from None


def size_of(content: BinaryIO) -> int:
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    return size


Key = tuple[str, ...]
"""The same for the same deed: where a service can, it takes what is sent again for the same."""


def key_name(key: Key) -> str:
    """As a service knows it; empty for what has no key."""
    return sha256_hex("\0".join(key).encode())[:32] if key else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing(Generic[T]):
    """A message in a channel's markup, with the buttons below it."""

    text: T
    rows: Rows = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing(Generic[T]):
    room: str
    what: Drawing[T] | Upload
    key: Key
    project: Project | None = None
    topic: str | None = None
    root: str | None = None
    """The message that it belongs to: it replies to that, or is in its thread."""
    answers: str = ""
    """The message of a person that it answers."""
    after: str | None = None
    """The last one before it in that thread."""
    silent: bool = True
    card: tuple[str, int] | None = None
    """The ask and the step that it is the card of."""
    placeholder: str | None = None
    """It opens the keyboard, with this in the empty field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    id: str
    """Empty if the service has not said it. Of an edit, whatever names it."""
    at: float | None = None
    """When, by the service's clock."""
    topic: str | None = None
    """Where in the chat it is, which may be elsewhere than was asked for."""


class ChatWriter(ABC, Generic[T]):
    def __init__(self, name: str, can: Capabilities[T], *, service: str, clock: Clock) -> None:
        """`name` begins with the channel's; `service` is what people call it."""
        self.name = name
        self.channel = name.partition(":")[0]
        self.trouble: str | None = None
        self._can = can
        self._service = service
        self._clock = clock
        self._down_since: float | None = None

    def drawn(self, message: Message) -> Drawing[T]:
        text = self._can.write(message.document, now=self._clock.time())
        return Drawing(text=text, rows=message.rows)

    def attach(self, inbox: AskActions) -> None:
        """Call it before anything is shown."""
        self._inbox = inbox

    async def remember(self, key: str, value: str) -> None:
        """Store a value under this key of the channel's."""
        now = self._clock.time()
        await self._inbox.remember(ChannelState(channel=self.channel, key=key, value=value, at=now))

    async def recall(self, key: str) -> str | None:
        state = await self._inbox.note(self.channel, key)
        return state.value if state is not None else None

    async def stored_notice(self, notice_id: str) -> Notice | None:
        return await self._inbox.notice(notice_id)

    @property
    def files(self) -> Files | None:
        """Which files this chat takes, if any."""
        return self._can.files

    @property
    def stored(self) -> AttachmentStore | None:
        return self._inbox.attachments

    @property
    def is_there(self) -> bool:
        """Whether messages can be sent."""
        return True

    @abstractmethod
    def current_room(self) -> str:
        """Where to write now. :raises ChatRefused: nowhere yet."""

    def handle(self, room: str, message: str) -> str:
        """Names a message in the store."""
        return message

    @abstractmethod
    async def send(self, new: Outgoing[T]) -> Sent: ...

    @abstractmethod
    async def edit(
        self, room: str, message: str, drawing: Drawing[T], *, key: Key, silent: bool
    ) -> Sent:
        """:raises PostGone: there is no such message any more."""

    @abstractmethod
    async def remove(self, room: str, message: str) -> None:
        """As far as the service lets the bot do so."""

    async def topic_of(self, room: str, project: Project) -> str | None:
        """Where in the chat the messages of this project go."""
        return None

    def is_silent(self, notice: Notice) -> bool:
        """Whether it comes without a sound now."""
        return notice.level is Level.INFO or self._inbox.nights.is_quiet_on(
            self.name, self._clock.time()
        )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note what is wrong with the chat, and that nothing is once something got there."""
        try:
            yield
        except ChatRefused as error:
            self.trouble = str(error)
            raise
        except RetryLater as error:
            if error.after is None:  # a pause that the service asks for is no trouble
                self.trouble = str(error)
                self._down_since = self._down_since or self._clock.time()
            raise
        self.trouble = self._down_since = None

    async def open_topic(self, room: str, project: Project) -> str | None:
        """The project's topic, for new messages. The first ones after a long time without network
        come with a line that says why they are late."""
        topic = await self.topic_of(room, project)
        since, now = self._down_since, self._clock.time()
        if since is not None and now - since >= GAP_WORTH_EXPLAINING_SECONDS:
            why = notices.unreachable(self._service, since=since, now=now)
            gap = Drawing(text=self._can.write(why, now=now))
            key = ("gap", self.name, str(since))
            sent = await self.send(
                Outgoing(room=room, what=gap, key=key, project=project, topic=topic)
            )
            self._down_since, topic = None, sent.topic
        return topic
