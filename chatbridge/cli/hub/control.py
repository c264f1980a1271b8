"""`chatbridge stop`, `restart` and `inbox`: ending the hub, and a link that logs a browser in."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub, connection
from chatbridge.cli.service.manager import Manager, this_manager
from chatbridge.core.errors import ChatbridgeError, HubUnreachable, SettingsError
from chatbridge.link import search
from chatbridge.system.processes import Handle

if TYPE_CHECKING:
    from chatbridge.channels.web.settings import Web

PATIENCE = 10.0
TRIES = 5
ADDRESS_WITHIN = 5.0
"""A hub that has just started takes a moment longer to open its inbox."""
OF_A_MACHINE = (
    "This computer has one hub for all its users, and its inbox is root's. Your own questions: "
    "chatbridge pending. For root: sudo CHATBRIDGE_STATE_DIR=/var/lib/chatbridge chatbridge inbox"
)


def stop(given: argparse.Namespace) -> int:
    state = runtime_paths.state_dir()
    if not given.force and lock_file.find_holder(state) is not None:
        check_settings()
    pid = end_hub(state)
    print("The hub is not running." if pid is None else f"The hub (pid {pid}) has stopped.")
    return 0


def restart(given: argparse.Namespace) -> int:
    if not given.force:
        check_settings()
    ran = lock_file.find_holder(runtime_paths.state_dir()) is not None
    restart_hub()
    print("The hub runs again." if ran else "No hub was running. One runs now.")
    return 0


def check_settings() -> None:
    """:raises SettingsError: no hub could start with the settings as they are now."""
    from chatbridge import settings

    try:
        settings.load()
    except SettingsError as error:
        raise SettingsError(
            f"{error}. Nothing was stopped: no other hub could start with these settings. "
            "To stop this one all the same, add --force"
        ) from None


def end_hub(state: str, *, manager: Manager | None = None) -> int | None:
    """The pid of the hub that has ended; None: none ran. :raises ChatbridgeError: it still runs."""
    named = lock_file.read(state)
    if named is None:
        return None
    try:
        # The handle comes first, then the check: the process that is signalled is the one checked.
        handle = Handle(named.pid)
    except OSError:
        return None
    with handle, suppress(ProcessLookupError):
        holder = lock_file.find_holder(state)
        if holder is None or holder.pid != named.pid:
            return None
        if service := _service_of(holder, manager):
            service.stop()  # with its socket, which would start it again for the next agent
            return holder.pid
        handle.terminate()
        if not handle.wait(PATIENCE):
            raise ChatbridgeError(
                f"The hub (pid {named.pid}) was told to stop, but still runs after "
                f"{PATIENCE:.0f} s. See {runtime_paths.log_path(state)}"
            )
    return named.pid


def restart_hub(*, start: bool = True, manager: Manager | None = None) -> bool:
    """Whether a hub runs now. `start`: also if none ran before.
    :raises ChatbridgeError: it cannot be stopped, or does not come up; the message says why."""
    state = runtime_paths.state_dir()
    holder = lock_file.find_holder(state)
    if service := _service_of(holder, manager):
        service.restart()
    elif not _ended(state) and not start:
        return False
    connection(start=True).close()
    return True


def _service_of(holder: lock_file.LockInfo | None, manager: Manager | None) -> Manager | None:
    """The service manager, if it runs this hub."""
    if holder is None or holder.started_by != "service":
        return None
    manager = manager or this_manager()
    return manager if manager.state().pid == holder.pid else None


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
    raise ChatbridgeError("The hub runs but cannot be found. Run: chatbridge stop, and try again")


def inbox(given: argparse.Namespace) -> int:
    from urllib.parse import urlsplit

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
                "(or CHATBRIDGE_WEB__ENABLED), then: chatbridge restart, and again: "
                "chatbridge inbox"
            )
        if time.monotonic() > until:
            raise ChatbridgeError(
                "The hub runs without its web inbox; its log says why: "
                f"{runtime_paths.log_path(state)}. Then: chatbridge restart, and again: "
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
