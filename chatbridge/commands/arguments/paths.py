"""Paths, as the system goes along them: through every link and `..`."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

MAX_PATH_BYTES = 4095
"""Linux opens no longer one."""
_MAX_LINKS = 40
"""As many as Linux follows."""


def owner_path(text: str) -> Path | None:
    """A whole path that the owner wrote, where `~` is their home; None if it is none."""
    path = os.path.expanduser(text)
    return Path(path) if os.path.isabs(path) else None


def inside(text: str, *, base: Path, roots: Sequence[Path]) -> Path | None:
    """The whole path that `text` means in the folder `base`, if it lies in one of `roots`. What
    does not exist yet lies where its nearest ancestor does. `~` is a name like any other."""
    real = _real(os.path.join(base, text))
    inner = real and any(real.is_relative_to(os.path.realpath(root)) for root in roots)
    return real if inner else None


def _real(path: str) -> Path | None:
    """Without links; None: the system would not get there, or we may not look."""
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        return None
    try:
        for folder, name in walk(path):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.lstat(os.path.join(folder, name))
        return Path(os.path.realpath(path))
    except (OSError, RuntimeError):
        return None


def walk(path: str) -> Iterator[tuple[str, str]]:
    """Every name on the system's way along a whole path, and the folder that it is in, through all
    links. A name is looked up after it was yielded.
    :raises OSError: a link cannot be read, or there are too many."""
    here, names, links = "/", path.split("/")[::-1], 0
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        yield here, name
        place = os.path.join(here, name)
        if not os.path.islink(place):
            here = place
            continue
        target = os.readlink(place)
        links += 1
        if links > _MAX_LINKS:
            raise OSError(f"too many links on the way to {path}")
        here = "/" if target.startswith("/") else here
        names += target.split("/")[::-1]


def home() -> str | None:
    """As the system knows it: HOME may be what an agent's client says. None: a user of a container,
    without a name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir or None
    except KeyError:
        return None
