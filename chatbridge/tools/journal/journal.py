"""The journal of a project: where its answers are written down, and what is there.

Append-only. Its own folder is inside the project; where that cannot be written, one in the state
directory takes its place. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, Project
from chatbridge.core.store_port import Store
from chatbridge.core.text import encodable, one_line
from chatbridge.digests import sha256_hex
from chatbridge.tools.journal import folder as disk

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
        with disk.opened(self.root, self.folder, make=True) as folder:
            return self.shown(disk.create(folder, stem, content))


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
        return self._places(project)[0].shown()

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


class JournalKeeper:
    def __init__(self, journal: Journal, store: Store) -> None:
        self.journal = journal
        self._store = store
        self._saved: dict[str, asyncio.Future[str]] = {}
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
            recent = await self._store.history(limit=RECENT)
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
    return f"not saved: {reason(error)}"
