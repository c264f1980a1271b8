"""The adapters that the suites in this folder run over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.core.model import Person
from chatbridge.core.store_port import Store
from tests.contract.drivers import CHANNELS, DRIVERS, Driver
from tests.contract.stores import DATABASES, PARAMETERS, store_in
from tests.fakes.databases import Database


@pytest.fixture(params=PARAMETERS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with DATABASES[request.param](tmp_path, request) as found:
        yield found


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    async with store_in(database) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHANNELS)
async def running_driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    folder = tmp_path_factory.mktemp("channel")
    async with DRIVERS[request.param](folder, request) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def driver(running_driver: Driver) -> AsyncIterator[Driver]:
    """A channel for one test after the other, with no open ask: to set one up takes longer than
    most tests. Those that use it run in the module's loop."""
    yield running_driver
    inbox = running_driver.desk.inbox
    owner = Person(name="Ada", channel=running_driver.channel.name)
    for ask in await inbox.open_asks():
        await inbox.cancel(ask.id, reason=None, person=owner)
