"""Which files and folders a command may be run from.

Agents run as the owner, so file modes alone do not tell what an agent could have written. Refused
is what lies in a folder where agents work, and what another user could have written. Every step of
a path counts, symbolic links included: whoever can replace one step decides where it leads.
"""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from chatbridge.link.root import is_root

_OTHERS_CAN_WRITE = 0o022
_MOST_LINKS = 40
"""As many as Linux follows."""
_OWN = "use a file of yours or of root's, in a folder of yours or of root's"


@dataclass(frozen=True, slots=True)
class Refusal:
    why: str
    mend: str


def refusal(path: str, *, projects: Collection[str] = ()) -> Refusal | None:
    """Why nothing may be run from this whole path; None: it may. `projects` are the real paths of
    folders where agents are known to work; a repository counts even if none is known there.

    :raises OSError: it is not there, or cannot be looked at.
    """
    steps = list(_steps(path))
    for place, about in steps:
        if _is_project(place, about, projects):
            return Refusal(
                f"it lies in the project {place}, where agents can write",
                "install or copy it to a folder outside of every project",
            )
        if about.st_uid not in (0, os.geteuid()):
            return Refusal(f"{place} belongs to another user (uid {about.st_uid})", _OWN)
        if _is_open(about) and not (about.st_mode & stat.S_ISVTX and place != steps[-1][0]):
            mode = f"{stat.S_IMODE(about.st_mode):04o}"
            return Refusal(
                f"others can write to {place} (mode {mode})", f"chmod go-w {shlex.quote(place)}"
            )
    return None


def _steps(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every folder, link and file that the system passes on its way, the target last."""
    here, links = "/", 0
    left = [part for part in reversed(path.split("/")) if part]
    yield here, os.lstat(here)
    while left:
        part = left.pop()
        place = os.path.normpath(os.path.join(here, part))  # `here` has no links: `..` is above it
        about = os.lstat(place)
        yield place, about
        if not stat.S_ISLNK(about.st_mode):
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"too many links on the way to {path}")
        target = os.readlink(place)
        here = "/" if target.startswith("/") else here
        left += [each for each in reversed(target.split("/")) if each]


def _is_open(about: os.stat_result) -> bool:
    """Whether others can write to it. The mode of a link says nothing. In a folder such as /tmp
    (sticky) they can add files, but replace none of the owner's: so the steps below it decide."""
    return not stat.S_ISLNK(about.st_mode) and bool(about.st_mode & _OTHERS_CAN_WRITE)


def _is_project(place: str, about: os.stat_result, known: Collection[str]) -> bool:
    """A folder where agents are known to work, or a repository of the owner's. The home and what is
    above it are none: everything would lie in there. A hidden folder in the home is one only if it
    is known: version managers (~/.nvm, ~/.pyenv) are repositories, too."""
    own = os.path.realpath(home() or "/")
    if not stat.S_ISDIR(about.st_mode) or os.path.commonpath([own, place]) == place:
        return False
    if place in known:
        return True
    above, name = os.path.split(place)
    hidden = above == own and name.startswith(".")
    return not hidden and about.st_uid == os.geteuid() and is_root(place)


def home() -> str | None:
    """As the system knows it: HOME may be what an agent's client says. None: a user of a container,
    without a name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir or None
    except KeyError:
        return None
