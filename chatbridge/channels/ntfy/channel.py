"""The topic that rings, and the one through which taps on its buttons come back.

Anybody may write there, and nobody can be told apart: nothing counts without a signature of this
hub, and an approval never does. Who has read an answer can only repeat it, for a step that is over.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from secrets import token_hex

from chatbridge.channels.bell import Alert
from chatbridge.channels.chat.callback_data import Tap, decode
from chatbridge.channels.chat.poll_loop import FeedLoop
from chatbridge.channels.notifier import ANSWERS, Notification, Notifier
from chatbridge.channels.ntfy.api import Api
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.channels.spec import ChannelContext
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import AskEnded, NotHere, UnknownAsk
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.redaction import hide

PRIORITIES = {Alert.SILENT: 2, Alert.RINGS: 3, Alert.URGENT: 5}
MOST_ACTIONS = 3
SOMEBODY = Person(name="somebody", channel="ntfy")


class NtfyChannel(Notifier):
    name = "ntfy"
    pace = RateLimit(message=5.0, edit=5.0, burst=200.0)

    def __init__(self, table: Ntfy, context: ChannelContext) -> None:
        super().__init__(context)
        self.most_keys = MOST_ACTIONS if table.answers else 0
        self._table = table
        hide(table.topic)
        hide(table.answers_to)

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        self.attach(inbox)
        known = await inbox.note(self.name, "secret")
        secret = known.value if known else token_hex(32)
        hide(secret)
        await inbox.remember(ChannelState(channel=self.name, key="secret", value=secret, at=0))
        self._sign = partial(signed, secret=secret)
        async with Api(self._table) as self._api:
            if self._table.answers:
                self._poll = FeedLoop(
                    inbox,
                    channel=self.name,
                    clock=self._clock,
                    events=partial(self._api.messages, self._table.answers_to, are=self._ours),
                    take=self._take,
                )
            ready()
            await (self._poll.run() if self._poll else asyncio.Event().wait())

    async def publish(self, new: Notification, alert: Alert) -> bool:
        url = f"{self._table.server}/{self._table.answers_to}"
        actions = [
            {"action": "http", "label": _plain(key.text), "url": url, "body": self._sign(key.data)}
            for key in new.keys
        ]
        if new.page:
            actions.append({"action": "view", "label": "Open inbox", "url": new.page})
        return await self._api.publish(
            topic=self._table.topic,
            sequence_id=new.id,
            priority=PRIORITIES[alert],
            title=_plain(new.title),
            message=new.text,
            click=new.page,
            actions=actions[:MOST_ACTIONS],
        )

    async def clear(self, ask: Ask) -> None:
        await self._api.clear(self._table.topic, ask.id)

    def _ours(self, said: str) -> bool:
        data = said.partition(" ")[0]
        mine = self._sign(data) if decode(data) else ""
        return bool(mine) and hmac.compare_digest(mine.encode(), said.encode(errors="replace"))

    async def _take(self, said: str, cursor: ChannelState) -> None:
        tap = decode(said.partition(" ")[0])
        assert isinstance(tap, Tap)
        assert isinstance(tap.action, ANSWERS)
        with suppress(AskEnded, UnknownAsk):  # no line in the log, which a stranger could fill
            if (await self._inbox.ask(tap.ask_id)).approval:
                raise NotHere(tap.ask_id, channels=())
            await self._inbox.put(tap.ask_id, tap.action, person=SOMEBODY, cursor=cursor)


def signed(data: str, *, secret: str) -> str:
    """What a button sends."""
    return f"{data} {hmac.digest(secret.encode(), data.encode(), 'sha256').hex()[:32]}"


def _plain(text: str) -> str:
    """For what the server makes a header of: there it would decode the words of RFC 2047, and an
    agent could write buttons of its own into a label."""
    return text.replace("=?", "= ?")
