"""The root folder of a project. Standard library only, because links use it."""

from __future__ import annotations

import os
import stat

from chatbridge import bounded_read

PROJECT_FILE = ".chatbridge.toml"
MAX_FILE_BYTES = 4096


def find_root(folder: str) -> str | None:
    """Return the nearest ancestor with `.git` or a project file."""
    here = folder.rstrip("/") or "/"
    while True:
        try:
            if is_root(here):
                return here
        except (OSError, ValueError):  # not accessible, or not a path
            return None
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def is_root(folder: str) -> bool:
    """:raises OSError: it cannot be looked at."""
    return bool(_file_mode(f"{folder}/.git")) or stat.S_ISREG(
        _file_mode(f"{folder}/{PROJECT_FILE}")
    )


def read_file(root: str) -> str | None:
    """Return the content of the project file, for a hub that cannot read it; None if unreadable."""
    try:
        return bounded_read.read(f"{root}/{PROJECT_FILE}", most=MAX_FILE_BYTES).decode()
    except (OSError, ValueError):
        return None


def _file_mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
