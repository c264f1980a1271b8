"""The journal of a project: where its answers are written down, and what is there.

Append-only. Its own folder is inside the project; where that cannot be written, one in the state
directory takes its place. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Self

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, Project
from chatbridge.core.store_port import Store
from chatbridge.core.text import encodable, one_line
from chatbridge.digests import sha256_hex
from chatbridge.system import descriptors

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

    def shown(self, name: str = "") -> str:
        """The folder, or a file in it, as it is named to an agent."""
        path = f"{self.folder}/{name}" if name else self.folder
        return path if self.relative else os.path.join(self.root, path)

    def create(self, stem: str, content: bytes) -> str:
        """A new file, as it is named to an agent. :raises OSError:"""
        with self.opened(make=True) as folder:
            return self.shown(create(folder, stem, content))

    def is_there(self) -> bool:
        try:
            with self.opened():
                return True
        except OSError:
            return False

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder. Only what is below the root is made. No symbolic link is
        followed: a repository could bring one to anywhere along. :raises OSError:"""
        below, above = PurePosixPath(self.folder).parts, PurePosixPath(self.root).parts[1:]
        here = os.open("/", _STEP)
        try:
            for i, part in enumerate((*above, *below), start=1):
                flags = _LAST if i == len(above) + len(below) else _STEP
                here = _into(here, part, flags=flags, make=make and i > len(above))
            yield here
        finally:
            os.close(here)


