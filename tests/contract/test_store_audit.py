"""The audit trail of every store: a line for each effect, in the same commit, and for good."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatbridge.core.asks import transitions
from chatbridge.core.audit import Auditor, Line, Thing
from chatbridge.core.errors import AskEnded, StoreError
from chatbridge.core.messages.message import MessageState, OwnerMessage
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    CallName,
    Grant,
    Handover,
    Level,
    Notice,
    Outcome,
    Person,
    Post,
    Project,
    Question,
    QuestionType,
    Status,
    Subject,
)
from chatbridge.core.operation import Operation, Plan, Stage
from chatbridge.core.policy import Policy
from chatbridge.core.store_port import Store, Transaction
from chatbridge.store.audit import ADDED_AT_ONCE, Trail, all_lines
from tests.contract.asks import an_ask, answered, keep
from tests.contract.stores import store_in
from tests.contract.test_store_writes import together
from tests.fakes.databases import Database

ADA = Person(name="Ada", channel="telegram", place="42", id="42")
CHAT = "telegram:42"
SHOP, CLAUDE = Project(key="/src/shop", name="shop"), Agent(client="claude", name="Claude")
DAY = 86400.0
one_store_for_all_examples = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@dataclass
class Now:
    at: float


@pytest.fixture
def now() -> Now:
    return Now(time.time())  # the database compares with its own clock


@pytest.fixture
async def store(database: Database, now: Now) -> AsyncIterator[Store]:
    trail = Trail(Auditor(chats={CHAT: "Ada"}), lambda: now.at)
    async with store_in(database, trail) as opened:
        yield opened


async def lines(store: Store, of: str | None = None) -> list[Line]:
    found = await store.audit(since=-math.inf, until=math.inf, limit=10_000)
    assert [line.seq for line in found] == sorted({line.seq for line in found})
    return [line for line in found if of in (None, line.id)]


async def kinds(store: Store, of: str | None = None) -> list[str]:
    return [line.kind for line in await lines(store, of)]


async def save(store: Store, ask: Ask, *, was: Status = Status.OPEN) -> bool:
    return await store.write(lambda tx: tx.save_ask(ask, was=was))


def an_approval(**changes: Any) -> Ask:
    subject = Subject(code="git push --force", language="bash", folder="/src/shop")
    question = Question(
        id="approval", text="Run this?", type=QuestionType.APPROVAL, subject=subject
    )
    return an_ask(questions=(question,), tool="approve_tool_use", **changes)


def settled(ask: Ask, verdict: str, **changes: Any) -> Ask:
    outcome = Outcome(at=2000.0, answers=(Answer(values=(verdict,)),), by=ADA, **changes)
    return replace(ask, status=Status.ANSWERED, settled_at=2000.0, outcome=outcome)


async def test_a_question_leaves_a_line_for_each_step_of_its_way(store: Store, now: Now) -> None:
    ask = an_ask()
    end = replace(answered(ask), outcome=Outcome(at=1.0, answers=(Answer(),), by=ADA))
    shown = Post(ask_id=ask.id, surface=CHAT, place="7", revision=1)
    await store.write(lambda tx: tx.add_ask(ask))
    await keep(store, replace(shown, revision=0), shown, replace(shown, revision=2))
    await save(store, end)
    await save(store, transitions.mark_delivered(end, now=9.0), was=Status.ANSWERED)
    found = await lines(store)
    assert [line.kind for line in found] == ["asked", "shown", "answered", "delivered"]
    assert [(line.who, line.who_id, line.surface) for line in found] == [
        ("", "", ""),
        ("Ada", CHAT, CHAT),
        ("Ada", CHAT, CHAT),
        ("", "", ""),
    ]
    assert {(line.at, line.thing, line.id) for line in found} == {(now.at, "ask", ask.id)}
    assert {(line.project, line.project_name) for line in found} == {("/src/shop", "shop")}
    assert {(line.client, line.agent_name) for line in found} == {("claude", "Claude")}


@pytest.mark.parametrize(
    ("verdict", "kind"), [("allow", "allowed"), ("session", "granted"), ("deny", "denied")]
)
async def test_an_approval_says_what_was_decided_about_what(
    store: Store, verdict: str, kind: str
) -> None:
    ask = an_approval()
    await keep(store, ask)
    await save(store, settled(ask, verdict))
    *_, last = await lines(store)
    assert (last.kind, last.who, last.what["about"]) == (kind, "Ada", "git push --force")


async def test_who_takes_a_grant_back_is_written_down(store: Store) -> None:
    ask = an_approval()
    allowed = settled(ask, "session", grant=Grant(lasting=60.0, until=5000.0))
    await keep(store, ask)
    await save(store, allowed)
    bob = replace(ADA, name="Bob", id="43")
    for at in (3000.0, 3001.0):
        ask = transitions.take_back(allowed, now=at, by=bob)
        await save(store, ask, was=Status.ANSWERED)
    assert [(line.kind, line.who) for line in await lines(store)][1:] == [
        ("granted", "Ada"),
        ("taken_back", "Bob"),
    ]


async def test_who_is_on_it_and_to_whom_it_was_handed_is_written_down(store: Store) -> None:
    ask = an_ask()
    await keep(store, ask)
    taken = replace(ask.attention, taken_by=ADA)
    over = replace(ask.attention, handovers=(Handover(by=ADA, to="Bob", at=1.0),))
    for attention in (taken, taken, ask.attention, taken, over):
        await save(store, replace(ask, attention=attention))
    found = [(line.kind, line.who, dict(line.what)) for line in await lines(store)][1:]
    assert found == [
        ("taken", "Ada", {}),
        ("released", "Ada", {}),
        ("taken", "Ada", {}),
        ("handed_over", "Ada", {"to": "Bob"}),
    ]


async def test_what_is_allowed_without_asking_has_a_line(store: Store) -> None:
    subject = Subject(code="make test", folder="/src/shop")
    await store.record(
        lambda auditor: auditor.allowed(
            subject, tool="Bash", project=SHOP, agent=CLAUDE, by=Thing.RULE, id="2"
        )
    )
    (line,) = await lines(store)
    assert (line.kind, line.thing, line.id) == ("allowed", "rule", "2")
    assert line.what == {"tool": "Bash", "about": "make test", "folder": "/src/shop"}


async def test_a_notice_is_shown_once_to_each(store: Store) -> None:
    call = CallName(link="l", request="1")
    notice = Notice(
        id="n", call=call, project=SHOP, agent=CLAUDE, message="Done.", level=Level.INFO, at=1.0
    )
    for _ in range(2):
        await store.write(lambda tx: tx.add_notice(notice))
    for surface in (CHAT, "web", CHAT):
        await store.write(lambda tx, to=surface: tx.save_notice_post("n", surface=to))  # type: ignore[misc]
    found = [(line.kind, line.surface, line.who) for line in await lines(store, "n")]
    assert found == [("notified", "", ""), ("shown", CHAT, "Ada"), ("shown", "web", "")]


async def test_a_message_to_an_agent_says_who_wrote_it_and_that_it_arrived(store: Store) -> None:
    message = OwnerMessage(
        id="m",
        project=SHOP,
        agent=CLAUDE,
        link="l",
        text="Use port 8080.",
        by=ADA,
        at=1.0,
        expires_at=2.0,
    )
    await store.write(lambda tx: tx.add_message(message))
    for state in (MessageState.HANDED_OVER, MessageState.DELIVERED, MessageState.DELIVERED):
        after = replace(message, state=state, settled_at=1.5)
        await store.write(lambda tx, it=after: tx.save_message(it))  # type: ignore[misc]
    first, second = await lines(store, "m")
    assert (first.kind, first.who, first.what) == ("told", "Ada", {"text": 14})
    assert second.kind == "delivered"


async def test_a_command_says_that_it_was_wanted_ran_and_ended(store: Store) -> None:
    plan = Plan(
        argv=("cargo", "build", "a b"),
        executable="/bin/cargo",
        folder="/src/shop",
        timeout=9.0,
        output_limit=9,
    )
    operation = Operation(
        id="o",
        call=CallName(link="l", request="1"),
        project=SHOP,
        agent=CLAUDE,
        tool="cargo_build",
        title="cargo build",
        group="cargo",
        plan=plan,
        created_at=1.0,
        stage=Stage.QUEUED,
    )
    for _ in range(2):
        await store.operations.add(operation)
    running = replace(operation, stage=Stage.RUNNING, started_at=2.0)
    ended = replace(running, stage=Stage.SUCCEEDED, ended_at=3.0)
    assert await store.operations.save(running, was=Stage.QUEUED)
    assert not await store.operations.save(running, was=Stage.QUEUED)
    assert await store.operations.save(ended, was=Stage.RUNNING)
    wanted, run, end = await lines(store, "o")
    assert [wanted.kind, run.kind, end.kind] == ["requested", "run", "ended"]
    assert wanted.what["command"] == "cargo build 'a b'"
    assert end.what == {"about": "cargo build", "end": "succeeded"}


async def test_a_work_that_fails_leaves_no_line_and_those_beside_it_do(store: Store) -> None:
    asks = [an_ask() for _ in range(ADDED_AT_ONCE + 3)]

    def adding(ask: Ask, *, fails: bool) -> Callable[[Transaction], Awaitable[None]]:
        async def work(tx: Transaction) -> None:
            await tx.add_ask(ask)
            if fails:
                raise AskEnded(ask.id, status=Status.CANCELLED)

        return work

    works = [adding(ask, fails=number == 5) for number, ask in enumerate(asks)]
    results = await together(store, *works)
    assert [isinstance(it, AskEnded) for it in results].count(True) == 1
    assert [line.id for line in await lines(store)] == [
        ask.id for number, ask in enumerate(asks) if number != 5
    ]


async def test_a_line_is_neither_changed_nor_removed(store: Store, now: Now) -> None:
    await keep(store, an_ask())
    (line,) = await lines(store)
    for sql in (
        "UPDATE audit SET who = 'nobody'",
        "DELETE FROM audit",
        f"INSERT INTO audit SELECT * FROM audit WHERE seq = {line.seq}",  # noqa: S608
    ):

        async def meddle(tx: Any, sql: str = sql) -> None:
            await tx.change(sql, ())

        with pytest.raises(StoreError):
            await store.write(meddle)
    await store.sweep_audit(before=now.at - 1)
    assert await lines(store) == [line]


async def test_lines_past_their_retention_are_swept_whatever_became_of_their_asks(
    store: Store, now: Now
) -> None:
    today = now.at
    for days in (400, 300, 2, 0):
        now.at = today - days * DAY
        await keep(store, an_ask())
    assert await store.sweep_audit(before=today - 365 * DAY) == 1
    assert len(await lines(store)) == 3
    await store.sweep(before=today)
    assert await kinds(store) == ["asked"] * 3
    since = await store.audit(since=today - 3 * DAY, until=today, limit=9)
    assert [line.at for line in since] == [today - 2 * DAY]


async def test_a_store_that_was_opened_again_writes_the_same(database: Database) -> None:
    """It knows none of the asks."""
    ask = an_ask()
    post = Post(ask_id=ask.id, surface=CHAT, place="7", revision=1)
    for changed in (None, answered(ask)):
        trail = Trail(Auditor(), time.time)
        async with store_in(database, trail) as store:
            if changed is None:
                await keep(store, ask, post)
            else:
                await keep(store, replace(post, revision=2))
                await save(store, changed)
                assert await kinds(store) == ["asked", "shown", "answered"]


# ── whatever happens ──────────────────────────────────────────────────────────────────────────────

POLICY = Policy()
CHANGES: dict[str, Callable[[Ask], Ask]] = {
    "answer": lambda ask: transitions.answer(ask, (Answer(),), by=ADA, now=2.0, policy=POLICY),
    "cancel": lambda ask: transitions.cancel(ask, reason=None, by=ADA, now=2.0),
    "time out": lambda ask: transitions.time_out(ask, now=2.0, policy=POLICY),
    "withdraw": lambda ask: transitions.withdraw(ask, now=2.0) if ask.open else ask,
    "deliver": lambda ask: transitions.mark_delivered(ask, now=2.0) if ask.answer else ask,
    "keep": lambda ask: transitions.keep(ask) if ask.answer else ask,
    "discard": transitions.discard,
    "remind": lambda ask: transitions.remind(ask, now=2.0, last=False),
    "lose its caller": lambda ask: transitions.mark_caller_gone(ask, now=2.0),
}
ENDS = {"answered", "cancelled", "timed_out", "withdrawn"}
steps = st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.booleans()), max_size=8)


@one_store_for_all_examples
@given(steps=steps, long=st.booleans(), at_once=st.booleans())
async def test_whatever_happens_the_trail_says_it_once_and_in_order(
    store: Store, steps: Sequence[tuple[str, bool]], long: bool, at_once: bool
) -> None:
    """`long`: not in the cache. Each step says whether its work fails once it has written."""
    ask = an_ask(text="x" * (30_000 if long else 9))
    await keep(store, ask)

    def changing(name: str, fails: bool) -> Callable[[Transaction], Awaitable[None]]:
        async def work(tx: Transaction) -> None:
            before = await tx.ask(ask.id)
            assert before
            after = CHANGES[name](before)
            assert await tx.save_ask(after, was=before.status)
            if fails:
                raise AskEnded(ask.id, status=before.status)

        return work

    works = [changing(*step) for step in steps]
    if at_once:
        await together(store, *works)
    else:
        for work in works:
            await together(store, work)
    found = await kinds(store, ask.id)
    kept = await store.ask(ask.id)
    assert kept
    assert found.count("asked") == 1
    assert found[0] == "asked"
    ends = [kind for kind in found if kind in ENDS]
    assert ends == ([] if kept.open else [str(kept.status)])
    assert found.count("late") == (kept.late is not None)
    assert found.count("discarded") == kept.discarded
    assert ("delivered" in found) >= (kept.delivered_at is not None)
    if ends:
        assert found.index(ends[0]) == 1


async def test_many_lines_are_read_page_by_page(store: Store, now: Now) -> None:
    asks = [an_ask(project=replace(SHOP, key=f"/src/{n % 2}")) for n in range(7)]
    await keep(store, *asks)
    connection = store._reading  # type: ignore[attr-defined]

    async def read(**wanted: Any) -> list[str]:
        wanted = {"since": now.at, "until": math.inf, "at_once": 2, **wanted}
        return [line.id async for line in all_lines(connection, **wanted)]

    assert await read() == [ask.id for ask in asks]
    assert await read(project="/src/1") == [ask.id for ask in asks[1::2]]
    assert await read(project="shop") == [ask.id for ask in asks]
    assert await read(person="Ada") == await read(since=now.at + 1) == []
    assert await read(until=now.at) == []
