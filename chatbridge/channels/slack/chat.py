"""One conversation: sends, edits and removes messages there.

Slack takes a message that is sent again for another one. So each carries its key as metadata, and
where one may be out without anybody having heard so, it is looked for first.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.surface import FAR_ABOVE, ChatSurface
from chatbridge.channels.chat.writer import Drawing, Key, MessageRejected, Outgoing, Sent
from chatbridge.channels.slack.api import EVENT, PAGE, Api, Json, seconds
from chatbridge.channels.slack.render import SLACK, message_blocks, notified
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater
from chatbridge.core.ports import Clock
from chatbridge.digests import sha256_hex
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

PACE = RateLimit(message=1.0, edit=1.2, burst=4.0)
"""Slack allows about one message a second in a conversation, and fifty edits a minute."""
MOST_MENTIONED = 10


class Chat(ChatSurface[Text]):
    reactions = False
    idempotent = True

    def __init__(
        self,
        api: Api,
        place: str,
        *,
        people: Sequence[str],
        clock: Clock,
        pace: RateLimit | None = None,
    ) -> None:
        """`place` is a person or a channel; in a channel, these people are called."""
        super().__init__(f"slack:{place}", SLACK, service="Slack", clock=clock)
        self.place = place
        self.private = place[:1] in ("U", "W")
        self.id = "" if self.private else place
        self.pace = pace or PACE
        self.visibility = Visibility("slack", clock=clock)
        self._api = api
        self._called = () if self.private else tuple(people[:MOST_MENTIONED])
        self._passed: deque[float] = deque(maxlen=FAR_ABOVE + 1)
        self._sent: dict[str, str] = {}
        """What was found, by the keys of what was sent."""
        self._looked: set[tuple[str, str]] = set()
        """Rooms, and threads in them, of which all is known that this process has not sent."""

    async def open(self) -> None:
        """Find the conversation with a person. :raises RetryLater: :raises TokenRejected:"""
        if self.private and not self.id:
            try:
                self.id = await self._api.direct(self.place)
            except ChatRefused as error:
                self.trouble = str(error)
                log.warning("%s", error)

    @property
    def is_there(self) -> bool:
        return bool(self.id)

    @property
    def viewer(self) -> str | None:
        return self.place if self.private else None

    def current_room(self) -> str:
        if not self.id:
            raise ChatRefused(self.trouble)
        return self.id

    def handle(self, room: str, message: str) -> str:
        return f"{room}:{message}"

    def passed(self, ts: str) -> None:
        """A message is in this conversation, and in no thread."""
        if (at := seconds(ts)) not in self._passed:
            self._passed.append(at)

    def messages_after(self, message: str) -> int:
        return sum(at > seconds(message) for at in self._passed)

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def send(self, new: Outgoing[Text]) -> Sent:
        room, thread = new.room, new.root or ""
        if isinstance(new.what, File):
            await self._api.send_file(room, new.what.name, new.what.content, thread or None)
            return Sent(id="")
        key, drawing = sha256_hex("\0".join(new.key).encode())[:32], new.what
        if found := await self._sent_before(room, thread, key):
            with suppress(PostGone):
                sent = await self.edit(room, found, drawing, key=new.key, silent=True)
                return Sent(id=sent.id, at=seconds(found))
        called = () if new.silent else self._called
        text = notified(drawing.text, mentioned=called)
        blocks = message_blocks(drawing.text, drawing.rows, mentioned=called)
        try:
            ts = await self._api.send(room, text, blocks, key=key, thread=thread or None)
        except RetryLater as error:
            if not error.unsent:
                self._looked.discard((room, thread))
            raise
        if not thread:
            self.passed(ts)
            self._looked.add((room, ts))
        return Sent(id=ts, at=seconds(ts) or None)

    async def _sent_before(self, room: str, thread: str, key: str) -> str | None:
        """Where a message with this key is that an earlier process has sent, or this one without
        having heard so."""
        if (room, thread) not in self._looked:
            if thread:
                found = await self._api.replies(room, thread, most=PAGE)
            else:
                found = await self._api.history(room, oldest="0", most=PAGE)
            self._sent |= {name: str(each["ts"]) for each in found if (name := _key_of(each))}
            self._looked.add((room, thread))
        return self._sent.get(key)

    async def edit(
        self, room: str, message: str, drawing: Drawing[Text], *, key: Key, silent: bool
    ) -> Sent:
        blocks = message_blocks(drawing.text, drawing.rows)
        await self._api.edit(room, message, notified(drawing.text), blocks)
        return Sent(id=message)

    async def remove(self, room: str, message: str) -> None:
        if message:
            try:
                await self._api.delete(room, message)
            except (MessageRejected, PostGone) as error:
                log.debug("%s: message %s stays: %s", self.name, message, error)


def _key_of(message: Json) -> str:
    metadata = message.get("metadata")
    if value_at(metadata, "event_type") != EVENT:
        return ""
    return str(value_at(metadata, "event_payload", "key") or "")
