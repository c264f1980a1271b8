"""Open files of this process: their limit, closing inherited ones, and how folders are opened."""

from __future__ import annotations

import os
import resource

FOLDER: int = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for a folder that only leads to another. macOS has no O_PATH: the folder must be readable
there."""

WANTED_LIMIT = 65_536
_CERTAIN_LIMIT = 10_240
"""What macOS grants, whatever the hard limit says."""

_original_limits: list[int] = []
"""The soft limit before `raise_limit`, if that changed it."""


def raise_limit() -> None:
    """Raise the soft limit of open files to `WANTED_LIMIT` or the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (WANTED_LIMIT, _CERTAIN_LIMIT):
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if soft == resource.RLIM_INFINITY or soft >= most:
            return
        if _set_limit(most, hard):
            _original_limits.append(soft)
            return


def limit_before() -> int | None:
    """The soft limit before `raise_limit`; None if that did not change it."""
    return _original_limits[0] if _original_limits else None


def put_back(soft: int) -> None:
    """Restore the soft limit."""
    _set_limit(soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _set_limit(soft: int, hard: int) -> bool:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except (OSError, ValueError):  # macOS has another limit below the hard one
        return False
    return True


def close_above(last: int) -> None:
    """Close all descriptors above `last`."""
    try:
        opened = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # a bare chroot
        os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))
        return
    for descriptor in opened:
        if descriptor > last:
            try:
                os.close(descriptor)
            except OSError:  # the one that the listing itself used
                pass
