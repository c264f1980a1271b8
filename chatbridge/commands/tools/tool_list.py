"""All tools that agents are offered: chatbridge's own, the owner's commands, and those for
operations. Tells connected clients when the list changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from chatbridge import __version__
from chatbridge.commands.tools.operation_tools import Await, Cancel, Status
from chatbridge.commands.tools.tool import CommandServices, CommandTool
from chatbridge.core.errors import StoreError
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.digests import sha256_hex
from chatbridge.tools.call import ToolHandler

if TYPE_CHECKING:
    from chatbridge.commands.tools.changes import Changes

log = logging.getLogger(__name__)

CHANNEL, KEY = "commands", "offered"


class ToolList:
    def __init__(
        self, own: Sequence[ToolHandler], services: CommandServices, *, store: Store, clock: Clock
    ) -> None:
        """The library of `services` has been loaded."""
        self._own, self._services, self._library = tuple(own), services, services.library
        self._store, self._clock = store, clock
        self._beside = (Status(services), Await(services), Cancel(services))
        self._tools = self._listed()
        services.pushes.problems(services.library.problems)

    def tools(self) -> Sequence[ToolHandler]:
        """In an order that stays the same."""
        return self._tools

    @cached_property
    def changes(self) -> Changes:
        """The SDK's, so not before the first answers."""
        from chatbridge.commands.tools.changes import Changes

        return Changes(self._services.pushes)

    def missing(self, name: str) -> str | None:
        """Why there is no tool of this name, if a definition file is to blame."""
        problem = self._library.broken_tool(name)
        if problem is None:
            return None
        return (
            f"There is no tool {name} now, because its definition file cannot be used. Tell the "
            f"person that you work for what to mend:\n{problem.text()}"
        )

    async def compare(self) -> None:
        """With what the hub before this one offered, before any of its clients is served."""
        try:
            before = await self._store.note(channel=CHANNEL, key=KEY)
        except StoreError as error:
            log.warning("whether there are other tools than before is not known: %s", error)
            return
        self._services.pushes.other_tools = before is not None and before.value != self._digest()
        await self._remember()

    async def reload(self) -> None:
        before, problems = self._digest(), self._library.problems
        if not await asyncio.to_thread(self._library.reload):
            return
        self._tools = self._listed()
        if self._library.problems != problems:
            self._services.pushes.problems(self._library.problems)
        if self._digest() == before:
            return
        log.info("agents are offered other commands: %s", ", ".join(self._library.commands))
        self._services.pushes.tools_changed()
        await self.changes.tools_changed()
        await self._remember()

    def _listed(self) -> tuple[ToolHandler, ...]:
        commands = [CommandTool(it, self._services) for it in self._library.commands.values()]
        return (*self._own, *commands, *self._beside)

    def _digest(self) -> str:
        """Changes with the list and with every description in it."""
        commands = [(each.tool, each.grant) for each in self._library.commands.values()]
        said = [__version__, [each.name for each in self._own], commands]
        return sha256_hex(json.dumps(said).encode())

    async def _remember(self) -> None:
        note = ChannelState(channel=CHANNEL, key=KEY, value=self._digest(), at=self._clock.time())

        async def work(tx: Transaction) -> None:
            await tx.save_note(note)

        try:
            await self._store.write(work)
        except StoreError as error:
            log.warning("the next hub may tell its clients of other tools again: %s", error)
