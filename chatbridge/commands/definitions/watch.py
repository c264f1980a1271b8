"""Tells when definition files change on disk, without polling: an idle hub does not wake up.

Each name on the path of a folder can be created, moved, removed, or be a link that is changed. So
the folder of every name on the path is watched, and after each change the whole path is walked
again. Where there is no inotify, only the folders themselves are watched, or the nearest that
exist, and the hub wakes up once a second.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from chatbridge.commands.arguments.paths import walk
from chatbridge.commands.definitions.library import is_definition
from chatbridge.core.ports import Clock
from chatbridge.system.file_changes import OVERFLOW, Inotify, WatchfilesThread

log = logging.getLogger(__name__)

QUIET_SECONDS = 0.25
"""After so long without a change those before are told, as one."""
MAX_DELAY_SECONDS = 2.0
"""After so long they are told all the same."""


async def watch(
    dirs: Sequence[Path], changed: Callable[[], Awaitable[None]], *, clock: Clock
) -> None:
    """Call `changed` as soon as the folders are watched, and after each change, until cancelled;
    whether it fails or not. Where nothing can be watched it says so in the log and returns."""
    while True:
        with ExitStack() as stack:
            watcher: _Watcher | None = None
            try:
                watcher = stack.enter_context(closing(_new_watcher()))
                await asyncio.to_thread(watcher.watch, dirs)
            except OSError as error:
                watcher = None
                log.warning(
                    "definition files are not watched (%s): after a change, restart the hub",
                    error.strerror,
                )
            # Read after the watches are there: what changes from now on is told.
            try:
                await changed()
            except Exception:
                log.exception(
                    "changed definition files were not taken over; the next change is a new try"
                )
            if watcher is None:
                return
            await watcher.wait_for_changes(clock)


def _new_watcher() -> _Watcher:
    """:raises OSError: nothing can be watched."""
    try:
        return _InotifyWatcher()
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return _FallbackWatcher()


class _Watcher(ABC):
    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def watch(self, dirs: Sequence[Path]) -> None:
        """:raises OSError: there are no watches left."""

    async def wait_for_changes(self, clock: Clock) -> None:
        await self._changed.wait()
        since = clock.monotonic()
        while self._changed.is_set() and clock.monotonic() - since < MAX_DELAY_SECONDS:
            self._changed.clear()
            await clock.sleep(QUIET_SECONDS)


class _InotifyWatcher(_Watcher):
    """Every name on the way to each folder, with inotify."""

    def __init__(self) -> None:
        super().__init__()
        self._inotify = Inotify()
        self._names: dict[int, set[str]] = {}
        """By watch: the names that count there."""
        self._folders: set[int] = set()
        self._loop.add_reader(self._inotify, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._inotify)
        self._inotify.close()

    def watch(self, dirs: Sequence[Path]) -> None:
        for each in dirs:
            folder = self._followed(os.path.abspath(each))
            if folder is None:
                continue
            watch = self._inotify.watch_names(folder, itself=True)
            if watch is None:
                continue
            self._folders.add(watch)
            for path in _links_in(folder):
                # A definition that lives elsewhere, as with dotfiles.
                if (file := self._followed(path)) is not None:
                    self._inotify.watch_file(file)

    def _followed(self, path: str) -> str | None:
        """Go the path as the system does, and watch every name on it. Where it leads, if it does.
        Each folder is watched before its name is looked up, so that no change is missed."""
        try:
            for folder, name in walk(path):
                if (watch := self._inotify.watch_names(folder)) is not None:
                    self._names.setdefault(watch, set()).add(name)
        except OSError:
            return None
        real = os.path.realpath(path)
        return real if os.path.exists(real) else None

    def _read(self) -> None:
        for watch, name in self._inotify.read():
            named = name in self._names.get(watch, ())
            defined = watch in self._folders and is_definition(name)
            if watch == OVERFLOW or not name or named or defined:
                self._changed.set()


class _FallbackWatcher(_Watcher):
    """Each folder, or the nearest above it that exists, and the folders of definitions that are
    links: what watchfiles can do without hearing of everything on the disk."""

    _thread: WatchfilesThread | None = None

    def close(self) -> None:
        if self._thread is not None:
            self._thread.close()

    def watch(self, dirs: Sequence[Path]) -> None:
        folders = {os.path.realpath(each) for each in dirs}
        files = {os.path.realpath(path) for each in folders for path in _links_in(each)}
        near = {_nearest(path) for path in (*folders, *map(os.path.dirname, files))}

        def told(paths: set[str]) -> None:
            if any(map(counts, paths)):
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._changed.set)

        def counts(path: str) -> bool:
            folder, name = os.path.split(path)
            inside = folder in folders and is_definition(name)
            above = any(f"{each}/".startswith(f"{path}/") for each in folders)
            return inside or above or path in files

        self._thread = WatchfilesThread(near, told)


def _nearest(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [it.path for it in entries if is_definition(it.name) and it.is_symlink()]
    except OSError:
        return []
