"""What the acceptance tests share."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from tests.acceptance.browser import installed, launched
from tests.acceptance.connections import Connections
from tests.acceptance.windows import Windows
from tests.fakes.machine import House, house
from tests.fakes.notifications import Desktop, running_desktop


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def connections() -> AsyncIterator[Connections]:
    """Tests that use it run in the session's loop: `pytest.mark.asyncio(loop_scope="session")`."""
    found = Connections()
    yield found
    await found.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(quick_chromium: str) -> AsyncIterator[Browser]:
    """One for all tests of this process; each has a context of its own, which is a new profile."""
    async with launched(quick_chromium) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def desktop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desktop]:
    """Where notifications are shown. For tests marked `dbus`."""
    path = shutil.which("dbus-daemon")
    assert path, "a test that takes `desktop` needs @pytest.mark.dbus"
    async with running_desktop(tmp_path_factory.mktemp("bus"), path) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def app(
    chromium: str, desktop: Desktop, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[BrowserContext]:
    """The inbox on a phone's home screen. The quick browser has no notifications."""
    async with installed(chromium, tmp_path_factory.mktemp("profile"), desktop.bus) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def windows() -> AsyncIterator[Windows]:
    found = Windows()
    yield found
    await found.close()


@pytest.fixture
def home() -> Iterator[House]:
    with house() as here:
        yield here
