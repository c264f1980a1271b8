"""Which folder is the root of a project. Standard library only: links look, too."""

from __future__ import annotations

import os
import stat

from chatbridge import bounded_read

PROJECT_FILE = ".chatbridge.toml"
MAX_FILE_BYTES = 4096


def find_root(folder: str) -> str | None:
    """The nearest ancestor with `.git` or a project file."""
    here = folder.rstrip("/") or "/"
    while True:
        try:
            if is_root(here):
                return here
        except (OSError, ValueError):  # not ours to see, or no path at all
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
    """What the project's own file says, for a hub that cannot look; None if it is none to tell."""
    try:
        return bounded_read.read(f"{root}/{PROJECT_FILE}", most=MAX_FILE_BYTES).decode()
    except (OSError, ValueError):
        return None


def _file_mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
