"""Two hubs are upgraded one after the other, as docs/team-database.md says, while an agent waits at
each. The newer version has one migration more."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.cluster import Cluster, Member, cluster, until
from tests.fakes.postgres import USER, Postgres
from tests.fakes.program import ROOT
from tests.integration.test_cluster_hubs import answered_once, waiting

pytestmark = [pytest.mark.postgres, pytest.mark.process]
DATABASE = "rolling"
NEWER = "99.0.0"
SCHEMA = 9999
MIGRATION = "ALTER TABLE asks ADD COLUMN newer text NOT NULL DEFAULT ''; "
RUN = """
import sys
sys.path.insert(0, {path!r})
from chatbridge.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def two(postgres: Postgres) -> Iterator[Cluster]:
    asyncio.run(postgres.sql(f"CREATE DATABASE {DATABASE}"))
    with cluster(postgres.port, DATABASE, USER, hubs=2) as here:
        for member in here.members:
            member.start()
        here.leader()
        yield here
    asyncio.run(postgres.sql(f"DROP DATABASE {DATABASE} WITH (FORCE)"))


@pytest.fixture
def newer(tmp_path: Path) -> tuple[str, ...]:
    """What runs the newer version."""
    shutil.copytree(ROOT / "chatbridge", tmp_path / "chatbridge")
    about = tmp_path / "chatbridge" / "__init__.py"
    about.write_text(f'{about.read_text()}\n__version__ = "{NEWER}"\n')
    schema = tmp_path / "chatbridge" / "store" / "postgres" / "schema" / f"{SCHEMA}_newer.sql"
    schema.write_text(MIGRATION)
    return (sys.executable, "-c", RUN.format(path=str(tmp_path)))


@contextmanager
def as_version(member: Member, words: tuple[str, ...]) -> Iterator[None]:
    before, member.house.chatbridge = member.house.chatbridge, words
    try:
        yield
    finally:
        member.house.chatbridge = before


def restarted(member: Member, words: tuple[str, ...]) -> None:
    member.stop()
    with as_version(member, words):
        member.start()


def test_agents_that_wait_at_both_hubs_do_not_notice(
    two: Cluster, newer: tuple[str, ...], postgres: Postgres
) -> None:
    first = two.leader()
    (second,) = two.others(first)
    with waiting(first, second) as agents:
        until(lambda: len(first.house.asks()) == 2, "not every question is open")
        restarted(second, newer)
        assert second.status()["version"] == NEWER
        until(lambda: second.status()["cluster"]["leader"] == first.name, "it does not follow")
        assert schema_of(postgres) < SCHEMA, "the old one leads, and does not know it"
        restarted(first, newer)
        leader = two.leader(among=[second])
        assert schema_of(postgres) == SCHEMA
        until(lambda: len(leader.house.asks()) == 2, "questions were lost")
        answered_once(leader, agents)


def test_a_hub_that_was_forgotten_never_leads_and_says_why(
    two: Cluster, newer: tuple[str, ...], postgres: Postgres
) -> None:
    first = two.leader()
    (second,) = two.others(first)
    restarted(second, newer)
    first.stop()
    two.leader(among=[second])
    first.start()
    second.stop()
    remarks = until(lambda: first.status()["remarks"], "it says nothing")
    assert f"schema version {SCHEMA}" in remarks[0]
    assert schema_of(postgres) == SCHEMA


def schema_of(postgres: Postgres) -> int:
    async def look() -> int:
        server = await postgres.connect(DATABASE)
        try:
            return int(await server.fetchval("SELECT max(version) FROM chatbridge"))
        finally:
            await server.close()

    return asyncio.run(look())
