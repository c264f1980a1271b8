"""Paths that agents name: what they mean once every link and `..` is followed, and where that is.

The command gets the path that was looked at, not the one that was given. Whoever can change folders
in between can still lead it elsewhere; that is a program that runs as the owner.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

LONGEST = 4095
"""Bytes. Linux opens no longer one."""


def owners(text: str) -> Path | None:
    """A whole path that the owner wrote, where `~` is their home; None if it is none."""
    path = os.path.expanduser(text)
    return Path(path) if os.path.isabs(path) else None


def inside(text: str, *, base: Path, roots: Sequence[Path]) -> Path | None:
    """The whole path that `text` means in the folder `base`, if it lies in one of `roots`. What
    does not exist yet lies where its nearest ancestor does. `~` is a name like any other."""
    real = _real(os.path.join(base, text))
    return real if real and any(is_in(real, root) for root in roots) else None


def is_in(real: Path, root: Path) -> bool:
    """Whether a path without links is `root` or lies in it."""
    return real.is_relative_to(os.path.realpath(root))


def _real(text: str) -> Path | None:
    if len(os.fsencode(text)) > LONGEST:
        return None
    try:
        if _endless(text):
            return None
        real = Path(os.path.realpath(text))
    except (RecursionError, RuntimeError, OSError):
        return None
    return None if any(_doubtful(part) for part in (real, *real.parents)) else real


def _endless(text: str) -> bool:
    """More links than the system follows, which Python may follow all the same."""
    try:
        os.stat(text)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _doubtful(part: Path) -> bool:
    """A link that could not be followed, such as one to itself, or what may not be looked at."""
    try:
        return stat.S_ISLNK(os.lstat(part).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
