"""`chatbridge doctor`: the command, its checks in their order, and what it prints."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence

from chatbridge import __version__
from chatbridge.cli import running
from chatbridge.cli.doctor.clients import clients
from chatbridge.cli.doctor.clock import clock
from chatbridge.cli.doctor.commands import commands
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.examination import Check, examine
from chatbridge.cli.doctor.files import configuration, files
from chatbridge.cli.doctor.finding import Finding, Mark
from chatbridge.cli.doctor.hub import hub
from chatbridge.cli.doctor.matrix import matrix
from chatbridge.cli.doctor.screen import drawn, summed_up
from chatbridge.cli.doctor.service import service
from chatbridge.cli.doctor.situation import Json, Situation
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

THREADS_END_WITHIN = 0.3


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    # What libraries say of a connection that fails is said by the checks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    code = running.run(lambda: run(Situation.here(), as_json=options.json))
    if _busy_threads():
        # A resolver that waits for a dead network cannot be stopped, and holds the process.
        os._exit(code)
    return code


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="chatbridge doctor",
        description="Look at everything that chatbridge needs, and say what to do about what is "
        "not as it should be. Nothing is changed, and no hub is started. Exit code 1 if there is "
        "a problem.",
    )
    made.add_argument("--json", action="store_true", help="all details, for programs")
    return made


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


class Screen:
    """Findings as they come; on a terminal also what is waited for."""

    def __init__(self) -> None:
        self._width = shutil.get_terminal_size((80, 24)).columns
        self._colour = running.colourful()
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def waiting(self, name: str) -> None:
        if self._live:
            sys.stdout.write(f"\r\x1b[K… {name}")
            sys.stdout.flush()

    def show(self, finding: Finding) -> None:
        self._clear()
        sys.stdout.write(drawn(finding, width=self._width, colour=self._colour))
        sys.stdout.flush()

    def end(self, found: Sequence[Finding]) -> None:
        self._clear()
        sys.stdout.write(f"\n{summed_up(found)}")

    def _clear(self) -> None:
        if self._live:
            sys.stdout.write("\r\x1b[K")


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


def _busy_threads() -> bool:
    others = [it for it in threading.enumerate() if it is not threading.main_thread()]
    for thread in others:
        thread.join(THREADS_END_WITHIN)
    return any(thread.is_alive() and not thread.daemon for thread in others)
