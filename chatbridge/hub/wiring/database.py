"""Which database a hub has: a file, or a server that it may share with other hubs.

Owns everything about PostgreSQL that a hub imports only if it is set. The rest of the wiring knows
a `Term`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from chatbridge.clock import SystemClock
from chatbridge.core.audit import Auditor
from chatbridge.core.errors import SettingsError
from chatbridge.core.ports import Clock
from chatbridge.extras import need
from chatbridge.hub.control.server import Json
from chatbridge.hub.http.tokens import TokenList
from chatbridge.hub.process.background import Background
from chatbridge.redaction import masked
from chatbridge.settings import Settings
from chatbridge.store.audit import Trail
from chatbridge.store.fence import POSTGRES, Fence
from chatbridge.store.sql_store import SqlStore
from chatbridge.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from chatbridge.store.postgres.connection import Address

ONE_PROCESS = (
    "a hub in one process with its agent has its questions in a file. Take store out of the "
    "configuration, or run the hub by itself: chatbridge hub"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What a hub has while it leads a PostgreSQL database: the right to write, until it is over.
    `hub` is its name among several, None where it passes nothing on and nobody to it; agents of all
    hubs are outsiders then, so that each is the same whoever leads."""

    address: Address
    fence: Fence
    over: Callable[[], None]  # Told that another one leads
    about: Callable[[], Json]  # Who leads, for `chatbridge status`
    hub: str | None = None
    knows: Callable[[str], bool] | None = None
    """Whether agents address another hub by this name."""
    http: socket | None = None  # Where agents over HTTP connect

    @property
    def shared(self) -> bool:
        return self.hub is not None


async def run_member(*given: Any, **named: Any) -> None:
    """The life of a hub with a server. :raises ExtraMissing:"""
    need(POSTGRES)
    from chatbridge.hub.cluster import member

    await member.run_member(*given, **named)


async def open_store(
    settings: Settings, state: Path, term: Term | None, trail: Trail | None = None
) -> SqlStore:
    """:raises StoreError: :raises SettingsError: it has a server, and no term there."""
    if term is None:
        if settings.server() is not None:
            raise SettingsError(ONE_PROCESS)
        return await SqliteStore.open(settings.database(state), trail=trail)
    from chatbridge.store.postgres.store import PostgresStore

    return await PostgresStore.open(term.address, fence=term.fence, deposed=term.over, trail=trail)


def audit_trail(settings: Settings, clock: Clock) -> Trail | None:
    """Who gets the lines of the audit trail, if the owner wants one."""
    if not settings.keeps_audit():
        return None
    chats = {chat: it.name for it in settings.team().members for chat in it.own_chats}
    return Trail(Auditor(texts=settings.audit.texts, chats=chats, clean=masked), clock.time)


async def shared_tokens(term: Term, background: Background) -> TokenList:
    """Those of all hubs, as they are while the hub of this `background` leads."""
    from chatbridge.hub.http.shared_tokens import SharedTokens

    tokens = SharedTokens(term.address, SystemClock())
    await tokens.look()
    background.keep("tokens", tokens.run)
    return tokens
