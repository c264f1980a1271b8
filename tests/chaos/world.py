"""One person's machine under `make chaos`: hub, links, chat services, relays, a disk and a clock.

The hub is the product's own, started by links as in life. Nothing in it knows that it is tried:
whatever happens to it comes from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from chatbridge import lock_file, runtime_paths
from chatbridge.channels.matrix.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.chaos.log import Carried, Log
from tests.chaos.moved_clock import MovedClock, NoClock
from tests.chaos.notices import NOTICE
from tests.chaos.places import DiscordPlace
from tests.chaos.relays import Passed, Relay, discord_limit, matrix_limit, telegram_limit
from tests.chaos.services import ROOT, BotApiProcess, Room, Service
from tests.chaos.small_disk import SmallDisk
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord
from tests.fakes.program import shadowed
from tests.fakes.synapse import Synapse

PATIENCE = 60.0
LOOK_EVERY = 0.05
NO_DISK = "a small disk cannot be mounted here (it needs root)"
QUIET_FROM = 75.0
"""Seconds. Hours have no seconds: they begin up to a minute before."""
MOVE_CLOCK, FILL_DISK = "move the clock", "fill the disk"

HEARTBEAT = 2_000
"""Milliseconds, so that a connection without them is noticed in a night."""

MOVED = """
import os, sys
if "hub" in sys.orig_argv and not {variables}.items() <= os.environ.items():
    os.execve(sys.executable, sys.orig_argv, {{**os.environ, **{variables}}})
