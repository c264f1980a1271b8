"""What all checks look at: the settings, the directories, the hub that runs. Starts no hub."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbridge import lock_file, runtime_paths
from chatbridge.channels.checks import HubState
from chatbridge.cli.database import DatabaseFile, DatabaseServer, database_of, notes, quiet_switch
from chatbridge.cli.hub.hub_client import HubClient, ask_hub, connection
from chatbridge.cli.service.manager import Manager, this_manager
from chatbridge.cli.ui.wording import display_path
from chatbridge.clock import SystemClock
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.core.nights.nights import Nights
from chatbridge.core.ports import Clock
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load, settings_type
from chatbridge.settings.secrets import place_of

Json = dict[str, Any]

HUB_ANSWER_SECONDS = 4.0
"""Less than a check has: those that need the hub's word go on without it."""
LEADER_SECONDS = 4.0
"""How long one of several hubs may take to lead, as after a restart."""
AGAIN_SECONDS = 0.25


@dataclass(slots=True, kw_only=True)
class DoctorContext:
    state: Path
    config: Path
    settings: Settings
    unusable: str | None = None
    """Why the configuration cannot be used. `settings` are the defaults then."""
    clock: Clock = field(default_factory=SystemClock)
    manager: Manager = field(default_factory=this_manager)
    hub_within: float = HUB_ANSWER_SECONDS
    leader_within: float = LEADER_SECONDS
    _hub: asyncio.Task[HubState] | None = None

    @classmethod
    def here(cls, *, clock: Clock | None = None) -> DoctorContext:
        """:raises ChatbridgeError: there is not even a home directory."""
        state, config = Path(runtime_paths.state_dir()), Path(runtime_paths.config_path())
        found = cls(state=state, config=config, settings=_defaults(), clock=clock or SystemClock())
        try:
            found.settings = load(config)
        except SettingsError as error:
            found.unusable = str(error)
        for secret in found.settings.secrets():
            hide(secret)
        return found

    @property
    def database(self) -> DatabaseFile | DatabaseServer:
        return database_of(self.settings, self.state)

    def nights(self) -> Nights:
        """With what was switched by hand, which the hub stores."""
        found = self.settings.policy().nights
        found.switch = quiet_switch(self.database)
        return found

    async def hub(self) -> HubState:
        """The same for all who ask."""
        if self._hub is None:
            self._hub = asyncio.ensure_future(self._settled())
        return await asyncio.shield(self._hub)

    async def ask(self, do: str) -> Json:
        """The hub's reply. :raises ChatbridgeError:"""
        return await asyncio.to_thread(ask_hub, do)

    async def notes(self, channel: str) -> dict[str, str]:
        """What the hub has noted for this channel."""
        return await asyncio.to_thread(notes, self.database, channel)

    def shown(self, path: Path) -> str:
        """The path as people write it."""
        return display_path(path)

    def place_of(self, channel: str, *settings: str) -> str:
        """Where the owner finds the secrets of these settings."""
        return place_of(self.config, channel, *settings, shown=display_path)

    async def _settled(self) -> HubState:
        """Where no hub leads yet, wait for one."""
        found, until = await self._look(), time.monotonic() + self.leader_within
        waits = found.waits_for_leader
        while waits and time.monotonic() < until:
            await asyncio.sleep(AGAIN_SECONDS)
            found = await self._look()
            # Without a status it begins to lead at this moment.
            waits = found.status is None or found.waits_for_leader
        return found

    async def _look(self) -> HubState:
        info = await asyncio.to_thread(lock_file.read, str(self.state))
        holder = await asyncio.to_thread(lock_file.find_holder, str(self.state))
        pid, version = (holder.pid, holder.version) if holder else (None, None)
        try:
            sock = await asyncio.to_thread(connection, start=False)
        except ChatbridgeError:
            if pid is None:
                return HubState(failure=info.error if info else None)
            trouble = "it holds the lock, but takes no connection"
            return HubState(pid=pid, version=version, trouble=trouble)
        try:
            async with asyncio.timeout(self.hub_within):
                return HubState(status=await asyncio.to_thread(_status, sock), pid=pid)
        except TimeoutError:
            trouble = f"no answer within {self.hub_within:g} s"
        except ChatbridgeError as error:
            trouble = str(error)
        except (ValueError, LookupError, TypeError):
            trouble = "its answer cannot be read"
        finally:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # which ends the thread that reads from it
        return HubState(pid=pid, version=version, trouble=trouble)


def _status(sock: socket.socket) -> Json:
    with sock:
        line = HubClient(sock)
        line.greet()
        return line.ask("status")


def _defaults() -> Settings:
    """Without the file; and if the mistake is in a variable, without those, too."""
    try:
        return settings_type()()
    except ValueError:
        return settings_type().model_construct()
