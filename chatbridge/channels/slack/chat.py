"""One conversation: sends, edits and removes messages there. A message's metadata has its key."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress

from chatbridge.channels.chat.bot import BotChat
from chatbridge.channels.chat.document import Upload
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.chat.sent_before import SentBefore
from chatbridge.channels.chat.writer import Drawing, Key, Outgoing, Sent, key_name
from chatbridge.channels.slack.api import PAGE, Api, key_of
from chatbridge.channels.slack.render import SLACK, comment, drawn
from chatbridge.channels.sockets.retold import seconds
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import race

SHOWN_WITHIN = 2.0
"""Seconds. Then what follows is sent all the same."""


class Chat(BotChat[Text]):
    reactions = False
    pace = RateLimit(message=1.0, edit=1.2, burst=4.0)
    """Slack allows about one message a second in a conversation, and fifty edits a minute."""
    client: Api

    def __init__(
        self, api: Api, place: str, *, people: Sequence[str], clock: Clock, pace: RateLimit | None
    ) -> None:
        """`place` is a person or a channel; in a channel, these people are called."""
        private = place[:1] in ("U", "W")
        super().__init__(place, SLACK, service="Slack", private=private, pace=pace, clock=clock)
        self.client = api
        self._called = () if private else tuple(people[:10])
        self._before = SentBefore(self._read)
        self._shown: deque[tuple[str, str]] = deque(maxlen=50)
        """Files, with the times of their messages."""
        self._came = asyncio.Event()

    async def send(self, new: Outgoing[Text]) -> Sent:
        room, thread = new.room, new.root
        if isinstance(new.what, Upload):
            files = new.what.files
            first = await self.client.send_files(room, files, blocks=comment(files), thread=thread)
            ts = await self._shown_at(first) if not thread else ""
            return Sent(id=ts, at=seconds(ts) or None)
        name = key_name(new.key)
        if found := await self._before.find(room, thread, name):
            with suppress(PostGone):
                sent = await self.edit(room, found, new.what, key=new.key, silent=True)
                return Sent(id=sent.id, at=seconds(found))
        called = () if new.silent else self._called
        body = drawn(new.what, called=called, answers=new.answers, root=thread)
        with self._before.sending(room, thread):
            ts = await self.client.send(room, body, key=name, thread=thread)
        if not thread:
            self.passed(ts)
            self._before.begun(room, ts)
        return Sent(id=ts, at=seconds(ts) or None)

    def shows(self, files: Iterable[str], ts: str) -> None:
        """The bot's own message with these files has come back."""
        self._shown.extend((file, ts) for file in files)
        self._came.set()

    async def _shown_at(self, file: str) -> str:
        """Slack shows files a moment after it has taken them: what follows would be above them."""

        async def come() -> str:
            while not (found := dict(self._shown).get(file)):
                self._came.clear()
                await self._came.wait()
            return found

        return await race(come(), self._clock.sleep(SHOWN_WITHIN)) or ""

    async def _read(self, room: str, thread: str | None) -> dict[str, str]:
        found = await self.client.messages(room, root=thread, most=PAGE)
        return {name: str(each["ts"]) for each in found if (name := key_of(each))}

    async def edit(
        self, room: str, message: str, drawing: Drawing[Text], *, key: Key, silent: bool
    ) -> Sent:
        await self.client.edit(room, message, drawn(drawing))
        return Sent(id=message)
