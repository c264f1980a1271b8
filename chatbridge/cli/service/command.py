"""`chatbridge service`: keep the hub running as a systemd user service. Writes and removes its
units."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable

from chatbridge import __version__, lock_file, runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.cli.service import manager, unit_files
from chatbridge.cli.service.manager import SERVICE, SOCKET
from chatbridge.cli.ui.running import FAILED, WrongUsage, printable
from chatbridge.cli.ui.wording import shown
from chatbridge.core.errors import ChatbridgeError, ServiceFailed
from chatbridge.link import search

Say = Callable[[str], None]


def service(given: argparse.Namespace) -> int:
    if given.what == "logs":
        return _logs(given.rest)
    if given.rest:
        raise WrongUsage(f"unknown: {' '.join(given.rest)}")
    if given.what == "install":
        return 0 if install(linger=given.linger, say=print) else FAILED
    if given.what in ("uninstall", "status"):
        return _uninstall() if given.what == "uninstall" else _status()
    return _control(given.what, force=given.force)


def install(*, linger: bool | None, say: Say) -> bool:
    """Write the units and start them; whether the service runs now. Once is as good as twice.
    `linger` None: explain it, and ask where there is somebody to ask.
    :raises ServiceFailed: it does not start; the units stay in place."""
    why_not = manager.available()
    if why_not is not None:
        say(why_not)
        return False
    changed = _write(say)
    if names := unit_files.left_out():
        say(f"The service does not get what is set in this terminal: {', '.join(names)}.")
        say(f"Put it into {runtime_paths.config_path()}.")
    if changed:
        manager.systemctl("daemon-reload")
    if changed and manager.is_running():
        manager.stop()  # a socket can have another path only when nobody uses it
    manager.systemctl("--quiet", "enable", SERVICE, SOCKET)
    manager.start()
    _linger(linger, say)
    try:
        search.connect_machine_hub().close()
        if search.is_machine_hub_wanted():
            say("! this machine has a hub for all its users, and your agents use that one")
    except (OSError, ChatbridgeError):
        pass  # there is none
    return True


def _write(say: Say) -> bool:
    """Whether anything is new."""
    folder = unit_files.folder()
    changed = False
    try:
        os.makedirs(folder, exist_ok=True)
        for name, content in unit_files.contents().items():
            path = os.path.join(folder, name)
            new = not unit_files.has(path, content)
            if new:
                # A link to somebody's own files stays one.
                write_atomically(os.path.realpath(path), content.encode(), mode=0o644)
            changed = changed or new
            say(f"  {shown(path)}  {'written' if new else 'unchanged'}")
            for line in content.splitlines():
                if line.startswith(("ExecStart=", "Environment=", "ListenStream=")):
                    say(f"      {line}")
    except OSError as error:
        raise ServiceFailed(
            f"the units cannot be written into {folder} ({error.strerror}). Make it a folder that "
            "you can write to"
        ) from error
    return changed


def _linger(wanted: bool | None, say: Say) -> None:
    if manager.lingers():
        say("✓ running; starts with this computer")
        return
    say("✓ running; starts when you log in")
    if wanted is None:
        say("  It stops when you log out, and questions wait. Lingering keeps it running and")
        say("  starts it with this computer.")
        try:
            asked = sys.stdin.isatty() and sys.stdout.isatty()
            answer = input("? Turn lingering on? [Y/n] ") if asked else "n"
        except EOFError:
            answer = "n"
        wanted = answer.strip().lower() in ("", "y", "yes")
    if not wanted:
        say("  To turn it on later: chatbridge service install --linger")
    elif needed := manager.enable_linger():
        say(f"! lingering needs root on this computer. Run: {needed}")
    else:
        say("✓ lingering is on: it keeps running when you log out")


def _uninstall() -> int:
    """Stop the service and remove its units. Settings and questions stay."""
    why_not = manager.available()
    paths = [os.path.join(unit_files.folder(), name) for name in (SERVICE, SOCKET)]
    found = [path for path in paths if os.path.lexists(path)]
    if why_not is None and found:
        manager.systemctl("--quiet", "disable", "--now", SERVICE, SOCKET)
    for path in found:
        os.unlink(path)
        print(f"  {shown(path)}  removed")
    if why_not is None and found:
        manager.systemctl("daemon-reload")
    kept = f"The service is removed. {manager.WITHOUT} Your settings and questions are kept."
    print(kept if found else f"The service is not installed. {manager.WITHOUT}")
    return 0


def _status() -> int:
    if why_not := manager.available():
        print(why_not)
        return FAILED
    known = manager.properties()
    if known.get("LoadState") != "loaded":
        print(f"The service is not installed. {manager.WITHOUT}\n{manager.KEEP_RUNNING}")
        return FAILED
    active = known.get("ActiveState", "unknown")
    enabled = "enabled" if known.get("UnitFileState") == "enabled" else "not enabled"
    running = active == "active"
    print(f"{'✓' if running else '✗'} service    {'running' if running else active}, {enabled}")
    if not running and (text := known.get("StatusText")):
        print(f"             {printable(text)}")
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
    linger = {True: "on", False: "off: it stops when you log out", None: "unknown"}
    print(f"{'✓' if manager.lingers() else '!'} lingering  {linger[manager.lingers()]}")
    return 0 if running else FAILED


def _logs(rest: list[str]) -> int:
    # Not `--user`, which looks at a journal of one's own: not every system keeps one.
    words = ["journalctl", "--quiet", f"--user-unit={SERVICE}"]
    words += rest or ["--lines=100", "--no-pager"]
    if not manager.has_systemd() or shutil.which(words[0]) is None:
        raise ServiceFailed(
            "there is no journal on this computer. A hub that an agent started writes to "
            f"{runtime_paths.log_path(runtime_paths.state_dir())}"
        )
    sys.stdout.flush()
    os.execvp(words[0], words)


def _control(what: str, *, force: bool) -> int:
    """:raises ServiceFailed: :raises SettingsError: nothing was stopped."""
    from chatbridge.cli.hub.control import check_settings

    if why_not := manager.available():
        raise ServiceFailed(why_not)
    if manager.properties().get("LoadState") != "loaded":
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
