"""What is behind a channel, for its tests: the real broker, delivery and store, and pretend agents
that ask without a link."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from chatbridge.channels.registry import BUILT_IN
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.forms.form import Extend
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import (
    Agent,
    Ask,
    AskRequest,
    Attachment,
    CallName,
    Level,
    Notice,
    OperationEnd,
    Option,
    Person,
    Priority,
    Project,
    Question,
    QuestionType,
    Subject,
)
from chatbridge.core.nights.summaries import Summaries
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Channel, Clock
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import StillClock
from tests.fakes.sample_store import SampleStore

ANYWHERE = frozenset(spec.name for spec in BUILT_IN if spec.approvals)
"""Approvals can be given on every channel that takes them."""
SHOP = Project(key="/code/shop-api", name="shop-api")
CLAUDE = Agent(client="claude-code", name="Claude Code")

TEXT = Question(id="q_text", text="What should the commit say?", placeholder="feat: …")
SELECT = Question(
    id="q_db",
    text="Which database should the integration tests use?",
    type=QuestionType.SELECT,
    options=(
        Option(label="PostgreSQL in Docker (recommended)", description="About 9 s more"),
        Option(label="SQLite"),
    ),
)
MULTI = Question(
    id="q_checks",
    text="Which checks must pass?",
    type=QuestionType.MULTI_SELECT,
    options=(Option(label="Unit tests"), Option(label="Contract tests"), Option(label="Load test")),
)
CONFIRM = Question(id="q_go", text="Delete the old fixtures?", type=QuestionType.CONFIRM)
OPTIONAL = Question(id="q_more", text="Anything else?", required=False)
COMMAND = Question(
    id="q_allow",
    text="Run this command?",
    type=QuestionType.APPROVAL,
    subject=Subject(
        code="terraform apply -var-file=prod.tfvars plan.out",
        language="bash",
        folder="~/code/infra",
    ),
)
LONG_COMMAND = replace(
    COMMAND,
    subject=Subject(
        code="\n".join(f"echo line {i:03} of the script" for i in range(200)),
        language="bash",
        whole_first=True,
    ),
)


async def more_time(inbox: AskActions, ask_id: str, *, person: Person) -> Ask:
    """A quarter of an hour more, as far as that is allowed."""
    await inbox.put(ask_id, Extend(minutes=15), person=person)
    return await inbox.ask(ask_id)


class Desk:
    """Agents ask here, all over one link, and a channel brings it to a person."""

    def __init__(
        self,
        broker: Broker,
        inbox: AskActions,
        delivery: Delivery,
        clock: Clock,
        notices: Notices | None = None,
        outputs: dict[str, bytes] | None = None,
        files: SampleStore | None = None,
    ) -> None:
        self._files = files
        self.broker = broker
        self.inbox = inbox
        self.delivery = delivery
        self.clock = clock
        self.outputs = {} if outputs is None else outputs
        """What operations have printed, by their id."""
        self._notices = notices
        self._requests = itertools.count(1)
        self.deliveries: list[asyncio.Task[None]] = []
        self.summaries: Summaries | None = None
        broker.waiting_calls.link_opened("link")

    @property
    def files(self) -> SampleStore:
        assert self._files is not None
        return self._files

    async def end_deliveries(self) -> None:
        """As in a hub, before the channel ends: they use what it closes."""
        for task in self.deliveries:
            task.cancel()
        await asyncio.gather(*self.deliveries, return_exceptions=True)

    async def ask(
        self,
        *questions: Question,
        title: str | None = None,
        timeout: float = 300.0,
        project: Project = SHOP,
        agent: Agent = CLAUDE,
        priority: Priority = Priority.NORMAL,
        attachments: tuple[Attachment, ...] = (),
        tool: str = "ask_user",
    ) -> Ask:
        request = AskRequest(
            project=project,
            agent=agent,
            tool=tool,
            dialect="questions",
            questions=questions or (SELECT,),
            title=title,
            timeout=timeout,
            priority=priority,
            attachments=attachments,
        )
        name = CallName(link="link", request=str(next(self._requests)))
        return (await self.broker.ask(request, name, shared_link=True))[0]

    async def notify(
        self,
        message: str,
        *,
        title: str = "",
        level: Level = Level.INFO,
        project: Project = SHOP,
        agent: Agent = CLAUDE,
        request: str | None = None,
        link: str = "link",
        attachments: tuple[Attachment, ...] = (),
    ) -> Notice:
        """`request` makes it a repeated call, if it was used before."""
        assert self._notices is not None
        return await self._notices.send(
            CallName(link=link, request=request or str(next(self._requests))),
            project=project,
            agent=agent,
            message=message,
            title=title,
            level=level,
            attachments=attachments,
        )

    async def tell_end(self, end: OperationEnd, *, project: Project = SHOP) -> Notice:
        """That an operation has ended, which took long."""
        assert self._notices is not None
        return await self._notices.send(
            CallName(link="link", request=str(next(self._requests))),
            project=project,
            agent=CLAUDE,
            message=f"{end.title} has ended",
            level=Level.INFO if end.succeeded else Level.ERROR,
            operation=end,
        )

    async def shown_on(self, notice: Notice) -> frozenset[str]:
        """The surfaces that have shown it, once all have tried."""
        assert self._notices is not None
        async with asyncio.timeout(20):
            return await self._notices.surfaces(notice, within=5)

    async def time_out(self, ask: Ask) -> Ask:
        """Let time pass until this ask has timed out."""
        assert isinstance(self.clock, StillClock)
        assert ask.deadline is not None
        self.clock.advance(ask.deadline - self.clock.time())
        async with asyncio.timeout(20):
            return await self.broker.ended(ask.id)


@asynccontextmanager
async def open_desk(
    folder: Path,
    *,
    clock: Clock,
    channel: Channel,
    policy: Policy | None = None,
    ready: asyncio.Event | None = None,
    attachments: SampleStore | None = None,
) -> AsyncIterator[Desk]:
    """A desk whose deliveries go to one channel, once it is ready."""
    store = await SqliteStore.open(folder / "chatbridge.db")
    policy = policy or Policy(approval_channels=ANYWHERE)
    delivery = Delivery(store, clock=clock, nights=policy.nights)
    summaries = Summaries(store, delivery, nights=policy.nights, clock=clock)
    notices = Notices(store, delivery, clock=clock)
    broker = Broker(
        store,
        clock=clock,
        policy=policy,
        changed=delivery.changed,
        drained=_drained,
    )
    if ready is None:
        ready = asyncio.Event()
        ready.set()
    serving = [delivery.serve(surface, ready=ready) for surface in channel.surfaces]
    messages = OwnerMessages(
        store,
        clock=clock,
        agents=Agents(clock),
        team=lambda: policy.nights.team,
        changed=delivery.report,
    )
    await messages.load()
    runs = (broker.run(), summaries.run(), messages.run())
    running = [asyncio.create_task(run) for run in runs]
    outputs: dict[str, bytes] = {}

    async def output(operation_id: str) -> bytes | None:
        return outputs.get(operation_id)

    files = attachments or SampleStore(folder, clock=clock)
    intake = AskActions(
        broker, store=store, clock=clock, outputs=output, attachments=files, messages=messages
    )
    desk = Desk(broker, intake, delivery, clock, notices, outputs, files)
    desk.summaries = summaries
    desk.deliveries = [asyncio.create_task(work) for work in serving]
    try:
        yield desk
    finally:
        await desk.end_deliveries()
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        await files.close()
        await store.close()


async def _drained() -> None:
    return None
