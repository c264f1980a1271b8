"""doctor, and commands that read without a hub, where the database is on a PostgreSQL server."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.channels.checks import Finding, HubState, Mark
from chatbridge.cli.database import DatabaseServer
from chatbridge.cli.doctor import postgres as module
from chatbridge.cli.doctor.clients import clients
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.run import Check
from chatbridge.cli.doctor.tonight import agents, deadlines, disk
from chatbridge.cli.hub.commands import status
from chatbridge.cli.questions import commands
from chatbridge.clock import SystemClock
from chatbridge.core.model import ChannelState
from chatbridge.core.tasks import end_tasks
from chatbridge.hub.http import shared_tokens, tokens
from chatbridge.store.postgres import connection
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import PostgresStore
from chatbridge.store.postgres.tokens import TokenTable
from tests.contract.asks import an_ask, answered, keep
from tests.fakes.authority import Authority
from tests.fakes.clock import StillClock
from tests.fakes.doctor import Machine
from tests.fakes.postgres import AWAY, FENCE, Postgres
from tests.fakes.postgres_wire import Wire

pytestmark = pytest.mark.postgres
DATABASE = Check("database", database)
ENDED_HUB = "UPDATE leader SET holder = 'gone', name = 'night-1'"
ROLE = "CREATE ROLE reader LOGIN NOSUPERUSER"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAR_SECONDS", 5.0)
    monkeypatch.setattr(module, "SLOW_SECONDS", 5.0)


@pytest.fixture
async def team(postgres: Postgres, machine: Machine) -> AsyncIterator[Address]:
    async with postgres.database() as address:
        await postgres.sql("UPDATE leader SET holder = ''", name_of(address))
        machine.set(CHATBRIDGE_STORE=address.dsn)
        yield address


def name_of(address: Address) -> str:
    return address.dsn.rpartition("/")[2]


async def filled(server: Postgres, address: Address, *things: object) -> None:
    await server.sql("UPDATE leader SET holder = 'test', epoch = 1", name_of(address))
    store = await PostgresStore.open(address, fence=FENCE)
    await keep(store, *things)  # type: ignore[arg-type]
    await store.close()
    await server.sql("UPDATE leader SET holder = ''", name_of(address))


def of(findings: list[Finding], mark: Mark) -> list[str]:
    return [found.what for found in findings if found.mark is mark]


async def test_it_says_how_far_away_the_server_is_and_that_no_hub_leads(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    await filled(postgres, team, an_ask(), an_ask())
    found = await machine.look(DATABASE)
    (said,) = of(found, Mark.FINE)
    assert said.startswith(
        f"{name_of(team)} on 127.0.0.1:{postgres.port}: 2 questions; PostgreSQL "
    )
    assert "ms there and back" in said
    assert said.endswith("no hub leads")
    # The tests' user is the one that the server was made for, and its disk is memory.
    assert of(found, Mark.REMARK) == [
        "chatbridge is a superuser of the server, and needs to be none",
        "the server may lose what it has committed in a power cut",
    ]
    assert json.loads(json.dumps(found[0].json()))["details"]["schema"] >= 1


async def test_an_answer_that_the_library_does_not_understand_is_said(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    async with Wire.running(postgres.port) as wire:
        wire.spoils = b"FROM chatbridge"
        machine.set(CHATBRIDGE_STORE=wire.over(team).dsn)
        (found,) = await machine.look(DATABASE)
    assert found.what.startswith(wire.over(team).called)


async def test_a_hub_that_has_ended_without_a_word_does_not_lead(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    await postgres.sql(ENDED_HUB, name_of(team))
    (said,) = of(await machine.look(DATABASE), Mark.FINE)
    assert said.endswith("no hub leads")


async def test_a_hub_that_begins_to_lead_meanwhile_is_seen(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    async def elected() -> HubState:
        await postgres.sql(ENDED_HUB, name_of(team))
        beating.append(asyncio.ensure_future(beat()))
        return HubState(status={})

    async def beat() -> None:
        while True:
            await postgres.sql("UPDATE leader SET beat = beat + 1", name_of(team))

    beating: list[asyncio.Task[None]] = []
    try:
        found = await module.server(DatabaseServer(team.dsn, None), SystemClock(), hub=elected)
    finally:
        await end_tasks(beating)
    assert found[0].what.endswith("night-1 leads")


async def test_what_the_hub_alone_meets_is_said_of_the_database(
    machine: Machine, team: Address
) -> None:
    """It may have another network, or password, than this terminal."""
    told = f"the database {team.name}: the server does not answer"
    with machine.hub(remarks=[told]):
        found = await machine.look(DATABASE)
        assert found[0].mark is Mark.FINE
        assert of(found, Mark.PROBLEM) == [f"for the hub, {told}"]
        machine.set(CHATBRIDGE_STORE="postgresql://nobody@127.0.0.1:1/x")
        (said,) = await machine.look(DATABASE)
        assert "the server cannot be reached" in said.what


async def test_a_hub_that_says_so_each_second_leads(
    machine: Machine, postgres: Postgres, team: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    await postgres.sql(ENDED_HUB, name_of(team))
    beaten = False

    async def sleep(seconds: float) -> None:
        nonlocal beaten
        if not beaten:
            beaten = True
            await postgres.sql("UPDATE leader SET beat = beat + 1", name_of(team))

    monkeypatch.setattr(asyncio, "sleep", sleep)
    (said,) = of(await machine.look(DATABASE), Mark.FINE)
    assert said.endswith("night-1 leads")


async def test_a_user_who_may_only_read_is_a_problem(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    name = name_of(team)
    await postgres.sql(f"{ROLE}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", name)
    try:
        machine.set(CHATBRIDGE_STORE=team.dsn.replace("//nobody@", "//reader@"))
        (found,) = await machine.look(DATABASE)
    finally:
        await postgres.sql("DROP OWNED BY reader; DROP ROLE reader", name)
    assert found.mark is Mark.PROBLEM
    assert "may not write" in found.what
    assert f"ALTER DATABASE {name} OWNER TO" in found.fix[0]


async def test_a_distance_and_a_clock_that_matter_are_said(
    machine: Machine, team: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FAR_SECONDS", 0.0)
    found = await machine.look(DATABASE, clock=StillClock(time.time() - 3600.0))
    said = " ".join(of(found, Mark.REMARK))
    assert "far away: " in said
    assert "the server's clock is 1 h ahead of this computer's" in said


async def test_a_server_with_few_connections_left_is_said(
    machine: Machine, team: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEW_CONNECTIONS", 1000)
    (said,) = (it for it in await machine.look(DATABASE) if "connections left" in it.what)
    assert said.mark is Mark.REMARK
    assert "max_connections" in said.fix[0]


async def test_on_another_computer_it_wants_a_server_that_encrypts_and_is_checked(
    machine: Machine, postgres: Postgres, team: Address, tmp_path: Path
) -> None:
    away = team.dsn.replace("@127.0.0.1:", f"@{AWAY}:")
    authority = Authority(tmp_path)

    async def said(parameters: str = "") -> list[str]:
        machine.set(CHATBRIDGE_STORE=away + parameters)
        found = of(await machine.look(DATABASE), Mark.REMARK)
        return [it for it in found if "encryption" in it or "checks" in it]

    assert await said() == ["questions and answers go to the server without encryption"]
    async with postgres.encrypted(authority.issue(AWAY, file="server")):
        assert await said() == ["nobody checks that the server is the right one"]
        assert await said(f"?sslmode=verify-full&sslrootcert={authority.file}") == []


async def test_a_server_with_the_certificate_of_another_one_is_a_problem(
    machine: Machine, postgres: Postgres, team: Address, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    machine.set(CHATBRIDGE_STORE=f"{team.dsn}?sslmode=verify-full&sslrootcert={authority.file}")
    async with postgres.encrypted(authority.issue(AWAY, file="server")):
        (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert "nothing proves that the server is the right one" in found.what
    assert "sslrootcert in store" in found.fix[0]


async def test_rows_that_cannot_be_read_are_a_problem(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    ask = an_ask()
    await filled(postgres, team, ask)
    await postgres.sql("UPDATE asks SET questions = '[7]'", name_of(team))
    assert of(await machine.look(DATABASE), Mark.PROBLEM) == [
        f"this version cannot read question {ask.id}"
    ]


async def test_an_empty_database_and_a_newer_one(
    machine: Machine, postgres: Postgres, team: Address
) -> None:
    await postgres.sql("INSERT INTO chatbridge VALUES (99)", name_of(team))
    try:
        (found,) = await machine.look(DATABASE)
        assert "is of a newer chatbridge (schema version 99" in found.what
    finally:
        await postgres.sql("DELETE FROM chatbridge WHERE version = 99", name_of(team))
    async with postgres.database(empty=True) as empty:
        machine.set(CHATBRIDGE_STORE=empty.dsn)
        (said,) = of(await machine.look(DATABASE), Mark.FINE)
        assert "empty: the first hub makes its tables" in said


@pytest.mark.parametrize(
    ("find", "instead", "what", "fix"),
    [
        (r"/test_\d+$", "/none", "there is no database of this name", "createdb --owner nobody"),
        (r"nobody@", "stranger@", "the server refused the log-in", "store_password"),
        (r":\d+/.*", ":9/none", "the server cannot be reached", "Check that it runs"),
    ],
)
async def test_what_is_wrong_with_the_address_is_said_with_the_next_step(
    machine: Machine, team: Address, find: str, instead: str, what: str, fix: str
) -> None:
    machine.set(CHATBRIDGE_STORE=re.sub(find, instead, team.dsn))
    (found,) = await machine.look(DATABASE)
    assert found.mark is Mark.PROBLEM
    assert what in found.what
    assert fix in " ".join(found.fix)


async def test_agents_over_http_are_those_whose_tokens_are_in_the_database(
    machine: Machine, team: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    both = (Check("agents", clients), Check("agents", agents))
    tokens.add(str(machine.state), "of-before", now=1.0)  # with this store it lets nobody in
    given = await shared_tokens.add(team, "ci", now=1.0)
    for found in await machine.look(*both):
        assert (found.mark, found.what) == (Mark.REMARK, "no token has been used yet: ci")
    table = TokenTable(team)
    await table.note_used([(tokens.digest_of(given), 100.0)])
    table.close()
    for found in await machine.look(*both):
        assert (found.mark, found.what) == (Mark.FINE, "over HTTP: ci")
    with machine.hub(links=[]):
        assert await asyncio.to_thread(status, []) == 0
    assert "over HTTP: ci" in capsys.readouterr().out


async def test_a_database_without_tables_has_no_tokens(
    machine: Machine, postgres: Postgres
) -> None:
    async with postgres.database(empty=True) as empty:
        machine.set(CHATBRIDGE_STORE=empty.dsn)
        (found,) = await machine.look(Check("agents", clients))
    assert found.what.startswith("none is set up")


async def test_a_server_that_says_nothing_holds_nobody_up_who_looks_for_tokens(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        machine.set(CHATBRIDGE_STORE=f"postgresql://ada@127.0.0.1:{silent.getsockname()[1]}/team")
        (found,) = await machine.look(Check("agents", clients))
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("their tokens cannot be read: ")
    assert found.what.endswith("the server does not answer")


async def test_without_the_extra_everything_says_what_to_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    machine.set(CHATBRIDGE_STORE="postgresql://chatbridge@db.example.org/chatbridge")
    (found,) = await machine.look(DATABASE)
    assert found.what == "the packages for PostgreSQL are not installed"
    assert "asyncpg" in found.fix[0]


def test_what_is_open_is_listed_without_a_hub(
    machine: Machine, team: Address, postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    ask = replace(an_ask(text="Which port?"), created_at=now, deadline=now + 3600.0)
    asyncio.run(filled(postgres, team, ask, answered(an_ask(text="Which host?"), at=now)))
    assert commands.pending(["--json"]) == 0
    assert [it["id"] for it in json.loads(capsys.readouterr().out)] == [ask.id]
    assert commands.history([]) == 0
    assert "Which host?" in capsys.readouterr().out
    assert commands.summary(["--since", "2h"]) == 0
    assert "1 question is waiting" in capsys.readouterr().out
    assert commands.stats(["--json"]) == 0
    assert "medianSeconds" in capsys.readouterr().out
    assert not Path(machine.state, "chatbridge.db").exists()


def test_a_server_that_is_away_is_said_by_what_would_read_it(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.set(CHATBRIDGE_STORE="postgresql://chatbridge:a-password@127.0.0.1:9/chatbridge")
    assert commands.pending([]) == 1
    said = capsys.readouterr().err
    assert "the server cannot be reached" in said
    assert "a-password" not in said


async def test_tonight_looks_there_too(machine: Machine, postgres: Postgres, team: Address) -> None:
    now = time.time()
    note = ChannelState(channel="telegram", key="chat", value="-100", at=now)
    await filled(postgres, team, replace(an_ask(), deadline=now + 3600.0), note)
    found = await machine.look(Check("questions", deadlines), Check("disk", disk))
    assert found[0].what.startswith("1 open question would time out in the night")
    assert found[1].what.endswith(" free")
    assert await machine.situation().notes("telegram") == {"chat": "-100"}
