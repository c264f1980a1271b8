"""A chat service in memory that keeps what was posted and can refuse, forget and break."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone, RetryLater
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Notice
from chatbridge.core.nights.summary import Summary
from chatbridge.core.ports import Remark, Shown, Surface


class Chat:
    """The `Channel` and its service in one. `faults` are raised one by one, before the effect."""

    name = "chat"
    persistent = True
    idempotent = False
    trouble = None

    def __init__(self, *, pace: float = 0.0) -> None:
        self.pace = RateLimit(message=pace, edit=pace)
        self.messages: dict[str, list[int]] = {}
        """The revisions that each message has shown, by its place."""
        self.asks: dict[str, str] = {}
        self.faults: list[Exception] = []
        self.told: list[str] = []
        self.lose_response = False
        self.shown: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self.notices: list[Notice] = []
        self.reports: list[tuple[str, int, bool]] = []
        """What it said of messages to agents: which one, the revision, and whether anew."""
        self.somebody_looks = True
        self.summaries: list[Summary] = []
        """As they were sent, and then edited."""
        self.summaries_sent = 0
        self.again: list[bool] = []
        self.killed: BaseException | None = None
        """Raised after the next summary or report was sent."""

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        ready()
        await asyncio.Event().wait()

    async def tell(self, remark: Remark) -> None:
        self.told.append(remark.text)

    async def drain(self) -> None:
        return None

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    def wants(self, ask: Ask) -> bool:
        return False

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        if self.faults:
            raise self.faults.pop(0)
        if place is None:
            place = f"message-{len(self.messages) + 1}"
            self.messages[place] = []
            self.asks[place] = ask.id
        elif place not in self.messages:
            raise PostGone
        self.messages[place].append(ask.revision)
        self.shown.put_nowait((place, ask.revision))
        if self.lose_response:
            self.lose_response = False
            raise ConnectionResetError
        return Shown(place=place, seen=self.somebody_looks)

    async def announce(self, notice: Notice) -> bool:
        if self.faults:
            raise self.faults.pop(0)
        self.notices.append(notice)
        return self.somebody_looks

    async def report(self, message: OwnerMessage) -> Shown:
        if self.faults:
            raise self.faults.pop(0)
        new = message.place is None
        place = message.place or f"status-{message.id}"
        self.reports.append((message.id, message.revision, new))
        if self.killed is not None:
            killed, self.killed = self.killed, None
            raise killed
        return Shown(place=place, handles=(place,), messages=int(new))

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        if self.faults:
            raise self.faults.pop(0)
        self.summaries_sent += place is None
        self.summaries.append(summary)
        self.again.append(again)
        if self.killed is not None:
            killed, self.killed = self.killed, None
            raise killed
        if self.lose_response:
            self.lose_response = False
            raise RetryLater("no answer came")
        return Shown(place=f"summary-{len(self.summaries)}", messages=int(place is None))
