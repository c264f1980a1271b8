"""Tokens and files that several hubs share: a failure of the database's client ends nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from chatbridge.clock import SystemClock
from chatbridge.core.errors import StoreError
from chatbridge.hub.http import shared_tokens
from chatbridge.hub.http.shared_tokens import SharedTokens
from chatbridge.hub.process.background import Background, Faults
from chatbridge.hub.wiring import database
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.file_copies import FileTable
from tests.fakes.postgres import FENCE, Postgres

pytestmark = pytest.mark.postgres
PATIENCE = 20.0


@pytest.fixture
async def address(postgres: Postgres) -> AsyncIterator[Address]:
    async with postgres.database() as found:
        yield found


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Lets the next query of the client fail."""
    left: list[Exception] = []
    fetch = asyncpg.Connection.fetch

    async def failing(self: Any, sql: str, *values: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return await fetch(self, sql, *values, **named)

    monkeypatch.setattr(asyncpg.Connection, "fetch", failing)
    return left.append


async def test_an_error_inside_of_the_client_is_one_of_the_store(
    address: Address, fails: Callable[[Exception], None]
) -> None:
    tokens = SharedTokens(address, SystemClock())
    fails(asyncpg.InternalClientError("got result for unknown protocol state 0"))
    with pytest.raises(StoreError):
        await tokens.look()
    fails(asyncpg.InternalClientError("got result for unknown protocol state 0"))
    assert await FileTable(address).names() == []  # it was tried again


async def test_when_a_token_was_used_is_noted_though_the_database_was_away(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shared_tokens.add(address, "ci", now=1.0)
    tokens = SharedTokens(address, SystemClock())
    await tokens.look()
    await tokens.note_used(tokens.all()[0], now=1000.0)
    with monkeypatch.context() as away:
        away.setattr(asyncpg.Connection, "execute", _lost)
        with pytest.raises(StoreError):
            await tokens.look()
    await tokens.look()
    tokens._table.close()
    assert [used for _, used in await shared_tokens.listed(address)] == [1000.0]


async def _lost(*_: object) -> str:
    raise asyncpg.ConnectionDoesNotExistError("connection was closed")


async def test_a_removed_token_counts_no_more_though_reading_them_has_failed(
    address: Address, fails: Callable[[Exception], None]
) -> None:
    term = database.Term(address=address, fence=FENCE, over=lambda: None, about=dict)
    clock = SystemClock()
    faults = Faults(clock=clock)
    background = Background(clock=clock, faults=faults)
    token = await shared_tokens.add(address, "ci", now=1.0)
    tokens = await database.shared_tokens(term, background)
    try:
        assert tokens.owner(token)
        fails(RuntimeError("nobody has thought of it"))
        await shared_tokens.remove(address, "ci")
        async with asyncio.timeout(PATIENCE):
            while tokens.owner(token):  # noqa: ASYNC110 - the list tells nobody that it was read
                await asyncio.sleep(0.05)
    finally:
        await background.close()
    assert "tokens" in faults.listed()[0]
