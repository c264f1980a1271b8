"""The index of the search in the history: which asks and notices may have a term in them.

It only narrows down where to look: a statement decides, by the texts themselves. Documents (asks
that have ended, and notices) wait in a queue, whose texts every search looks at. A thousand of them
become a segment, which says in which of its documents each gram is. A text with the term has all of
the term's grams.

Writing an ask costs one number in the queue, which a trigger adds; the grams come later, beside it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import struct
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import and_, or_
from typing import Any

from chatbridge.core.bounds import sliced
from chatbridge.core.errors import StoreError
from chatbridge.store.database import Connection, Record
from chatbridge.store.grams import (
    MOST_GRAMS,
    MOST_TEXTS,
    beginning_of,
    grams_of,
    index_of,
    mask_of,
    places_in,
)
from chatbridge.store.transaction import SqlTransaction
from chatbridge.store.writer import Writer

log = logging.getLogger(__name__)

DOCS = MOST_TEXTS  # In a segment
CHARACTERS = 300_000  # In a segment, about: a thread makes their grams in tenths of a second
TEXTS_AT_ONCE = 100  # Are read for a segment: each may have 400,000 characters
GRAMS_AT_ONCE = 2_000  # In one work, so that an answer passes within milliseconds
MOST_WAITING = 5 * DOCS  # With more in the queue, reading until a page is full is quicker
MOST_BEGINNINGS = 2_000  # Grams that begin with a short term: with more, a page is full soon
LOOKED_AT_ONCE = 500

LEAST = -(2**63)
REPLACED = re.compile("[\0\ud800-\udfff]")
"""What a text in a database may have something else for."""


def _candidates_sql(grams: str) -> str:
    """All of it in one statement: what leaves the queue is in a segment at the same moment. The
    joined tables are read in their order."""
    return f"""
        SELECT id, newest, docs, NULL AS places, CAST(NULL AS BIGINT) AS doc FROM search_segments
        WHERE docs IS NOT NULL AND oldest <= :at
        UNION ALL
        SELECT segment, NULL, NULL, places, NULL FROM (
            SELECT segment, places FROM search_segments CROSS JOIN search_grams
            WHERE segment = id AND docs IS NOT NULL AND oldest <= :at AND gram {grams}
        ) AS found
        UNION ALL
        SELECT NULL, NULL, NULL, NULL, doc FROM (
            SELECT doc FROM search_queue LIMIT :most_waiting
        ) AS waiting
    """  # noqa: S608 - constants


_GRAMS = [f"gram_{number}" for number in range(MOST_GRAMS)]
WITH_GRAMS = _candidates_sql(f"IN ({', '.join(f':{name}' for name in _GRAMS)})")
WITH_BEGINNING = _candidates_sql("BETWEEN :first AND :last LIMIT :most_beginnings")
WAITING = """
    SELECT doc, changes, coalesce(settled_at, at) AS at,
           coalesce(asks.words, notices.words) AS words
    FROM search_queue LEFT JOIN asks ON asks.seq = doc LEFT JOIN notices ON notices.seq = -doc
    WHERE doc > :after AND released = 0 ORDER BY doc LIMIT :limit
"""
UNFINISHED = "SELECT id FROM search_segments WHERE docs IS NULL"
REMOVE_UNFINISHED = "DELETE FROM search_segments WHERE docs IS NULL"
_BEGIN = """
    INSERT INTO search_segments (id, oldest, newest)
    SELECT coalesce(max(id), 0) + 1, :oldest, :newest FROM search_segments
