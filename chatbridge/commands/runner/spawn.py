"""Starting one command: a new session, nothing to read, both outputs into one pipe.

posix_spawn knows no working directory. The runner has one thread, so it goes there itself and back
again; that is cheaper than a fork, and errors come back as they are.
"""

from __future__ import annotations

import errno
import os
import resource
import signal

_DEFAULTS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
"""Python ignores SIGPIPE, and whoever started the hub may have ignored others."""
_files = resource.getrlimit(resource.RLIMIT_NOFILE)
"""As the runner found them: programs that count on a low number get it."""


class NotStarted(Exception):
    """Says why, in words for the agent and its owner."""


def allow_files(wanted: int) -> int:
    """Let the runner have that many open files; how many it really can."""
    _, most = _files
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, _files[0]), most))
    return max(wanted, _files[0])


def spawn(
    executable: str, argv: list[str], environment: dict[str, str], *, folder: str
) -> tuple[int, int]:
    """The process, which leads its session and group, and the end of its output to read from.

    :raises NotStarted:
    """
    for path in (executable, folder):
        if not os.path.isabs(path):
            raise NotStarted(f"{path} is not a whole path; nothing was started")
    try:
        reading, writing = os.pipe()
    except OSError as error:
        raise NotStarted(f"too much is open already ({error.strerror})") from error
    now = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        _enter(folder)
        resource.setrlimit(resource.RLIMIT_NOFILE, _files)
        pid = os.posix_spawn(
            executable,
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, writing, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=_DEFAULTS,
        )
        os.set_blocking(reading, False)
    except BaseException as error:
        os.close(reading)
        if isinstance(error, OSError):
            raise NotStarted(_why(executable, error)) from error
        if isinstance(error, ValueError):  # a zero byte, or a character that is none
            raise NotStarted(f"its arguments cannot be handed over ({error})") from error
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, now)
        os.chdir("/")
        os.close(writing)
    return pid, reading


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise NotStarted(f"the folder {folder} cannot be entered ({error.strerror})") from error


def _why(executable: str, error: OSError) -> str:
    if error.errno == errno.ENOENT and os.path.exists(executable):
        return f"{executable} could not be started: the program that its first line names is gone"
    if error.errno == errno.E2BIG:
        return f"{executable} could not be started: its arguments are too long for this machine"
    return f"{executable} could not be started ({error.strerror})"
