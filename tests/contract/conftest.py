"""The adapters that the suites in this folder run over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.core.store_port import Store
from tests.contract.stores import STORES


@pytest.fixture(params=list(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with STORES[request.param](tmp_path) as opened:
        yield opened
