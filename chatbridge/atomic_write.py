"""Replaces a file in one step: readers, and whoever comes after a crash, see the old content or the
new, never a part of it. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Callable

FOR_THE_OWNER = 0o600


def write_atomically(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    mode: int = FOR_THE_OWNER,
    owner: tuple[int, int] | None = None,
    overwrite: bool = True,
    check: Callable[[], None] | None = None,
    durable: bool = True,
) -> None:
    """Write a file beside it, bring that to the disk, and give it the name.

    :param mode: the file's mode, whatever the umask is
    :param owner: user and group to give the file to; None: whoever writes
    :param overwrite: False: there must be no such file yet
    :param check: called at the last moment; if it raises, nothing has changed
    :param durable: False: a power cut may lose the new content
    :raises OSError: nothing has changed.
    """
    folder, name = os.path.split(os.fspath(path))
    beside = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(beside, flags, FOR_THE_OWNER), "wb") as file:
        try:
            file.write(content)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
            if check is not None:
                check()
            if overwrite:
                os.replace(beside, path)
            else:
                os.link(beside, path)
                os.unlink(beside)
        except BaseException:
            os.unlink(beside)
            raise
    if not durable:
        return
    opened = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)  # so that the new name is on the disk, too
    finally:
        os.close(opened)
