"""Several hubs with one database, as processes: whatever happens to the one that leads, another
leads within 5 s, and an agent that waits at any of them gets its answer once."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests.fakes.cluster import Cluster, Member, cluster, free_port, until
from tests.fakes.machine import Agent, frozen
from tests.fakes.postgres import USER, Postgres

pytestmark = [pytest.mark.postgres, pytest.mark.process]

TAKE_OVER_SECONDS = 5.0
DATABASE = "hubs"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "ci", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def hubs(postgres: Postgres) -> Iterator[Cluster]:
    """Three that run; the first one leads in the beginning."""
    asyncio.run(postgres.sql(f"CREATE DATABASE {DATABASE}"))
    with cluster(postgres.port, DATABASE, USER) as here:
        for member in here.members:
            member.serves_http = f"127.0.0.1:{free_port()}"
            member.house.environment["CHATBRIDGE_HTTP__ADDRESS"] = member.serves_http
            member.start()
        here.leader()
        yield here
    asyncio.run(postgres.sql(f"DROP DATABASE {DATABASE} WITH (FORCE)"))


@contextmanager
def waiting(*members: Member) -> Iterator[list[Agent]]:
    """An agent at each, which waits for an answer."""
    with ExitStack() as stack:
        agents = []
        for number, member in enumerate(members):
            agent = stack.enter_context(member.house.agent())
            agent.initialize()
            agent.ask(number)
            agents.append(agent)
        yield agents


def answered_once(leader: Member, agents: list[Agent]) -> None:
    """The person answers what is open, and each agent hears that, and nothing else."""
    until(lambda: len(leader.house.asks()) == len(agents), "not every question is open")
    for ask in leader.house.asks():
        leader.house.answer(ask)
    for number, agent in enumerate(agents):
        result = agent.result()
        assert result["id"] == number
        assert result["answers"] == [{"questionId": "c", "values": ["blue"]}]
        agent.request("end", "tools/list")
        assert agent.receive()["id"] == "end"


def killed(leader: Member) -> AbstractContextManager[object]:
    @contextmanager
    def fault() -> Iterator[None]:
        leader.house.kill_hub()
        leader.stop()
        yield
        leader.start()

    return fault()


def stands_still(leader: Member) -> AbstractContextManager[object]:
    return frozen(leader.pid)


def cut_off(leader: Member) -> AbstractContextManager[object]:
    """From the database, and nobody tells it."""
    return leader.hole.closed()


@pytest.mark.parametrize("fault", [killed, stands_still, cut_off])
def test_another_hub_leads_and_each_agent_gets_its_answer_once(
    hubs: Cluster, fault: Callable[[Member], AbstractContextManager[object]]
) -> None:
    old = hubs.leader()
    others = hubs.others(old)
    with waiting(old, *others) as agents:
        until(lambda: len(old.house.asks()) == len(agents), "not every question is open")
        began = time.monotonic()
        with fault(old):
            leader = hubs.leader(among=others)
            took = time.monotonic() - began
            # The agents at the others go on meanwhile; the first one's hub is out of order.
            until(lambda: len(leader.house.asks()) == len(agents), "questions were lost")
            epoch = leader.status()["cluster"]["epoch"]
        assert took < TAKE_OVER_SECONDS
        until(lambda: old.status()["cluster"]["leader"] == leader.name, "the old one leads still")
        answered_once(leader, agents)
    about = leader.status()["cluster"]
    assert (about["role"], about["epoch"]) == ("leads", epoch)


def test_a_hub_that_stops_in_order_is_followed_at_once(hubs: Cluster) -> None:
    old = hubs.leader()
    others = hubs.others(old)
    with waiting(others[0]) as agents:
        until(old.house.asks, "the question is not open")
        began = time.monotonic()
        old.stop()
        leader = hubs.leader(among=others)
        assert time.monotonic() - began < 2.5
        answered_once(leader, agents)
    old.start()


def test_commands_at_a_hub_that_follows_reach_the_one_that_leads(hubs: Cluster) -> None:
    leader = hubs.leader()
    follower = hubs.others(leader)[0]
    run = follower.house.run
    with waiting(leader) as (agent,):
        until(leader.house.asks, "the question is not open")
        pending = json.loads(run("pending", "--json").stdout)
        assert [ask["agent"]["project"] for ask in pending] == [f"{leader.name}/shop"]
        assert run("answer", pending[0]["id"], "red").returncode == 0
        assert agent.result()["answers"] == [{"questionId": "c", "values": ["red"]}]
        refused = run("tell", "Claude Code", "hello")
        assert refused.returncode != 0
        assert "Only a person at a terminal" in refused.stderr
    told = run("inbox")
    assert told.returncode != 0
    assert f"The inbox is at {leader.name} (127.0.0.1), which leads." in told.stderr
    said = run("status")
    assert f"{leader.name} at 127.0.0.1:{leader.port}" in said.stdout
    assert f"This hub, {follower.name}, follows" in said.stdout


def test_a_token_lets_an_agent_in_at_every_hub_until_it_is_removed(hubs: Cluster) -> None:
    leader = hubs.leader()
    follower, other = hubs.others(leader)
    token = other.house.run("token", "add", "ci").stdout.strip()
    assert token

    def initialized(member: Member) -> int:
        request = urllib.request.Request(
            f"http://{member.serves_http}/mcp",
            data=json.dumps(INITIALIZE).encode(),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    until(lambda: initialized(leader) == 200, "the leader does not know the token")
    assert initialized(follower) == 200
    assert "ci" in follower.house.run("token", "list").stdout
    assert leader.house.run("token", "remove", "ci").returncode == 0
    until(lambda: initialized(follower) == 401, "the token still counts")


def test_without_the_setting_a_second_hub_says_who_leads(hubs: Cluster, postgres: Postgres) -> None:
    leader = hubs.leader()
    with cluster(postgres.port, DATABASE, USER, hubs=1) as alone:
        (second,) = alone.members
        del second.house.environment["CHATBRIDGE_CLUSTER__LISTEN"]
        second.start()
        until(lambda: second.status()["cluster"]["leader"] == leader.name, "it knows no leader")
        said = second.house.run("pending")
        assert said.returncode != 0
        assert f"hub {leader.name} leads" in said.stderr
        with second.house.agent() as agent:
            agent.initialize()
            agent.ask(1)
            assert f"the hub {leader.name} leads" in json.dumps(agent.receive())


def test_a_hub_alone_that_was_killed_is_replaced_and_the_agent_gets_its_answer(
    postgres: Postgres,
) -> None:
    """The lease of the one that was killed lasts for some seconds, and is no hub that leads."""
    asyncio.run(postgres.sql("CREATE DATABASE alone"))
    with cluster(postgres.port, "alone", USER, hubs=1) as alone:
        (hub,) = alone.members
        del hub.house.environment["CHATBRIDGE_CLUSTER__LISTEN"]
        hub.start()
        with waiting(alone.leader()) as agents:
            until(hub.house.asks, "the question is not open")
            with killed(hub):
                pass
            answered_once(alone.leader(), agents)


def test_doctor_waits_until_a_hub_that_has_just_started_leads(postgres: Postgres) -> None:
    """Its lease of before has to end first."""
    asyncio.run(postgres.sql("CREATE DATABASE doctors"))
    with cluster(postgres.port, "doctors", USER, hubs=1) as here:
        (hub,) = here.members
        hub.start()
        here.leader()
        hub.house.kill_hub()
        hub.stop()
        hub.start()
        checks = json.loads(hub.house.run("doctor", "--json").stdout)["checks"]
    said = {
        name: [check["what"] for check in checks if check["name"] == name]
        for name in ("leader", "database", "web inbox")
    }
    assert said["leader"] == []
    assert said["database"][0].endswith("hub-0 leads")
    assert said["web inbox"][0].startswith("http://127.0.0.1:")


def test_a_hub_waits_for_a_database_that_is_not_there_yet(postgres: Postgres) -> None:
    asyncio.run(postgres.sql("CREATE DATABASE later"))
    with cluster(postgres.port, "later", USER, hubs=1) as here:
        (hub,) = here.members
        with hub.hole.refusing():
            hub.start()
            until(lambda: hub.status()["remarks"], "it does not say what is wrong")
            (remark,) = hub.status()["remarks"]
            assert "the server cannot be reached" in remark
            with hub.house.agent() as agent:
                agent.request("init", "tools/list")
                hub.hole.back()
                assert agent.receive()["id"] == "init"
        assert here.leader() is hub
