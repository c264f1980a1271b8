"""Run instead of `python -m chatbridge` (see `warm_processes`): the command goes on in a fork of
the process that has the imports behind it, with this one's words, environment, descriptors, folder
and terminal. This one waits, passes signals on, and ends as the command does.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

sys.path.append(os.path.abspath(f"{__file__}/../../../.."))

from tests.fakes.warm.handing import Handed, plain

PASSED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)


def main() -> int:
    address, *words = sys.argv[1:]
    if not plain():
        os.execv(sys.executable, [sys.executable, "-m", "chatbridge", *words])
    terminal = os.isatty(0) and _gave_up_its_terminal()
    handed = Handed(address, words, 0, 1, 2, kind="command", terminal=terminal)
    command = int(handed.said())
    for number in PASSED_ON:
        _signal.signal(number, lambda number, _: os.kill(command, number))
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    ended = int(handed.said())
    if ended < 0:
        _signal.signal(-ended, _signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    return ended


def _gave_up_its_terminal() -> bool:
    """Whether there was one that belonged to this process: the command's session takes it."""
    import fcntl
    import termios

    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    if os.getsid(0) != os.getpid():
        return False
    before = _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCNOTTY)
    _signal.signal(_signal.SIGHUP, before)
    return True


if __name__ == "__main__":
    sys.exit(main())
