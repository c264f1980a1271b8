"""An agent tries to approve its own request, or to get more out of a person's word than was given.
Each attempt is denied, or asked anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.phrases import format_only_on
from chatbridge.core.errors import AskEnded, NotHere, ToolInputError
from chatbridge.core.forms import form
from chatbridge.core.model import ALLOW, Answer, CallName, Person, Project, Status
from chatbridge.core.policy import DAY
from chatbridge.tools.clients import Client
from tests.fakes.approving import (
    ALLOWED,
    ClaudeCode,
    allow,
    allow_for_session,
    denial,
    deny,
    put,
    verdict,
)
from tests.fakes.core_env import World, world
from tests.fakes.inbox import more_time

TERMINAL = Person(name="agent", channel="terminal")
YES = (Answer(values=("allow",)),)


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


async def asked_again(claude: ClaudeCode) -> None:
    """The same command gets a card of its own, and a no on that counts."""
    async with claude.wanting() as (call, ask):
        await deny(claude.world, ask)
        assert denial(await call)[0] == "denied"


# ── ways in ───────────────────────────────────────────────────────────────────────────────────────


async def test_waiting_for_the_approvals_id_tells_nothing_and_changes_nothing(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, ask):
        with pytest.raises(ToolInputError, match="no question with this id"):
            await claude.call("wait_for_answer", {"askId": ask.id}, delivered=False)
        assert (await hub.now(ask)).open
        await allow(hub, ask)
        await call
        with pytest.raises(ToolInputError, match="no question with this id"):
            await claude.call("wait_for_answer", {"askId": ask.id}, delivered=False)


async def test_a_second_call_for_the_same_command_is_a_second_card(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (first, one), claude.wanting() as (second, other):
        assert one.id != other.id
        await allow(hub, one)
        assert verdict(await first) == ALLOWED
        assert (await hub.now(other)).open
        await deny(hub, other)
        assert denial(await second)[0] == "denied"


@pytest.mark.parametrize("channel", ["terminal", "web", "matrix", "", "Telegram"])
async def test_only_the_channels_for_approvals_can_give_one(tmp_path: Path, channel: str) -> None:
    async with world(tmp_path, approval_channels=frozenset({"telegram"})) as hub:  # type: ignore[arg-type]
        claude = ClaudeCode(hub)
        elsewhere = Person(name="somebody", channel=channel)
        async with claude.wanting() as (call, ask):
            with pytest.raises(NotHere):
                await put(hub, ask, form.Choose(step=0, option=ALLOW), person=elsewhere)
            with pytest.raises(NotHere):
                await hub.inbox.answer(ask.id, YES, person=elsewhere)
            with pytest.raises(NotHere):
                await hub.inbox.cancel(ask.id, reason=None, person=elsewhere)
            with pytest.raises(NotHere):
                await more_time(hub.inbox, ask.id, person=elsewhere)
            assert await hub.now(ask) == ask
            there = Person(name="Ada", channel="telegram")
            await put(hub, ask, form.Choose(step=0, option=ALLOW), person=there)
            assert verdict(await call) == ALLOWED


@pytest.mark.parametrize("later", [{"web"}, {"telegram", "web"}], ids=["moved", "widened"])
async def test_an_approval_is_never_settled_on_a_channel_that_was_none_when_it_was_asked(
    tmp_path: Path, later: set[str]
) -> None:
    """Whoever starts the next hub with other settings."""
    page, phone = Person(name="", channel="web"), Person(name="Ada", channel="telegram")
    tap = form.Choose(step=0, option=ALLOW)
    on_telegram: Any = frozenset({"telegram"})
    async with (
        world(tmp_path, approval_channels=on_telegram) as hub,
        ClaudeCode(hub).wanting(delivered=False) as (_, ask),
    ):
        pass
    async with world(tmp_path, approval_channels=frozenset(later)) as hub:  # type: ignore[arg-type]
        with pytest.raises(NotHere):
            await put(hub, ask, tap, person=page)
        assert hub.inbox.only_on(await hub.now(ask), "web") != ()
        assert (await hub.now(ask)).open
    async with world(tmp_path, approval_channels=on_telegram) as hub:
        await put(hub, ask, tap, person=phone)
        assert not (await hub.now(ask)).open


async def test_an_approval_that_no_channel_can_settle_any_more_says_so(tmp_path: Path) -> None:
    on_telegram: Any = frozenset({"telegram"})
    async with (
        world(tmp_path, approval_channels=on_telegram) as hub,
        ClaudeCode(hub).wanting(delivered=False) as (_, ask),
    ):
        pass
    async with world(tmp_path, approval_channels=frozenset({"web"})) as hub:  # type: ignore[arg-type]
        for channel in ("telegram", "web"):
            only_on = hub.inbox.only_on(await hub.now(ask), channel)
            card = build_card(await hub.now(ask), channel=channel, only_on=only_on)
            assert card.buttons == ()
            assert format_only_on(card.only_on) == (
                "This cannot be allowed here. It is denied when its time is up."
            )


# ── a repeated call ───────────────────────────────────────────────────────────────────────────────


async def test_a_repeated_call_is_the_same_approval(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (_, ask):
        repeated = claude.wanting(number=1)
        async with repeated as (call, same):
            assert same.id == ask.id
            assert len(await hub.store.open_asks()) == 1
            await allow(hub, ask)
            assert verdict(await call) == ALLOWED


async def test_a_call_that_has_its_answer_is_asked_again_under_the_same_id(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1) as (call, ask):
        await allow(hub, ask)
        assert verdict(await call) == ALLOWED
    async with claude.wanting(number=1) as (call, again):
        assert again.id != ask.id
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


@pytest.mark.parametrize(
    "other",
    [
        {"tool_name": "Bash", "input": {"command": "ls -l /"}},
        {"tool_name": "Other", "input": {"command": "ls -l"}},
        {"tool_name": "Edit", "input": {"file_path": "/a", "old_string": "a", "new_string": "b"}},
    ],
)
async def test_something_else_under_the_id_of_a_call_that_waited_is_another_approval(
    hub: World, other: dict[str, object]
) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (_, ask):
        pass
    async with claude.wanting(other, number=1) as (call, another):
        assert another.id != ask.id
        await allow(hub, ask)
        await deny(hub, another)
        assert denial(await call)[0] == "denied"


async def test_a_repeated_call_is_the_same_approval_though_another_version_describes_it_otherwise(
    hub: World,
) -> None:
    """What it shows of the place, and its fingerprint with that."""
    async with ClaudeCode(hub, folder="/src/shop").wanting(number=1, delivered=False) as (_, ask):
        pass
    async with ClaudeCode(hub, folder="/src/shop/sub").wanting(number=1) as (call, same):
        assert (same.id, same.fingerprint) == (ask.id, ask.fingerprint)
        await allow(hub, ask)
        assert verdict(await call) == ALLOWED


async def test_a_call_gets_nothing_by_its_id_that_was_approved_while_it_had_gone(
    hub: World,
) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (_, ask):
        pass
    await claude.gone()
    hub.clock.advance(1.0)
    await allow(hub, ask)
    async with claude.wanting(number=1) as (call, again):
        assert again.id != ask.id
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


async def test_what_its_client_has_cancelled_can_no_longer_be_allowed(hub: World) -> None:
    """Whoever allowed it would think that it ran."""
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (_, ask):
        pass
    await hub.broker.waiting_calls.cancel(CallName(link=claude.link, request="1"))
    assert (await hub.now(ask)).status is Status.WITHDRAWN
    with pytest.raises(AskEnded):
        await allow(hub, ask)


async def test_what_a_link_that_is_back_does_not_repeat_can_no_longer_be_allowed(
    hub: World,
) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (_, ask):
        pass
    await hub.broker.waiting_calls.resumed(claude.link, repeated=set())
    assert (await hub.now(ask)).status is Status.WITHDRAWN


async def test_an_approval_is_not_fetched_after_any_link_would_have_given_up(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting(number=1, delivered=False) as (call, ask):
        await allow(hub, ask)
        assert verdict(await call) == ALLOWED
    hub.clock.advance(500.0)
    assert verdict(await claude.wants(number=1, delivered=False)) == ALLOWED
    hub.clock.advance(500.0)
    async with claude.wanting(number=1) as (call, again):
        assert again.id != ask.id
        await deny(hub, again)
        assert denial(await call)[0] == "denied"


# ── a person's word of another time or place ──────────────────────────────────────────────────────


async def test_the_same_command_after_a_time_out_is_asked_again(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (call, _):
        assert denial(await claude.outwaited(call))[0] == "timed_out"
    await asked_again(claude)


async def test_what_one_session_may_do_another_may_not(hub: World) -> None:
    async with ClaudeCode(hub, link="link-1").wanting() as (call, ask):
        await allow_for_session(hub, ask)
        assert verdict(await call) == ALLOWED
    await asked_again(ClaudeCode(hub, link="link-2"))


async def test_what_a_session_may_do_in_one_project_it_may_not_in_another(hub: World) -> None:
    async with ClaudeCode(hub).wanting() as (call, ask):
        await allow_for_session(hub, ask)
        assert verdict(await call) == ALLOWED
    await asked_again(ClaudeCode(hub, project=Project(key="/src/bank", name="bank")))


@pytest.mark.parametrize("limit", [None, 60.0], ids=["its deadline", "the client's limit"])
async def test_a_late_approval_allows_nothing(hub: World, limit: float | None) -> None:
    timeout = DAY if limit else None
    claude = ClaudeCode(hub, client=Client(limit=limit), timeout=timeout)
    async with claude.wanting() as (call, ask):
        denial(await claude.outwaited(call))
    for late in (allow, allow_for_session):
        with pytest.raises(AskEnded):
            await late(hub, ask)
    with pytest.raises(AskEnded):
        await put(hub, ask, form.AnswerAnyway(step=0))
    with pytest.raises(AskEnded):
        await hub.inbox.answer(ask.id, YES, person=Person(name="Ada", channel="web"))
    assert (await hub.now(ask)).status is Status.TIMED_OUT
    await asked_again(claude)


async def test_an_approval_that_nobody_waited_for_is_not_kept_for_the_next_call(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (_, ask):
        pass  # its client has cut the call
    await claude.gone()
    await allow(hub, ask)
    assert not (await hub.now(ask)).kept
    await asked_again(ClaudeCode(hub, link="link-2"))


async def test_an_open_approval_is_not_taken_over_by_another_call(hub: World) -> None:
    claude = ClaudeCode(hub)
    async with claude.wanting() as (_, ask):
        pass
    await claude.gone()
    async with ClaudeCode(hub, link="link-2").wanting() as (call, again):
        assert again.id != ask.id
        await allow(hub, ask)
        assert (await hub.now(again)).open
        await deny(hub, again)
        assert denial(await call)[0] == "denied"
