"""`chatbridge doctor`: all checks in their order; their findings on the screen or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from chatbridge import __version__
from chatbridge.channels.checks import Finding, Mark, from_error, problem
from chatbridge.channels.registry import channel_specs
from chatbridge.channels.spec import ChannelSpec
from chatbridge.cli.doctor import sleep, tonight
from chatbridge.cli.doctor.approvals import approvals
from chatbridge.cli.doctor.clients import clients, commands
from chatbridge.cli.doctor.computer import clock, service
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.database import database
from chatbridge.cli.doctor.files import attachments, configuration, files
from chatbridge.cli.doctor.hub import channel_of, hub
from chatbridge.cli.doctor.people import people
from chatbridge.cli.doctor.screen import Screen
from chatbridge.cli.doctor.voice import voice
from chatbridge.cli.ui import running
from chatbridge.core.cards.phrases import use_zone
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.nights.hours import find_zone
from chatbridge.system.platform import MACOS

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
THREAD_END_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    look: (
        Callable[[DoctorContext], Sequence[Finding]]
        | Callable[[DoctorContext], Coroutine[Any, Any, Sequence[Finding]]]
    )
    """A function that is not a coroutine runs in a thread."""


async def run_checks(
    context: DoctorContext,
    checks: Sequence[Check],
    *,
    within: float = CHECK_SECONDS,
    waiting: Callable[[str], None] = lambda name: None,
) -> AsyncIterator[Finding]:
    """`waiting` is told which check is waited for."""
    tasks = [asyncio.ensure_future(_bounded(check, context, within)) for check in checks]
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


async def _bounded(check: Check, context: DoctorContext, within: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(within):
            if inspect.iscoroutinefunction(check.look):
                found = await check.look(context)
            else:
                found = await asyncio.to_thread(check.look, context)
            return cast("Sequence[Finding]", found)
    except TimeoutError:
        return [problem(check.name, f"no answer within {within:g} s")]
    except ChatbridgeError as error:
        return [problem(check.name, str(error))]
    except Exception as error:
        # One check must not hide what the others find.
        log.debug("the check %s failed", check.name, exc_info=error)
        return [problem(check.name, f"could not be checked ({type(error).__name__}: {error})")]


def all_checks() -> list[Check]:
    """In the order in which their findings are shown: chats before pages."""
    specs = sorted(channel_specs(), key=lambda spec: not spec.is_chat)
    return [
        Check("configuration", configuration),
        Check("files", files),
        Check("attachments", attachments),
        Check("disk", tonight.full_disk),
        Check("database", database),
        Check("hub", hub),
        *map(channel_check, specs),
        Check("agents", clients),
        Check("commands", commands),
        Check("approvals", approvals),
        Check("people", people),
        Check("quiet", tonight.quiet_hours),
        Check("voice", voice),
        Check("service", service),
        Check("clock", clock),
    ]


def tonight_checks() -> list[Check]:
    return [
        Check("chatbridge", tonight.basis),
        Check("phone", tonight.phone),
        Check("waiting", tonight.waiting),
        Check("quiet", tonight.quiet),
        Check("agents", tonight.agents),
        Check("service", tonight.night_service),
        Check("sleep", sleep.on_macos if MACOS else sleep.on_linux),
        Check("disk", tonight.disk),
        Check("questions", tonight.deadlines),
    ]


def channel_check(spec: ChannelSpec[Any]) -> Check:
    async def look(context: DoctorContext) -> Sequence[Finding]:
        table = context.settings.table(spec)
        if spec.is_chat and not spec.is_on(table):
            return channel_of(await context.hub(), spec.name)
        try:
            check = await asyncio.to_thread(spec.load, spec.check)
            found: Sequence[Finding] = await check(table, context)
        except ChatbridgeError as error:
            return [from_error(spec.name, str(error))]
        return found

    return Check(spec.title.lower(), look)


def doctor(given: argparse.Namespace) -> int:
    # What libraries say of a connection that fails is said by the checks.
    logging.basicConfig(handlers=[logging.NullHandler()])
    code = running.run(lambda: _work(given))
    others = [it for it in threading.enumerate() if it is not threading.main_thread()]
    for thread in others:
        thread.join(THREAD_END_SECONDS)
    if any(thread.is_alive() and not thread.daemon for thread in others):
        # A resolver that waits for a dead network cannot be stopped, and holds the process.
        os._exit(code)
    return code


def _work(given: argparse.Namespace) -> int:
    context = DoctorContext.here()
    use_zone(find_zone(context.settings.quiet.zone))
    if not given.tonight:
        return run(context, all_checks(), as_json=given.json)
    if not given.json and running.is_interactive():
        tonight.offer_test_question(context)
    return run_tonight(context, as_json=given.json)


def run_tonight(context: DoctorContext, *, as_json: bool = False) -> int:
    """The exit code is 0 only if all is well."""
    if not as_json:
        print("Ready for tonight?")
    return run(context, tonight_checks(), as_json=as_json, night=True)


def run(
    context: DoctorContext, checks: Sequence[Check], *, as_json: bool, night: bool = False
) -> int:
    """Print what the checks find; the exit code. For a night, a warning is a failure, too."""
    screen = None if as_json else Screen()
    found = _looped(context, checks, screen)
    problems = sum(finding.mark is Mark.PROBLEM for finding in found)
    if screen is not None:
        screen.end(found, night=night)
    else:
        report = {
            "version": __version__,
            "ok": not problems,
            "problems": problems,
            "remarks": sum(finding.mark is Mark.REMARK for finding in found),
            "checks": [finding.json() for finding in found],
        }
        print(json.dumps(report, indent=2))
    failed = any(it.mark is not Mark.FINE for it in found) if night else problems
    return 1 if failed else 0


class _Abandoned(ThreadPoolExecutor):
    """Its end waits for no thread: one that asks a dead network for a name cannot be stopped."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def _looped(
    context: DoctorContext, checks: Sequence[Check], screen: Screen | None
) -> list[Finding]:
    async def work() -> list[Finding]:
        asyncio.get_running_loop().set_default_executor(_Abandoned())
        found = []
        waiting = screen.waiting if screen else lambda name: None
        async for finding in run_checks(context, checks, waiting=waiting):
            found.append(finding)
            if screen:
                screen.show(finding)
        return found

    # asyncio.run makes a cancellation of Ctrl-C. A bare loop raises it wherever it is, and loses
    # the callback that was about to run, for which another task may wait for ever.
    return asyncio.run(work())
