"""A backup of a team's database, with the commands of docs/team-database.md: taken while questions
are asked and answered, restored into another database, on which a hub goes on."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from pathlib import Path

import pytest

from chatbridge.core.model import Answer, Status
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.store import PostgresStore
from tests.contract.asks import a_call, an_ask, answered, keep
from tests.documents.pages import pages
from tests.fakes.core_env import OWNER, world
from tests.fakes.postgres import FENCE, Postgres, PostgresDatabase

pytestmark = pytest.mark.postgres
PAGE = "docs/team-database.md"
WRITERS = 4
BEFORE = 40
"""Questions that each has asked before the backup begins."""


async def run(server: Postgres, command: str, address: Address, file: Path) -> None:
    """As the page has it, with another address and another file."""
    lines = pages()[PAGE].splitlines()
    (line,) = (it for it in lines if it.startswith(f"{command} --") and "backup.dump" in it)
    filled = re.sub(r"postgresql://\S+", address.dsn, line).replace("backup.dump", str(file))
    process = await asyncio.create_subprocess_exec(
        str(server.programs / command),
        *filled.split()[1:],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def test_a_backup_under_load_is_whole_and_open_questions_go_on(
    tmp_path: Path, postgres: Postgres
) -> None:
    file = tmp_path / "backup.dump"
    async with postgres.database() as address, postgres.database(empty=True) as another:
        store = await PostgresStore.open(address, fence=FENCE)
        asked, done = list[str](), list[str]()
        enough = asyncio.Event()

        async def write(writer: int) -> None:
            for number in count():
                ask = an_ask(text="Which port? " * 20, deadline=None)
                await keep(store, ask, a_call(ask, link=f"link-{writer}", request=str(number)))
                asked.append(ask.id)
                if number % 2:
                    await store.write(lambda tx, it=ask: tx.save_ask(answered(it), was=Status.OPEN))  # type: ignore[misc]
                    done.append(ask.id)
                if len(asked) >= WRITERS * BEFORE:
                    enough.set()

        writing = [asyncio.ensure_future(write(number)) for number in range(WRITERS)]
        await enough.wait()
        before, ended, began = [*asked], [*done], len(asked)
        await run(postgres, "pg_dump", address, file)
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        assert len(asked) > began, "nothing was asked meanwhile"
        await store.close()

        await run(postgres, "pg_restore", another, file)
        async with world(PostgresDatabase(postgres, another)) as here:
            there = here.store
            found = {ask.id: ask.status for ask in await there.open_asks()}
            found |= {ask.id: ask.status for ask in await there.history(limit=100_000)}
            assert found.keys() >= {*before}
            assert {found[it] for it in ended} == {Status.ANSWERED}
            calls = await there.open_asks_by_link()
            open_asks = [it for it, status in found.items() if status is Status.OPEN]
            assert sum(calls.values()) == len(open_asks), "a question without its call"
            waits = await there.ask(open_asks[0])
            assert waits is not None
            given = (Answer(custom_text="8080"),)
            await here.inbox.answer(waits.id, given, person=OWNER)
            outcome = (await here.ended(waits)).outcome
            assert outcome is not None
            assert outcome.answers == given
