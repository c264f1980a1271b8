"""The tokens of agents over HTTP where several hubs share a database: an agent with one is let in
by each of them.

Owns what the hub that leads knows of the table, and what `chatbridge token` does with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from chatbridge.core.errors import SettingsError, StoreError
from chatbridge.core.ports import Clock
from chatbridge.hub.http.tokens import (
    NOTED_EVERY,
    Token,
    TokenList,
    check_name,
    digest_of,
    new_token,
    there_is,
    there_is_no,
)
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.tokens import TokenTable

LOOK_SECONDS = 1.0


class SharedTokens(TokenList):
    """The tokens as they were a second ago. A hub that cannot read them soon leads no more."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self._table, self._clock = TokenTable(address), clock
        self._tokens: tuple[Token, ...] = ()
        self._used: dict[str, float] = {}
        self._noted: dict[str, float] = {}

    def all(self) -> Sequence[Token]:
        return self._tokens

    async def note_used(self, token: Token, *, now: float) -> None:
        if abs(now - self._noted.get(token.digest, 0.0)) >= NOTED_EVERY:
            self._noted[token.digest] = self._used[token.digest] = now

    async def look(self) -> None:
        """:raises StoreError:"""
        rows = await self._table.rows()
        self._tokens = tuple(Token(row.name, row.created, row.digest) for row in rows)
        used = dict(self._used)
        await self._table.note_used(used.items())
        self._used = {it: at for it, at in self._used.items() if used.get(it) != at}

    async def run(self) -> None:
        try:
            while True:
                with suppress(StoreError):
                    await self.look()
                await self._clock.sleep(LOOK_SECONDS)
        finally:
            self._table.close()


# ── the command's side ────────────────────────────────────────────────────────────────────────────


async def add(address: Address, name: str, *, now: float) -> str:
    """A new token, which is nowhere but in what this returns.
    :raises SettingsError: the name cannot be used. :raises StoreError:"""
    check_name(name)
    made = new_token()
    async with _table(address) as table:
        if not await table.add(name, created=now, digest=digest_of(made)):
            known = [row.name for row in await table.rows()]
            raise SettingsError(there_is(next(k for k in known if k.lower() == name.lower())))
    return made


async def remove(address: Address, name: str) -> None:
    check_name(name)
    async with _table(address) as table:
        if not await table.remove(name):
            raise SettingsError(there_is_no(name, [row.name for row in await table.rows()]))


async def listed(address: Address) -> list[tuple[Token, float | None]]:
    """Each token, and when it was last used."""
    async with _table(address) as table:
        return [(Token(r.name, r.created, r.digest), r.used) for r in await table.rows()]


@asynccontextmanager
async def _table(address: Address) -> AsyncIterator[TokenTable]:
    table = TokenTable(address)
    try:
        yield table
    finally:
        table.close()
