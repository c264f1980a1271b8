"""Files of an agent's project, opened without leaving it.

Links are resolved first. The file is then opened part by part, without following any link, so that
one which is put there meanwhile is refused. chatbridge's own folders are never read, under whatever
name they are reached. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from chatbridge import runtime_paths
from chatbridge.core.errors import AttachmentError, SettingsError
from chatbridge.system import descriptors

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _NO_LINK
"""Does not block on a named pipe."""

MISSING = "There is no such file. Give the path of a file in the project."
OUTSIDE = "It is outside of the project. Copy the file into the project first."
OWN = "It is one of chatbridge's own files, which are never sent."
NOT_A_FILE = "It is not a regular file. Attach a file, not a folder or a device."
LINK = "A link is in the way. Give the path without links."
CHANGED = "It changed while it was read. Attach it again once nothing writes to it."


def own_folders(*, state: str, config: str, database: str) -> tuple[str, ...]:
    """What `open_in_project` never opens. The folder of the configuration is chatbridge's own at
    its usual place; elsewhere only what chatbridge has in it."""
    beside, usual = os.path.dirname(config), None
    with suppress(SettingsError):  # the user of a machine's hub has no home
        usual = runtime_paths.xdg("XDG_CONFIG_HOME", ".config", "chatbridge")
    # The file itself may be a link to somewhere else.
    of_config = (config, beside if beside == usual else os.path.join(beside, "secrets"))
    of_database = (database, f"{database}-wal", f"{database}-shm")
    return (state, runtime_paths.runtime_dir(state), *of_config, *of_database)


def open_in_project(path: str, *, folder: str, root: str, own: Sequence[str]) -> BinaryIO:
    """Open a file inside of the project. A read raises `AttachmentError` if the file changes.

    :param path: as the agent gives it; relative to `folder`
    :param root: the project's folder
    :param own: chatbridge's own folders and files
    :raises AttachmentError: as a sentence for the agent."""
    try:
        target = os.path.realpath(os.path.join(folder, path), strict=True)
        inside = os.path.realpath(root, strict=True)
        if not target.startswith(inside.rstrip("/") + "/"):
            raise AttachmentError(NOT_A_FILE if target == inside else OUTSIDE)
        return _opened(target, forbidden=_identities(own))
    except (FileNotFoundError, NotADirectoryError):
        raise AttachmentError(MISSING) from None
    except ValueError:  # a NUL character
        raise AttachmentError(MISSING) from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise AttachmentError(NOT_A_FILE) from None
        if error.errno == errno.ELOOP:
            raise AttachmentError(LINK) from None
        raise AttachmentError(
            f"It cannot be read ({error.strerror or error}). Check the path and its permissions."
        ) from None


def _identities(own: Sequence[str]) -> frozenset[tuple[int, int]]:
    """A name would not do: there may be a second one, by a mount, or where upper and lower case are
    the same."""
    found = set()
    for each in own:
        try:
            status = os.stat(each)
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def _opened(target: str, *, forbidden: frozenset[tuple[int, int]]) -> BinaryIO:
    """:raises OSError: :raises AttachmentError:"""
    *folders, name = Path(target).parts[1:]
    above = os.open("/", descriptors.FOLDER)
    try:
        for part in folders:
            inner = os.open(part, descriptors.FOLDER, dir_fd=above)
            os.close(above)
            above = inner
            _check_identity(os.fstat(above), forbidden)
        opened = os.open(name, _FILE, dir_fd=above)
    finally:
        os.close(above)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise AttachmentError(NOT_A_FILE)
        _check_identity(status, forbidden)
        return _UnchangedFile(opened, status)
    except BaseException:
        os.close(opened)
        raise


def _check_identity(status: os.stat_result, forbidden: frozenset[tuple[int, int]]) -> None:
    if (status.st_dev, status.st_ino) in forbidden:
        raise AttachmentError(OWN)


class _UnchangedFile(io.FileIO):
    """A file that, at its end, has to be as it was at its beginning."""

    def __init__(self, opened: int, before: os.stat_result) -> None:
        super().__init__(opened, "rb")
        self._before, self._read = before, 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(-1 if size is None else size)
        self._read += len(piece)
        ended = not piece or size is None or size < 0
        if ended and self._has_changed():
            raise AttachmentError(CHANGED)
        return piece

    def _has_changed(self) -> bool:
        now, before = os.fstat(self.fileno()), self._before
        same = (now.st_mtime_ns, now.st_size) == (before.st_mtime_ns, before.st_size)
        return not same or self._read != before.st_size
