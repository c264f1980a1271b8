"""The user service under a real systemd: it starts, it is ready, and agents outlive its ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.client.client import Client

from tests.acceptance.bridge import PATIENCE, Json, text_of, until
from tests.acceptance.login import Login, asking
from tests.fakes.container import CHATBRIDGE, Container

pytestmark = [pytest.mark.nspawn, pytest.mark.early]

WATCHDOG = 8.0
QUICK = f"[Service]\nWatchdogSec={WATCHDOG:.0f}\n"
CONFIG = 'default_timeout = "10m"\n'
DEAF = """\
[telegram]
token = "123456789:AAFakeFakeFakeFakeFakeFakeFakeFakeFak"
chat_id = [5]
allowed_users = [5]
"""
"""The container has no network: this bot cannot be reached, for as long as it runs. Only one test
has it, because every start of the hub would import what bots need."""
CONFIG_FILE = "/home/carol/.config/chatbridge/config.toml"
AGE = """
import os
from chatbridge import lock_file, runtime_paths
state = runtime_paths.state_dir()
info = lock_file.read(state)
info.version = "0.0.1"
lock = os.open(runtime_paths.lock_path(state), os.O_RDWR)
lock_file.write(lock, info)
"""
"""What the running hub says of itself, as one before the upgrade would have."""
KNOCK = """
from chatbridge import runtime_paths
from chatbridge.system import sockets
try:
    sockets.connect(runtime_paths.service_socket_path(runtime_paths.state_dir()))
except OSError as error:
    print(type(error).__name__)
