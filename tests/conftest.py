"""What all tests share: Hypothesis' profile, a homeserver, the decision about browser tests."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.fakes.synapse import Synapse

# Suites and fakes that tests import get pytest's detailed assertion messages, too.
pytest.register_assert_rewrite("tests.acceptance.bridge", "tests.contract", "tests.fakes")

# The same examples on every run: a red test is red for everybody. Time limits of Hypothesis are
# off because a busy machine is not a bug. To search further: pytest --hypothesis-profile=explore
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=5000)
settings.load_profile("repeatable")

FIND_BROWSER = Path(__file__).parent.parent / ".ci" / "browser"
NO_BROWSER = "no Chromium or Google Chrome on PATH"


@cache
def browser_path() -> str | None:
    found = subprocess.run([FIND_BROWSER, "find"], capture_output=True, text=True)
    return found.stdout.strip() or None


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
    """The browser's executable. For tests marked `browser`."""
    path = browser_path()
    assert path, "a test that takes `chromium` needs @pytest.mark.browser"
    return path


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """A Matrix homeserver for all tests of this process. Who stops it has `Synapse.running`."""
    from tests.fakes.synapse import Synapse  # not above: its assertions would not be rewritten

    with Synapse.running(tmp_path_factory.mktemp("synapse")) as server:
        yield server


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("browser") and not browser_path():
        if os.environ.get("CHATBRIDGE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{NO_BROWSER}, and CHATBRIDGE_REQUIRE_BROWSER=1", pytrace=False)
        pytest.skip(NO_BROWSER)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("skipped")
    skipped = sum(NO_BROWSER in str(report.longrepr) for report in reports)
    if not skipped:
        return
    terminalreporter.write_sep("!", f"NOT TESTED: {skipped} browser tests", yellow=True, bold=True)
    terminalreporter.write_line(
        f"The web inbox was not tried in a browser: {NO_BROWSER}.\n"
        "To test it, install one and run again: apt-get install chromium (on Ubuntu, where that\n"
        "is no .deb: Google Chrome's). As root, or where sudo asks for no password, make test\n"
        "installs Debian's by itself unless CHATBRIDGE_INSTALL_BROWSER=0.",
        yellow=True,
        bold=True,
    )
    terminalreporter.write_sep("!", yellow=True, bold=True)
