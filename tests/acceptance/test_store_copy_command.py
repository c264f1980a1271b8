"""`chatbridge store copy`: a person moves to a team's database while an agent waits."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.store.postgres.connection import Address
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, keep
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.postgres import USER, Postgres
from tests.fakes.program import CHATBRIDGE, bare
from tests.fakes.pty_person import ENTER, at_terminal

pytestmark = pytest.mark.postgres


@pytest.fixture
def home() -> Iterator[House]:
    with house() as found:
        yield found


@pytest.fixture
async def team(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database(empty=True) as address:
        yield address


@pytest.mark.process
def test_an_agent_that_waits_gets_the_answer_from_the_new_database(
    home: House, team: Address
) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        ask = home.until()
        home.run("token", "add", "ci")
        running = home.run("store", "copy", "--to", team.dsn)
        assert running.returncode == 1
        assert "stop it: --stop" in running.stderr
        done = home.run("store", "copy", "--stop", "--to", team.dsn, "--yes")
        assert done.returncode == 0, done.stderr
        listed = home.run("pending", "--ids")
        assert ask["id"].startswith(listed.stdout.strip())
        assert home.run("restart").returncode == 0
        assert home.run("token", "list").stdout.splitlines()[-1].startswith("ci ")
        home.answer(home.until())
        result = agent.result()
        assert result.get("answers", [{}])[0].get("values") == ["blue"], result
    assert done.stdout.splitlines()[1:4] == [
        "WHAT                       ROWS",
        "questions                     1",
        "  of them open                1",
    ]
    assert "tokens of remote agents       1" in done.stdout
    home.kill_hub(signal.SIGTERM)
    again = home.run("store", "copy")
    assert again.returncode == 1
    assert "already has 1 question" in again.stderr


@pytest.mark.process
def test_the_hub_runs_on_if_nothing_can_be_copied_and_during_a_dry_run(
    home: House, team: Address, postgres: Postgres
) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        ask, hub = home.until(), home.hub()
        for nowhere in ("postgresql://ada@127.0.0.1:9/team", postgres.address("none").dsn):
            refused = home.run("store", "copy", "--stop", "--to", nowhere)
            assert refused.returncode == 1
            assert "stopped" not in refused.stderr
            assert home.hub() == hub
        rehearsed = home.run("store", "copy", "--stop", "--dry-run", "--to", team.dsn)
        assert "Nothing was changed there." in rehearsed.stdout
        assert home.hub() == hub
        home.answer(ask)
        result = agent.result()
        assert result.get("answers", [{}])[0].get("values") == ["blue"], result


@pytest.mark.process
def test_a_copy_that_fails_once_the_hub_has_been_stopped_says_how_to_start_it_again(
    home: House, team: Address
) -> None:
    home.run("restart")
    home.hub()
    with closing(sqlite3.connect(home.database)) as file, file:
        file.execute("INSERT INTO notes VALUES ('odd', 'key', 'value', 'soon')")
    failed = home.run("store", "copy", "--stop", "--to", team.dsn)
    assert failed.returncode == 1
    assert "something else than a number in the column at" in failed.stderr
    assert failed.stderr.rstrip().endswith(
        "The hub is stopped. Start it again: chatbridge restart (a service: chatbridge service "
        "start)"
    )
    assert home.hubs() == []


@pytest.mark.process
async def test_a_person_is_asked_whether_hubs_shall_use_it(home: House, team: Address) -> None:
    await stored(home.database, 1)
    given = team.dsn.replace("@", ":a-password@")
    words = [*home.chatbridge, "store", "copy", "--to", given]
    with at_terminal(words, env=bare(home.environment), cwd=home.project) as me:
        me.expect("questions", "Set store in", "(Y/n)")
        me.press(ENTER)
        me.expect("Set store in", "Next: chatbridge restart")
        me.ends(0)
        assert "a-password" not in me.scrolled
    folder = Path(home.environment["HOME"], ".config", "chatbridge")
    assert f'store = "{team.dsn}"' in (folder / "config.toml").read_text()
    assert (folder / "secrets" / "chatbridge_store_password").read_text() == "a-password\n"


@pytest.mark.process
def test_one_that_is_killed_in_the_middle_leaves_nothing(
    home: House, team: Address, postgres: Postgres
) -> None:
    asyncio.run(stored(home.database, 3))
    fill(home.database, copies=60_000)
    name = team.dsn.rpartition("/")[2]
    with subprocess.Popen(
        [*CHATBRIDGE, "store", "copy", "--to", team.dsn],
        env=bare(home.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(postgres, f"datname = '{name}' AND query LIKE 'COPY%asks%'", there=True)
        process.kill()
    until(postgres, f"datname = '{name}'", there=False)
    assert told(postgres, "SELECT to_regclass('asks') IS NULL", name) == "t"


async def stored(path: Path, questions: int) -> None:
    path.parent.mkdir(mode=0o700)
    store = await SqliteStore.open(path)
    for _ in range(questions):
        await keep(store, an_ask())
    await store.close()


def fill(path: Path, *, copies: int) -> None:
    """With so many ended ones that a copy takes a second."""
    with closing(sqlite3.connect(path)) as file, file:
        names = [name for (_, name, *_) in file.execute("PRAGMA table_info(asks)")]
        values = {"seq": "n + 10", "id": "'ended-' || n", "status": "'cancelled'"} | {
            "settled_at": "1"
        }
        chosen = ", ".join(values.get(name, name) for name in names)
        file.execute(
            "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many LIMIT ?) "  # noqa: S608
            f"INSERT INTO asks SELECT {chosen} FROM many, (SELECT * FROM asks LIMIT 1)",
            (copies,),
        )


def until(server: Postgres, condition: str, *, there: bool) -> None:
    looking = f"SELECT count(*) > 0 FROM pg_stat_activity WHERE {condition}"  # noqa: S608
    end = time.monotonic() + PATIENCE
    while told(server, looking) != ("t" if there else "f"):
        assert time.monotonic() < end, condition


def told(server: Postgres, sql: str, database: str = "postgres") -> str:
    psql = [str(server.programs / "psql"), "-qAt", "-h", "127.0.0.1", "-p", str(server.port)]
    words = [*psql, "-U", USER, "-c", sql, database]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
