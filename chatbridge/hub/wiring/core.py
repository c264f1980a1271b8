"""What a hub's tools, channels and ways in are built on: the database, the broker, and what people
may do with questions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from chatbridge import runtime_paths
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.commands.operations.outputs import Outputs
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.asks.dictation import Dictation
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.messages.agents import Agents
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import Ask
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock
from chatbridge.hub.process.background import Background, Faults
from chatbridge.hub.process.confinement import confinement
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.log import rotate_log
from chatbridge.hub.wiring import database
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.settings import Settings
from chatbridge.store.sql_store import SqlStore
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.voice.transcriber import transcriber_of

LATE_ANSWERS = 50
"""Ended asks in which an answer may have been begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubCore:
    settings: Settings
    config: Path  # Where the settings are
    lock: Lock
    clock: Clock
    policy: Policy
    store: SqlStore
    broker: Broker
    actions: AskActions
    messages: OwnerMessages
    delivery: Delivery
    supervisor: ChannelSupervisor
    keeper: JournalKeeper
    files: AttachmentFiles
    outputs: Outputs
    faults: Faults
    background: Background
    hears_changes: list[Callable[[Ask], None]]  # Called after every change of an ask

    async def sweep(self) -> None:
        """Remove what is kept for long enough."""
        await self.broker.sweep()
        await self.files.sweep(self.store)
        rotate_log(runtime_paths.log_path(str(self.lock.state)))


@asynccontextmanager
async def open_core(
    lock: Lock,
    settings: Settings,
    *,
    config: Path,
    clock: Clock,
    agents: Agents,
    term: database.Term | None,
) -> AsyncIterator[HubCore]:
    """:raises StoreError: :raises SettingsError: its database cannot be used like this."""
    async with AsyncExitStack() as stack:
        trail = database.audit_trail(settings, clock)
        store = await database.open_store(settings, lock.state, term, trail)
        stack.push_async_callback(store.close)
        policy = settings.policy()
        delivery = Delivery(store, clock=clock, nights=policy.nights)
        faults = Faults(clock=clock)
        supervisor = ChannelSupervisor(
            delivery, clock=clock, faults=faults, confinement=confinement
        )
        store.on_lost = supervisor.tell_again
        keeper = JournalKeeper(Journal(folder=settings.journal.folder, state=lock.state), store)
        stack.push_async_callback(keeper.close)
        hears_changes: list[Callable[[Ask], None]] = [delivery.changed, keeper.changed]

        def changed(ask: Ask) -> None:
            for hear in hears_changes:
                hear(ask)

        broker = Broker(
            store, clock=clock, policy=policy, changed=changed, drained=supervisor.drained
        )
        await broker.recall_switch()
        outputs = Outputs(lock.state / "operations")
        files = AttachmentFiles(lock.state, settings.attachments, clock, store.file_copies)
        stack.push_async_callback(files.close)
        messages = OwnerMessages(
            store,
            clock=clock,
            agents=agents,
            team=lambda: policy.nights.team,
            expire_after=settings.messages.expire_after,
            return_within=policy.return_within,
            changed=delivery.report,
        )
        await messages.load()
        broker.waiting_calls.observer = messages
        transcriber = transcriber_of(settings.voice)
        actions = AskActions(
            broker,
            store=store,
            clock=clock,
            outputs=outputs.whole,
            attachments=files,
            transcribes=transcriber is not None,
            messages=messages,
        )
        background = Background(clock=clock, faults=faults)
        stack.push_async_callback(background.close)
        if transcriber is not None:
            dictation = Dictation(transcriber, files, background.spawn, actions, clock)
            hears_changes.append(dictation.changed)
            dictation.resume([*await store.open_asks(), *await store.history(limit=LATE_ANSWERS)])
        yield HubCore(
            settings=settings,
            config=config,
            lock=lock,
            clock=clock,
            policy=policy,
            store=store,
            broker=broker,
            actions=actions,
            messages=messages,
            delivery=delivery,
            supervisor=supervisor,
            keeper=keeper,
            files=files,
            outputs=outputs,
            faults=faults,
            background=background,
            hears_changes=hears_changes,
        )
