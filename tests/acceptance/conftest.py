"""What the acceptance tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.acceptance.browser import launched
from tests.acceptance.connections import Connections
from tests.acceptance.windows import Windows
from tests.fakes.machine import House, house


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def windows() -> AsyncIterator[Windows]:
    found = Windows()
    yield found
    await found.close()


@pytest.fixture
def home() -> Iterator[House]:
    with house() as here:
        yield here
