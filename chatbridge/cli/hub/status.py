"""`chatbridge status` and `version`: whether the hub runs, how it is, and which one it is."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.cli.ui.running import say

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding

Json = dict[str, Any]

RESTART = "chatbridge restart"
NO_LEADER = (
    "wait some seconds; if it lasts, look at the database (chatbridge doctor) and the hub's log"
)


def status(given: argparse.Namespace) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub

    found = ask_hub("status")
    if given.json:
        print(json.dumps({**found, "installed": __version__}, indent=2))
        return 0
    from chatbridge.cli.doctor.screen import draw

    clients = 0
    elsewhere: list[Finding] = []
    if not found["links"]:
        from chatbridge.cli.connect.installed import installed_clients

        clients = sum(client.connected for client in installed_clients())
        if not clients:  # half a second of imports
            from chatbridge.cli.doctor.clients import agents_elsewhere
            from chatbridge.cli.doctor.context import DoctorContext

            elsewhere = agents_elsewhere(DoctorContext.here())
    draw(findings(found, clients=clients, elsewhere=elsewhere, now=time.time()))
    return 0


def findings(
    status: Json, *, clients: int, now: float, elsewhere: Sequence[Finding] = ()
) -> Iterator[Finding]:
    """`clients`: how many are set up, where none is connected. `elsewhere`: what is known of agents
    on other machines."""
    from chatbridge.channels.checks import fine, from_error, problem, remark
    from chatbridge.cli.ui.wording import lasted

    since = lasted(now - status["since"])
    service = " as a service" if status["startedBy"] == "service" else ""
    yield fine(
        "hub", f"running for {since}{service}, version {status['version']}, pid {status['pid']}"
    )
    if status["version"] != __version__:
        yield remark("version", _other_version(status["version"]), RESTART)
    if (cluster := status.get("cluster")) is not None:
        yield among(cluster)
        if cluster["role"] == "follows":
            yield from _links(status)
            yield from _remarks(status)
            return
    for channel in status["channels"]:
        name, works = channel["name"], "works"
        if name == "web":
            name, works = "web inbox", status["web"] or "starting"
        trouble = channel["trouble"]
        yield from_error(name, trouble) if trouble else fine(name, works)
    if not status["channels"]:
        yield problem("channels", "none is set up", "chatbridge setup")
    if status["links"]:
        yield from _links(status)
    elif clients:
        yield fine("agents", f"{clients} set up, none running")
    elif elsewhere:
        yield from elsewhere
    else:
        yield remark("agents", "none is set up", "chatbridge connect")
    count = status["open"]
    yield fine("questions", f"{count} open: chatbridge pending" if count else "none open")
    yield from _remarks(status)


def among(cluster: Json) -> Finding:
    """What this hub is among several."""
    from chatbridge.channels.checks import fine, remark

    if cluster["role"] == "leads":
        followers = [name for name in cluster["hubs"] if name != cluster["name"]]
        of = f", followed by {', '.join(followers)}" if followers else ""
        return fine("leader", f"{cluster['name']}, this hub{of} (epoch {cluster['epoch']})")
    if cluster["leader"] is None:
        return remark("leader", "no hub leads at present; agents wait", NO_LEADER)
    at = f" at {cluster['address']}" if cluster["address"] else ""
    return fine(
        "leader",
        f"{cluster['leader']}{at} (epoch {cluster['epoch']}); channels and questions are there. "
        f"This hub, {cluster['name']}, follows",
    )


def _links(status: Json) -> Iterator[Finding]:
    from chatbridge.channels.checks import fine

    links = [
        f"{link['project']}" + (f" ({link['version']})" if link["version"] != __version__ else "")
        for link in status["links"]
    ]
    if links:
        names = [f"{name} × {n}" if n > 1 else name for name, n in Counter(links).items()]
        yield fine("agents", f"{len(links)} connected: {', '.join(names)}")


def _remarks(status: Json) -> Iterator[Finding]:
    from chatbridge.channels.checks import from_error, remark

    for text in status.get("faults", ()):  # an older hub has none
        yield from_error("hub", text)
    for text in status["remarks"]:
        what, _, fix = text.partition(". ")
        yield remark("warning", what, *([fix] if fix else []))


def _other_version(running: str) -> str:
    return f"{__version__} is installed, the running hub is {running}"


def version(_given: argparse.Namespace) -> int:
    print(f"chatbridge {__version__}", flush=True)
    hub = lock_file.find_holder(runtime_paths.state_dir())
    if hub is not None and hub.version != __version__:
        say(f"{_other_version(hub.version)}.", f"Run: {RESTART}")
    return 0
