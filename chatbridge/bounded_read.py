"""Reads small files that others may have written or replaced.

A read never blocks and has a size limit. Standard library only, because links use it.
"""

from __future__ import annotations

import errno
import json
import os
import stat

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Does not block on a named pipe or a terminal."""


def read(path: str | os.PathLike[str], *, most: int) -> bytes:
    """Return the content of the file.
    :raises OSError: it cannot be read, is not a file, or has more than `most` bytes."""
    file = os.open(path, _OPEN)
    try:
        mode = os.fstat(file).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):  # /dev/null stands for an empty file
            raise OSError(errno.EINVAL, "it is not a file")
        content = b""
        while len(content) <= most and (piece := os.read(file, most + 1 - len(content))):
            content += piece
    finally:
        os.close(file)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    return content


def read_json(path: str | os.PathLike[str], *, most: int = 65536) -> dict[str, object]:
    """Return the JSON object in the file, or an empty one if it cannot be read."""
    try:
        found = json.loads(read(path, most=most))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
