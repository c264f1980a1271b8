"""Scenarios of Hypothesis' choice in a loop; and whether anything inside was shaken by them: by a
fault that was caught and logged, or by one that nobody caught."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

T = TypeVar("T")
PATIENCE = 20.0
FEW = settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
"""Each example has a store of its own."""


class _Faults(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.found.append(self.format(record))

    def unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.found.append(repr(context))


def unshaken(scenario: Callable[[Path], Awaitable[None]]) -> None:
    """In a folder and a loop of its own."""
    faults = _Faults()

    async def run(folder: Path) -> None:
        asyncio.get_running_loop().set_exception_handler(faults.unhandled)
        await scenario(folder)

    logging.getLogger().addHandler(faults)
    try:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run(Path(folder)))
    finally:
        logging.getLogger().removeHandler(faults)
    assert faults.found == []


async def tried(
    strategy: st.SearchStrategy[T], check: Callable[[T], Awaitable[None]], *, examples: int
) -> None:
    """Where one world does for all examples: Hypothesis chooses in a thread, and what it chose is
    checked in this loop."""
    loop = asyncio.get_running_loop()

    async def checked(value: T) -> None:
        await check(value)

    @settings(FEW, max_examples=examples)
    @given(strategy)
    def each(value: T) -> None:
        asyncio.run_coroutine_threadsafe(checked(value), loop).result(PATIENCE)

    await asyncio.to_thread(each)


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [it.getMessage() for it in caplog.records if it.exc_info or it.levelno > logging.WARNING]
