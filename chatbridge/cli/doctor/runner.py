"""Runs the checks side by side, each with a bound, and hands on what they find, in their order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chatbridge.cli.doctor.context import Situation
from chatbridge.cli.doctor.finding import Finding, problem
from chatbridge.core.errors import ChatbridgeError

log = logging.getLogger(__name__)

WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    look: Callable[[Situation], Awaitable[Sequence[Finding]]]


async def examine(
    situation: Situation,
    checks: Sequence[Check],
    *,
    within: float = WITHIN,
    waiting: Callable[[str], None] = lambda name: None,
) -> AsyncIterator[Finding]:
    """`waiting` is told which check is waited for."""
    tasks = [asyncio.ensure_future(_bounded(check, situation, within)) for check in checks]
    try:
        for check, task in zip(checks, tasks, strict=True):
            if not task.done():
                waiting(check.name)
            for finding in await task:
                yield finding
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


async def _bounded(check: Check, situation: Situation, within: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(within):
            return await check.look(situation)
    except TimeoutError:
        return [problem(check.name, f"no answer within {within:g} s")]
    except ChatbridgeError as error:
        return [problem(check.name, str(error))]
    except Exception as error:
        # One check must not hide what the others find.
        log.debug("the check %s failed", check.name, exc_info=error)
        return [problem(check.name, f"could not be looked at ({type(error).__name__}: {error})")]
