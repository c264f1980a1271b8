"""Messages of the owner on their way to an agent: stored first, handed over once, and confirmed.

A message waits until a response takes it along. If that response is lost, it waits again; if the
agent's client has it, that is the end of it. Only one hub writes the store, so that the open
messages are also kept in memory: a call without one costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from chatbridge.core.errors import MessageRefused, StoreError
from chatbridge.core.messages.agents import Agents, ConnectedAgent
from chatbridge.core.messages.message import MAX_TEXT, MessageState, OwnerMessage, Way, format_state
from chatbridge.core.model import Attachment, CallName, ChannelState, Person, Project
from chatbridge.core.people.team import Role, Team
from chatbridge.core.policy import HOUR
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.tasks import STORE_RETRY_SECONDS, race
from chatbridge.core.text import encodable, size_as_json

log = logging.getLogger(__name__)

MAX_WAITING = 20  # Messages that wait in one project
CLOCK_CHECK_SECONDS = 30.0  # A sleep does not count the time of a suspended machine


class OwnerMessages:
    """Implements `core.asks.waiting_calls.CallObserver`."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        agents: Agents,
        team: Callable[[], Team] = Team,
        expire_after: float = 12 * HOUR,
        return_within: float = 0.0,
        changed: Callable[[OwnerMessage], None] = lambda message: None,
    ) -> None:
        """`return_within`: for so many seconds after a start, agents may be about to come back.
        `changed`: told of each new revision, after its commit."""
        self.agents = agents
        self._team = team
        self._store, self._clock = store, clock
        self._expire_after, self._changed = expire_after, changed
        self._back_by = clock.monotonic() + return_within
        self._expected: set[str] = set()  # Links of before the start, which may come back
        self._open: dict[str, OwnerMessage] = {}  # In the order of the store
        self._calls_before: set[CallName | None] = set()  # Of the last hub
        self._confirmed: set[CallName] = set()  # Delivered, but not yet recorded
        self._counts_until: dict[CallName, float] = {}
        """Monotonic time after which the response to a call reaches nobody, if that is known."""
        self._news = asyncio.Event()  # Set, and replaced, when something changes

    async def load(self) -> None:
        """Read the open messages, once at the start."""
        self._open = {each.id: each for each in await self._store.open_messages()}
        self._expected = {each.link for each in self._open.values()}
        self._calls_before = {each.handed_to for each in self._open.values()}

    # ── people ────────────────────────────────────────────────────────────────────────────────────

    async def tell(
        self,
        agent: ConnectedAgent,
        text: str,
        *,
        by: Person,
        attachments: tuple[Attachment, ...] = (),
        id: str | None = None,
        cursor: ChannelState | None = None,
        surface: str = "",
        reply_to: str = "",
    ) -> OwnerMessage:
        """Store a message to an agent. `id`: the one that its files were stored for. `cursor` is
        committed with it. :raises MessageRefused: nothing is stored, not even the cursor.
        :raises RoleMissing: likewise."""
        self.check(by)
        by = self._team().known(by)
        now, said = self._clock.time(), encodable(text).strip()
        if not said and not attachments:
            raise MessageRefused("There is nothing to tell. Write something.")
        if len(said) > MAX_TEXT:
            raise MessageRefused(f"This is too long (at most {MAX_TEXT:,} characters).")
        message = OwnerMessage(
            id=id or str(uuid.uuid4()),
            project=agent.project,
            agent=agent.agent,
            link=agent.link,
            text=said,
            attachments=attachments,
            by=by,
            at=now,
            expires_at=now + self._expire_after,
            surface=surface,
            reply_to=reply_to,
        )

        async def work(tx: Transaction) -> list[OwnerMessage]:
            there = [each.project.key for each in await tx.open_messages()]
            if there.count(agent.project.key) >= MAX_WAITING:
                raise MessageRefused(
                    f"{MAX_WAITING} messages wait for {agent.name} already. Take one back first."
                )
            await tx.add_message(message)
            if cursor is not None:
                await tx.save_note(cursor)
            return [message]

        await self._store.write(work, then=self._committed)
        log.info("message %s project=%s", message.id, agent.project.name)
        return message

    def check(self, by: Person) -> None:
        """:raises RoleMissing: this person may not write to agents."""
        self._team().check(by, Role.ANSWER)

    async def take_back(
        self, message_id: str, *, by: Person, cursor: ChannelState | None = None
    ) -> OwnerMessage:
        """:raises MessageRefused: it is delivered, on its way, or over. :raises RoleMissing:"""
        self.check(by)
        now = self._clock.time()

        async def work(tx: Transaction) -> list[OwnerMessage]:
            if cursor is not None:
                await tx.save_note(cursor)
            message = await tx.message(message_id)
            if message is None or not self._waits(message):
                return [] if message is None else [message]
            return [await _settle(tx, message, MessageState.TAKEN_BACK, now)]

        found = await self._store.write(work, then=self._committed)
        if not found:
            raise MessageRefused("This message is no longer here.")
        message = found[0]
        if message.open:
            raise MessageRefused("It is on its way to the agent, and cannot be taken back.")
        if message.state is not MessageState.TAKEN_BACK:
            raise MessageRefused(format_state(message, now=now))
        return message

    def waiting(self) -> list[OwnerMessage]:
        """Those that are not delivered, the oldest first."""
        return [*self._open.values()]

    # ── agents ────────────────────────────────────────────────────────────────────────────────────

    def any_for(self, link: str, project: Project, *, to: CallName | None = None) -> bool:
        """Whether a message waits for this agent, or is in the response `to` this call."""
        return any(
            self._is_for(each, link, project) or (to is not None and each.handed_to == to)
            for each in self._open.values()
        )

    async def arrived(self, link: str, project: Project, *, to: CallName | None = None) -> None:
        """Return once `any_for` is true."""
        while not self.any_for(link, project, to=to):
            await self._news.wait()

    async def hand_over(
        self,
        to: CallName,
        *,
        link: str,
        project: Project,
        way: Way,
        room: float = math.inf,
        counts_for: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Sequence[OwnerMessage]:
        """Take what waits for an agent into the response `to` this call, also what an earlier run
        of the same call has taken. Call `delivered` or `cancelled` then. `room`: bytes for their
        texts as JSON; the rest waits for the next response. `counts_for`: seconds after which the
        response reaches nobody. `cancelled`: whether the call has been. What cannot be stored is
        not taken."""
        handed = [each for each in self.waiting() if each.state is MessageState.HANDED_OVER]
        again = [each for each in handed if each.handed_to == to]
        if not self.any_for(link, project, to=to):
            return ()
        back: list[OwnerMessage] = []

        async def work(tx: Transaction) -> list[OwnerMessage]:
            taken: list[OwnerMessage] = []
            back.clear()
            left = room
            for message in await tx.open_messages() if not cancelled() else ():
                if message.handed_to != to and not self._is_for(message, link, project):
                    continue
                left -= size_as_json(message.text)
                if left < 0:  # an earlier run may have had more room, and this one is confirmed
                    if message.handed_to == to:
                        waits = replace(message, state=MessageState.WAITING, handed_to=None)
                        await tx.save_message(waits)
                        back.append(waits)
                    continue
                over = replace(message, state=MessageState.HANDED_OVER, handed_to=to, way=way)
                if over != message:
                    await tx.save_message(over)
                taken.append(over)
            return taken

        if counts_for is not None:
            self._counts_until[to] = self._clock.monotonic() + counts_for
        try:
            return await self._store.write(work, then=lambda it: self._committed([*it, *back]))
        except StoreError as error:
            log.warning("messages wait for another result: %s", error)
            return again

    def _is_for(self, message: OwnerMessage, link: str, project: Project) -> bool:
        """Also what was written to an agent of the same project that has gone since."""
        if message.project.key != project.key or not self._waits(message):
            return False
        if message.expires_at <= self._clock.time():
            return False
        if message.link == link:
            return True
        if self.agents.of_link(message.link) is not None:
            return False
        return message.link not in self._expected or self._clock.monotonic() >= self._back_by

    def _waits(self, message: OwnerMessage) -> bool:
        return message.state is MessageState.WAITING and message.handed_to not in self._confirmed

    # ── what becomes of responses ─────────────────────────────────────────────────────────────────

    async def delivered(self, name: CallName) -> None:
        """The response to this call has reached the agent's client, unless that gave the call up
        in silence before. Also a message that waits again counts: its link was only cut off.
        :raises StoreError: it is recorded later, and until then nobody else gets it."""
        if self._clock.monotonic() > self._counts_until.get(name, math.inf):
            await self.cancelled(name)
            return
        self._counts_until.pop(name, None)
        if any(each.handed_to == name for each in self._open.values()):
            self._confirmed.add(name)
            try:
                await self._record_delivered()
            except StoreError:
                self._wake()
                raise

    async def _record_delivered(self) -> None:
        now, names = self._clock.time(), frozenset(self._confirmed)

        async def work(tx: Transaction) -> list[OwnerMessage]:
            return [
                await _settle(tx, each, MessageState.DELIVERED, now)
                for each in await tx.open_messages()
                if each.handed_to in names
            ]

        def then(settled: list[OwnerMessage]) -> None:
            self._confirmed -= names
            self._committed(settled)

        await self._store.write(work, then=then)

    async def cancelled(self, name: CallName) -> None:
        """The response to this call reaches nobody."""
        await self._release(lambda handed_to: handed_to == name)

    async def unconfirmed(self, name: CallName) -> None:
        """Nobody has said in time that the response to this call has arrived; it still may be."""
        await self._release(lambda handed_to: handed_to == name, for_good=False)

    async def resumed(self, link: str, *, repeated: Collection[str]) -> None:
        """A link has come back, and only these of its requests are of interest."""
        await self._release(lambda name: name.link == link and name.request not in repeated)

    async def link_closed(self, link: str) -> None:
        """It may come back, and say that its client has the response."""
        self.agents.closed(link)
        self._expected.discard(link)
        await self._release(lambda name: name.link == link, for_good=False)

    async def links_absent(self, connected: Collection[str]) -> None:
        """All links but these have not come back in time. Calls of this hub are not meant: hooks,
        for instance, have no link."""
        before = self._calls_before
        await self._release(
            lambda name: name in before and name.link not in connected, for_good=False
        )

    async def _release(self, is_lost: Callable[[CallName], bool], *, for_good: bool = True) -> None:
        """Let messages wait again. Unless `for_good`, a late confirmation is accepted."""

        async def work(tx: Transaction) -> list[OwnerMessage]:
            back = []
            for message in await tx.open_messages():
                name = message.handed_to
                if name is None or name in self._confirmed or not is_lost(name):
                    continue
                waits = replace(message, state=MessageState.WAITING)
                if for_good:
                    waits = replace(waits, handed_to=None, way=None)
                if waits != message:
                    await tx.save_message(waits)
                    back.append(waits)
            return back

        for name in [*filter(is_lost, self._counts_until)] if for_good else ():
            del self._counts_until[name]
        while self._open:
            try:
                await self._store.write(work, then=self._committed)
                return
            except StoreError as error:
                log.warning("messages stay as handed over for now: %s", error)
                await self._clock.sleep(STORE_RETRY_SECONDS)

    # ── time ──────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Let messages expire, until cancelled. Nothing happens while none waits."""
        while True:
            news = self._news
            waiting = filter(self._waits, self._open.values())
            due = min((each.expires_at for each in waiting), default=math.inf)
            left = due - self._clock.time()
            try:
                if self._confirmed:
                    await self._record_delivered()
                elif left <= 0:
                    await self._expire()
                elif math.isinf(left):
                    await news.wait()
                else:
                    await race(news.wait(), self._clock.sleep(min(left, CLOCK_CHECK_SECONDS)))
            except StoreError as error:
                log.warning("what has become of messages is not recorded yet: %s", error)
                await self._clock.sleep(STORE_RETRY_SECONDS)

    async def _expire(self) -> None:
        now = self._clock.time()

        async def work(tx: Transaction) -> list[OwnerMessage]:
            return [
                await _settle(tx, each, MessageState.EXPIRED, now)
                for each in await tx.open_messages()
                if self._waits(each) and each.expires_at <= now
            ]

        await self._store.write(work, then=self._committed)

    def _committed(self, messages: Iterable[OwnerMessage]) -> None:
        for message in messages:
            known = self._open.get(message.id)
            if message.open:
                self._open[message.id] = message  # at its old position
            else:
                self._open.pop(message.id, None)
            if message.open if known is None else known.revision != message.revision:
                self._changed(message)
            self.agents.changed()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


async def _settle(
    tx: Transaction, message: OwnerMessage, state: MessageState, now: float
) -> OwnerMessage:
    after = replace(message, state=state, settled_at=now, revision=message.revision + 1)
    await tx.save_message(after)
    return after
