"""Makes changed settings count: the hub is ended and comes back with them.

Agents that wait do not notice. A hub that runs as a user service is restarted by its manager; any
other is stopped, and a new one started as a link would start it.
"""

from __future__ import annotations

from chatbridge import runtime_paths
from chatbridge.cli.hub.hub_client import connection
from chatbridge.cli.hub.stop import end_hub
from chatbridge.cli.service import manager
from chatbridge.core.errors import ChatbridgeError, HubUnreachable

TRIES = 5


def restart_hub(*, start: bool = True) -> bool:
    """Whether a hub runs now. `start`: also if none ran before.

    :raises ChatbridgeError: it cannot be stopped, or does not come up; the message says why.
    """
    state = runtime_paths.state_dir()
    holder = runtime_paths.lock_holder(state)
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
