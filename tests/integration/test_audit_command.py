"""`chatbridge audit` where no hub runs, over each database."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatbridge.cli.questions import commands
from chatbridge.core.audit import Auditor
from chatbridge.core.model import Answer, Outcome, Person
from chatbridge.store.audit import Trail
from chatbridge.store.sql_store import SqlStore
from chatbridge.store.sqlite import migrate
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, answered, keep
from tests.contract.stores import PARAMETERS
from tests.fakes.postgres import FENCE, Postgres
from tests.fakes.program import CHATBRIDGE

ADA = Person(name="Ada", channel="telegram", place="42", id="42")
HOSTILE = "Deploy?\x1b[2J\r\nasked  forged line \u202e"
DAY = 86400.0


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "hub.lock").touch()
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(folder))
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "config.toml"))
    return folder


def on() -> Trail:
    return Trail(Auditor(), time.time)


async def fill(store: SqlStore, trail: Trail) -> None:
    """Three days of a trail."""
    ask = an_ask(title=HOSTILE)
    elsewhere = replace(ask.project, name="hub-a/blog")
    for days, work in ((2, ask), (1, replace(an_ask(), project=elsewhere))):
        trail.now = lambda days=days: time.time() - days * DAY  # type: ignore[misc]
        await keep(store, work)
    trail.now = time.time
    end = replace(answered(ask), outcome=Outcome(at=1.0, answers=(Answer(),), by=ADA))
    await store.write(lambda tx: tx.save_ask(end, was=ask.status))
    await store.close()


@pytest.fixture(params=PARAMETERS)
async def filled(
    request: pytest.FixtureRequest, state: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    trail = on()
    if request.param == "sqlite":
        await fill(await SqliteStore.open(state / "chatbridge.db", trail=trail), trail)
        yield
        return
    from chatbridge.store.postgres.store import PostgresStore

    server: Postgres = request.getfixturevalue("postgres")
    async with server.database() as address:
        await fill(await PostgresStore.open(address, fence=FENCE, trail=trail), trail)
        monkeypatch.setenv("CHATBRIDGE_STORE", address.dsn)
        yield


async def run(*arguments: str) -> int:
    return await asyncio.to_thread(commands.audit, list(arguments))


async def test_lines_come_in_their_order_and_the_wanted_ones_alone(
    filled: None, capsys: pytest.CaptureFixture[str]
) -> None:
    async def kinds(*arguments: str) -> list[str]:
        assert await run("--json", *arguments) == 0
        return [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]

    assert await kinds() == ["asked", "asked", "answered"]
    assert await kinds("--since", "36h") == ["asked", "answered"]
    assert await kinds("--since", "36h", "--until", "12h") == ["asked"]
    for name in ("blog", "hub-a/blog"):
        assert await kinds("--project", name) == ["asked"]
    for another in ("log", "hub-a", "a/blog", "hub-a/blog/", "hub-b/blog"):
        assert await kinds("--project", another) == []
    assert await kinds("--project", "/src/shop") == ["asked", "asked", "answered"]
    assert await kinds("--person", "Ada") == await kinds("--person", "telegram:42") == ["answered"]
    assert await kinds("--since", "2026-01-01", "--person", "Eve") == []


async def test_no_text_of_an_agent_steers_the_terminal_or_forges_a_line(
    filled: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run() == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 3
    assert out.replace("\n", "").isprintable()
    assert "asked        " in out.splitlines()[0]
    assert "Ada (telegram:42)" in out.splitlines()[2]


@pytest.mark.parametrize("given", ["yesterday", "2026-13-01", "0d", "9999999d", "1e999-1", "-5d"])
def test_a_bad_time_is_refused_with_what_is_accepted(
    state: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.audit([f"--since={given}"])
    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is no time; give how long ago, as in 12h or 7d, or a day or a time, as in" in said


def test_an_end_before_the_beginning_is_refused(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.audit(["--since", "1d", "--until", "2d"])
    assert ended.value.code == 2
    assert "--until is not after --since" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--person", "Adda"), "Nothing was found; did you mean Ada?"),
        (("--project", "blok"), "Nothing was found; did you mean blog?"),
        (("--person", "Ada", "--project", "blog"), "Nothing was found."),
        (("--person", "telegram:43"), "Nothing was found."),
    ],
)
async def test_a_name_that_was_not_found_is_answered_with_the_nearest(
    filled: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    given: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "config.toml").write_text("[audit]\nenabled = true\n")
    assert await run(*given) == 0
    assert capsys.readouterr().err == f"{said}\n"


def test_without_a_trail_it_is_said_how_to_get_one(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.audit([]) == 0
    said = capsys.readouterr().err
    assert said.startswith("There is no audit trail: it is off.")
    assert "in config.toml, then chatbridge restart" in said
    assert {it.name for it in state.iterdir()} == {"hub.lock"}


def test_an_earlier_versions_database_is_left_alone(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = migrate._migrations()[:12]
    monkeypatch.setattr(migrate, "_migrations", lambda: scripts)

    async def open_and_close() -> None:
        await (await SqliteStore.open(state / "chatbridge.db")).close()

    asyncio.run(open_and_close())
    monkeypatch.undo()
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(state))
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(state / "none.toml"))
    before = (state / "chatbridge.db").read_bytes()
    assert commands.audit([]) == 1
    assert "of an earlier version, without an audit trail" in capsys.readouterr().err
    assert (state / "chatbridge.db").read_bytes() == before


async def test_a_reader_that_leaves_is_no_error(state: Path) -> None:
    trail = on()
    store = await SqliteStore.open(state / "chatbridge.db", trail=trail)
    await keep(store, *(an_ask(title="x" * 150) for _ in range(2_000)))
    await store.close()
    running = await asyncio.create_subprocess_exec(
        *CHATBRIDGE, "audit", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout
    assert running.stderr
    assert b"asked" in await running.stdout.readline()
    running.stdout._transport.close()  # type: ignore[attr-defined]
    assert await asyncio.wait_for(running.wait(), 30) == 141
    assert await running.stderr.read() == b""
