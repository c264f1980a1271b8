"""Run instead of `python -m chatbridge` (see `warm_processes`): the command goes on in a fork of
the process that has the imports behind it, with this one's words, environment, descriptors, folder
and terminal. This one waits, passes signals on, and ends as the command does.
"""

import fcntl
import os
import signal
import socket
import sys
import termios

sys.path.append(os.path.abspath(f"{__file__}/../../../.."))

from tests.fakes.warm.handing import descriptors, plain, request

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main() -> int:
    address, *words = sys.argv[1:]
    if not plain():
        os.execv(sys.executable, [sys.executable, "-m", "chatbridge", *words])
    about = request(words, kind="command", terminal=_gave_up_its_terminal())
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect("\0" + address)
        socket.send_fds(sock, [about], descriptors(0, 1, 2))
        command = int(sock.recv(20))
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: os.kill(command, number))
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        ended = int(sock.recv(20))
    if ended < 0:
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    return ended


def _gave_up_its_terminal() -> bool:
    """Whether there was one that belonged to this process: the command's session takes it."""
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    if os.getsid(0) != os.getpid():
        return False
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCNOTTY)
    signal.signal(signal.SIGHUP, before)
    return True


if __name__ == "__main__":
    sys.exit(main())
