"""The journal of a project: where its answers are written down, and what is there.

Append-only. Its own folder is inside the project; where that cannot be written, one in the state
directory takes its place. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.core.model import Project
from chatbridge.core.text import one_line
from chatbridge.digests import sha256_hex
from chatbridge.tools.journal import folder as disk
from chatbridge.tools.journal.entry import Entry, canonical, stamp

log = logging.getLogger(__name__)

FOLDER = ".chatbridge/questions"
OLDER = ".swissarmyhammer/questions"
"""Used in place of the usual folder where a project has it already."""
_STEM = re.compile(r"(\d{4})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")


@dataclass(frozen=True, slots=True)
class Place:
    root: str
    folder: str
    relative: bool

    def told(self, name: str) -> str:
        """How a file in it is named to an agent."""
        path = f"{self.folder}/{name}"
        return path if self.relative else os.path.join(self.root, path)


@dataclass(slots=True)
class Pages:
    """What a project's journal says; `skipped` are files that could not be read, and why."""

    entries: list[Entry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


class Journal:
    def __init__(self, *, folder: str, state: Path) -> None:
        """`folder`: inside every project. `state`: the state directory."""
        self._folder = folder
        self._state = state

    def where(self, project: Project) -> str:
        """The folder, in words for an agent."""
        place = self._places(project)[0]
        return place.folder if place.relative else os.path.join(place.root, place.folder)

    def save(self, project: Project, entry: Entry, *, since: float | None = None) -> str:
        """Write it down, unless it is there already; where it is. `since`: an entry of after this
        time with the same words is the same one.

        :raises OSError: it could not be written anywhere.
        """
        from chatbridge.tools.journal.yaml_text import written

        earliest = entry.timestamp if since is None else stamp(since)
        places = self._places(project)
        for place in places:
            name = _already_there(place, entry, earliest)
            if name is not None:
                return place.told(name)
        content = written(entry).encode()
        stem = re.sub(r"[-:]", "", entry.timestamp[:19]).replace("T", "_")
        *inside, last = places
        for place in inside:
            try:
                with disk.opened(place.root, place.folder, make=True) as folder:
                    return place.told(disk.create(folder, stem, content))
            except OSError as error:
                log.warning("%s: nothing can be saved in %s: %s", place.root, place.folder, error)
        with disk.opened(last.root, last.folder, make=True) as folder:
            return last.told(disk.create(folder, stem, content))

    def read(self, project: Project) -> Pages:
        """Everything that can be read, in no order; nothing twice."""
        pages = Pages()
        seen: set[Entry] = set()
        for place in self._read_from(project):
            try:
                with disk.opened(place.root, place.folder) as folder:
                    found = disk.read(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                pages.skipped.append((place.folder, error.strerror or "cannot be read"))
                continue
            pages.skipped += found.skipped
            for name, (text, changed_at) in found.texts.items():
                try:
                    entry = _parsed(name, text, changed_at)
                except ValueError as error:
                    pages.skipped.append((name, str(error)))
                    continue
                if entry not in seen:
                    seen.add(entry)
                    pages.entries.append(entry)
        return pages

    def _places(self, project: Project) -> list[Place]:
        """Where to write, the best first; the last one is in the state directory."""
        digest = sha256_hex(os.fsencode(project.key))[:16]
        away = Place(str(self._state), f"journal/{digest}", relative=False)
        if not project.key.startswith("/"):
            return [away]
        folder = self._folder
        if folder == FOLDER and _is_there(project.key, OLDER):
            folder = OLDER
        return [Place(project.key, folder, relative=True), away]

    def _read_from(self, project: Project) -> list[Place]:
        *inside, away = self._places(project)
        if inside:
            both = dict.fromkeys((self._folder, OLDER))
            inside = [Place(project.key, folder, relative=True) for folder in both]
        return [*inside, away]


def _is_there(root: str, folder: str) -> bool:
    try:
        with disk.opened(root, folder):
            return True
    except OSError:
        return False


def _already_there(place: Place, entry: Entry, earliest: str) -> str | None:
    """The file that has this entry, looked for only among those of its time."""
    try:
        with disk.opened(place.root, place.folder) as folder:
            for name in disk.names(folder):
                time = _time_in(name)
                if time is None or not earliest[:19] <= time[:19] <= entry.timestamp[:19]:
                    continue
                try:
                    found = _parsed(name, *disk.read_file(folder, name))
                except (OSError, ValueError):
                    continue
                same = (found.question, found.answer) == (entry.question, entry.answer)
                if same and earliest <= found.timestamp <= entry.timestamp:
                    return name
    except OSError:
        pass  # what is not there, or cannot be read, has nothing; writing says why
    return None


def _parsed(name: str, text: str, changed_at: float) -> Entry:
    """:raises ValueError:"""
    from chatbridge.tools.journal.yaml_text import parsed

    return parsed(text, otherwise_at=_time_in(name) or stamp(changed_at))


def _time_in(name: str) -> str | None:
    """The time that a file's name begins with."""
    found = _STEM.match(name)
    if found is None:
        return None
    year, month, day, hour, minute, second = found.groups()
    return canonical(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


def reason(error: OSError) -> str:
    """Why something was not saved, in a few words for an agent."""
    return one_line(error.strerror or "the disk refused it")