"""


class RealClock(StillClock):
    """The one that is not moved."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ChaosWorld:
    def __init__(self, folder: Path, log: Log) -> None:
        folder = folder.resolve()
        self.folder, self.log = folder, log
        self.left_out: dict[str, str] = {}
        """Faults that cannot be had on this machine, and why."""
        self._runtime = Path(tempfile.mkdtemp(prefix="cb-"))  # short: the socket is in it
        self.disk = SmallDisk(folder / "disk")
        if not self.disk.mounted:
            self.left_out[FILL_DISK] = NO_DISK
        self.state = folder / "disk" / "s"
        self.clock: MovedClock | None = None
        try:
            self.clock = MovedClock(folder)
        except NoClock as why:
            self.left_out[MOVE_CLOCK] = str(why)
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
        self._secrets: dict[str, str] = {}
        self._leftovers: list[str] | None = None
        for name in ("stderr", "projects"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @classmethod
    @asynccontextmanager
    async def running(cls, folder: Path, log: Log) -> AsyncIterator[ChaosWorld]:
        """Everything but the hub, which the first link starts. In an empty folder."""
        self = cls(folder, log)
        try:
            await self._begin()
            yield self
        finally:
            await self.close()

    async def _begin(self) -> None:
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
        (self.folder / "config.toml").write_text(self._configuration(room))
        (self.folder / "config.toml").chmod(0o600)

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

    def _configuration(self, room: Room) -> str:
        tables: dict[str, dict[str, object]] = {
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
        lines = ['default_timeout = "24h"', 'max_timeout = "48h"', "max_open_asks = 200"]
        for name, table in tables.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(it)}" for key, it in table.items())]
        return "\n".join(lines) + "\n"

    # ── what agents and the person need ───────────────────────────────────────────────────────────

    def project(self, agent: str) -> Path:
        folder = self.folder / "projects" / agent
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    def link_environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "PYTHONPATH": self._package(),
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self._runtime),
            "CHATBRIDGE_CONFIG": str(self.folder / "config.toml"),
            **(self.clock.environment() if self.clock else {}),
        }

    def _package(self) -> str:
        """chatbridge; with a moved clock one whose hubs go by it, too, whoever starts them."""
        if self.clock is None:
            return str(ROOT)
        folder = self.folder / "package"
        if not folder.exists():
            shadowed(folder, MOVED.format(variables=self.clock.environment()))
        return str(folder)

    def link_command(self) -> list[str]:
        return [sys.executable, "-m", "chatbridge", "mcp"]

    def born(self, pid: int, what: str) -> None:
        self._children[pid] = what

    def stderr_of(self, what: str) -> Path:
        return self.folder / "stderr" / f"{what}.log"

    def inbox(self) -> tuple[str, str] | None:
        holder = lock_file.find_holder(str(self.state))
        token = self._web_token()
        if holder is None or holder.web is None or token is None:
            return None
        return holder.web, token

    def _web_token(self) -> str | None:
        try:
            token = Path(runtime_paths.token_path(str(self.state))).read_text().strip()
        except OSError:
            return None
        if token:
            self._secrets["the web inbox's token"] = token
        return token or None

    # ── what faults strike ────────────────────────────────────────────────────────────────────────

    def links(self) -> list[tuple[int, str]]:
        """Those that live, in the order of their names."""
        living = [(pid, what) for pid, what in self._children.items() if _lives(pid)]
        return sorted(living, key=lambda it: (it[1], it[0]))

    def hub(self) -> int | None:
        """The process that holds the lock, perhaps only just started."""
        holder = lock_file.find_holder(str(self.state))
        return holder.pid if holder else None

    async def until_hub(self, *, other_than: int | None = None, within: float = 20.0) -> int:
        """The hub, once one holds the lock that is not this one; 0 if none comes."""
        found = 0

        def there() -> bool:
            nonlocal found
            found = self.hub() or 0
            return found not in (0, other_than)

        return found if await _until(there, within=within) else 0

    def note_arguments(self) -> None:
        """What everybody on the machine can see of our processes: no secret may be in it."""
        with (self.folder / "arguments.log").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for _, line in self._processes())

    # ── the end ───────────────────────────────────────────────────────────────────────────────────

    async def settle(self) -> None:
        """No fault any more, and everything runs."""
        self.disk.free()
        if self.clock is not None:
            self.clock.move(0)
        for relay in self.relays.values():
            await relay.heal()
        await asyncio.gather(*(service.start() for service in self.services.values()))
        for pid, _ in self._processes():
            _signal(pid, signal.SIGCONT)
        # With no agent left that waits, nobody would start one, and cards would stay as they are.
        if not await self.until_hub(within=5.0):
            await asyncio.to_thread(self._start_hub)
        await _until(lambda: self.inbox() is not None, within=PATIENCE)

    async def close(self) -> None:
        """End everything, as its owner would. What is left after that is a finding."""
        if self._leftovers is not None:
            return
        self._web_token()
        self.note_arguments()
        for pid, _ in self.links():
            _signal(pid, signal.SIGTERM)
        await asyncio.to_thread(self._stop_hub)
        await _until(lambda: not self._processes(), within=PATIENCE / 2)
        self._leftovers = [line for _, line in self._processes()]
        for pid, _ in self._processes():
            _signal(pid, signal.SIGKILL)
        await self._stack.aclose()
        await asyncio.gather(*(service.kill() for service in self.services.values()))
        await asyncio.to_thread(self._tidy)

    def _tidy(self) -> None:
        with suppress(OSError):
            shutil.copytree(self.state, self.folder / "state", ignore=_sockets)
        self.disk.close()
        shutil.rmtree(self._runtime, ignore_errors=True)
        bots = [self.bot_api.identity.token.partition(":")[0]]
        if hasattr(self, "matrix"):
            bots.append(account_lock(self.matrix.bot).id)
        if hasattr(self, "discord"):
            bots.append(self.discord.server.world.bot.id)
        for bot in bots:
            Path(account_lock_path(bot)).unlink(missing_ok=True)

    def _start_hub(self) -> None:
        with self.stderr_of("hub").open("ab") as errors:
            subprocess.Popen(
                [sys.executable, "-m", "chatbridge", "hub", "--started-by", "link"],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )

    def _stop_hub(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "chatbridge", "stop"],
            env=self._environment(),
            capture_output=True,
            timeout=PATIENCE,
        )
        self.stderr_of("stop").write_bytes(done.stdout + done.stderr)

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

    def secrets(self) -> dict[str, str]:
        """What may be in none of the outputs."""
        return dict(self._secrets)

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self.link_environment()}

    def _processes(self) -> list[tuple[int, str]]:
        """Every process with our state directory: links, hub, runner; with its arguments."""
        needle = os.fsencode(f"CHATBRIDGE_STATE_DIR={self.state}")
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if needle in (entry / "environ").read_bytes().split(b"\0"):
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        found.append((int(entry.name), f"{entry.name} {os.fsdecode(words)}"))
        return found


async def _until(so: Callable[[], bool], *, within: float) -> bool:
    """Whether it came to that."""
    until = time.monotonic() + within
    while not (there := so()) and time.monotonic() < until:  # noqa: ASYNC110 - not our event
        await asyncio.sleep(LOOK_EVERY)
    return there


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _sockets(folder: str, names: list[str]) -> list[str]:
    """What cannot be copied, or says nothing."""
    return [name for name in names if name == "ballast" or (Path(folder) / name).is_socket()]


def _quiet_hours() -> str:
    """One minute that begins and ends while the night is young."""
    start = datetime.fromtimestamp(time.time() + QUIET_FROM, UTC)
    end = start + timedelta(minutes=1)
    return f"{start:%H:%M}-{end:%H:%M}"
