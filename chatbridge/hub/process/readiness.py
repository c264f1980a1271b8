"""The hub as systemd's service: when it is ready, that it lives, and when it stops.

Also what a hub has imported by then: after an upgrade of the files under it, a module that is
imported late would be of another version than the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from importlib import import_module

from chatbridge import __version__
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.hub.process.systemd import Systemd

log = logging.getLogger(__name__)

LATE = ("chatbridge.tools.journal.yaml_text",)
"""Imported where they are first used: most hubs of links never do."""


@asynccontextmanager
async def served(
    systemd: Systemd,
    *,
    modules: Iterable[str],
    responds: Callable[[], Awaitable[None]],
    clock: Clock,
) -> AsyncIterator[None]:
    """Ready on entering, once the channels' `modules` are imported, and stopping on leaving. The
    watchdog is fed in between, also while a channel cannot be reached."""
    await asyncio.to_thread(import_everything, modules)
    systemd.notify("READY=1", f"STATUS=version {__version__}, ready")
    feeding = asyncio.ensure_future(systemd.feed_watchdog(responds, clock.sleep))
    try:
        yield
    finally:
        systemd.notify("STOPPING=1", "STATUS=stops; open questions stay open")
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


def import_everything(modules: Iterable[str]) -> None:
    """What this hub may come to use. What cannot be imported is reported by who needs it."""
    for name in (*modules, *LATE):
        try:
            import_module(name)
        except ImportError as error:
            log.warning("%s cannot be imported: %s", name, error)


async def store_responds(store: Store) -> None:
    """Both its ways, the one for reading and the one for writing."""

    async def nothing(_: Transaction) -> None:
        pass

    await store.note(channel="systemd", key="watchdog")
    await store.write(nothing)
