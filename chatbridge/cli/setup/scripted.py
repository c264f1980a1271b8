"""`chatbridge setup --non-interactive`: what the flags say, all checked before any is written.

A program that runs as the owner can do this as well as the owner can; docs/security.md says what
that means.
"""

from __future__ import annotations

import argparse

from chatbridge.channels.registry import channel_specs
from chatbridge.channels.web.spec import WEB
from chatbridge.cli.connect.plans import MIN_WAIT_SECONDS, plan, write
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.run import run_tonight
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.inbox.phone import on_phone, way
from chatbridge.cli.service.command import install
from chatbridge.cli.service.manager import this_manager, why_no_install
from chatbridge.cli.setup.state import Setup, Work
from chatbridge.cli.ui.running import WrongUsage, fitted
from chatbridge.core.errors import ChatbridgeError
from chatbridge.durations import parse

UNSET: tuple[object, ...] = (None, False, [])
IMPLIED = ("non_interactive", "leave_out", "argv", "rest")


def run(given: argparse.Namespace) -> int:
    """:raises WrongUsage: :raises ChatbridgeError: nothing was written, unless the message says
    otherwise."""
    setup = Setup.here()
    wanted = [
        name for name, value in vars(given).items() if value not in UNSET and name not in IMPLIED
    ]
    channels = [(spec, spec.setup) for spec in channel_specs() if spec.setup]
    if not wanted:
        flags = ", ".join(own.flag for _, own in channels)
        raise WrongUsage(
            f"there is nothing to do. Name at least one of {flags}, "
            "--web-only, --phone, --wait, --service, --connect"
        )
    if given.service and (why_not := why_no_install(this_manager())):
        raise ChatbridgeError(why_not)
    if given.phone:
        way(setup.settings.table(WEB))
    steps: list[Work] = []
    longest = None
    if given.wait is not None:
        longest = max(2 * _wait(setup, given.wait), MIN_WAIT_SECONDS)
        steps.append(lambda: setup.save_wait(given.wait))
    plans = [plan(client, wait=longest, leave_out=given.leave_out) for client in given.connect]
    for spec, own in channels:  # others may need packages that are not installed
        if any(name.startswith(f"{spec.name}_") for name in wanted):
            steps += spec.load(own.plan)(setup, given)
    try:
        for step in steps:
            step()
        if steps:
            restart_hub(start=False)
        if given.service:
            install(this_manager(), linger=True, say=print)
        for planned in plans:
            for file in planned.changes:
                print(fitted(f"  {file.summary()}"))
            write(planned)
        if given.phone:
            on_phone(yes=True, as_json=False)
    except ChatbridgeError as error:
        if not setup.kept:
            raise
        raise ChatbridgeError(f"{error}. {setup.summary}") from error
    print(setup.summary if setup.kept else "Done.")
    if given.web_only:
        print("For a link to the inbox: chatbridge inbox")
    print()
    run_tonight(DoctorContext.here())
    return 0


def _wait(setup: Setup, given: str) -> float:
    try:
        wait = parse(given)
    except ValueError as error:
        raise WrongUsage(f"--wait {given!r}: {error}") from None
    if wait < setup.settings.min_timeout:
        raise WrongUsage(f"--wait {given!r}: {setup.settings.min_timeout:g} s is the shortest")
    return wait
