"""One person's world under `make chaos`: computers with hubs and links, chat services, relays, a
disk and clocks.

The hubs are the product's own, started by links as in life. Nothing in them knows that it is tried:
whatever happens to them comes from outside.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from chatbridge.channels.matrix.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.chaos.computers import PATIENCE, end, until
from tests.chaos.log import Carried, Log
from tests.chaos.notices import NOTICE
from tests.chaos.places import DiscordPlace
from tests.chaos.relays import Passed, Relay, discord_limit, matrix_limit, telegram_limit
from tests.chaos.services import BotApiProcess, Room, Service
from tests.chaos.sites import SITES, Rows, Site
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord
from tests.fakes.synapse import Synapse

QUIET_FROM = 75.0
"""Seconds. Hours have no seconds: they begin up to a minute before."""
HEARTBEAT = 2_000
"""Milliseconds, so that a connection without them is noticed in a night."""


class RealClock(StillClock):
    """The one that is not moved."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ChaosWorld:
    def __init__(self, folder: Path, log: Log, store: str) -> None:
        folder = folder.resolve()
        self.folder, self.log = folder, log
        self.site: Site = SITES[store](folder)
        self.bot_api = BotApiProcess(folder / "telegram")
        self.synapse = Synapse(folder / "synapse")
        self.telegram = self.bot_api.place
        self.services = {
            "telegram": Service("telegram", start=self.bot_api.start, kill=self.bot_api.kill),
            "matrix": Service("matrix", start=self.synapse.start, kill=self.synapse.kill),
        }
        self.relays: dict[str, Relay] = {}
        self._stack = AsyncExitStack()
        self._children: dict[int, str] = {}
        self._commands = 0
        self._secrets: dict[str, str] = {}
        self._leftovers: list[str] | None = None
        for name in ("stderr", "projects"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @classmethod
    @asynccontextmanager
    async def running(
        cls, folder: Path, log: Log, *, store: str = "sqlite"
    ) -> AsyncIterator[ChaosWorld]:
        """Everything but the hubs, which the first links start. In an empty folder."""
        self = cls(folder, log, store)
        try:
            await self._begin()
            yield self
        finally:
            await self.close()

    async def _begin(self) -> None:
        await self.site.begin(self._stack, self.log)
        self.services |= self.site.services
        await asyncio.gather(*(service.start() for service in self.services.values()))
        room = await asyncio.to_thread(Room.made, self.synapse)
        self.matrix = room.place(self.synapse)
        server = await self._stack.enter_async_context(Discord.running(RealClock()))
        server.gateway.interval = HEARTBEAT
        server.rest.limited = True
        person = server.world.user("Ada")
        self.discord = DiscordPlace(server=server, person=person, room=server.world.direct(person))
        for name, port, limited in (
            ("telegram", self.bot_api.port, telegram_limit),
            ("matrix", self.synapse.port, matrix_limit),
            ("discord", server.port, discord_limit),
        ):
            relay = Relay.running(port, limited, note=partial(self._carried, name))
            self.relays[name] = await self._stack.enter_async_context(relay)
        self._secrets = {
            "the bot's token": self.bot_api.identity.token,
            "the Matrix access token": room.bot.access_token,
            "the Discord bot's token": server.token,
        }
        common = self._settings(room)
        for computer in self.site.computers:
            computer.configure(_toml({**common, **self.site.settings(computer)}))

    def _carried(self, channel: str, passed: Passed) -> None:
        """Who does not hear that a service has a notice has to tell it again."""
        if passed.answer and not passed.answer.partition(b" ")[2].startswith(b"2"):
            return
        method = passed.request.partition(b" HTTP/")[0].rpartition(b"/")[2].decode()
        for notice in sorted({*NOTICE.findall(passed.request.decode(errors="replace"))}):
            self.log.add(
                Carried(
                    at=passed.at,
                    notice=notice,
                    channel=channel,
                    method=method,
                    heard=passed.heard,
                )
            )

    def _settings(self, room: Room) -> dict[str, dict[str, object]]:
        return {
            "telegram": {
                "token": self.bot_api.identity.token,
                "api_base": self.relays["telegram"].address,
                "allowed_users": [self.telegram.person],
            },
            "matrix": {
                "homeserver": self.relays["matrix"].address,
                "user_id": room.bot.user_id,
                "access_token": room.bot.access_token,
                "allowed_users": [room.person.user_id],
                "room_id": [room.id],
            },
            "discord": {
                "token": self.discord.server.token,
                "api_base": f"{self.relays['discord'].address}/api",
                "allowed_users": [int(self.discord.person.id)],
            },
            "quiet": {"hours": _quiet_hours(), "zone": "UTC", "mode": "hold"},
            "reminders": {"after": ["20s"]},
            "messages": {"terminal": "anybody"},
        }

    # ── what agents and the person need ───────────────────────────────────────────────────────────

    def project(self, agent: str) -> Path:
        folder = self.folder / "projects" / agent
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    def files_by_path(self) -> bool:
        return self.site.paths

    def project_name(self, agent: str) -> str:
        return self.site.project(agent)

    def link_environment(self, agent: str) -> dict[str, str]:
        return self.site.computer_of(agent).environment()

    def command_environment(self) -> dict[str, str]:
        self._commands += 1
        return self.site.computers[self._commands % len(self.site.computers)].environment()

    def link_command(self) -> list[str]:
        return [sys.executable, "-m", "chatbridge", "mcp"]

    def born(self, pid: int, what: str) -> None:
        self._children[pid] = what

    def stderr_of(self, what: str) -> Path:
        return self.folder / "stderr" / f"{what}.log"

    def inbox(self) -> tuple[str, str] | None:
        leader = self.site.leader()
        holder = leader.holder if leader is not None else None
        token = leader.web_token() if leader is not None else None
        if holder is None or holder.web is None or token is None:
            return None
        return holder.web, token

    # ── what faults strike ────────────────────────────────────────────────────────────────────────

    def links(self) -> list[tuple[int, str]]:
        """Those that live, in the order of their names."""
        living = [(pid, what) for pid, what in self._children.items() if _lives(pid)]
        return sorted(living, key=lambda it: (it[1], it[0]))

    def hub(self) -> int | None:
        """The process that holds the lock, perhaps only just started; of several, of the one that
        leads."""
        leader = self.site.leader()
        return leader.hub() if leader is not None else None

    async def until_hub(self, *, other_than: int | None = None, within: float = 20.0) -> int:
        """The hub, once one holds the lock that is not this one; 0 if none comes."""
        found = 0

        def there() -> bool:
            nonlocal found
            found = self.hub() or 0
            return found not in (0, other_than)

        return found if await until(there, within=within) else 0

    def note_arguments(self) -> None:
        """What everybody on the machine can see of our processes: no secret may be in it."""
        with (self.folder / "arguments.log").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for _, line in self._processes())

    # ── the end ───────────────────────────────────────────────────────────────────────────────────

    async def settle(self) -> None:
        """No fault any more, and everything runs."""
        for relay in self.relays.values():
            await relay.heal()
        await asyncio.gather(*(service.start() for service in self.services.values()))
        errors = self.stderr_of("hub")
        await asyncio.gather(*(computer.settle(errors) for computer in self.site.computers))
        await until(lambda: self.inbox() is not None, within=PATIENCE)

    async def close(self) -> None:
        """End everything, as its owner would. What is left after that is a finding."""
        if self._leftovers is not None:
            return
        for computer in self.site.computers:
            if token := computer.web_token():
                self._secrets[f"the web inbox's token at {computer.name}"] = token
        self.note_arguments()
        for pid, _ in self.links():
            end(pid, signal.SIGTERM)
        stopping = (asyncio.to_thread(each.stop_hub) for each in self.site.computers)
        self.stderr_of("stop").write_bytes(b"".join(await asyncio.gather(*stopping)))
        await until(lambda: not self._processes(), within=PATIENCE / 2)
        self._leftovers = [line for _, line in self._processes()]
        for pid, _ in self._processes():
            end(pid, signal.SIGKILL)
        await asyncio.to_thread(self.site.keep, self.folder / "state")
        await self._stack.aclose()
        await asyncio.gather(*(service.kill() for service in self.services.values()))
        await asyncio.to_thread(self._tidy)

    def _tidy(self) -> None:
        bots = [self.bot_api.identity.token.partition(":")[0]]
        if hasattr(self, "matrix"):
            bots.append(account_lock(self.matrix.bot).id)
        if hasattr(self, "discord"):
            bots.append(self.discord.server.world.bot.id)
        for bot in bots:
            Path(account_lock_path(bot)).unlink(missing_ok=True)

    def leftovers(self) -> list[str]:
        """Processes of ours that ran on when everything had been ended."""
        assert self._leftovers is not None, "only after close()"
        return self._leftovers

    def outputs(self) -> Iterator[Path]:
        """All that anything wrote, after close(): errors, log, database, journal, messages."""
        own = [self.folder / name for name in ("state", "stderr", "projects")]
        own += [self.folder / "arguments.log", self.folder / "telegram" / "journal"]
        for place in own:
            for file in [place, *place.rglob("*")]:
                if file.is_file() and file.name != "web-token":
                    yield file

    def rows(self, *statements: str) -> list[Rows]:
        """What the database has. :raises NotReadable:"""
        return self.site.rows(*statements)

    def secrets(self) -> dict[str, str]:
        """What may be in none of the outputs."""
        return dict(self._secrets)

    def _processes(self) -> list[tuple[int, str]]:
        return [it for computer in self.site.computers for it in computer.processes()]


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _toml(tables: dict[str, dict[str, object]]) -> str:
    """The table without a name is what stands before all others."""
    lines = ['default_timeout = "24h"', 'max_timeout = "48h"', "max_open_asks = 200"]
    for name, table in sorted(tables.items()):
        lines += [f"[{name}]"] if name else []
        lines += [f"{key} = {json.dumps(it)}" for key, it in table.items()]
    return "\n".join(lines) + "\n"


def _quiet_hours() -> str:
    """One minute that begins and ends while the night is young."""
    start = datetime.fromtimestamp(time.time() + QUIET_FROM, UTC)
    end = start + timedelta(minutes=1)
    return f"{start:%H:%M}-{end:%H:%M}"
