"""Writes down what a person answered to `question_ask`: when it is answered, whoever still waits.

Saving belongs to the answer, not to the call. An answer whose hub died before it was saved is
saved by the next hub.
"""

from __future__ import annotations

import asyncio
import logging

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask, Project
from chatbridge.core.store_port import Store
from chatbridge.tools.journal.entry import Entry
from chatbridge.tools.journal.journal import Journal, reason

log = logging.getLogger(__name__)

QUESTION_ASK = "question_ask"
REMEMBERED = 1_000
RECENT = 1_000
"""How many ended asks a start looks through."""


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
