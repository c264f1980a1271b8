"""All of doctor's checks in their order, and what comes of them on the screen or as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from chatbridge import __version__
from chatbridge.cli.doctor.clients import clients
from chatbridge.cli.doctor.clock import clock
from chatbridge.cli.doctor.commands import commands
from chatbridge.cli.doctor.context import Json, Situation
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.files import configuration, files
from chatbridge.cli.doctor.finding import Finding, Mark
from chatbridge.cli.doctor.hub import hub
from chatbridge.cli.doctor.matrix import matrix
from chatbridge.cli.doctor.runner import Check, examine
from chatbridge.cli.doctor.screen import Screen
from chatbridge.cli.doctor.service import service
from chatbridge.cli.doctor.telegram import telegram
from chatbridge.cli.doctor.web import web

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


def run(situation: Situation, *, as_json: bool, checks: Sequence[Check] = CHECKS) -> int:
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
    situation: Situation,
    checks: Sequence[Check],
    *,
    show: Callable[[Finding], None],
    waiting: Callable[[str], None],
) -> list[Finding]:
    async def work() -> list[Finding]:
        found = []
        async for finding in examine(situation, checks, waiting=waiting):
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
