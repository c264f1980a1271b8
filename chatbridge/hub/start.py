"""How a hub starts: the lock first, the heavy imports only when it is held.

Owns the `hub` and `mcp --standalone` commands: arguments, logging, the report to the link that
started it. What a hub consists of is in `wiring`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from pathlib import Path

from chatbridge import __version__, rendezvous
from chatbridge.core.errors import ChatbridgeError, HubAlreadyRunning
from chatbridge.hub.lock import Lock

PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


def main(argv: list[str]) -> int:
    """`chatbridge hub`"""
    options = _options(argv)
    _log_to_stderr()
    report = Report(options.report_fd)
    try:
        with Lock(rendezvous.state_dir(), started_by=options.started_by) as lock:
            import uvloop

            from chatbridge.hub.wiring import run_hub

            uvloop.run(run_hub(lock, config=options.config, ready=report.ready))
    except HubAlreadyRunning as error:
        report.held(error)
        sys.stderr.write(f"{error}\n")
        return 1
    except ChatbridgeError as error:
        report.failed(error)
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def standalone_main(argv: list[str]) -> int:
    """`chatbridge mcp --standalone`: without a hub it still answers, with what is wrong."""
    options = _standalone_options(argv)
    _log_to_stderr()
    from chatbridge.hub.standalone import run_standalone, run_unavailable

    try:
        with Lock(rendezvous.state_dir(), started_by="person") as lock:
            asyncio.run(run_standalone(lock, config=options.config, label=options.label))
    except ChatbridgeError as error:
        sys.stderr.write(f"{error}\n")
        asyncio.run(run_unavailable(str(error)))
    return 0


class Report:
    """Tells the link that started this hub how it went, in one line."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def ready(self) -> None:
        self._say({"ready": True})

    def held(self, error: HubAlreadyRunning) -> None:
        self._say({"held": True, "pid": error.pid})

    def failed(self, error: ChatbridgeError) -> None:
        self._say({"error": str(error)})

    def _say(self, line: dict[str, object]) -> None:
        if self._fd is None:
            return
        try:
            os.write(self._fd, json.dumps(line).encode() + b"\n")
            os.close(self._fd)
        except OSError:
            pass  # the link has gone; nobody is left to be told
        self._fd = None


def _options(argv: list[str]) -> argparse.Namespace:
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
        help="who starts it; a service takes over from a hub that a link started",
    )
    parser.add_argument("--report-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"chatbridge {__version__}")
    return parser.parse_args(argv)


def _standalone_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chatbridge mcp --standalone",
        description="Hub and MCP server in one process, without a socket.",
    )
    parser.add_argument("--config", type=Path, help="the configuration file to use")
    parser.add_argument("--label", help="shown beside the project's name")
    return parser.parse_args(argv)


def _log_to_stderr() -> None:
    """The journal has its own clock and reads the priority from the line's start."""
    journal = _goes_to_journal()
    form = "%(message)s" if journal else "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JournalFormat(form) if journal else logging.Formatter(form))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("mcp", "httpx", "uvicorn", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _goes_to_journal() -> bool:
    """Whether standard error is the stream that the variable names: a link hands on the variable of
    the service that its client runs in, but the hub's log is a file."""
    try:
        stream = os.fstat(2)
    except OSError:  # it was started without one
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"


class _JournalFormat(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        priority = PRIORITIES.get(record.levelname, 6)
        return f"<{priority}>{record.name}: {super().format(record)}"
