"""The gate: when a command has to be approved, what its owner is shown, and what their word is
worth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.commands.definitions.definition import Approve
from chatbridge.commands.operations.gate import (
    CANCELLED,
    TIMED_OUT,
    TOO_OLD,
    UNKNOWN,
    WITHDRAWN,
    Gate,
)
from chatbridge.core.errors import AskEnded, CommandUnusable, NotHere, ToolInputError
from chatbridge.core.forms import form
from chatbridge.core.model import ALLOW, Answer, Ask, Person, Status
from chatbridge.core.operation import Operation
from tests.fakes.approving import allow, allow_for_session, deny, deny_because, put
from tests.fakes.core_env import OWNER, PATIENCE, World, world
from tests.fakes.gated import CLAUDE, HOME, SHOP, operation

ALLOWED = None
TERMINAL = Person(name="agent", channel="terminal")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


@pytest.fixture
def gate(hub: World) -> Gate:
    hub.broker.waiting_calls.link_opened("link-1")
    return Gate(hub.broker, store=hub.store.operations, clock=hub.clock, timeout=300.0)


async def asked(hub: World, gate: Gate, op: Operation) -> Ask:
    return await hub.inbox.ask(await gate.ask(op))


async def verdict(gate: Gate, ask: Ask) -> str | None:
    return await asyncio.wait_for(gate.refusal(ask.id), PATIENCE)


# ── whether ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("approve", "needed"), [("never", False), ("always", True), ("once-per-session", True)]
)
async def test_the_definition_says_whether_somebody_is_asked(
    gate: Gate, approve: Approve, needed: bool
) -> None:
    assert await gate.needed(operation(grant="g"), approve) is needed


async def test_what_is_allowed_for_the_session_is_this_command_in_this_folder_by_this_agent(
    hub: World, gate: Gate
) -> None:
    first = operation("git", "push", "origin main")
    await allow_for_session(hub, await asked(hub, gate, first))
    assert not await gate.needed(operation("git", "push", "origin main", number=2), "always")
    for other in (
        operation("git", "push", "origin", "main", number=2),
        operation("git", "push", number=2),
        operation("git", "push", "origin main", number=2, folder=f"{HOME}/shop2"),
        operation("git", "push", "origin main", number=2, folder="/"),
        operation("git", "push", "origin main", link="link-2"),
    ):
        assert await gate.needed(other, "always")
        assert await gate.needed(other, "once-per-session")


async def test_what_became_destructive_is_asked_for_whatever_was_allowed_before(
    hub: World, gate: Gate
) -> None:
    await allow_for_session(hub, await asked(hub, gate, operation()))
    assert not await gate.needed(operation(number=2), "always")
    assert await gate.needed(operation(number=2, destructive=True), "always")


async def test_allowed_once_is_asked_again(hub: World, gate: Gate) -> None:
    await allow(hub, await asked(hub, gate, operation()))
    assert await gate.needed(operation(number=2), "always")
    assert await gate.needed(operation(number=2, grant="g"), "once-per-session")


async def test_once_per_session_counts_for_any_arguments_of_the_same_definition_and_agent(
    hub: World, gate: Gate
) -> None:
    await hub.store.operations.add(operation(grant="g", approved=True))
    other = operation("git", "push", "--tags", number=2, folder="/", grant="g")
    assert not await gate.needed(other, "once-per-session")
    assert await gate.needed(other, "always")
    for other in (operation(number=2, grant="changed"), operation(link="link-2", grant="g")):
        assert await gate.needed(other, "once-per-session")


async def test_a_denied_operation_grants_nothing(hub: World, gate: Gate) -> None:
    await hub.store.operations.add(operation(grant="g", approved=False))
    assert await gate.needed(operation(number=2, grant="g"), "once-per-session")


async def test_nobody_is_asked_to_read_a_book(gate: Gate) -> None:
    with pytest.raises(ToolInputError, match="too long to be approved"):
        await gate.needed(operation("echo", "x" * 400_001), "always")


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────


async def test_the_approval_is_the_exact_command_where_it_would_run(hub: World, gate: Gate) -> None:
    ask = await asked(hub, gate, operation("git", "commit", "-m", "it's done; rm -rf ~"))
    (question,) = ask.questions
    subject = question.subject
    assert subject
    assert question.text == "Run this command?"
    assert subject.code == """/usr/bin/git commit -m 'it'"'"'s done; rm -rf ~'"""
    assert (subject.language, subject.folder) == ("bash", "~/shop")
    assert (subject.destructive, subject.beyond, subject.whole_first) == (False, None, False)
    assert (ask.project, ask.agent) == (SHOP, CLAUDE)
    assert ask.deadline == hub.clock.time() + 300


@pytest.mark.parametrize(
    ("argv", "executable", "shown"),
    [
        (("python3", "x"), "/usr/bin/python3.11", "/usr/bin/python3.11 x"),
        (("~/bin/run",), "/opt/b c/run", "'/opt/b c/run'"),
        (("cargo", "test"), "/home/me/.cargo/bin/rustup", "exec -a cargo {} test"),
    ],
)
async def test_the_approval_names_the_file_that_is_run(
    hub: World, gate: Gate, argv: tuple[str, ...], executable: str, shown: str
) -> None:
    it = operation(*argv)
    it = replace(it, plan=replace(it.plan, executable=executable))
    subject = (await asked(hub, gate, it)).questions[0].subject
    assert subject
    assert subject.code == shown.format(executable)


async def test_what_its_definition_says_about_it_is_on_the_card(hub: World, gate: Gate) -> None:
    subject = (await asked(hub, gate, operation(destructive=True, grant="g"))).questions[0].subject
    assert subject
    assert subject.destructive
    assert subject.beyond == (
        "Allowing it allows every git push of this agent, with any arguments, "
        "until its session ends."
    )
    long = (await asked(hub, gate, operation("x" * 4_000, number=2))).questions[0].subject
    assert long
    assert long.whole_first


# ── what it is worth ──────────────────────────────────────────────────────────────────────────────


async def test_only_a_persons_yes_in_time_lets_it_pass(hub: World, gate: Gate) -> None:
    one, two, three, four = [await asked(hub, gate, operation(number=i)) for i in range(4)]
    waiting = asyncio.ensure_future(verdict(gate, one))
    await allow(hub, one)
    assert await waiting is ALLOWED
    await allow_for_session(hub, two)
    assert await verdict(gate, two) is ALLOWED
    await deny(hub, three)
    assert await verdict(gate, three) == "Denied"
    await deny_because(hub, four, "Not on a Friday.")
    assert await verdict(gate, four) == "Denied: Not on a Friday."


async def test_silence_and_every_other_end_deny_it(hub: World, gate: Gate) -> None:
    silent, gone, cancelled = [await asked(hub, gate, operation(number=i)) for i in range(3)]
    await gate.withdraw(gone.id)
    assert await verdict(gate, gone) == WITHDRAWN
    await hub.inbox.cancel(cancelled.id, reason="no", person=OWNER)
    assert await verdict(gate, cancelled) == f"{CANCELLED}: no"
    hub.clock.advance(300.0)
    assert await verdict(gate, silent) == TIMED_OUT
    for late in (allow, allow_for_session):
        with pytest.raises(AskEnded):
            await late(hub, silent)
    assert await verdict(gate, silent) == TIMED_OUT
    assert await gate.refusal("swept") == UNKNOWN


async def test_a_destructive_command_is_not_allowed_by_one_tap(hub: World, gate: Gate) -> None:
    ask = await asked(hub, gate, operation(destructive=True))
    assert isinstance(await allow(hub, ask), form.Moved)
    assert await allow(hub, ask) == form.STALE  # the same tap, twice
    assert (await hub.now(ask)).open
    await put(hub, ask, form.Choose(step=1, option=ALLOW))
    assert await verdict(gate, ask) is ALLOWED


async def test_withdrawing_changes_nothing_that_has_ended(hub: World, gate: Gate) -> None:
    ask = await asked(hub, gate, operation())
    await allow(hub, ask)
    await gate.withdraw(ask.id)
    await gate.withdraw("unknown")
    assert await verdict(gate, ask) is ALLOWED


async def test_a_yes_that_no_hub_was_there_to_hear_counts_for_ten_minutes(
    hub: World, gate: Gate
) -> None:
    ask = await asked(hub, gate, operation())
    await allow(hub, ask)
    hub.clock.advance(599.0)
    assert await verdict(gate, ask) is ALLOWED
    hub.clock.advance(2.0)
    assert await verdict(gate, ask) == TOO_OLD


@pytest.mark.parametrize("channel", ["terminal", "web", "matrix", ""])
async def test_only_the_channels_for_approvals_settle_it(tmp_path: Path, channel: str) -> None:
    elsewhere = Person(name="somebody", channel=channel)
    async with world(tmp_path, approval_channels=frozenset({"telegram"})) as hub:  # type: ignore[arg-type]
        gate = Gate(hub.broker, store=hub.store.operations, clock=hub.clock, timeout=None)
        ask = await asked(hub, gate, operation())
        with pytest.raises(NotHere):
            await put(hub, ask, form.Choose(step=0, option=ALLOW), person=elsewhere)
        with pytest.raises(NotHere):
            await hub.inbox.answer(ask.id, (Answer(values=("allow",)),), person=elsewhere)
        assert (await hub.now(ask)).status is Status.OPEN
        there = Person(name="Ada", channel="telegram")
        await put(hub, ask, form.Choose(step=0, option=ALLOW), person=there)
        assert await verdict(gate, ask) is ALLOWED


async def test_beyond_the_limit_of_open_questions_nobody_is_asked_and_it_says_what_to_do(
    hub: World, gate: Gate
) -> None:
    limit = hub.broker.policy.max_open_asks
    for number in range(limit):
        await gate.ask(operation(number=number))
    with pytest.raises(CommandUnusable) as why:
        await gate.ask(operation(number=limit))
    assert "wait_for_answer" not in str(why.value), "nobody can wait there for an approval"
    assert "nothing was started. Call it again" in str(why.value)
