"""docs/team-database.md, followed from its first line to its last, on a real server."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.pages import blocks, commands_of
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.postgres import USER, Postgres
from tests.fakes.program import bare

pytestmark = [pytest.mark.postgres, pytest.mark.process]
PAGE = "docs/team-database.md"
HOST = "db.example.org"
OTHERS = ("pipx ", "cd ", "systemctl ", "TELEGRAM_USER", "install -D", "install -m 644", "/opt/")
"""They install, or are for another machine: other tests have them."""
DROP = ("chatbridge", "chatbridge_restored")


@pytest.fixture
def home(postgres: Postgres) -> Iterator[House]:
    with house(
        PGHOST="127.0.0.1",
        PGPORT=str(postgres.port),
        PGUSER=USER,
        PATH=f"{postgres.programs}:{os.environ['PATH']}",
    ) as found:
        yield found
    for name in DROP:
        told(found, f"dropdb --force --if-exists {name}")
    told(found, "dropuser --if-exists chatbridge")


def told(home: House, command: str) -> str:
    # Of a session of its own: a password is asked for at the terminal, if there is one.
    done = subprocess.run(
        ["bash", "-c", command],
        input="a-password\n" * 2,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=home.project if home.project.exists() else "/",
        env=bare(home.environment),
        start_new_session=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def until_it_leads(home: House) -> None:
    """A person types more slowly."""
    until = time.monotonic() + PATIENCE
    while '"role": "leads"' not in home.run("status", "--json").stdout:
        assert time.monotonic() < until


def with_chatbridge(home: House) -> None:
    """The program, by its name."""
    programs = Path(home.environment["HOME"], "bin")
    programs.mkdir()
    program = programs / "chatbridge"
    program.write_text(f'#!/bin/sh\nexec {" ".join(home.chatbridge)} "$@"\n')
    program.chmod(0o755)
    assert shutil.which("bash")
    home.environment["PATH"] = f"{programs}:{home.environment['PATH']}"


def lines() -> Iterator[str]:
    for block in blocks():
        if block.place.page == PAGE and not block.language:
            for _, line in commands_of(block):
                yield line.removeprefix("sudo ").removeprefix("-u postgres ")


def of_page(home: House, postgres: Postgres) -> Iterator[str]:
    with_chatbridge(home)
    for command in lines():
        if not command.startswith(OTHERS) and "/etc/" not in command:
            yield command.replace(HOST, f"127.0.0.1:{postgres.port}")


async def test_roots_command_reads_the_database_of_a_server_with_several_users(
    home: House, postgres: Postgres, tmp_path: Path
) -> None:
    with_chatbridge(home)
    (command,) = (it for it in lines() if it.startswith("sh -c"))
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "store_password").write_text("a-password\n")
    async with postgres.database() as address:
        (tmp_path / "config.toml").write_text(f'store = "{address.dsn}"\n')
        there = command.replace("/etc/chatbridge", str(tmp_path))
        said = await asyncio.to_thread(told, home, there.replace("/var/lib", str(tmp_path)))
    assert said == "Nothing was found.\n"  # in a trail that is on, as a server has it


def test_the_page_leads_from_an_empty_server_to_a_restored_backup(
    home: House, postgres: Postgres
) -> None:
    run = list[str]()
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        for command in of_page(home, postgres):
            # At a terminal it asks.
            unasked = " --yes" if command.startswith("chatbridge store copy --stop --to") else ""
            if command == "chatbridge doctor":
                until_it_leads(home)
            said = told(home, f"{command}{unasked}")
            run.append(command)
            if command == "chatbridge doctor":
                assert "1 question; PostgreSQL" in said
                (waits,) = home.asks()
                assert waits["id"] == asked["id"]
    assert [command.split()[0] for command in run[-3:]] == ["pg_dump", "createdb", "pg_restore"]
    home.run("stop")
    config = Path(home.environment["HOME"], ".config", "chatbridge", "config.toml")
    restored = config.read_text().replace('/chatbridge"', '/chatbridge_restored"')
    config.write_text(restored)
    listed = home.run("pending", "--ids").stdout.strip()
    assert listed
    assert asked["id"].startswith(listed)
