"""`chatbridge stop`: end the hub of this state directory, in order, and say what happened."""

from __future__ import annotations

import os
import select
import signal
import sys

from chatbridge import rendezvous
from chatbridge.core.errors import ChatbridgeError

PATIENCE = 10.0
HELP = """\
usage: chatbridge stop

Stops the hub. Open questions stay open: the next hub goes on with them.
"""


def main(argv: list[str]) -> int:
    if argv:
        asked = argv[0] in ("-h", "--help")
        sys.stderr.write(HELP if asked else f"chatbridge stop does not know {argv[0]!r}.\n\n{HELP}")
        return 0 if asked else 2
    try:
        return stop(rendezvous.state_dir())
    except (ChatbridgeError, PermissionError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def stop(state: str) -> int:
    named = rendezvous.read_lock(state)
    try:
        # The handle comes first, then the check: the process that is signalled is the one checked.
        process = os.pidfd_open(named.pid) if named is not None else None
    except OSError:
        process = None
    if named is None or process is None:
        print("The hub is not running.")
        return 0
    try:
        holder = rendezvous.lock_holder(state)
        if holder is None or holder.pid != named.pid:
            print("The hub is not running.")
            return 0
        signal.pidfd_send_signal(process, signal.SIGTERM)
        poller = select.poll()
        poller.register(process, select.POLLIN)
        if not poller.poll(PATIENCE * 1000):
            sys.stderr.write(
                f"The hub (pid {named.pid}) was told to stop, but still runs after "
                f"{PATIENCE:.0f} s. See {rendezvous.log_path(state)}\n"
            )
            return 1
    except ProcessLookupError:
        pass
    finally:
        os.close(process)
    print(f"The hub (pid {named.pid}) has stopped.")
    return 0
