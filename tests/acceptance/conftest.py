"""What the acceptance tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.acceptance.connections import Connections


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def connections() -> AsyncIterator[Connections]:
    """Tests that use it run in the session's loop: `pytest.mark.asyncio(loop_scope="session")`."""
    found = Connections()
    yield found
    await found.close()
