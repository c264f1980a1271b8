"""Installs the user service, and removes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from chatbridge import runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.cli.service import manager, unit_files
from chatbridge.cli.service.manager import SERVICE, SOCKET
from chatbridge.cli.ui.wording import shown
from chatbridge.core.errors import ChatbridgeError, ServiceFailed
from chatbridge.link import search

Say = Callable[[str], None]


def install(*, linger: bool | None, say: Say) -> bool:
    """Write the units and start them; whether the service runs now. Once is as good as twice.
    `linger` None: explain it, and ask where there is somebody to ask.

    :raises ServiceFailed: it does not start; the units stay in place.
    """
    why_not = manager.available()
    if why_not is not None:
        say(why_not)
        return False
    changed = _write(say)
    if names := unit_files.left_out():
        say(f"The service does not see what is set in this terminal: {', '.join(names)}.")
        say(f"Put it into {runtime_paths.config_path()}.")
    if changed:
        manager.systemctl("daemon-reload")
    if changed and manager.is_running():
        manager.stop()  # a socket can have another path only when nobody uses it
    manager.systemctl("--quiet", "enable", SERVICE, SOCKET)
    manager.start()
    _linger(linger, say)
    if _machine_has_one():
        say("! this machine has a hub for all its users, and your agents use that one")
    return True


def uninstall(*, say: Say) -> None:
    """Stop the service and remove its units. Settings and questions stay."""
    why_not = manager.available()
    paths = [os.path.join(unit_files.folder(), name) for name in (SERVICE, SOCKET)]
    found = [path for path in paths if os.path.lexists(path)]
    if why_not is None and found:
        manager.systemctl("--quiet", "disable", "--now", SERVICE, SOCKET)
    for path in found:
        os.unlink(path)
        say(f"  {shown(path)}  removed")
    if why_not is None and found:
        manager.systemctl("daemon-reload")
    say(
        f"The service is gone. {manager.WITHOUT} Your settings and questions are kept."
        if found
        else f"The service is not installed. {manager.WITHOUT}"
    )


def _write(say: Say) -> bool:
    """Whether anything is new."""
    folder = unit_files.folder()
    changed = False
    try:
        os.makedirs(folder, exist_ok=True)
        for name, content in unit_files.contents().items():
            path = os.path.join(folder, name)
            new = _read(path) != content
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


def _machine_has_one() -> bool:
    try:
        search.connect_machine_hub().close()
    except (OSError, ChatbridgeError):
        return False
    return search.is_machine_hub_wanted()


def _linger(wanted: bool | None, say: Say) -> None:
    if manager.lingers():
        say("✓ running, starts with this computer")
        return
    say("✓ running, starts when you log in")
    if wanted is None:
        say("  When you log out it ends, and questions wait. Lingering keeps it running, and")
        say("  starts it with this computer.")
        wanted = _asked("? Turn lingering on? [Y/n] ")
    if not wanted:
        say("  To turn it on later: chatbridge service install --linger")
    elif manager.enable_linger():
        say("✓ lingering is on: it goes on when you log out")
    else:
        say(f"! lingering needs root on this computer. Run: {manager.linger_command()}")


def _asked(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input(question).strip().lower() in ("", "y", "yes")
    except EOFError:
        return False


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None