"""
_ADD = "INSERT INTO search_grams (segment, gram, places) VALUES (?, ?, ?)"
FINISH = "UPDATE search_segments SET docs = ? WHERE id = ?"
INDEXED = "DELETE FROM search_queue WHERE doc = ? AND changes = ?"
TO_RELEASE = "SELECT id, docs FROM search_segments WHERE oldest < ? LIMIT 1"
_RELEASE = "INSERT INTO search_queue (doc, released) VALUES (?, 1) ON CONFLICT DO NOTHING"
REMOVE_SEGMENT = "DELETE FROM search_segments WHERE id = ?"


@dataclass(frozen=True, slots=True)
class DocKind:
    """Of what is searched."""

    table: str
    time: str
    """The column by which it is listed, and then by `seq`."""
    sign: int
    """Of its documents."""

    @property
    def time_of_some(self) -> str:
        """Of the last of the newest ones."""
        return (
            f"SELECT {self.time} FROM {self.table} WHERE {self.time} <= :at "  # noqa: S608 - ours
            f"ORDER BY {self.time} DESC LIMIT 1 OFFSET {LOOKED_AT_ONCE}"
        )


ASK_DOCS, NOTICE_DOCS = DocKind("asks", "settled_at", 1), DocKind("notices", "at", -1)


@dataclass(slots=True)
class _Batch:
    """What becomes a segment."""

    docs: list[int] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


_Hit = tuple[float, bytes, int]
"""The newest time of a segment, its documents, and those that may have the term, as bits."""


class SearchIndex:
    def __init__(self, reading: Connection, writer: Writer) -> None:
        self._reading = reading
        self._writer = writer
        self._changing = asyncio.Lock()
        self._growing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._growing is not None:
            self._growing.cancel()
            await asyncio.wait({self._growing})

    # ── searching ─────────────────────────────────────────────────────────────────────────────────

    async def rows(
        self, kind: DocKind, sql: str, given: Mapping[str, Any]
    ) -> Sequence[Record] | None:
        """What `sql` finds `among` the documents that may have the term, in the order of the
        history and up to its `limit`. None: the index does not help with this term."""
        candidates = await self._candidates(given["search"], before=given["at"])
        if candidates is None:
            return None
        found: dict[int, Record] = {}
        page: list[Record] = []
        for keys, newest in _portions(kind, *candidates):
            rows = await self._reading.rows(sql, {**given, "among": json.dumps(keys)})
            found |= {row["seq"]: row for row in rows}
            in_order = sorted(found.values(), key=lambda row: (row[kind.time], row["seq"]))
            page = in_order[::-1][: given["limit"]]
            if len(page) == given["limit"] and page[-1][kind.time] > newest:
                break
        return page

    async def _candidates(self, term: str, *, before: float) -> tuple[list[int], list[_Hit]] | None:
        """What waits in the queue, and the segments that may have the term, the newest first."""
        if not term or REPLACED.search(term):
            return None
        given: dict[str, Any] = {"at": before}
        given |= {"most_waiting": MOST_WAITING, "most_beginnings": MOST_BEGINNINGS}
        if grams := grams_of(term):
            sql, needed, combined = WITH_GRAMS, len(grams), and_
            given |= {name: grams[place % len(grams)] for place, name in enumerate(_GRAMS)}
        else:
            sql, needed, combined = WITH_BEGINNING, 1, or_
            given |= zip(("first", "last"), beginning_of(term), strict=True)
        waiting: list[int] = []
        segments: dict[int, Record] = {}
        masks: dict[int, list[int]] = defaultdict(list)
        async for row in sliced(await self._reading.rows(sql, given)):
            if row["doc"] is not None:
                waiting.append(row["doc"])
            elif row["docs"] is not None:
                segments[row["id"]] = row
            else:
                masks[row["id"]].append(mask_of(row["places"]))
        if len(waiting) > 3 * DOCS:
            self._grow_soon()
        if len(waiting) == MOST_WAITING:
            return None
        if not grams and sum(map(len, masks.values())) == MOST_BEGINNINGS:
            return None
        hits = [
            (segments[segment]["newest"], segments[segment]["docs"], places)
            for segment, of in masks.items()
            if len(of) >= needed and (places := reduce(combined, of))
        ]
        return waiting, sorted(hits, reverse=True)

    # ── growing ───────────────────────────────────────────────────────────────────────────────────

    def _grow_soon(self) -> None:
        if self._growing is None or self._growing.done():
            self._growing = asyncio.create_task(self.grow(), name="search index")

    async def grow(self) -> None:
        """Make segments of what waits, until too little for one is left. A failure is only logged:
        what waits is found, too."""
        try:
            async with self._changing:
                if await self._reading.rows(UNFINISHED):  # a hub has ended meanwhile
                    await self._change(REMOVE_UNFINISHED)
                while batch := await self._next_batch():
                    await self._add(batch)
        except StoreError as error:
            log.warning("the search's index could not be continued: %s", error)

    async def _next_batch(self) -> _Batch | None:
        batch, after, size = _Batch(), LEAST, 0
        while len(batch.docs) < DOCS and size < CHARACTERS:
            limit = min(TEXTS_AT_ONCE, DOCS - len(batch.docs))
            rows = await self._reading.rows(WAITING, {"after": after, "limit": limit})
            if len(rows) < limit:
                return None
            for doc, changes, at, words in rows:
                text = _text(words)
                batch.docs.append(doc)
                batch.changes.append(changes)
                batch.times.append(at if isinstance(at, int | float) else 0.0)
                batch.texts.append(text)
                size += len(text)
            after = batch.docs[-1]
        return batch

    async def _add(self, batch: _Batch) -> None:
        grams = await asyncio.to_thread(index_of, batch.texts)

        async def begin(tx: SqlTransaction) -> int:
            times = {"oldest": min(batch.times), "newest": max(batch.times)}
            await tx.change(_BEGIN, times)
            ((begun,),) = await tx.rows(UNFINISHED)
            return int(begun)

        async def finish(tx: SqlTransaction) -> None:
            docs = struct.pack(f"<{len(batch.docs)}q", *batch.docs)
            await tx.change(FINISH, (docs, segment))
            await tx.change_each(INDEXED, [*zip(batch.docs, batch.changes, strict=True)])

        segment = await self._writer.run(begin)
        for start in range(0, len(grams), GRAMS_AT_ONCE):
            rows = [(segment, *gram) for gram in grams[start : start + GRAMS_AT_ONCE]]
            await self._writer.run(partial(SqlTransaction.change_each, sql=_ADD, rows=rows))
        await self._writer.run(finish)

    @asynccontextmanager
    async def released(self, *, before: float) -> AsyncIterator[None]:
        """Meanwhile no segment has a document of before that time, which is to be removed: nothing
        of its text stays behind. What such a segment has besides waits in the queue, since it is
        about to be removed, too."""
        async with self._changing:
            while rows := await self._reading.rows(TO_RELEASE, (before,)):
                await self._release(*rows[0])
            yield

    async def _release(self, segment: int, docs: bytes | None) -> None:
        async def work(tx: SqlTransaction) -> None:
            await tx.change_each(_RELEASE, [*struct.iter_unpack("<q", docs or b"")])
            await tx.change(REMOVE_SEGMENT, (segment,))

        await self._writer.run(work)

    async def _change(self, sql: str) -> None:
        await self._writer.run(partial(SqlTransaction.change, sql=sql, parameters=()))


def _portions(
    kind: DocKind, waiting: Iterable[int], hits: Sequence[_Hit]
) -> Iterator[tuple[list[int], float]]:
    """The keys of these documents of a kind and of the hits', some hundreds at once, each time with
    the newest time that one of the rest can have."""
    keys = [doc * kind.sign for doc in waiting if doc * kind.sign > 0]
    for newest, stored, places in hits:
        if len(keys) >= LOOKED_AT_ONCE:
            yield keys, newest
            keys = []
        docs = struct.unpack(f"<{len(stored) // 8}q", stored)
        found = (docs[place] * kind.sign for place in places_in(places))
        keys += [key for key in found if key > 0]
    yield keys, float("-inf")


def _text(words: object) -> str:
    """SQLite keeps a value of any type in any column."""
    if isinstance(words, bytes):
        return words.decode(errors="replace")
    return words if isinstance(words, str) else ""
