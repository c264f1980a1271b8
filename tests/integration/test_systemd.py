"""A hub as systemd starts it, without systemd: a passed socket, news, a watchdog."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chatbridge import lock_file
from chatbridge.core.errors import SocketUnusable, StoreError
from chatbridge.digests import sha256_hex
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.serving import stop_on_signals
from tests.acceptance.bridge import Home, new_home
from tests.fakes.clock import StillClock
from tests.fakes.definitions import definition, written
from tests.fakes.link_client import LinkClient
from tests.fakes.warm_processes import warm_chatbridge

PATIENCE = 30.0
COMMANDS = {"git_log", "status", "await", "cancel"}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2"},
}
AS_SYSTEMD = """
import os, sys
os.environ["LISTEN_PID"] = os.environ["WATCHDOG_PID"] = str(os.getpid())
os.dup2(int(sys.argv[1]), 3)
os.execv(sys.executable, [sys.executable, "-m", "chatbridge", "hub", *sys.argv[2:]])
"""


class News:
    """What a service tells its manager."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "news")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.sock.settimeout(PATIENCE)

    def hear(self) -> dict[str, str]:
        lines = self.sock.recv(65536).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def silent(self) -> bool:
        self.sock.setblocking(False)
        try:
            self.sock.recv(65536)
        except BlockingIOError:
            return True
        finally:
            self.sock.settimeout(PATIENCE)
        return False


@pytest.fixture
def news() -> Iterator[News]:
    with new_home(cold=True) as home:
        heard = News(home.folder)
        with heard.sock:
            yield heard


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen()
        yield sock


