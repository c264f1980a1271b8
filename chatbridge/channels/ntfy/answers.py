"""What comes back through the second topic: taps on buttons that are signed by this hub.

Anybody may write there, and nobody can be told apart: nothing counts without the signature, and an
approval never does. Who has read one answer can only repeat it, for a step that is over.
"""

from __future__ import annotations

import hmac
from functools import partial

from chatbridge.channels.chat.callback_data import Tap, decode
from chatbridge.channels.chat.poll_loop import PollLoop
from chatbridge.channels.ntfy.api import Api, Json
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import NotHere
from chatbridge.core.forms import form
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.ports import Clock

ACTIONS = (form.Choose, form.Submit, form.Undo)
SOMEBODY = Person(name="somebody", channel="ntfy")


def signed(data: str, secret: str) -> str:
    """What a button sends."""
    return f"{data} {hmac.digest(secret.encode(), data.encode(), 'sha256').hex()[:32]}"


class Answers(PollLoop[list[Json]]):
    channel = "ntfy"
    kind = "answer"

    def __init__(self, api: Api, topic: str, secret: str, inbox: AskActions, clock: Clock) -> None:
        super().__init__(inbox, clock=clock, cursor_key="since")
        self._api, self._topic, self._secret = api, topic, secret
        self._since = "all"

    async def begin(self) -> None:
        if known := await self.stored_cursor():
            self._since = known.value

    async def read(self, *, wait: bool) -> list[Json]:
        return await self._api.messages(self._topic, since=self._since, wait=wait)

    async def deal_with(self, batch: list[Json]) -> bool:
        for message in batch:
            name = str(message.get("id"))
            await self.process_at(name, partial(self._take, str(message.get("message"))))
            self._since = name
        return bool(batch)

    async def _take(self, said: str, cursor: ChannelState) -> None:
        data = said.partition(" ")[0]
        mine = signed(data, self._secret) if (tap := decode(data)) else ""
        if not hmac.compare_digest(mine.encode(), said.encode(errors="replace")):
            return  # without a line in the log, which a stranger could fill
        assert isinstance(tap, Tap)
        assert isinstance(tap.action, ACTIONS)
        if (await self._inbox.ask(tap.ask_id)).approval:
            raise NotHere(tap.ask_id, channels=())
        await self._inbox.put(tap.ask_id, tap.action, person=SOMEBODY, cursor=cursor)
