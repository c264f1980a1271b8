"""What changes in folders: inotify on Linux, watchfiles elsewhere.

inotify is called directly. watchfiles wakes up at every step of its loop, and cannot watch what
does not exist yet. Importing this costs ctypes; only the hub does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
from collections.abc import Callable, Iterable

OVERFLOW = -1
"""The watch of an event that says: others were lost."""
STEP_SECONDS = 1.0
"""How often watchfiles wakes up, and how late it tells of a change at most."""

_ATTRIB, _CLOSE_WRITE = 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_IGNORED = 0x8000
"""The watch is gone, with what it was on."""
_ONLY_FOLDERS, _ADD_TO_OTHERS = 0x1000000, 0x20000000
_EVENT = struct.Struct("iIII")
_AT_ONCE = 65_536
_NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _ATTRIB
_ITSELF = _CLOSE_WRITE | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_SETTINGS = {
    errno.EMFILE: "see /proc/sys/fs/inotify/max_user_instances",
    errno.ENOSPC: "see /proc/sys/fs/inotify/max_user_watches",
}
_GONE_OR_CLOSED = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)


class Inotify:
    """Its file descriptor is readable when something has changed."""

    def __init__(self) -> None:
        """:raises OSError: there is no inotify on this system, or none is left."""
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            init = self._library.inotify_init1
        except (OSError, AttributeError):
            raise OSError(errno.ENOSYS, "this system has no inotify") from None
        self._descriptor = _checked(init(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)

    def watch_names(self, folder: str, *, itself: bool = False) -> int | None:
        """Watch the names in a folder, and the folder `itself`. None: it is not there, or not ours
        to look into; then a change is told by others. :raises OSError: there are no watches left.
        """
        return self._add(folder, _NAMES | _ONLY_FOLDERS | (_ITSELF if itself else 0))

    def watch_file(self, path: str) -> int | None:
        """The same for a file."""
        return self._add(path, _ITSELF)

    def read(self) -> list[tuple[int, str]]:
        """Watches and names in their folders; an empty name is about the folder or file itself."""
        try:
            data = os.read(self._descriptor, _AT_ONCE)
        except BlockingIOError:
            return []
        found, at = list[tuple[int, str]](), 0
        while at < len(data):
            watch, mask, _cookie, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
            if name or watch == OVERFLOW or not mask & _IGNORED:
                found.append((watch, name))
        return found

    def _add(self, path: str, mask: int) -> int | None:
        add = self._library.inotify_add_watch
        name = ctypes.c_char_p(os.fsencode(path))
        try:
            return _checked(add(self._descriptor, name, ctypes.c_uint32(mask | _ADD_TO_OTHERS)))
        except OSError as error:
            if error.errno in _GONE_OR_CLOSED:
                return None
            raise


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        where = f", {_SETTINGS[number]}" if number in _SETTINGS else ""
        raise OSError(number, os.strerror(number) + where)
    return result


class WatchfilesThread:
    """watchfiles in a thread. Folders below those given are not watched."""

    def __init__(self, folders: Iterable[str], told: Callable[[set[str]], None]) -> None:
        """`told` gets the paths that have changed, in the thread. :raises OSError:"""
        try:
            from watchfiles._rust_notify import RustNotify
        except ImportError:
            raise OSError(errno.ENOSYS, "watchfiles is not installed") from None
        self._notify = RustNotify(
            list(folders),
            debug=False,
            force_polling=False,
            poll_delay_ms=0,
            recursive=False,
            ignore_permission_denied=True,
        )
        self._told = told
        self._stop = threading.Event()
        # Nobody waits for its end, which comes a step after `close`.
        threading.Thread(target=self._run, name="file changes", daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        step = int(STEP_SECONDS * 1000)
        with self._notify as notify:
            while True:
                found = notify.watch(step, step, 0, self._stop)
                if isinstance(found, str):  # "stop", or a signal, which the main thread has, too
                    return
                self._told({path for _, path in found})
