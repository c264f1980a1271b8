"""The system's own news of changed files: inotify, through the C library.

Owns the calls and the form of the events. What is worth watching is decided by `watch`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

ATTRIB, CLOSE_WRITE = 0x4, 0x8
MOVED_FROM, MOVED_TO = 0x40, 0x80
CREATE, DELETE = 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
IGNORED = 0x8000
"""The watch is gone, with what it was on."""
OVERFLOW = -1
"""The watch of the event that says: others were lost."""

_ONLY_FOLDERS, _ADD_TO_OTHERS = 0x1000000, 0x20000000
_EVENT = struct.Struct("iIII")
_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class Event:
    watch: int
    mask: int
    name: str
    """In the folder that is watched; empty: it is about the folder or file itself."""


class Inotify:
    def __init__(self) -> None:
        """:raises OSError: there is none on this system, or none is left."""
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            init = self._library.inotify_init1
        except (OSError, AttributeError):
            raise OSError(errno.ENOSYS, "this system has no inotify") from None
        self.fd: int = _checked(init(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str, mask: int, *, folder: bool = True) -> int:
        """Watch it, for these events beside those of before. :raises OSError:"""
        wanted = mask | _ADD_TO_OTHERS | (_ONLY_FOLDERS if folder else 0)
        add = self._library.inotify_add_watch
        return _checked(add(self.fd, ctypes.c_char_p(os.fsencode(path)), ctypes.c_uint32(wanted)))

    def read(self) -> Iterator[Event]:
        """What there is, without waiting."""
        try:
            data = os.read(self.fd, _AT_ONCE)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            yield Event(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0")))
            at += length

    def close(self) -> None:
        os.close(self.fd)


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