"""
UNITS = "/home/carol/.config/systemd/user"
SERVICE = f"{UNITS}/chatbridge.service"
SHOP = "/home/carol/shop"


@pytest.fixture(scope="session")
def logged_in(container: Container) -> Login:
    container.add_user("carol")
    container.log_in("carol")
    container.write(CONFIG_FILE, CONFIG, user="carol")
    container.run("mkdir", "-p", f"{SHOP}/.git", user="carol")
    return Login(container, "carol")


@pytest.fixture
def carol(logged_in: Login) -> Login:
    """Whose service runs, whatever the test before has done to it."""
    logged_in.chatbridge("service", "install", "--no-linger")
    return logged_in


@pytest.fixture
def installed(logged_in: Login) -> Login:
    """Whose service is there, and may be stopped: a start takes seconds."""
    if logged_in.container.tried("test", "-f", SERVICE).returncode:
        logged_in.chatbridge("service", "install", "--no-linger")
    return logged_in


@pytest.fixture
def quick(carol: Login) -> Iterator[Login]:
    """From its next start on the service is ended after a few seconds of silence, and has a chat
    that it cannot reach. Only here: on a busy machine any hub can be that slow, and one that starts
    again looks like one that never took over."""
    drop_in = f"{SERVICE}.d/quick.conf"
    carol.container.write(drop_in, QUICK, user="carol")
    carol.container.write(CONFIG_FILE, CONFIG + DEAF, user="carol")
    carol.systemctl("daemon-reload")
    yield carol
    carol.container.run("rm", drop_in)
    carol.container.write(CONFIG_FILE, CONFIG, user="carol")
    carol.systemctl("daemon-reload")
    carol.systemctl("stop", "chatbridge.service")


async def test_a_hub_that_a_link_started_hands_over_to_the_installed_service(
    logged_in: Login, tmp_path: Path
) -> None:
    carol = logged_in
    carol.chatbridge("service", "uninstall")
    async with carol.agent(SHOP, tmp_path / "log") as client, asking(client) as call:
        ask = await asyncio.to_thread(carol.sees_one)
        assert carol.holder()["started_by"] == "link"
        await asyncio.to_thread(carol.chatbridge, "service", "install", "--no-linger")
        assert carol.holder()["started_by"] == "service"
        assert carol.holder()["pid"] == carol.pid()
        await asyncio.to_thread(carol.ask_hub, "answer", id=ask["id"], words=["No"])
        assert await asyncio.wait_for(call, PATIENCE) == "User selected: No"


def test_an_installed_service_is_ready_and_installing_it_again_changes_nothing(
    carol: Login,
) -> None:
    before = carol.pid(), carol.container.run("cat", SERVICE, f"{UNITS}/chatbridge.socket")
    assert "unchanged" in carol.chatbridge("service", "install", "--no-linger")
    after = carol.pid(), carol.container.run("cat", SERVICE, f"{UNITS}/chatbridge.socket")
    assert before == after
    assert f"\nExecStart={CHATBRIDGE} hub --started-by service\n" in after[1]
    assert carol.systemctl("is-enabled", "chatbridge.service", "chatbridge.socket") == (
        "enabled\nenabled\n"
    )
    status = carol.chatbridge("service", "status")
    assert "✓ service    running, enabled" in status
    assert "lingering  on" in status
    assert carol.holder()["started_by"] == "service"
    assert carol.holder()["socket"].endswith("/chatbridge/hub.sock")


def test_the_installed_units_have_nothing_that_systemd_warns_about(carol: Login) -> None:
    for unit in ("chatbridge.service", "chatbridge.socket"):
        done = carol.container.tried("systemd-analyze", "verify", f"{UNITS}/{unit}")
        assert done.stderr == ""


async def test_a_waiting_agent_and_its_command_outlive_a_restart_away_from_an_older_hub(
    carol: Login, tmp_path: Path
) -> None:
    async with (
        carol.agent(SHOP, tmp_path / "log") as client,
        asking(client) as call,
        reading(carol, client, "restart") as command,
    ):
        ask = await asyncio.to_thread(carol.sees_one)
        pid = carol.pid()
        carol.container.python(AGE, user="carol")
        status = carol.chatbridge("service", "status")
        assert "version 0.0.1 runs" in status
        assert "→ chatbridge service restart" in status
        said = await asyncio.to_thread(carol.chatbridge, "service", "restart")
        assert "(it was 0.0.1)" in said
        assert "0.0.1" not in carol.chatbridge("service", "status")
        assert carol.pid() != pid
        assert not call.done()
        await command.succeeds()
        await asyncio.to_thread(carol.ask_hub, "answer", id=ask["id"], words=["Yes"])
        assert await asyncio.wait_for(call, PATIENCE) == "User selected: Yes"


async def test_both_outlive_a_killed_hub_and_one_that_hangs_but_a_silent_chat_ends_none(
    quick: Login, tmp_path: Path
) -> None:
    carol = quick
    async with (
        carol.agent(SHOP, tmp_path / "log") as client,
        asking(client) as call,
        reading(carol, client, "kill") as command,
    ):
        ask = await asyncio.to_thread(carol.sees_one)
        pid = carol.pid()
        carol.container.run("kill", "-KILL", str(pid), user="carol")
        pid = await asyncio.to_thread(carol.another_than, pid)

        since = int(carol.shown("ActiveEnterTimestampMonotonic")) / 1_000_000
        passed = since + 1.5 * WATCHDOG
        await asyncio.to_thread(
            until, lambda: time.monotonic() > passed or None, "the watchdog's time"
        )
        status = await asyncio.to_thread(carol.ask_hub, "status")
        (trouble,) = [it["trouble"] for it in status["channels"] if it["name"] == "telegram"]
        assert trouble
        assert (carol.pid(), carol.shown("ActiveState")) == (pid, "active")

        carol.container.run("kill", "-STOP", str(pid), user="carol")
        await asyncio.to_thread(carol.another_than, pid)
        assert not call.done()
        await command.succeeds()
        await asyncio.to_thread(carol.ask_hub, "answer", id=ask["id"], words=["Yes"])
        assert await asyncio.wait_for(call, PATIENCE) == "User selected: Yes"
    assert "watchdog" in carol.chatbridge("service", "logs").lower()


@dataclass(frozen=True, slots=True)
class Reading:
    """An agent's command, which reads a pipe."""

    container: Container
    client: Client
    pipe: str
    operation: Json

    async def succeeds(self) -> None:
        """With what was written once."""
        self.container.run("sh", "-c", f"echo once > {self.pipe}", user="carol")
        await self.client.call_tool("await", self.operation, read_timeout_seconds=PATIENCE)
        (ended,) = json.loads(text_of(await self.client.call_tool("status", self.operation)))[
            "operations"
        ]
        assert (ended["status"], ended["output"]["head"]) == ("succeeded", "once\n")