@dataclass(slots=True)
class Pages:
    """What a project's journal says; `skipped` are files that could not be read, and why."""

    entries: list[Entry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    folder: str
    state: Path

    def where(self, project: Project) -> str:
        """The folder, in words for an agent."""
        return self._places(project)[0].shown()

    def save(self, project: Project, entry: Entry, *, since: float | None = None) -> str:
        """Write it down, unless it is there already; where it is. `since`: an entry of after this
        time with the same words is the same one. :raises OSError:"""
        from chatbridge.tools.journal.yaml_text import written

        earliest = entry.timestamp if since is None else stamp(since)
        places = self._places(project)
        for place in places:
            name = _already_there(place, entry, earliest)
            if name is not None:
                return place.shown(name)
        content = written(entry).encode()
        stem = re.sub(r"[-:]", "", entry.timestamp[:19]).replace("T", "_")
        *inside, last = places
        for place in inside:
            try:
                return place.create(stem, content)
            except OSError as error:
                log.warning("%s: nothing can be saved in %s: %s", place.root, place.folder, error)
        return last.create(stem, content)

    def read(self, project: Project) -> Pages:
        """Everything that can be read, in no order; nothing twice."""
        pages = Pages()
        *inside, away = self._places(project)
        if inside:
            both = dict.fromkeys((self.folder, OLDER))
            inside = [Place(project.key, folder, relative=True) for folder in both]
        for place in (*inside, away):
            try:
                with place.opened() as folder:
                    _read(folder, pages)
            except FileNotFoundError:
                continue
            except OSError as error:
                pages.skipped.append((place.folder, error.strerror or "cannot be read"))
        pages.entries = list(dict.fromkeys(pages.entries))
        return pages

    def _places(self, project: Project) -> list[Place]:
        """Where to write, the best first; the last one is in the state directory."""
        digest = sha256_hex(os.fsencode(project.key))[:16]
        away = Place(str(self.state), f"journal/{digest}", relative=False)
        if not project.key.startswith("/"):
            return [away]
        older = Place(project.key, OLDER, relative=True)
        if self.folder == FOLDER and older.is_there():
            return [older, away]
        return [Place(project.key, self.folder, relative=True), away]


def _already_there(place: Place, entry: Entry, earliest: str) -> str | None:
    """The file that has this entry, looked for only among those of its time."""
    try:
        with place.opened() as folder:
            for name in names(folder):
                time = _time_in(name)
                if time is None or not earliest[:19] <= time[:19] <= entry.timestamp[:19]:
                    continue
                try:
                    found = _parsed(name, *read_file(folder, name))
                except (OSError, ValueError):
                    continue
                same = (found.question, found.answer) == (entry.question, entry.answer)
                if same and earliest <= found.timestamp <= entry.timestamp:
                    return name
    except OSError:
        pass  # what is not there, or cannot be read, has nothing; writing says why
    return None


def _parsed(name: str, text: str, changed_at: float) -> Entry:
    from chatbridge.tools.journal.yaml_text import parsed

    return parsed(text, otherwise_at=_time_in(name) or stamp(changed_at))


def _time_in(name: str) -> str | None:
    """The time that a file's name begins with."""
    found = _STEM.match(name)
    if found is None:
        return None
    year, month, day, hour, minute, second = found.groups()
    return canonical(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    timestamp: str
    """UTC with milliseconds and Z, so that texts sort by time."""
    question: str
    answer: str

    @classmethod
    def of(cls, *, at: float, question: str, answer: str) -> Self:
        return cls(timestamp=stamp(at), question=encodable(question), answer=encodable(answer))


def stamp(at: float) -> str:
    return _text(datetime.fromtimestamp(at, UTC))


def canonical(time: str) -> str | None:
    """A time as somebody wrote it, in our form; None if it is none. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(time.strip().removesuffix("UTC").strip())
        return _text(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


QUESTION_ASK = "question_ask"
REMEMBERED = 1_000
RECENT = 1_000
"""Ended asks that are looked through at the start."""


@dataclass(frozen=True, slots=True)
class JournalKeeper:
    journal: Journal
    store: Store
    _saved: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    """By ask: where its answer is, or will be in a moment."""

    async def where(self, project: Project) -> str:
        return await asyncio.to_thread(self.journal.where, project)

    def changed(self, ask: Ask) -> None:
        """Told of every change of every ask."""
        if ask.tool == QUESTION_ASK and ask.answer is not None:
            self._saving(ask)

    async def saved(self, ask: Ask) -> str:
        """Where the ask's answer was saved, or why it was not."""
        return await asyncio.shield(self._saving(ask))

    async def save(self, project: Project, entry: Entry, *, since: float) -> str:
        """The same for an answer without an ask: one that was given since then."""
        try:
            return await asyncio.to_thread(self.journal.save, project, entry, since=since)
        except OSError as error:
            return _not_saved(project, error)

    async def catch_up(self) -> None:
        """Save what a hub before this one had no time to. What an agent has got was saved."""
        try:
            recent = await self.store.history(limit=RECENT)
        except StoreError as error:
            log.warning("answers of before the start may be missing in the journal: %s", error)
            return
        for ask in recent:
            if ask.delivered_at is None:
                self.changed(ask)

    async def close(self) -> None:
        await asyncio.gather(*self._saved.values(), return_exceptions=True)

    def _saving(self, ask: Ask) -> asyncio.Future[str]:
        found = self._saved.get(ask.id)
        if found is None:
            found = self._saved[ask.id] = asyncio.ensure_future(self._save(ask))
            for old in list(self._saved)[:-REMEMBERED]:
                if self._saved[old].done():
                    del self._saved[old]
        return found

    async def _save(self, ask: Ask) -> str:
        assert ask.answer is not None
        entry = Entry.of(
            at=ask.answer.at,
            question=ask.questions[0].text,
            answer=ask.answer.answers[0].values[0],
        )
        try:
            return await asyncio.to_thread(self.journal.save, ask.project, entry)
        except OSError as error:
            self._saved.pop(ask.id, None)  # the next change of the ask tries again
            return _not_saved(ask.project, error)


def _not_saved(project: Project, error: OSError) -> str:
    log.error("project %s: an answer was not saved: %s", project.name, error)
    return f"not saved: {one_line(error.strerror or 'the disk refused it')}"


MAX_FILE = 1_000_000
MAX_FOLDER = 30_000_000
"""Bytes that are read of the newest files: a repository can bring along what it likes."""
SUFFIXES = 1_000
_STEP = descriptors.FOLDER
_LAST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _into(parent: int, part: str, *, flags: int, make: bool) -> int:
    """Open a part below, and close its parent."""
    made = False
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=parent)
            made = True
    try:
        below = os.open(part, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(parent, part):
            raise OSError(errno.ELOOP, f"{part} is a symbolic link") from None
        raise
    os.close(parent)
    if made and flags == _LAST:
        with suppress(OSError):  # the answer is worth more than a tidy repository
            _create(below, ".gitignore", b"*\n")
    return below


def _is_link(parent: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def create(folder: int, stem: str, content: bytes) -> str:
    """A new file for this second; its name. :raises OSError:"""
    for number in range(1, SUFFIXES + 1):
        name = f"{stem}_question.yaml" if number == 1 else f"{stem}_{number}_question.yaml"
        try:
            _create(folder, name, content)
        except FileExistsError:
            continue
        os.fsync(folder)
        return name
    raise OSError(errno.EEXIST, f"there are {SUFFIXES} files of this second")


def _create(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, 0o666, dir_fd=folder)
    try:
        with open(file, "wb", buffering=0) as out:
            left = memoryview(content)
            while left:
                left = left[out.write(left) :]
            os.fsync(file)
    except OSError:
        os.unlink(name, dir_fd=folder)  # half a file would be a corrupt one
        raise


def names(folder: int) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")))


def _read(folder: int, pages: Pages) -> None:
    room = MAX_FOLDER
    for name in reversed(names(folder)):
        if room <= 0:
            pages.skipped.append((name, "too much in this folder"))
            continue
        try:
            text, changed_at = read_file(folder, name)
            room -= len(text)
            pages.entries.append(_parsed(name, text, changed_at))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            pages.skipped.append((name, problem or "cannot be read"))


def read_file(folder: int, name: str) -> tuple[str, float]:
    """:raises OSError: :raises ValueError: it is too large, no file, or no text."""
    # Not to wait for the other end of a named pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError("a symbolic link") from None
        raise
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        os.close(file)
        raise ValueError("not a file")
    with open(file, "rb") as content:
        data = content.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError("larger than 1 MB")
    try:
        return data.decode(), about.st_mtime
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
