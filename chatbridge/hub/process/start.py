"""How a hub starts: the lock first, the heavy imports only when it is held.

Owns the `hub` and `mcp --standalone` commands: arguments, and the report to the link that
started it. What a hub consists of is in `wiring`.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from chatbridge import __version__, runtime_paths
from chatbridge.core.errors import ChatbridgeError, HubAlreadyRunning, SocketUnusable
from chatbridge.hub.process.imports import heavy_imports
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.log import log_to_stderr
from chatbridge.hub.process.systemd import Systemd
from chatbridge.link.preface import parse_limit
from chatbridge.redaction import redacted
from chatbridge.system import descriptors
from chatbridge.system.platform import MACOS

NO_SOCKET = (
    "a hub for several users takes its socket from systemd, and macOS has none. There each user "
    "has a hub of their own: chatbridge service install"
    if MACOS
    else "a hub for several users takes its socket from systemd, and got none. Start "
    "chatbridge-system.socket"
)

THREADS_TURN_SECONDS = 0.001
"""How long a thread that draws a long text keeps the event loop waiting for its turn."""


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    descriptors.raise_limit()
    log_to_stderr()
    report = Report(options.report_fd)
    systemd = Systemd()
    if systemd.watchdog is not None:
        faulthandler.enable()  # where it hangs is in the journal, when the watchdog ends it
    try:
        listener = systemd.passed_socket()
        if options.system and listener is None:
            raise SocketUnusable(NO_SOCKET)
        with Lock(runtime_paths.state_dir(), started_by=options.started_by) as lock:
            with heavy_imports():
                import uvloop

                from chatbridge.hub.wiring.serving import run_hub

            sys.setswitchinterval(THREADS_TURN_SECONDS)
            uvloop.run(
                run_hub(
                    lock,
                    config=options.config,
                    ready=lambda: report.say(ready=True),
                    systemd=systemd,
                    listener=listener,
                    system=options.system,
                )
            )
    except ChatbridgeError as error:
        said = redacted(str(error))
        if isinstance(error, HubAlreadyRunning):
            report.say(held=True, pid=error.pid)
        else:
            report.say(error=said, passing=error.passing)
        systemd.notify(f"STATUS={said}")
        sys.stderr.write(f"{said}\n")
        return 1
    return 0


def standalone_main(argv: list[str]) -> int:
    """`chatbridge mcp --standalone`: without a hub it still answers, with what is wrong."""
    options = _standalone_options(argv)
    descriptors.raise_limit()
    log_to_stderr()
    with heavy_imports():
        import asyncio

        from chatbridge.hub.process.standalone import run_standalone

    asyncio.run(
        run_standalone(config=options.config, label=options.label or None, limit=options.limit)
    )
    return 0


class Report:
    """Tells the link that started this hub how it went, in one line and once."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        if fd is not None:
            os.set_inheritable(fd, False)  # whoever has it keeps the link waiting

    def say(self, **line: object) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):  # the link has gone; nobody is left to be told
                os.write(fd, json.dumps(line).encode() + b"\n")
                os.close(fd)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chatbridge hub",
        description="Run the hub in the foreground. It is started by the first agent anyway; a "
        "service runs it like this.",
    )
    parser.add_argument("--config", type=Path, help="the configuration file to use")
    parser.add_argument(
        "--started-by",
        choices=("person", "link", "service"),
        default="person",
        metavar="WHO",
        help="person, link or service; a service takes over from a hub that a link started",
    )
    parser.add_argument(
        "--system",
        action="store_true",
        help="serve every user in the group of the socket that systemd passes, each with their own "
        "questions",
    )
    parser.add_argument("--report-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"chatbridge {__version__}")
    return parser


def _limit(text: str) -> int:
    try:
        return parse_limit(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _standalone_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chatbridge mcp --standalone",
        description="Hub and MCP server in one process, without a socket.",
    )
    parser.add_argument("--config", type=Path, help="the configuration file to use")
    parser.add_argument(
        "--label",
        default=os.environ.get("CHATBRIDGE_LABEL"),
        help="shown beside the project's name (also: CHATBRIDGE_LABEL)",
    )
    parser.add_argument(
        "--limit", type=_limit, metavar="SECONDS", help="when the client gives up on a call"
    )
    return parser.parse_args(argv)
