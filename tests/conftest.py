"""What all tests share: Hypothesis' profile, a bare environment, a homeserver, the
decision about browser tests."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.fakes.container import Container
    from tests.fakes.postgres import Postgres
    from tests.fakes.synapse import Synapse

# Suites and fakes that tests import get pytest's detailed assertion messages, too.
pytest.register_assert_rewrite("tests.acceptance.bridge", "tests.contract", "tests.fakes")

# The same examples on every run: a red test is red for everybody. Time limits of Hypothesis are
# off because a busy machine is not a bug. To search further: pytest --hypothesis-profile=explore
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", parent=settings.get_profile("repeatable"), max_examples=20)
settings.register_profile("explore", deadline=None, max_examples=5000)
settings.load_profile("repeatable")

# A shell's background job ignores Ctrl-C, and every process that a test starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

CI = Path(__file__).parent.parent / ".ci"
UNIT = Path(__file__).parent / "unit"
MISSING = {
    "browser": "no Chromium or Google Chrome on PATH",
    "dbus": "no dbus-daemon on PATH",
    "firefox": "no firefox-esr on PATH",
    "inspector": "no MCP inspector",
    "mcp1": "no Python SDK before 2.0",
    "nspawn": "no systemd-nspawn that runs here",
    "postgres": "no PostgreSQL server",
    "root": "not run by root",
    "systemd": "no systemd-analyze on PATH",
}
"""Marks of tests that need what not every machine can have, and why they are then skipped."""
PROGRAMS = {"dbus": "dbus-daemon", "firefox": "firefox-esr", "systemd": "systemd-analyze"}
HOW = {
    "browser": "The web inbox was not tried in a browser. To test it, install one and run again:\n"
    "apt-get install chromium (on Ubuntu, where that is no .deb: Google Chrome's). As root, or\n"
    "where sudo asks for no password, make test installs Debian's by itself unless\n"
    "CHATBRIDGE_INSTALL_BROWSER=0.",
    "dbus": "No button of a notification was pressed. The package dbus has what is needed, and\n"
    "make test installs it together with the browser.",
    "firefox": "Nothing of ours was decrypted by a browser. To test that, install one of 250 MB,\n"
    "which make test does not: apt-get install firefox-esr.",
    "inspector": "No client by others has listed and called the tools. .ci/inspector set-up says\n"
    "why it could not be installed: it needs PyPI, for Node, and npm.",
    "mcp1": "No client that gives up in silence has asked anything. .ci/mcp1 set-up says why it\n"
    "could not be installed: it needs PyPI.",
    "nspawn": "The units were not tried under systemd. They need root, on a machine that may have\n"
    "containers, and the package systemd-container, which make test installs by itself unless\n"
    "CHATBRIDGE_INSTALL_NSPAWN=0.",
    "postgres": "No store in PostgreSQL and no second hub was tried. Install the package\n"
    "postgresql and run again; as root make test installs Debian's by itself unless\n"
    "CHATBRIDGE_INSTALL_POSTGRES=0.",
    "root": "What another user of the machine can reach was not tried: only root can become one.",
    "systemd": "Nobody has looked over the units in systemd/.",
}


@cache
def found(part: str, how: str = "find") -> str | None:
    """The path of what tests with this mark need."""
    if part == "root":
        return "/root" if os.getuid() == 0 else None
    if part in PROGRAMS:
        return shutil.which(PROGRAMS[part])
    looked = subprocess.run([CI / part, how], capture_output=True, text=True)
    return looked.stdout.strip() or None


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is set, and no configuration file is found."""
    for name in os.environ:
        if name.startswith("CHATBRIDGE_") or name == "CREDENTIALS_DIRECTORY":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """A hub inside a test's process sets them; the next test must not notice."""
    loggers = [logging.getLogger(), logging.getLogger("chatbridge")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable, with all that a person's has. For tests marked `browser`."""
    path = found("browser")
    assert path, "a test that takes `chromium` needs @pytest.mark.browser"
    return path


@pytest.fixture(scope="session")
def quick_chromium(chromium: str) -> str:
    """The same engine with as little as possible around it."""
    return found("browser", "quick") or chromium


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A Matrix homeserver for all tests of this run."""
    from tests.fakes.synapse import Synapse  # not above: its assertions would not be rewritten

    if "PYTEST_XDIST_WORKER" in os.environ:
        run = tmp_path_factory.getbasetemp().parent
        yield Synapse.shared(run / "synapse", until=os.getppid())
        return
    with Synapse.running(tmp_path_factory.mktemp("synapse"), lean=True) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests of this process. For tests marked `postgres`."""
    from tests.fakes.postgres import running

    path = found("postgres")
    assert path, "a test that takes `postgres` needs @pytest.mark.postgres"
    with running(Path(path)) as server:
        yield server


@pytest.fixture(scope="session")
def container() -> Iterator[Container]:
    """A machine with systemd for all tests of this process. For tests marked `nspawn`."""
    from tests.fakes.container import booted

    path = found("nspawn")
    assert path, "a test that takes `container` needs @pytest.mark.nspawn"
    with booted(path) as machine:
        yield machine


@pytest.fixture(scope="session")
def inspector_command() -> str:
    """The MCP inspector's. For tests marked `inspector`."""
    path = found("inspector")
    assert path, "a test that takes `inspector_command` needs @pytest.mark.inspector"
    return path


@pytest.fixture(scope="session")
def mcp1_python() -> str:
    """A Python with the SDK before 2.0. For tests marked `mcp1`."""
    path = found("mcp1")
    assert path, "a test that takes `mcp1_python` needs @pytest.mark.mcp1"
    return path


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dbus: shows a browser's notifications, see .ci/browser")
    config.addinivalue_line("markers", "firefox: drives a real Firefox; skipped without one")
    config.addinivalue_line("markers", "nspawn: boots a container with systemd, see .ci/nspawn")
    config.addinivalue_line("markers", "systemd: uses systemd-analyze")
    config.addinivalue_line("markers", "early: waits for long, so that it must not come last")
    config.addinivalue_line("markers", "postgres: uses a PostgreSQL server, see .ci/postgres")
    config.addinivalue_line("markers", "process: starts other programs; left out by make quick")
    config.addinivalue_line("markers", "root: becomes another user, which only root can")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without looking for garbage among all that is imported and collected, neither now nor ever
    again: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that wait for long come first: as the last ones they would keep the others waiting.
    Then those with the acceptance tests' shared connections. Workers start with tests that are side
    by side, so one worker opens them, and not each. Among the rest modules that compute come
    between those that wait, so that the processor is never without work."""
    places = _places(items)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("early") is None,
            "connections" not in getattr(item, "fixturenames", ()),
            places[item.path],
        )
    )


def _places(items: list[pytest.Item]) -> dict[Path, float]:
    """Where each module comes among those of its kind, from 0 to 1."""
    modules = dict.fromkeys(item.path for item in items)
    places: dict[Path, float] = {}
    for computes in (True, False):
        kind = [path for path in modules if (UNIT in path.parents) is computes]
        places |= {path: place / len(kind) for place, path in enumerate(kind)}
    return places


def pytest_runtest_setup(item: pytest.Item) -> None:
    for part, why in MISSING.items():
        if item.get_closest_marker(part) and not found(part):
            required = f"CHATBRIDGE_REQUIRE_{part.upper()}"
            if os.environ.get(required) == "1":
                pytest.fail(f"{why}, and {required}=1", pytrace=False)
            pytest.skip(why)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("skipped")
    for part, why in MISSING.items():
        skipped = sum(why in str(report.longrepr) for report in reports)
        if skipped:
            title = f"NOT TESTED: {skipped} {part} tests: {why}"
            terminalreporter.write_sep("!", title, yellow=True, bold=True)
            terminalreporter.write_line(HOW[part], yellow=True, bold=True)
            terminalreporter.write_sep("!", yellow=True, bold=True)
