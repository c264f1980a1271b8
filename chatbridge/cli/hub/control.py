"""`chatbridge stop` and `restart`: ending the hub, and starting another."""

from __future__ import annotations

import argparse
from contextlib import suppress

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub, connection
from chatbridge.cli.service.manager import Manager, this_manager
from chatbridge.core.errors import ChatbridgeError, HubUnreachable, SettingsError
from chatbridge.system.processes import Handle

STOP_SECONDS = 10.0
TRIES = 5
STOPPED = "The hub (pid {}) has stopped. An agent that waits, or asks next, starts another."


def stop(given: argparse.Namespace) -> int:
    state = runtime_paths.state_dir()
    if not given.force and lock_file.find_holder(state) is not None:
        check_settings()
    pid = end_hub(state)
    print("The hub is not running." if pid is None else STOPPED.format(pid))
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
    except ProcessLookupError:
        return None
    with handle, suppress(ProcessLookupError):
        holder = lock_file.find_holder(state)
        if holder is None or holder.pid != named.pid:
            return None
        if service := _service_of(holder, manager):
            service.stop()  # with its socket, which would start it again for the next agent
            return holder.pid
        handle.terminate()
        if not handle.wait(STOP_SECONDS):
            raise ChatbridgeError(
                f"The hub (pid {named.pid}) was told to stop, but still runs after "
                f"{STOP_SECONDS:.0f} s. See {runtime_paths.log_path(state)}"
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
    with suppress(ChatbridgeError):  # it runs, whatever it has to say of itself
        ask_hub("status")  # once its inbox is open
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
