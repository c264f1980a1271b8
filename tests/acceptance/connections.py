"""Connections that all acceptance tests of a run share: starting a hub costs a second of work.

Each is opened when a test first wants it and kept by a task of its own, because a client must be
left in the task that entered it. Asks do not meet: every connection has a project of its own.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field

from mcp_types import CallToolResult

from tests.acceptance.bridge import CARRIERS, MODES, Connection, Home, connected, new_home
from tests.acceptance.examples import SINGLE_TIMEOUT, TIMEOUT, Example
from tests.acceptance.open_page import open_page

SETTINGS: dict[str, dict[str, str]] = {
    "plain": {},
    # An ask without a time-out of its own ends while a test waits for it.
    "hasty": {"MIN_TIMEOUT": "1", "DEFAULT_TIMEOUT": "1", "MAX_OPEN_ASKS": "3"},
    "declared": {"MIN_TIMEOUT": "1", "DEFAULT_TIMEOUT": "1", "ON_TIMEOUT": "declared"},
    # Sets of auq's end while a test waits for them, and the journal is its files alone.
    "brief": {"MIN_TIMEOUT": "1", "AUQ_TIMEOUT": "1", "JOURNAL__OTHER_TOOLS": "false"},
    "night": {
        "MIN_TIMEOUT": "5min",
        "DEFAULT_TIMEOUT": "1h",
        "MAX_TIMEOUT": "8h",
        "MAX_BLOCK": "0.5",
    },
}


@dataclass(slots=True)
class Expiry:
    """A documented example that nobody answers, in real time."""

    result: asyncio.Task[CallToolResult]
    progress: list[tuple[float, str | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Key:
    settings: str
    carrier: str
    mode: str
    project: str


def _usual(carrier: str, mode: str) -> Key:
    return Key("plain", carrier, mode, f"{carrier}-{mode}")


class Connections:
    def __init__(self) -> None:
        self._opened: dict[Key, asyncio.Future[Connection]] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._homes: dict[str, Home] = {}
        self._stack = ExitStack()
        self._closing = asyncio.Event()
        self._expiries: dict[Key, tuple[Expiry, Expiry]] = {}

    async def get(
        self,
        settings: str = "plain",
        *,
        carrier: str = "link",
        mode: str = "auto",
        project: str | None = None,
    ) -> Connection:
        key = Key(settings, carrier, mode, project or f"{carrier}-{mode}")
        if key not in self._opened:
            self._opened[key] = asyncio.get_running_loop().create_future()
            self._keepers.append(asyncio.create_task(self._keep(key)))
        return await self._opened[key]

    async def expiries(self, carrier: str, mode: str) -> tuple[Expiry, Expiry]:
        """The two documented time-outs on this connection. Those of all connections run at once."""
        pairs = [(c, m) for c in CARRIERS for m in MODES]
        await asyncio.gather(*(self.get(carrier=c, mode=m) for c, m in pairs))
        return self._expiries[_usual(carrier, mode)]

    def home(self, settings: str = "plain") -> Home:
        """Where the links with these settings, and their hub, run."""
        return self._home(settings, settings)

    async def close(self) -> None:
        self._closing.set()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._stack.close()

    async def _keep(self, key: Key) -> None:
        opened = self._opened[key]
        name = key.settings if key.carrier == "link" else repr(key)
        home = self._home(name, key.settings)
        project = home.project(key.project)
        try:
            async with AsyncExitStack() as stack:
                connection = await stack.enter_async_context(
                    connected(home, project, carrier=key.carrier, mode=key.mode)
                )
                if key == _usual(key.carrier, key.mode):
                    # The documents' time-outs are those of somebody who could have answered.
                    await stack.enter_async_context(open_page(home.person))
                    self._expiries[key] = (
                        _expiry(connection, TIMEOUT),
                        _expiry(connection, SINGLE_TIMEOUT),
                    )
                opened.set_result(connection)
                await self._closing.wait()
                for expiry in self._expiries.get(key, ()):
                    expiry.result.cancel()
                    await asyncio.wait({expiry.result})
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    def _home(self, name: str, settings: str) -> Home:
        if name not in self._homes:
            self._homes[name] = self._stack.enter_context(new_home(**SETTINGS[settings]))
        return self._homes[name]


def _expiry(connection: Connection, example: Example) -> Expiry:
    async def note(progress: float, total: float | None, message: str | None) -> None:
        expiry.progress.append((progress, message))

    call = connection.client.call_tool("ask_user", example.arguments, progress_callback=note)
    expiry = Expiry(asyncio.ensure_future(call))
    return expiry
