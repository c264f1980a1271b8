"""`chatbridge service`: keep the hub running as a systemd user service."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.cli.service import manager
from chatbridge.cli.service.install import install, uninstall
from chatbridge.cli.ui.running import FAILED, new_parser, printable, run
from chatbridge.core.errors import ServiceFailed

ABOUT = """\
Keeps the hub running as a systemd user service: it starts with this computer
or when you log in, and comes back by itself.

  install    write the units, enable and start them; again if folders change
  uninstall  stop it and remove the units
  status     whether it runs, and which version
  logs       what the hub says; what follows goes to journalctl (-f, -n 20)
  restart    after an upgrade or a change of the configuration; agents that
             wait do not notice
  start      start it after a stop
  stop       stop it until the next log-in, or until: chatbridge service start
"""


def main(argv: list[str]) -> int:
    options, rest = parser().parse_known_args(argv)
    if options.what != "logs" and rest:
        parser().error(f"unknown: {' '.join(rest)}")
    return run(lambda: WORK[options.what](options, rest))


def parser() -> argparse.ArgumentParser:
    found = new_parser("service", ABOUT, usage="chatbridge service WHAT [--linger | --no-linger]")
    found.add_argument("what", choices=tuple(WORK), metavar="WHAT", help="one of these")
    found.add_argument(
        "--linger",
        action=argparse.BooleanOptionalAction,
        help="install: go on after a log-out, without asking",
    )
    return found


def _install(options: argparse.Namespace, _rest: list[str]) -> int:
    return 0 if install(linger=options.linger, say=print) else FAILED


def _uninstall(_options: argparse.Namespace, _rest: list[str]) -> int:
    uninstall(say=print)
    return 0


def _status(_options: argparse.Namespace, _rest: list[str]) -> int:
    if why_not := manager.available():
        print(why_not)
        return FAILED
    known = manager.properties()
    if known.get("LoadState") != "loaded":
        print(
            f"The service is not installed. {manager.WITHOUT}\nFor good: chatbridge service install"
        )
        return FAILED
    active = known.get("ActiveState", "unknown")
    enabled = "enabled" if known.get("UnitFileState") == "enabled" else "not enabled"
    running = active == "active"
    print(f"{'✓' if running else '✗'} service    {'running' if running else active}, {enabled}")
    if not running and (text := known.get("StatusText")):
        print(f"             {printable(text)}")
    for line in _hub_lines():
        print(printable(line))
    linger = {True: "on", False: "off: it ends when you log out", None: "unknown"}
    print(f"{'✓' if manager.lingers() else '!'} lingering  {linger[manager.lingers()]}")
    return 0 if running else FAILED


def _hub_lines() -> list[str]:
    """What runs, against what is installed."""
    holder = lock_file.find_holder(runtime_paths.state_dir())
    if holder is None:
        return []
    lines = [f"✓ hub        version {holder.version}, pid {holder.pid}"]
    if holder.version != __version__:
        lines = [
            f"! hub        version {holder.version} runs, {__version__} is installed",
            "             → chatbridge service restart",
        ]
    if holder.started_by != "service":
        lines.append(f"!            it was started by a {holder.started_by}, not by the service")
    return lines


def _logs(_options: argparse.Namespace, rest: list[str]) -> int:
    words = manager.journal_command(rest)
    if not manager.has_systemd() or shutil.which(words[0]) is None:
        raise ServiceFailed(
            "there is no journal on this computer. A hub that an agent started writes to "
            f"{runtime_paths.log_path(runtime_paths.state_dir())}"
        )
    sys.stdout.flush()
    os.execvp(words[0], words)


def _restart(_options: argparse.Namespace, _rest: list[str]) -> int:
    _check_installed()
    before = lock_file.find_holder(runtime_paths.state_dir())
    manager.restart()
    was = f" (it was {before.version})" if before and before.version != __version__ else ""
    print(f"✓ the hub runs again, version {__version__}{was}")
    return 0


def _start(_options: argparse.Namespace, _rest: list[str]) -> int:
    _check_installed()
    manager.start()
    print("✓ the hub runs")
    return 0


def _stop(_options: argparse.Namespace, _rest: list[str]) -> int:
    _check_installed()
    manager.stop()
    print("✓ the service has stopped. An agent that asks starts a hub of its own.")
    return 0


def _check_installed() -> None:
    """:raises ServiceFailed:"""
    if why_not := manager.available():
        raise ServiceFailed(why_not)
    if not manager.is_installed():
        raise ServiceFailed("the service is not installed. Run: chatbridge service install")


WORK = {
    "install": _install,
    "uninstall": _uninstall,
    "status": _status,
    "logs": _logs,
    "restart": _restart,
    "start": _start,
    "stop": _stop,
}
