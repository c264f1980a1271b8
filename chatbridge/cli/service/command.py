"""`chatbridge service`: keep the hub running as a service. Writes and removes its files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.cli.service.manager import (
    KEEP_RUNNING,
    WITHOUT,
    Lingering,
    Manager,
    left_out,
    this_manager,
    why_no_install,
)
from chatbridge.cli.ui.running import FAILED, WrongUsage, is_interactive, printable
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.errors import ChatbridgeError, ServiceFailed
from chatbridge.link import search

Say = Callable[[str], None]


def service(given: argparse.Namespace, manager: Manager | None = None) -> int:
    manager = manager or this_manager()
    if given.what == "logs":
        return _logs(manager, given.rest)
    if given.rest:
        raise WrongUsage(f"unknown: {' '.join(given.rest)}")
    if given.what == "install":
        return 0 if install(manager, linger=given.linger, say=print) else FAILED
    if given.what in ("uninstall", "status"):
        return _uninstall(manager) if given.what == "uninstall" else _status(manager)
    return _control(manager, given.what, force=given.force)


def install(manager: Manager, *, linger: bool | None, say: Say) -> bool:
    """Write the files and start the service; whether it runs now. Once is as good as twice.
    `linger` None: explain it, and ask where there is somebody to ask.
    :raises ServiceFailed: it does not start; the files stay in place."""
    if why_not := why_no_install(manager):
        say(why_not)
        return False
    changed = _write(manager, say)
    if names := left_out():
        say(f"The service does not get what is set in this terminal: {', '.join(names)}.")
        say(f"Put it into {runtime_paths.config_path()}.")
    manager.install(changed=changed)
    if manager.lingering is not None:
        _linger(manager.lingering, linger, say)
    else:
        say("✓ running; starts when you log in, and stops when you log out")
    try:
        search.connect_machine_hub().close()
        if search.is_machine_hub_wanted():
            say("! this machine has a hub for all its users, and your agents use that one")
    except (OSError, ChatbridgeError):
        pass  # there is none
    return True


def _write(manager: Manager, say: Say) -> bool:
    """Whether anything is new."""
    changed = False
    for path, content in manager.files().items():
        new = not _has(path, content)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if new:
                # A link to somebody's own files stays one.
                write_atomically(os.path.realpath(path), content.encode(), mode=0o644)
        except OSError as error:
            raise ServiceFailed(
                f"{path} cannot be written ({error.strerror}). Make its folder one that you can "
                "write to"
            ) from error
        changed = changed or new
        say(f"  {display_path(path)}  {'written' if new else 'unchanged'}")
        for line in manager.telling(content):
            say(f"      {line}")
    return changed


def _has(path: str, content: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read() == content
    except (OSError, UnicodeDecodeError):
        return False


def _linger(lingering: Lingering, wanted: bool | None, say: Say) -> None:
    if lingering.is_on():
        say("✓ running; starts with this computer")
        return
    say("✓ running; starts when you log in")
    if wanted is None:
        say("  It stops when you log out, and questions wait. Lingering keeps it running and")
        say("  starts it with this computer.")
        try:
            answer = input("? Turn lingering on? [Y/n] ") if is_interactive() else "n"
        except EOFError:
            answer = "n"
        wanted = answer.strip().lower() in ("", "y", "yes")
    if not wanted:
        say("  To turn it on later: chatbridge service install --linger")
    elif needed := lingering.turn_on():
        say(f"! lingering needs root on this computer. Run: {needed}")
    else:
        say("✓ lingering is on: it keeps running when you log out")


def _uninstall(manager: Manager) -> int:
    """Stop the service and remove its files. Settings and questions stay."""
    found = manager.uninstall()
    for path in found:
        print(f"  {display_path(path)}  removed")
    kept = f"The service is removed. {WITHOUT} Your settings and questions are kept."
    print(kept if found else f"The service is not installed. {WITHOUT}")
    return 0


def _status(manager: Manager) -> int:
    if why_not := manager.available():
        print(why_not)
        return FAILED
    known = manager.state()
    if not known.installed:
        print(f"The service is not installed. {WITHOUT}\n{KEEP_RUNNING}")
        return FAILED
    enabled = "enabled" if known.enabled else "not enabled"
    word = "running" if known.running else known.word
    print(f"{'✓' if known.running else '✗'} service    {word}, {enabled}")
    if not known.running and known.why:
        print(f"             {printable(known.why)}")
    if holder := lock_file.find_holder(runtime_paths.state_dir()):
        version = printable(holder.version)
        if version == __version__:
            print(f"✓ hub        version {version}, pid {holder.pid}")
        else:
            print(f"! hub        version {version} runs, {__version__} is installed")
            print("             → chatbridge service restart")
        if holder.started_by != "service":
            who = printable(holder.started_by)
            print(f"!            it was started by a {who}, not by the service")
    if manager.lingering is not None:
        lingers = manager.lingering.is_on()
        words = {True: "on", False: "off: it stops when you log out", None: "unknown"}
        print(f"{'✓' if lingers else '!'} lingering  {words[lingers]}")
    return 0 if known.running else FAILED


def _logs(manager: Manager, options: list[str]) -> int:
    words = manager.log_command(options)
    sys.stdout.flush()
    os.execvp(words[0], words)


def _control(manager: Manager, what: str, *, force: bool) -> int:
    """:raises ServiceFailed: :raises SettingsError: nothing was stopped."""
    from chatbridge.cli.hub.control import check_settings

    if why_not := manager.available():
        raise ServiceFailed(why_not)
    if not manager.state().installed:
        raise ServiceFailed("the service is not installed. Run: chatbridge service install")
    if what != "start" and not force:
        check_settings()
    if what == "restart":
        before = lock_file.find_holder(runtime_paths.state_dir())
        manager.restart()
        was = f" (it was {before.version})" if before and before.version != __version__ else ""
        print(f"✓ the hub runs again, version {__version__}{was}")
    elif what == "start":
        manager.start()
        print("✓ the hub runs")
    else:
        manager.stop()
        print("✓ the service has stopped. The next agent that asks starts a hub.")
    return 0
