"""`chatbridge status`: whether the hub runs, and how it is, in the form of a doctor's findings."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chatbridge import __version__
from chatbridge.cli.ui.running import colourful, new_parser, run

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding

Json = dict[str, Any]

NAMES = {"web": "web inbox"}
EPILOG = "exit codes: 0 it runs, 4 it does not. What could be wrong: chatbridge doctor"


def parser() -> argparse.ArgumentParser:
    found = new_parser("status", "Says whether the hub runs, and how it is.", epilog=EPILOG)
    found.add_argument("--json", action="store_true", help="print it as JSON")
    return found


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run(lambda: _status(given))


def _status(given: argparse.Namespace) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub

    status = ask_hub("status")
    if given.json:
        print(json.dumps({**status, "installed": __version__}, indent=2))
        return 0
    import shutil

    from chatbridge.cli.doctor.screen import drawn

    width = shutil.get_terminal_size().columns
    for finding in findings(status, now=time.time()):
        sys.stdout.write(drawn(finding, width=width, colour=colourful()))
    return 0


def findings(status: Json, *, now: float) -> Iterator[Finding]:
    from chatbridge.channels.checks import fine, from_error, problem, remark
    from chatbridge.cli.ui.wording import lasted

    since = lasted(now - status["since"])
    service = " as a service" if status["startedBy"] == "service" else ""
    yield fine(
        "hub", f"running for {since}{service}, version {status['version']}, pid {status['pid']}"
    )
    if status["version"] != __version__:
        what, fix = other_version(status["version"], status["startedBy"])
        yield remark("version", what, fix)
    for channel in status["channels"]:
        name = NAMES.get(channel["name"], channel["name"])
        works = status["web"] or "starting" if channel["name"] == "web" else "works"
        trouble = channel["trouble"]
        yield from_error(name, trouble) if trouble else fine(name, works)
    if not status["channels"]:
        yield problem("channels", "none is set up", "chatbridge setup")
    yield fine("agents", _agents(status["links"]))
    yield fine("questions", _open(status["open"]))
    for text in status.get("faults", ()):  # a hub of before has none
        yield from_error("hub", text)
    for text in status["remarks"]:
        what, _, fix = text.partition(". ")
        yield remark("remark", what, *([fix] if fix else []))


def other_version(running: str, started_by: str) -> tuple[str, str]:
    """What is so with a hub that is not the one that is installed, and what to do about it."""
    return f"{__version__} is installed, the running hub is {running}", restart_of(started_by)


def restart_of(started_by: str) -> str:
    """The command after which another hub runs, at the latest with the next question."""
    return "chatbridge service restart" if started_by == "service" else "chatbridge stop"


def _agents(links: list[Json]) -> str:
    if not links:
        return "none is connected"
    named = [
        f"{link['project']} ({link['version']})"
        if link["version"] != __version__
        else str(link["project"])
        for link in links
    ]
    return f"{len(links)} connected: {', '.join(named)}"


def _open(count: int) -> str:
    if not count:
        return "none is open"
    return f"{count} {'is' if count == 1 else 'are'} open: chatbridge pending"
