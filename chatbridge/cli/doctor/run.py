"""All of doctor's checks in their order, and what comes of them on the screen or as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chatbridge import __version__
from chatbridge.cli.doctor.clients import clients, commands
from chatbridge.cli.doctor.clock import clock
from chatbridge.cli.doctor.context import DoctorContext, Json
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.files import configuration, files
from chatbridge.cli.doctor.finding import Finding, Mark, problem
from chatbridge.cli.doctor.hub import hub
from chatbridge.cli.doctor.matrix import matrix
from chatbridge.cli.doctor.screen import Screen
from chatbridge.cli.doctor.service import service
from chatbridge.cli.doctor.telegram import telegram
from chatbridge.cli.doctor.web import web
from chatbridge.core.errors import ChatbridgeError

log = logging.getLogger(__name__)

WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    look: Callable[[DoctorContext], Awaitable[Sequence[Finding]]]


async def run_checks(
    situation: DoctorContext,
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


async def _bounded(check: Check, situation: DoctorContext, within: float) -> Sequence[Finding]:
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


CHECKS = (
    Check("configuration", configuration),
    Check("files", files),
    Check("database", database),
    Check("hub", hub),
    Check("telegram", telegram),
    Check("matrix", matrix),
    Check("web inbox", web),
    Check("agents", clients),
    Check("commands", commands),
    Check("service", service),
    Check("clock", clock),
)


def run(situation: DoctorContext, *, as_json: bool, checks: Sequence[Check] = CHECKS) -> int:
    """Print what the checks find; the exit code."""
    if as_json:
        found = _looped(situation, checks, show=lambda finding: None, waiting=lambda name: None)
        print(json.dumps(report(found), indent=2))
    else:
        screen = Screen()
        found = _looped(situation, checks, show=screen.show, waiting=screen.waiting)
        screen.end(found)
    return 1 if any(finding.mark is Mark.PROBLEM for finding in found) else 0


def report(found: Sequence[Finding]) -> Json:
    """What `--json` prints."""
    return {
        "version": __version__,
        "ok": not any(finding.mark is Mark.PROBLEM for finding in found),
        "problems": sum(finding.mark is Mark.PROBLEM for finding in found),
        "remarks": sum(finding.mark is Mark.REMARK for finding in found),
        "checks": [finding.json() for finding in found],
    }


def _looped(
    situation: DoctorContext,
    checks: Sequence[Check],
    *,
    show: Callable[[Finding], None],
    waiting: Callable[[str], None],
) -> list[Finding]:
    async def work() -> list[Finding]:
        found = []
        async for finding in run_checks(situation, checks, waiting=waiting):
            show(finding)
            found.append(finding)
        return found

    # asyncio.run would wait for threads that cannot be stopped.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work())
    finally:
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
