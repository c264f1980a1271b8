"""`chatbridge setup --non-interactive`: what the flags say, all checked before any is written.

A program that runs as the owner can do this as well as the owner can; docs/security.md says what
that means.
"""

from __future__ import annotations

import argparse

from chatbridge import settings
from chatbridge.channels.registry import channel_specs
from chatbridge.channels.spec import load_reference
from chatbridge.cli.config_file import config_file
from chatbridge.cli.connect import Plan, plan, write
from chatbridge.cli.connect.plans import LEAST
from chatbridge.cli.hub.stop import restart_hub
from chatbridge.cli.service import available, install
from chatbridge.cli.setup import agents
from chatbridge.cli.setup.state import Setup, Work
from chatbridge.core.errors import ChatbridgeError
from chatbridge.durations import seconds


def run(given: argparse.Namespace) -> int:
    """:raises ChatbridgeError: nothing was written, unless the message says otherwise."""
    path = config_file()
    setup = Setup(path=path, settings=settings.load(path))
    if all(not value for name, value in vars(given).items() if name != "non_interactive"):
        raise ChatbridgeError(
            f"There is nothing to do. Name at least one of {', '.join(_flags())}, "
            "--web-only, --wait, --service, --connect"
        )
    _check_service(given)
    waiting = _wait(setup, given)
    longest = None if given.wait is None else max(agents.longest(given.wait), LEAST)
    plans = [plan(client, wait=longest) for client in given.connect]
    steps = [*waiting, *_of_channels(setup, given)]
    try:
        for step in steps:
            step()
        if steps:
            restart_hub(start=False)
        if given.service:
            install(linger=True, say=print)
        for it in plans:
            _write(it)
    except ChatbridgeError as error:
        if not setup.kept:
            raise
        raise ChatbridgeError(f"{error}. {setup.summary}") from error
    print(setup.summary if setup.kept else "Done.")
    if given.web_only:
        print("For a link to the inbox: chatbridge inbox")
    return 0


# ── what is checked first; what is returned is done afterwards ────────────────────────────────────


def _of_channels(setup: Setup, given: argparse.Namespace) -> list[Work]:
    plans = [load_reference(spec.setup.plan) for spec in channel_specs() if spec.setup]
    return [step for plan in plans for step in plan(setup, given)]


def _flags() -> list[str]:
    return [spec.setup.flag for spec in channel_specs() if spec.setup]


def _wait(setup: Setup, given: argparse.Namespace) -> list[Work]:
    if given.wait is None:
        return []
    try:
        wait = float(str(seconds(given.wait)))
    except ValueError as error:
        raise ChatbridgeError(f"--wait {given.wait!r}: {error}") from None
    if wait < setup.settings.min_timeout:
        raise ChatbridgeError(
            f"--wait {given.wait!r}: {setup.settings.min_timeout:g} s is the least"
        )
    return [lambda: agents.save_wait(setup, given.wait)]


def _check_service(given: argparse.Namespace) -> None:
    if given.service and (why_not := available()) is not None:
        raise ChatbridgeError(why_not)


def _write(planned: Plan) -> None:
    for file in planned.changes:
        print(f"  {file.summary()}")
    write(planned)