@asynccontextmanager
async def reading(carol: Login, client: Client, name: str) -> AsyncIterator[Reading]:
    pipe = f"/home/carol/{name}"
    carol.container.run("mkfifo", pipe, user="carol")
    definition = json.dumps(
        {
            "schema": 2,
            "name": "reader",
            "command": ["cat"],
            "subcommands": [{"name": name, "argv": [pipe], "description": "Read a pipe"}],
        }
    )
    folder = "/home/carol/.config/chatbridge/tools"
    carol.container.write(f"{folder}/reader.json", definition, user="carol")
    carol.container.run("chmod", "-R", "go-w", folder, user="carol")
    began = await until_listed(client, f"reader_{name}")
    # One that the hub had not started when it was killed does not go on: it counts as lost.
    await asyncio.to_thread(until, lambda: started_with(pipe), "the command")
    yield Reading(carol.container, client, pipe, {"operationId": began["operationId"]})


def started_with(argument: str) -> Path | None:
    """A process with this last argument; those of a container are seen from outside."""
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has gone meanwhile
            if words.read_bytes().endswith(f"\0{argument}\0".encode()):
                return words.parent
    return None


async def until_listed(client: Client, tool: str) -> Json:
    """The tool's result, once it is there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(MCPError):  # it is not listed yet
            found: Json = json.loads(text_of(await client.call_tool(tool)))
            return found
        assert time.monotonic() < deadline, tool
        await asyncio.sleep(0.05)


async def test_the_socket_starts_the_service_for_an_agent_that_comes(
    installed: Login, tmp_path: Path
) -> None:
    carol = installed
    carol.systemctl("stop", "chatbridge.service")
    carol.systemctl("start", "chatbridge.socket")
    async with carol.agent(SHOP, tmp_path / "log") as client:
        assert (await client.list_tools()).tools
    assert carol.holder()["pid"] == carol.pid() != 0


async def test_stop_ends_the_service_for_good_though_an_agent_is_connected(
    carol: Login, tmp_path: Path
) -> None:
    async with carol.agent(SHOP, tmp_path / "log") as client:
        await client.list_tools()
        assert "has stopped" in await asyncio.to_thread(carol.chatbridge, "stop")
        for unit in ("chatbridge.service", "chatbridge.socket"):
            state = carol.systemctl("show", unit, "--property=ActiveState", "--value")
            assert state == "inactive\n"
        assert "ConnectionRefusedError" in carol.container.python(KNOCK, user="carol")


def test_a_service_that_cannot_start_says_why(logged_in: Login) -> None:
    carol = logged_in
    carol.container.write(CONFIG_FILE, "default_timeout = 1\nnonsense = 2\n", user="carol")
    try:
        carol.chatbridge("service", "uninstall")
        done = carol.container.tried(CHATBRIDGE, "service", "install", user="carol")
    finally:
        carol.container.write(CONFIG_FILE, CONFIG, user="carol")
    assert done.returncode == 1
    assert "nonsense" in done.stderr
    assert "chatbridge service logs" in done.stderr


def test_folders_with_odd_names_are_the_services_and_uninstalling_leaves_only_the_questions(
    logged_in: Login,
) -> None:
    carol = logged_in
    state = '/home/carol/a "state" of 50%h, $HOME \\ it\'s'
    named = f"CHATBRIDGE_STATE_DIR={state}"
    carol.container.run("env", named, CHATBRIDGE, "service", "install", user="carol")
    lock = carol.container.run("cat", f"{state}/hub.lock", user="carol")
    assert json.loads(lock)["pid"] == carol.pid()
    assert "removed" in carol.chatbridge("service", "uninstall")
    assert carol.shown("ActiveState") == "inactive"
    left = carol.container.run("find", UNITS, "-name", "*.service", "-o", "-name", "*.socket")
    assert left == ""
    carol.container.run("test", "-f", f"{state}/chatbridge.db")
    assert "not installed" in carol.chatbridge("service", "uninstall")
