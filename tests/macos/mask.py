"""Linux with everything taken away that macOS lacks, for the processes of one Python environment.

`tests.macos` links this as the `sitecustomize` of an environment: every process of that Python is
masked before anything else is imported, whatever its variables and options are, but for `-S`.

What the product and libraries see: no epoll, pidfd, waitid, O_PATH, inotify or prctl, nothing
below /proc, /run and /sys, and `sys.platform` is darwin. Code below tests/ sees Linux, because it
looks at processes from outside. LOCAL_PEERCRED is emulated: here stands the kernel of a Mac, as its
headers describe it.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import select
import signal
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

_TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + "/"
_PRODUCT = os.path.join(os.path.dirname(os.path.dirname(_TESTS)), "chatbridge") + "/"
_HIDDEN_PATHS = ("/proc", "/run", "/sys")
_HIDDEN_FUNCTIONS = frozenset(("prctl", "inotify_init1", "inotify_add_watch"))
_SO_PEERCRED, _SO_PEERGROUPS = 17, 59
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_MOST_GROUPS = 16
_OS = (
    *("pidfd_open", "waitid", "waitid_result", "P_PIDFD", "P_PID", "P_ALL", "P_PGID", "O_PATH"),
    *("WNOWAIT", "WEXITED", "WSTOPPED", "CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "O_TMPFILE"),
    *("memfd_create", "eventfd", "pipe2", "splice", "copy_file_range", "getrandom"),
    *("sched_getaffinity", "sched_setaffinity", "setresuid", "setresgid", "posix_fadvise"),
    *("posix_fallocate", "fdatasync"),
)
_SOCKET = (
    *("SO_PEERCRED", "SO_PEERSEC", "SO_PASSCRED", "SCM_CREDENTIALS", "SOCK_CLOEXEC"),
    *("SOCK_NONBLOCK", "MSG_CMSG_CLOEXEC", "AF_NETLINK", "AF_PACKET"),
)


def _hide(module: types.ModuleType, names: tuple[str, ...]) -> None:
    """Leave the names to code of the tests alone."""
    real = {name: module.__dict__.pop(name) for name in names if name in module.__dict__}

    def found(name: str) -> Any:
        if name in real and sys._getframe(1).f_code.co_filename.startswith(_TESTS):
            return real[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__dict__["__getattr__"] = found


def _is_hidden(path: object) -> bool:
    if isinstance(path, int) or not isinstance(path, str | bytes | os.PathLike):
        return False
    name = os.fsdecode(path)
    if not any(name == each or name.startswith(f"{each}/") for each in _HIDDEN_PATHS):
        return False
    # Whoever of ours is the nearest counts: a library looks on behalf of its caller.
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_TESTS) and file != __file__:
            return False
        if file.startswith(_PRODUCT):
            return True
        frame = frame.f_back
    return False


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*given: Any, **named: Any) -> Any:
        path = given[0] if given else named.get("path", named.get("file"))
        if _is_hidden(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return function(*given, **named)

    for able in (
        os.supports_dir_fd,
        os.supports_fd,
        os.supports_follow_symlinks,
        os.supports_effective_ids,
    ):
        if function in able:
            able.add(guarded)
    return guarded


def _hide_paths() -> None:
    for name in ("open", "stat", "lstat", "readlink", "listdir", "scandir", "access"):
        setattr(os, name, _guarded(getattr(os, name)))
    builtins.open = io.open = _guarded(io.open)


def _speak_of_peers_as_a_mac() -> None:
    import socket

    asked = socket.socket.getsockopt

    def peer(sock: socket.socket) -> tuple[int, int, int]:
        raw = asked(sock, socket.SOL_SOCKET, _SO_PEERCRED, 12)
        pid, uid, gid = struct.unpack("iII", raw)
        return pid, uid, gid

    def getsockopt(sock: socket.socket, level: int, name: int, *size: int) -> int | bytes:
        if level == socket.SOL_SOCKET and name in (_SO_PEERCRED, _SO_PEERGROUPS):
            raise OSError(errno.ENOPROTOOPT, os.strerror(errno.ENOPROTOOPT))
        if level != _SOL_LOCAL or sock.family != socket.AF_UNIX:
            return asked(sock, level, name, *size)
        pid, uid, gid = peer(sock)
        if name == _LOCAL_PEERPID:
            return struct.pack("i", pid)
        assert name == _LOCAL_PEERCRED
        raw = asked(sock, socket.SOL_SOCKET, _SO_PEERGROUPS, 1024)
        others = [it for (it,) in struct.iter_unpack("I", raw) if it != gid]
        groups = [gid, *others][:_MOST_GROUPS]
        padded = groups + [0] * (_MOST_GROUPS - len(groups))
        return struct.pack(f"IIhxx{_MOST_GROUPS}I", 0, uid, len(groups), *padded)

    socket.socket.getsockopt = getsockopt  # type: ignore[assignment, method-assign]
    _hide(socket, _SOCKET)


def _hide_functions() -> None:
    import ctypes

    looked_up = ctypes.CDLL.__getattr__

    def found(library: ctypes.CDLL, name: str) -> Any:
        if name in _HIDDEN_FUNCTIONS:
            raise AttributeError(name)
        return looked_up(library, name)

    ctypes.CDLL.__getattr__ = found  # type: ignore[method-assign]


def _look_like_darwin() -> None:
    """urllib asks the system for proxies there, with a module that only macOS has. How this Python
    was built is read before, and kept."""
    import sysconfig

    sysconfig.get_config_vars()
    proxies: Any = types.ModuleType("_scproxy")
    proxies._get_proxies = dict
    proxies._get_proxy_settings = lambda: {"exclude_simple": False, "exceptions": ()}
    sys.modules["_scproxy"] = proxies
    sys.platform = "darwin"


_hide(select, tuple(name for name in dir(select) if name.startswith("EPOLL") or name == "epoll"))
_hide(signal, ("pidfd_send_signal",))
_hide(os, _OS)
_speak_of_peers_as_a_mac()
_hide_functions()
_look_like_darwin()
_hide_paths()