@contextmanager
def hub(
    home: Home, news: News, passed: socket.socket, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """As systemd would start it."""
    descriptor = passed.fileno()
    told = {"NOTIFY_SOCKET": news.path, "WATCHDOG_USEC": "600000", "LISTEN_FDS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", AS_SYSTEMD, str(descriptor), "--started-by", "service", *options],
        env={"PATH": os.environ["PATH"], **home.environment, **told},
        pass_fds=[descriptor],
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        assert process.stderr
        process.stderr.close()
        process.wait()


def test_a_service_is_ready_is_fed_serves_the_passed_socket_and_leaves_it_alone(news: News) -> None:
    with new_home(cold=True) as home:
        define_a_command(home)
        home.state.mkdir(mode=0o700)
        path = home.state / f"service-{sha256_hex(os.fsencode(home.state))[:8]}.sock"
        with (
            listening(path) as passed,
            LinkClient(home.environment) as link,  # it finds systemd's socket and waits there
            hub(home, news, passed) as process,
        ):
            link.request(1, "ping")
            assert news.hear()["READY"] == "1"
            assert news.hear() == {"WATCHDOG": "1"}
            assert news.hear() == {"WATCHDOG": "1"}
            assert link.receive()["id"] == 1
            holder = lock_file.find_holder(str(home.state))
            assert holder
            assert (holder.pid, holder.socket) == (process.pid, str(path))
            assert tools_of(home) >= COMMANDS, "it is one's own"
            process.send_signal(signal.SIGTERM)
            while "STOPPING" not in (said := news.hear()):
                assert said == {"WATCHDOG": "1"}
            assert process.wait(PATIENCE) == 0
            assert path.is_socket()
            assert list(home.state.glob("*.sock")) == [path]


def test_a_service_that_cannot_start_tells_systemd_why(news: News) -> None:
    with new_home(DEFAULT_TIMEOUT="soon") as home:
        process = subprocess.Popen(
            [*warm_chatbridge(), "hub", "--started-by", "service"],
            env={"PATH": os.environ["PATH"], **home.environment, "NOTIFY_SOCKET": news.path},
            stderr=subprocess.DEVNULL,
        )
        assert "default_timeout" in news.hear()["STATUS"]
        assert process.wait(PATIENCE) == 1


def test_a_hub_for_several_users_needs_systemds_socket() -> None:
    with new_home(cold=True) as home:
        done = subprocess.run(
            [sys.executable, "-m", "chatbridge", "hub", "--system"],
            env={"PATH": os.environ["PATH"], **home.environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 1
    assert "chatbridge-system.socket" in done.stderr


def test_a_hub_for_several_users_offers_no_commands(news: News) -> None:
    with new_home(cold=True) as home:
        define_a_command(home)
        home.state.mkdir(mode=0o700)
        path = home.state / f"service-{sha256_hex(os.fsencode(home.state))[:8]}.sock"
        with listening(path) as passed, hub(home, news, passed, "--system"):
            assert news.hear()["READY"] == "1"
            tools = tools_of(home)
    assert "ask_user" in tools
    assert not tools & COMMANDS


def define_a_command(home: Home) -> None:
    written(home.folder / ".config" / "chatbridge" / "tools", "git", definition("git", "log"))


def tools_of(home: Home) -> set[str]:
    with LinkClient(home.environment) as link:
        link.request(0, "initialize", INITIALIZE)
        assert link.receive()["id"] == 0
        link.notify("notifications/initialized")
        link.request(1, "tools/list")
        return {tool["name"] for tool in link.receive()["result"]["tools"]}


# ── the environment ───────────────────────────────────────────────────────────────────────────────


def given(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Systemd:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Systemd()


def test_what_systemd_gave_another_process_is_not_ours_and_nothing_is_inherited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    systemd = given(
        monkeypatch,
        LISTEN_PID="1",
        LISTEN_FDS="1",
        LISTEN_FDNAMES="x",
        WATCHDOG_PID="1",
        WATCHDOG_USEC="1000",
        NOTIFY_SOCKET="/nowhere",
    )
    assert systemd.passed_socket() is None
    assert systemd.watchdog is None
    assert not [name for name in os.environ if name.startswith(("LISTEN_", "WATCHDOG_", "NOTIFY"))]


@pytest.mark.parametrize("value", ["", "x", "-1", "1.5", " 1", "\u00b2", "9" * 5000])
def test_what_is_no_number_was_not_said_by_systemd(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    systemd = given(monkeypatch, LISTEN_PID=str(os.getpid()), LISTEN_FDS=value, WATCHDOG_USEC=value)
    assert systemd.passed_socket() is None
    assert systemd.watchdog is None


def test_a_socket_that_was_promised_and_is_not_there_is_refused() -> None:
    words = [sys.executable, "-c", PASS.replace("os.dup2(int(sys.argv[1]), 3)", ""), "", "1"]
    error, text = json.loads(subprocess.check_output(words))
    assert error == SocketUnusable.__name__
    assert "ListenStream" in text


@pytest.mark.parametrize("place", ["/nowhere/at/all", "@nobody", "/" + "x" * 200, "@", "vsock:2:1"])
def test_where_nobody_listens_news_are_no_trouble(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    given(monkeypatch, NOTIFY_SOCKET=place).notify("READY=1")
    given(monkeypatch).notify("READY=1")


def test_without_a_descriptor_left_news_are_no_trouble(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    systemd = given(monkeypatch, NOTIFY_SOCKET=news.path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        systemd.notify("WATCHDOG=1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    systemd.notify("WATCHDOG=1")
    assert news.hear() == {"WATCHDOG": "1"}
    assert news.silent()


def test_an_error_that_names_a_path_which_is_no_text_is_told(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    given(monkeypatch, NOTIFY_SOCKET=news.path).notify("STATUS=cannot use /home/\udcff")
    assert news.hear() == {"STATUS": "cannot use /home/?"}


async def test_systemd_hears_of_a_stop_before_anything_is_closed(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    stop = stop_on_signals(given(monkeypatch, NOTIFY_SOCKET=news.path))
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        await stop.wait()
    assert news.hear()["STOPPING"] == "1"


def test_a_line_break_in_an_error_makes_no_news_of_its_own(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    given(monkeypatch, NOTIFY_SOCKET=news.path).notify("STATUS=bad\nREADY=1")
    assert news.hear() == {"STATUS": "bad READY=1"}


def stream(folder: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(folder / "s"))
    return made


def datagrams(folder: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(str(folder / "s"))
    return made


def internet(_folder: Path) -> socket.socket:
    made = socket.socket(socket.AF_INET)
    made.bind(("127.0.0.1", 0))
    made.listen()
    return made


def abstract(_folder: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(f"\0chatbridge-{os.getpid()}")
    made.listen()
    return made


PASS = """
import json, os, sys
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring.serving import stop_on_signals
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2])
try:
    found = Systemd().passed_socket()
    print(json.dumps([found.getsockname(), os.get_inheritable(3)]))
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def passed(sock: socket.socket, count: int = 1) -> list[object]:
    with sock:
        said = subprocess.check_output(
            [sys.executable, "-c", PASS, str(sock.fileno()), str(count)], pass_fds=[sock.fileno()]
        )
    found: list[object] = json.loads(said)
    return found


@pytest.mark.parametrize("kind", [stream, datagrams, internet, abstract])
def test_a_socket_that_no_link_could_use_is_refused(
    news: News, kind: Callable[[Path], socket.socket]
) -> None:
    error, text = passed(kind(Path(news.path).parent))
    assert error == SocketUnusable.__name__
    assert "ListenStream" in str(text)


def test_a_listening_socket_is_taken_and_no_child_gets_it(news: News) -> None:
    made = stream(Path(news.path).parent)
    made.listen()
    assert passed(made) == [str(Path(news.path).parent / "s"), False]


# ── the watchdog ──────────────────────────────────────────────────────────────────────────────────


class Store:
    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hangs = False

    async def responds(self) -> None:
        self.asked.set()
        if self.hangs:
            await asyncio.Event().wait()


async def test_the_watchdog_is_fed_every_half_of_its_time_while_the_store_responds(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    systemd = given(monkeypatch, NOTIFY_SOCKET=news.path, WATCHDOG_USEC="60000000")
    clock, store = StillClock(), Store()
    feeding = asyncio.ensure_future(systemd.feed_watchdog(store.responds, clock.sleep))
    try:
        for _ in range(3):
            assert await asyncio.to_thread(news.hear) == {"WATCHDOG": "1"}
            await asyncio.wait_for(clock.until_asleep(30.0), PATIENCE)
            clock.advance(30.0)
        await asyncio.to_thread(news.hear)
        await asyncio.wait_for(clock.until_asleep(30.0), PATIENCE)
        store.hangs = True
        store.asked.clear()
        clock.advance(30.0)
        await asyncio.wait_for(store.asked.wait(), PATIENCE)
        clock.advance(300.0)
        assert news.silent()
    finally:
        feeding.cancel()
        await asyncio.wait({feeding})


async def test_a_store_that_answers_with_an_error_is_alive(
    monkeypatch: pytest.MonkeyPatch, news: News
) -> None:
    async def full() -> None:
        raise StoreError("the disk is full")

    systemd = given(monkeypatch, NOTIFY_SOCKET=news.path, WATCHDOG_USEC="60000000")
    feeding = asyncio.ensure_future(systemd.feed_watchdog(full, StillClock().sleep))
    assert await asyncio.to_thread(news.hear) == {"WATCHDOG": "1"}
    feeding.cancel()
    await asyncio.wait({feeding})


async def test_without_a_watchdog_nothing_is_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    await given(monkeypatch).feed_watchdog(store.responds, StillClock().sleep)
    assert not store.asked.is_set()
