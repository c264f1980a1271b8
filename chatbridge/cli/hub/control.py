"""`chatbridge status`, `version`, `stop` and `inbox`: whether the hub runs, how it is; ending and
restarting it; a link that logs a browser in."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub, connection
from chatbridge.cli.service import manager
from chatbridge.cli.ui.running import command, flag, say
from chatbridge.cli.ui.wording import lasted
from chatbridge.core.errors import ChatbridgeError, HubUnreachable
from chatbridge.link import search

if TYPE_CHECKING:
    from chatbridge.channels.checks import Finding
    from chatbridge.channels.web.settings import Web

Json = dict[str, Any]

PATIENCE = 10.0
TRIES = 5
ADDRESS_WITHIN = 5.0
"""A hub that has just started takes a moment longer to open its inbox."""
OF_A_MACHINE = (
    "This computer has one hub for all its users, and its inbox is root's. Your own questions: "
    "chatbridge pending. For root: sudo CHATBRIDGE_STATE_DIR=/var/lib/chatbridge chatbridge inbox"
)


@command(
    "status",
    "Says whether the hub runs, and how it is.",
    flag("--json", help="print it as JSON"),
    epilog="exit codes: 0 it runs, 4 it does not. What could be wrong: chatbridge doctor",
)
def status(given: argparse.Namespace) -> int:
    found = ask_hub("status")
    if given.json:
        print(json.dumps({**found, "installed": __version__}, indent=2))
        return 0
    from chatbridge.cli.doctor.command import draw

    draw(findings(found, now=time.time()))
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


@command("stop", "Stops the hub. Open questions stay open: the next hub goes on with them.")
def stop(_given: argparse.Namespace) -> int:
    pid = end_hub(runtime_paths.state_dir())
    print("The hub is not running." if pid is None else f"The hub (pid {pid}) has stopped.")
    return 0


def end_hub(state: str) -> int | None:
    """The pid of the hub that has ended; None: none ran. :raises ChatbridgeError: it still runs."""
    named = lock_file.read(state)
    try:
        # The handle comes first, then the check: the process that is signalled is the one checked.
        process = os.pidfd_open(named.pid) if named is not None else None
    except OSError:
        process = None
    if named is None or process is None:
        return None
    try:
        holder = lock_file.find_holder(state)
        if holder is None or holder.pid != named.pid:
            return None
        if holder.started_by == "service" and manager.runs(holder.pid):
            manager.stop()  # with its socket, which would start it again for the next agent
            return holder.pid
        signal.pidfd_send_signal(process, signal.SIGTERM)
        poller = select.poll()
        poller.register(process, select.POLLIN)
        if not poller.poll(PATIENCE * 1000):
            raise ChatbridgeError(
                f"The hub (pid {named.pid}) was told to stop, but still runs after "
                f"{PATIENCE:.0f} s. See {runtime_paths.log_path(state)}"
            )
    except ProcessLookupError:
        pass
    finally:
        os.close(process)
    return named.pid


def restart_hub(*, start: bool = True) -> bool:
    """Whether a hub runs now. `start`: also if none ran before.
    :raises ChatbridgeError: it cannot be stopped, or does not come up; the message says why."""
    state = runtime_paths.state_dir()
    holder = lock_file.find_holder(state)
    if holder is not None and holder.started_by == "service" and manager.runs(holder.pid):
        manager.restart()
    elif not _ended(state) and not start:
        return False
    connection(start=True).close()
    return True


def _ended(state: str) -> bool:
    """Whether there was a hub; it has ended. :raises ChatbridgeError: it still runs."""
    for _ in range(TRIES):
        if end_hub(state) is not None:
            return True
        # Where a lock file is just being written, or the kernel's list of locks is in motion, a
        # hub may not be seen. Settings that then did not count would be noticed by nobody.
        try:
            connection(start=False).close()
        except HubUnreachable:
            return False
    raise ChatbridgeError("The hub runs and cannot be found. Run: chatbridge stop, and try again")


@command(
    "inbox",
    "Prints a link that logs your browser in to the inbox. It works once, for 10\n"
    "minutes. A hub is started if none runs.",
    flag("--open", help="open the link in this computer's browser, too"),
)
def inbox(given: argparse.Namespace) -> int:
    state = runtime_paths.state_dir()
    with connection(start=True) as sock:
        if search.is_machine_hub_wanted() and sock.getpeername() == search.MACHINE_SOCKET:
            raise ChatbridgeError(OF_A_MACHINE)
    address = inbox_address(state)
    seen_at = _outside() or address
    link = f"{seen_at}/login/{ask_hub('login-code', start=True)['code']}"
    print(f"Open this link (works once, 10 minutes):\n  {link}\n")
    if urlsplit(seen_at).hostname in ("127.0.0.1", "::1", "localhost"):
        print("Only this computer can reach it. For a phone: chatbridge setup")
    if given.open and not open_in_browser(link, state):
        sys.stderr.write("No browser could be opened. Open the link yourself.\n")
    return 0


def inbox_address(state: str) -> str:
    """:raises ChatbridgeError: the hub that runs has none."""
    until = time.monotonic() + ADDRESS_WITHIN
    while (info := lock_file.read(state)) is None or info.web is None:
        if not _web().enabled:
            raise ChatbridgeError(
                f"The web inbox is off. Set web.enabled = true in {runtime_paths.config_path()} "
                "(or CHATBRIDGE_WEB__ENABLED), then: chatbridge stop, and again: chatbridge inbox"
            )
        if time.monotonic() > until:
            raise ChatbridgeError(
                "The hub runs without its web inbox; its log says why: "
                f"{runtime_paths.log_path(state)}. Then: chatbridge stop, and again: "
                "chatbridge inbox"
            )
        time.sleep(0.05)
    return info.web


@cache
def _web() -> Web:
    from chatbridge import settings
    from chatbridge.channels.web.spec import WEB

    return settings.load().table(WEB)


def _outside() -> str | None:
    """Where a proxy serves the inbox. Without settings it is not worth the time to load them."""
    if url := os.environ.get("CHATBRIDGE_WEB__URL"):
        return url
    has = os.path.exists(runtime_paths.config_path()) or "CREDENTIALS_DIRECTORY" in os.environ
    return _web().url if has else None


def open_in_browser(link: str, state: str) -> bool:
    """Through a private file: a browser's arguments can be read by every user of the computer."""
    import webbrowser
    from html import escape
    from pathlib import Path

    path = os.path.join(state, "inbox.html")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="utf-8") as out:
        out.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(link)}">\n')
    return webbrowser.open(Path(path).as_uri())
