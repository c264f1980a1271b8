"""`chatbridge status`: whether the hub runs, and how it is, in the form of a doctor's findings; and
`chatbridge version`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.ui.running import command, flag, say
from chatbridge.cli.ui.wording import lasted

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding

Json = dict[str, Any]


@command(
    "status",
    "Says whether the hub runs, and how it is.",
    flag("--json", help="print it as JSON"),
    epilog="exit codes: 0 it runs, 4 it does not. What could be wrong: chatbridge doctor",
)
def main(given: argparse.Namespace) -> int:
    status = ask_hub("status")
    if given.json:
        print(json.dumps({**status, "installed": __version__}, indent=2))
        return 0
    from chatbridge.cli.doctor.command import draw

    draw(findings(status, now=time.time()))
    return 0


def findings(status: Json, *, now: float) -> Iterator[Finding]:
    from chatbridge.channels.checks import fine, from_error, problem, remark

    since = lasted(now - status["since"])
    service = " as a service" if status["startedBy"] == "service" else ""
    yield fine(
        "hub", f"running for {since}{service}, version {status['version']}, pid {status['pid']}"
    )
    if status["version"] != __version__:
        yield remark("version", *_other_version(status["version"], status["startedBy"]))
    for channel in status["channels"]:
        name, works = channel["name"], "works"
        if name == "web":
            name, works = "web inbox", status["web"] or "starting"
        trouble = channel["trouble"]
        yield from_error(name, trouble) if trouble else fine(name, works)
    if not status["channels"]:
        yield problem("channels", "none is set up", "chatbridge setup")
    links = [
        f"{link['project']}" + (f" ({link['version']})" if link["version"] != __version__ else "")
        for link in status["links"]
    ]
    agents = f"{len(links)} connected: {', '.join(links)}" if links else "none is connected"
    yield fine("agents", agents)
    count = status["open"]
    are = f"{count} {'is' if count == 1 else 'are'} open: chatbridge pending"
    yield fine("questions", are if count else "none is open")
    for text in status.get("faults", ()):  # a hub of before has none
        yield from_error("hub", text)
    for text in status["remarks"]:
        what, _, fix = text.partition(". ")
        yield remark("remark", what, *([fix] if fix else []))


def _other_version(running: str, started_by: str) -> tuple[str, str]:
    """What is so with a hub that is not the one that is installed, and what to do about it."""
    return f"{__version__} is installed, the running hub is {running}", restart_of(started_by)


def restart_of(started_by: str) -> str:
    """The command after which another hub runs, at the latest with the next question."""
    return "chatbridge service restart" if started_by == "service" else "chatbridge stop"


@command("version", "Prints the installed version, and says if the running hub has another one.")
def version(_given: argparse.Namespace) -> int:
    print(f"chatbridge {__version__}", flush=True)
    hub = lock_file.find_holder(runtime_paths.state_dir())
    if hub is not None and hub.version != __version__:
        what, fix = _other_version(hub.version, hub.started_by)
        say(f"{what}.", f"Run: {fix}")
    return 0
