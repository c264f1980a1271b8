"""Who asks with a token, or as another user of the machine, chooses the names of their agents and
folders: what they may have at once is counted for all of these together."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from chatbridge.core import notices
from chatbridge.core.delivery import Delivery
from chatbridge.core.errors import TooManyNotices, TooManyOpenAsks
from chatbridge.core.model import Agent, Project, Question
from chatbridge.core.notices import Notices
from chatbridge.core.policy import TOGETHER
from tests.fakes.world import World, name, request, world

LIMIT = 2
OUTSIDERS = {"token": "http:ci", "user": "uid:1001:/home/eve/{number}"}
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
        hub.broker.callers.link_opened(link)
        await hub.broker.ask(own, name(link, time))


@pytest.mark.parametrize("who", OUTSIDERS)
async def test_another_name_gives_an_outsider_no_more_questions(tmp_path: Path, who: str) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(TOGETHER):
            await asks(hub, OUTSIDERS[who], number=number, times=LIMIT)
        with pytest.raises(TooManyOpenAsks, match=f"{TOGETHER * LIMIT} open questions"):
            await asks(hub, OUTSIDERS[who], number=99)
        for other in OTHERS:
            await asks(hub, other, number=1)
        assert len(await hub.store.open_asks()) == TOGETHER * LIMIT + len(OTHERS)


async def test_the_hubs_own_user_has_as_many_for_each_agent_as_before(tmp_path: Path) -> None:
    async with world(tmp_path, max_open_asks=LIMIT) as hub:
        for number in range(TOGETHER + 2):
            await asks(hub, "/src/shop", number=number, times=LIMIT)
        with pytest.raises(TooManyOpenAsks, match=f"this agent already has {LIMIT}"):
            await asks(hub, "/src/shop", number=0, times=LIMIT + 1)


@pytest.mark.parametrize("who", OUTSIDERS)
async def test_another_name_gives_an_outsider_no_more_notices(
    tmp_path: Path, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MOST_A_MINUTE", LIMIT)
    async with world(tmp_path) as hub:
        telling = Notices(hub.store, Delivery(hub.store, clock=hub.clock), clock=hub.clock)
        sent = count(1)

        async def tell(number: int) -> None:
            project = Project(key=OUTSIDERS[who].format(number=number), name="x")
            agent = Agent(client=f"made-up-{number}", name="x")
            await telling.send(name("a", next(sent)), project=project, agent=agent, message="m")

        for number in range(TOGETHER * LIMIT):
            await tell(number)
        with pytest.raises(TooManyNotices):
            await tell(999)
        hub.clock.advance(61)
        await tell(999)
