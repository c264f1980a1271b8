"""Which system this is, and where it keeps what lasts until a user logs out."""

from __future__ import annotations

import os
import sys

MACOS: bool = sys.platform == "darwin"
PROC: bool = os.path.exists("/proc/self/stat")
"""Whether the kernel shows processes as files."""


def login_dir() -> str | None:
    """The private directory that systemd creates for a logged-in user. macOS has none that every
    process of a user can name: TMPDIR is not passed on by all clients."""
    uid = os.getuid()
    directory = f"/run/user/{uid}"
    try:
        return directory if os.stat(directory).st_uid == uid else None
    except OSError:
        return None
