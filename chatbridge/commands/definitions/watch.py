"""Tells when definition files change on disk, without polling.

A folder is found by a way of names: each of them can be made, moved, removed, or be a link that is
turned elsewhere. So the folder of every name on the way is watched, and after each change the whole
way is gone anew.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from chatbridge.commands.definitions import inotify
from chatbridge.commands.definitions.inotify import Event, Inotify
from chatbridge.commands.definitions.library import is_definition
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

QUIET = 0.25
"""Seconds without a change: then those before are told, as one."""
LONGEST = 2.0
"""Seconds after which they are told all the same."""

_NAMES = inotify.CREATE | inotify.DELETE | inotify.MOVED_FROM | inotify.MOVED_TO | inotify.ATTRIB
_ITSELF = inotify.CLOSE_WRITE | inotify.ATTRIB | inotify.DELETE_SELF | inotify.MOVE_SELF
_MOST_LINKS = 40
"""As the system bounds them."""
_GONE_OR_CLOSED = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)


async def watch(
    dirs: Sequence[Path], changed: Callable[[], Awaitable[None]], *, clock: Clock
) -> None:
    """Call `changed` as soon as the folders are watched, and after each change, until cancelled;
    whether it fails or not. Where nothing can be watched it says so in the log and returns."""
    while True:
        try:
            sight = _Sight()
        except OSError as error:
            _say_no_more(error)
            await _call(changed)
            return
        try:
            try:
                await asyncio.to_thread(sight.look_at, dirs)
            except OSError as error:
                _say_no_more(error)
                await _call(changed)
                return
            # Read after the watches are there: what changes from now on is told.
            await _call(changed)
            await sight.quiet_after_a_change(clock)
        finally:
            sight.close()


async def _call(changed: Callable[[], Awaitable[None]]) -> None:
    try:
        await changed()
    except Exception:
        log.exception("changed definition files were not taken over; the next change is a new try")


def _say_no_more(error: OSError) -> None:
    known = {
        errno.EMFILE: ", see /proc/sys/fs/inotify/max_user_instances",
        errno.ENOSPC: ", see /proc/sys/fs/inotify/max_user_watches",
    }
    log.warning(
        "definition files are not watched (%s%s): after a change, restart the hub",
        error.strerror,
        known.get(error.errno or 0, ""),
    )


class _Sight:
    """What is watched of the folders as they are now."""

    def __init__(self) -> None:
        self._inotify = Inotify()
        self._names: dict[int, set[str]] = {}
        """By watch: the names that count there."""
        self._folders: set[int] = set()
        """Watches of folders with definitions."""
        self._seen = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._inotify.fd, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._inotify.fd)
        self._inotify.close()

    async def quiet_after_a_change(self, clock: Clock) -> None:
        await self._seen.wait()
        since = clock.monotonic()
        while self._seen.is_set() and clock.monotonic() - since < LONGEST:
            self._seen.clear()
            await clock.sleep(QUIET)

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
        at, names, links = "/", path.split("/")[::-1], 0
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = os.path.dirname(at)
                continue
            if (watch := self._add(at, _NAMES)) is not None:
                self._names.setdefault(watch, set()).add(name)
            here = os.path.join(at, name)
            try:
                if not stat.S_ISLNK(os.lstat(here).st_mode):
                    at = here
                    continue
                target = os.readlink(here)
            except OSError:
                return None
            links += 1
            if links > _MOST_LINKS:
                return None
            at = "/" if target.startswith("/") else at
            names += target.split("/")[::-1]
        return at

    def _add(self, path: str, mask: int, *, folder: bool = True) -> int | None:
        """None: it is not there, or not ours to look into; then a change is told by others."""
        try:
            return self._inotify.add(path, mask, folder=folder)
        except OSError as error:
            if error.errno in _GONE_OR_CLOSED:
                return None
            raise

    def _read(self) -> None:
        if any(self._counts(event) for event in self._inotify.read()):
            self._seen.set()

    def _counts(self, event: Event) -> bool:
        if event.watch == inotify.OVERFLOW:
            return True
        if not event.name:
            return not event.mask & inotify.IGNORED
        if event.name in self._names.get(event.watch, ()):
            return True
        return event.watch in self._folders and is_definition(event.name)


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [it.path for it in entries if is_definition(it.name) and it.is_symlink()]
    except OSError:
        return []
