"""Floods: agents choose what they call themselves, and whoever asks with a token or as another user
of the machine also chooses folders. What they may have at once is counted by what they cannot
choose: the link, and beyond it the project, the token or the user."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from chatbridge.core.delivery import notices
from chatbridge.core.delivery.delivery import Delivery
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.errors import TooManyNotices, TooManyOpenAsks
from chatbridge.core.model import Agent, Project, Question
from chatbridge.core.policy import PARTY_FACTOR, TOTAL_FACTOR
from tests.fakes.core_env import World, name, request, world
from tests.telegram_asks import approval

LIMIT = 2
OUTSIDERS = {"token": "http:ci", "user": "uid:1001:/home/eve/{number}"}
WHO = {**OUTSIDERS, "folder": "/src/shop", "no project": "link:{number}"}
OTHERS = ("http:cirrus", "http:c", "uid:100:/x", "uid:10011:/x", "/src/uid:1001:", "link:http:ci")


async def asks(hub: World, project: str, *, number: int, times: int = 1) -> None:
    """As an agent with a name, and where possible a folder, that nobody has used before."""
    for time in range(times):
        own = replace(
            request(Question(id="q", text=f"No {number}.{time}?")),
            project=Project(key=project.format(number=number), name="x"),
            agent=Agent(client=f"made-up-{number}", name="x"),
        )
        link = f"link-{project}-{number}"
        hub.broker.waiting_calls.link_opened(link)
        await hub.broker.ask(own, name(link, time))


@pytest.mark.parametrize("who", OUTSIDERS)
async def test_another_name_gives_an_outsider_no_more_questions(tmp_path: Path, who: str) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(PARTY_FACTOR):
            await asks(hub, OUTSIDERS[who], number=number, times=LIMIT)
        with pytest.raises(TooManyOpenAsks, match=f"{PARTY_FACTOR * LIMIT} open questions"):
            await asks(hub, OUTSIDERS[who], number=99)
        for other in OTHERS:
            await asks(hub, other, number=1)
        assert len(await hub.store.open_asks()) == PARTY_FACTOR * LIMIT + len(OTHERS)


async def test_another_name_gives_an_agent_of_the_hubs_own_user_no_more_questions(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(PARTY_FACTOR):
            await asks(hub, "/src/shop", number=number, times=LIMIT)
        with pytest.raises(TooManyOpenAsks, match=f"{PARTY_FACTOR * LIMIT} open questions"):
            await asks(hub, "/src/shop", number=99)
        await asks(hub, "/src/other", number=99, times=LIMIT)


async def test_a_second_session_of_the_same_client_is_not_refused_because_of_the_first(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(LIMIT):
            await hub.ask(Question(id="q", text=f"No {number}?"), link="a", number=number)
        with pytest.raises(TooManyOpenAsks, match=f"this agent already has {LIMIT}"):
            await hub.ask(link="a", number=9)
        assert (await hub.ask(link="b")).open


async def test_an_agents_own_questions_keep_none_of_its_approvals_out(tmp_path: Path) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(LIMIT):
            await hub.ask(Question(id="q", text=f"No {number}?"), link="a", number=number)
        of = request(approval(), project="/src/shop")
        ask, _ = await hub.broker.ask(of, name("a", 9))
        assert ask.open


async def test_a_link_that_gives_its_calls_up_has_no_more_questions_than_one_that_waits(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(LIMIT):
            await hub.ask(Question(id="q", text=f"No {number}?"), link="a", number=number)
            await hub.broker.waiting_calls.cancel(name("a", number))
        with pytest.raises(TooManyOpenAsks, match=f"this agent already has {LIMIT}"):
            await hub.ask(link="a", number=9)


async def test_many_links_outside_of_any_project_are_counted_together(tmp_path: Path) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(PARTY_FACTOR * LIMIT):
            await asks(hub, "link:{number}", number=number)
        with pytest.raises(TooManyOpenAsks):
            await asks(hub, "link:{number}", number=99)
        await asks(hub, "/src/shop", number=99)


async def test_questions_in_made_up_projects_end_somewhere_and_keep_no_approval_out(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, max_open_asks=1) as hub:
        for number in range(TOTAL_FACTOR):
            await asks(hub, "/made/up/{number}", number=number)
        with pytest.raises(TooManyOpenAsks):
            await asks(hub, "/src/shop", number=99)
        await asks(hub, "http:ci", number=99)
        hub.broker.waiting_calls.link_opened("mine")
        ask, _ = await hub.broker.ask(request(approval(), project="/src/shop"), name("mine"))
        assert ask.open


@pytest.mark.parametrize("who", WHO)
async def test_another_name_gives_nobody_more_notices(
    tmp_path: Path, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_NOTICES_PER_MINUTE", LIMIT)
    async with world(tmp_path) as hub:
        telling = Notices(hub.store, Delivery(hub.store, clock=hub.clock), clock=hub.clock)
        sent = count(1)

        async def tell(number: int) -> None:
            project = Project(key=WHO[who].format(number=number), name="x")
            agent = Agent(client=f"made-up-{number}", name="x")
            call = name(f"link-{number}", next(sent))
            await telling.send(call, project=project, agent=agent, message="m")

        for number in range(PARTY_FACTOR * LIMIT):
            await tell(number)
        with pytest.raises(TooManyNotices, match=r"^your owner's agents have sent \d+ notices"):
            await tell(999)
        hub.clock.advance(61)
        await tell(999)
