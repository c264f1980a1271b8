"""Clients with their limits, as they are known and as somebody might write one, in front of a
person who answers after eight hours: each gets the answer, once, and one card is shown."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.tools.clients import KNOWN, Client, Clients
from tests.fakes.sim_agent import Agent, GivesUp, Night
from tests.fakes.sim_hub import HOUR, WatchedClock

MADE_UP = {
    "brisk": Client(limit=3.0, cancels=False),
    "nervous": Client(idle=75.0),
    "both": Client(limit=900.0, idle=100.0),
}
CLIENTS = Clients(MADE_UP)
DIFFERENT = {
    replace(client, shown=None): (name, client) for name, client in {**KNOWN, **MADE_UP}.items()
}.values()
"""One of those that behave alike."""
NIGHT = 8 * HOUR
AFTER_THE_OUTAGE = HOUR
"""Enough for tickets that are turned in; what a whole night adds is shown without outages."""


def agent(name: str, client: Client, how: GivesUp, *, progress: bool) -> Agent:
    return Agent(
        client=name,
        clock=WatchedClock(),
        gives_up=how,
        limit=client.limit,
        idle=client.idle,
        progress=progress,
    )


async def gets_it_once(night: Night) -> None:
    """The answer, whole; one card; and the next identical question is a new one."""
    (told,) = night.agent.answers
    assert told["answers"] == [{"questionId": "c", "values": ["blue"]}]
    assert not (await night.delivered()).kept
    night.agent.ask()
    await night.agent.is_heard(night.here)
    assert len(await night.here.asks()) == 2


def can(client: Client, how: GivesUp) -> bool:
    """One that is said to cancel its calls does not give up in silence."""
    return how is not GivesUp.SILENTLY or not client.cancels


NIGHTS = [
    (name, client, progress)
    for name, client in DIFFERENT
    for progress in ((True, False) if client.idle else (False,))
]
"""With progress only where that makes a client wait for longer."""
WITH_OUTAGES = [(*night, how) for night in NIGHTS for how in GivesUp if can(night[1], how)]


@pytest.mark.parametrize(("name", "client", "progress"), NIGHTS)
async def test_a_call_ends_with_a_ticket_before_its_client_would_give_up_all_night_long(
    tmp_path: Path, name: str, client: Client, progress: bool
) -> None:
    waits = agent(name, client, GivesUp.SILENTLY, progress=progress)
    async with Night(tmp_path, waits, clients=CLIENTS) as night:
        await night.answered_at(waits.clock.monotonic() + NIGHT)
        assert waits.answers[0].get("late") is None
        await gets_it_once(night)


@pytest.mark.parametrize(("name", "client", "progress", "how"), WITH_OUTAGES)
async def test_a_client_that_gives_up_while_no_hub_is_there_goes_on_with_the_same_card(
    tmp_path: Path, name: str, client: Client, progress: bool, how: GivesUp
) -> None:
    waits = agent(name, client, how, progress=progress)
    async with Night(tmp_path, waits, clients=CLIENTS) as night:
        await night.outage((client.gives_up(progress=False) or 120.0) + 5.0)
        await night.answered_at(waits.clock.monotonic() + AFTER_THE_OUTAGE)
        await gets_it_once(night)


@pytest.mark.parametrize("progress", [True, False], ids=["progress", "no progress"])
@pytest.mark.parametrize("how", [GivesUp.CANCELS, GivesUp.DROPS])
async def test_a_client_that_nobody_knows_and_that_gives_up_goes_on_with_the_same_card(
    tmp_path: Path, how: GivesUp, progress: bool
) -> None:
    waits = agent("unheard-of", Client(limit=1000.0), how, progress=progress)
    async with Night(tmp_path, waits) as night:
        await night.answered_at(waits.clock.monotonic() + NIGHT)
        # Who says so is understood at once, and holds a ticket from then on.
        assert waits.rounds > (20 if how is GivesUp.DROPS else 5)
        await gets_it_once(night)


@pytest.mark.parametrize("limit", [5.0, 10.0, 30.0, 1000.0])
@pytest.mark.parametrize("thinks", [0.0, 4.0, 40.0])
async def test_a_client_that_nobody_knows_and_that_gives_up_in_silence_soon_gets_tickets(
    tmp_path: Path, limit: float, thinks: float
) -> None:
    """Its limit is learned from how it asks again, however long its model thinks before that."""
    waits = agent("mcp", Client(limit=limit), GivesUp.SILENTLY, progress=False)
    waits.thinks = thinks
    async with Night(tmp_path, waits) as night:
        await night.answered_at(waits.clock.monotonic() + max(HOUR, 10 * limit))
        learned = night.here.hub.broker.waiting_calls.learned_limit(waits.pipe.id)
        assert learned
        patience = Client(limit=learned.seconds).patience(progress=False)
        assert patience
        assert patience < limit
        await gets_it_once(night)


async def test_a_known_client_whose_owner_has_shortened_its_limit_is_answered_all_the_same(
    tmp_path: Path,
) -> None:
    """Its settings say so to chatbridge, too; those replace what is known."""
    own = Clients({"claude-code": Client(limit=30.0, cancels=False)})
    waits = agent("claude-code", Client(limit=30.0), GivesUp.SILENTLY, progress=True)
    async with Night(tmp_path, waits, clients=own) as night:
        await night.answered_at(waits.clock.monotonic() + NIGHT)
        await gets_it_once(night)


OUTAGES = st.lists(st.integers(1, 4000), max_size=2)


@settings(max_examples=30)
@given(
    limit=st.integers(3, 3000),
    how=st.sampled_from(GivesUp),
    known=st.booleans(),
    progress=st.booleans(),
    answer_after=st.integers(0, 30_000),
    outages=OUTAGES,
)
def test_whatever_the_limit_and_whenever_the_hub_dies_the_answer_comes_once_and_from_one_card(
    limit: int, how: GivesUp, known: bool, progress: bool, answer_after: int, outages: list[int]
) -> None:
    known = known or how is GivesUp.SILENTLY
    answer_after = min(answer_after, 100 * limit)  # a client without tickets asks anew each time
    client = Client(limit=float(limit), cancels=how is not GivesUp.SILENTLY)
    clients = Clients({"some": client}) if known else Clients()

    async def one_night(folder: Path) -> None:
        waits = agent("some", client, how, progress=progress)
        async with Night(folder, waits, clients=clients) as night:
            began = waits.clock.monotonic()
            for seconds in outages:
                await night.outage(seconds + 0.37)  # never at the very moment of a limit
            await night.answered_at(began + answer_after)
            await gets_it_once(night)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(one_night(Path(folder)))
