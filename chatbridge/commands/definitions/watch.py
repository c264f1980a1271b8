"""Tells when definition files change on disk, without polling: an idle hub does not wake up.

Each name on the path of a folder can be created, moved, removed, or be a link that is changed. So
the folder of every name on the path is watched, and after each change the whole path is walked
again. inotify is called directly: watchfiles wakes up at every step of its loop (20 times a second
by default), and cannot watch what does not exist yet.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import logging
import os
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from chatbridge.commands.arguments.argv import walk
from chatbridge.commands.definitions.library import is_definition
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

QUIET_SECONDS = 0.25
"""Seconds without a change: then those before are told, as one."""
LONGEST_SECONDS = 2.0
"""Seconds after which they are told all the same."""

_ATTRIB, _CLOSE_WRITE = 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_IGNORED = 0x8000
"""The watch is gone, with what it was on."""
_OVERFLOW = -1
"""The watch of the event that says: others were lost."""
_ONLY_FOLDERS, _ADD_TO_OTHERS = 0x1000000, 0x20000000
_EVENT = struct.Struct("iIII")
_AT_ONCE = 65_536
_NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _ATTRIB
_ITSELF = _CLOSE_WRITE | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_SETTINGS = {
    errno.EMFILE: ", see /proc/sys/fs/inotify/max_user_instances",
    errno.ENOSPC: ", see /proc/sys/fs/inotify/max_user_watches",
}
_GONE_OR_CLOSED = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)


async def watch(
    dirs: Sequence[Path], changed: Callable[[], Awaitable[None]], *, clock: Clock
) -> None:
    """Call `changed` as soon as the folders are watched, and after each change, until cancelled;
    whether it fails or not. Where nothing can be watched it says so in the log and returns."""
    while True:
        with ExitStack() as stack:
            sight: _Sight | None = None
            try:
                sight = stack.enter_context(closing(_Sight()))
                await asyncio.to_thread(sight.look_at, dirs)
            except OSError as error:
                sight = None
                log.warning(
                    "definition files are not watched (%s%s): after a change, restart the hub",
                    error.strerror,
                    _SETTINGS.get(error.errno or 0, ""),
                )
            # Read after the watches are there: what changes from now on is told.
            try:
                await changed()
            except Exception:
                log.exception(
                    "changed definition files were not taken over; the next change is a new try"
                )
            if sight is None:
                return
            await sight.quiet_after_a_change(clock)


class _Sight:
    def __init__(self) -> None:
        """:raises OSError: there is no inotify on this system, or none is left."""
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            init = self._library.inotify_init1
        except (OSError, AttributeError):
            raise OSError(errno.ENOSYS, "this system has no inotify") from None
        self._fd = _checked(init(os.O_NONBLOCK | os.O_CLOEXEC))
        self._names: dict[int, set[str]] = {}
        """By watch: the names that count there."""
        self._folders: set[int] = set()
        self._seen = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    async def quiet_after_a_change(self, clock: Clock) -> None:
        await self._seen.wait()
        since = clock.monotonic()
        while self._seen.is_set() and clock.monotonic() - since < LONGEST_SECONDS:
            self._seen.clear()
            await clock.sleep(QUIET_SECONDS)

    def look_at(self, dirs: Sequence[Path]) -> None:
        """:raises OSError: there are no watches left."""
        for each in dirs:
            folder = self._followed(os.path.abspath(each))
            if folder is None:
                continue
            watch = self._add(folder, _NAMES | _ITSELF)
            if watch is None:
                continue
            self._folders.add(watch)
            for path in _links_in(folder):
                # A definition that lives elsewhere, as with dotfiles.
                if (file := self._followed(path)) is not None:
                    self._add(file, _ITSELF, folder=False)

    def _followed(self, path: str) -> str | None:
        """Go the path as the system does, and watch every name on it. Where it leads, if it does.
        Each folder is watched before its name is looked up, so that no change is missed."""
        try:
            for folder, name in walk(path):
                if (watch := self._add(folder, _NAMES)) is not None:
                    self._names.setdefault(watch, set()).add(name)
        except OSError:
            return None
        real = os.path.realpath(path)
        return real if os.path.exists(real) else None

    def _add(self, path: str, mask: int, *, folder: bool = True) -> int | None:
        """None: it is not there, or not ours to look into; then a change is told by others."""
        wanted = mask | _ADD_TO_OTHERS | (_ONLY_FOLDERS if folder else 0)
        add = self._library.inotify_add_watch
        name = ctypes.c_char_p(os.fsencode(path))
        try:
            return _checked(add(self._fd, name, ctypes.c_uint32(wanted)))
        except OSError as error:
            if error.errno in _GONE_OR_CLOSED:
                return None
            raise

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _AT_ONCE)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            if self._counts(watch, mask, os.fsdecode(data[at - length : at].rstrip(b"\0"))):
                self._seen.set()

    def _counts(self, watch: int, mask: int, name: str) -> bool:
        """`name`: in the folder that is watched; empty: it is about the folder or file itself."""
        if watch == _OVERFLOW:
            return True
        if not name:
            return not mask & _IGNORED
        if name in self._names.get(watch, ()):
            return True
        return watch in self._folders and is_definition(name)


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [it.path for it in entries if is_definition(it.name) and it.is_symlink()]
    except OSError:
        return []


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
