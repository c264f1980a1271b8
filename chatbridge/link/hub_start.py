"""Starting a hub from a process that goes on without it. Standard library only.

Owns the detaching and the environment; whether a hub is wanted, and what its report means, is the
caller's business (see docs/link-protocol.md).
"""

from __future__ import annotations

import fcntl
import os
import sys

import chatbridge
from chatbridge import rendezvous

LONG_LOG = 5 * 1024 * 1024


def start_hub(state: str) -> int:
    """Start a hub in a session of its own: the descriptor that its report comes from.

    The caller gets no child: the hub belongs to init.
    """
    rendezvous.make_private(state)
    environment = _hub_environment(state)
    log = _open_log(rendezvous.log_path(state))
    report, report_end = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            _become_hub(environment, log=log, report=report_end)
    finally:
        for descriptor in (log, report_end):
            os.close(descriptor)
    os.waitpid(child, 0)
    return report


def _become_hub(environment: dict[str, str], *, log: int, report: int) -> None:
    """Never returns: the forked child must not unwind into the caller's stack."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        # First out of the way, since a client may have started us with any of 0 to 3 closed.
        null, log, report = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (null, log, report))
        for descriptor, target in ((null, 0), (null, 1), (log, 2), (report, 3)):
            os.dup2(descriptor, target)
        _close_above(3)
        os.umask(0o077)
        os.chdir("/")
        python = sys.executable
        words = ["-m", "chatbridge", "hub", "--started-by", "link", "--report-fd", "3"]
        os.execve(python, [python, *words], environment)
    except BaseException as error:  # noqa: BLE001 - whatever it was, this child ends here
        os.write(2, f"chatbridge: the hub could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def _close_above(last: int) -> None:
    """A hub that kept a descriptor of its client's would keep that pipe open for days."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > last:
            try:
                os.close(int(name))
            except OSError:  # the one that the listing itself used
                pass


def _open_log(path: str) -> int:
    """To append to. A long one is put aside first; the one before it goes."""
    try:
        if os.path.getsize(path) > LONG_LOG:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _hub_environment(state: str) -> dict[str, str]:
    """The link's own environment, made independent of its working directory."""
    environment = dict(os.environ, CHATBRIDGE_STATE_DIR=state)
    for name in ("CHATBRIDGE_CONFIG", "CHATBRIDGE_RUNTIME_DIR"):
        if environment.get(name):
            environment[name] = rendezvous.absolute(environment[name])
    # These speak of the service that the client runs in, if it runs in one.
    # And the last one of the command that it runs in: with that the hub would end.
    for name in ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "CHATBRIDGE_OPERATION"):
        environment.pop(name, None)
    # A checkout that is run in place is importable only from its own directory.
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(chatbridge.__file__)))
    if sys.path and sys.path[0] == checkout:
        rest = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{checkout}{os.pathsep}{rest}" if rest else checkout
    return environment
