"""The store in an SQL database, for one hub that writes: reads outside transactions.

One connection writes, through the writer. The other one only reads, so that a read never sees what
is not yet committed.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from chatbridge.core.audit import Auditor, Entry, Line
from chatbridge.core.bounds import sliced
from chatbridge.core.cards.row import Past, PastNotice, Row, Rows
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, ChannelState, Notice, Post
from chatbridge.core.nights.summary import Tally
from chatbridge.core.ports import FileCopies
from chatbridge.core.statistics import AskTimes
from chatbridge.core.store_port import StandingGrant
from chatbridge.store.ask_times import times_of
from chatbridge.store.audit import REMOVE_AUDIT_LINES, Trail, read_lines
from chatbridge.store.database import Connection, Parameters, Record
from chatbridge.store.operations import SqlOperations
from chatbridge.store.rows import (
    MESSAGE,
    NOTICE,
    POST,
    QUESTION,
    ROW_COLUMNS,
    Kind,
    UnreadableRows,
    note_of,
    prefixed,
    row_of,
    summary_in,
    summary_of,
    texts,
)
from chatbridge.store.search import ASK_DOCS, NOTICE_DOCS, DocKind, SearchIndex
from chatbridge.store.transaction import (
    ASK,
    COUNT_OPEN_ASKS,
    MESSAGE_OF_ID,
    NOTICE_OF_ID,
    OPEN_MESSAGES,
    POST_OF,
    READABLE,
    REMOVE_ENDED,
    REMOVE_MESSAGES,
    REMOVE_NOTICES,
    Cache,
    SqlTransaction,
)
from chatbridge.store.writer import Writer

T = TypeVar("T")

NAMED = 3
SWEPT_AT_ONCE = 25  # In one work, so that an answer passes within milliseconds

BY_PREFIX = """
    SELECT * FROM asks WHERE id >= :prefix AND id < :beyond
    AND project = :project ORDER BY id
"""
OPEN_ASKS = "SELECT * FROM asks WHERE status = 'open' ORDER BY deadline IS NULL, deadline, seq"
HISTORY = """
    SELECT * FROM asks WHERE settled_at >= :least
    AND (CAST(:search AS TEXT) IS NULL OR instr(words, :search) > 0)
    ORDER BY settled_at DESC, seq DESC LIMIT :limit
"""
OPEN_ROWS = f"""
    SELECT {", ".join(ROW_COLUMNS)} FROM asks WHERE status = 'open' AND {READABLE}
    ORDER BY deadline IS NULL, deadline, seq LIMIT :limit OFFSET :skip
"""  # noqa: S608 - constants
PAST_ROWS = f"""
    SELECT {", ".join(ROW_COLUMNS)} FROM asks
    WHERE settled_at >= :least AND settled_at <= :at AND (settled_at < :at OR seq < :seq)
    AND (CAST(:search AS TEXT) IS NULL OR instr(words, :search) > 0)
    ORDER BY settled_at DESC, seq DESC LIMIT :limit
"""  # noqa: S608 - constants
_AMONG = (
    "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:among)) AND instr(words, :search) > 0"
)
"""By their keys: an index of the time, which the plus sign keeps away, would lead to all."""
FOUND_IN_HISTORY = f"""
    SELECT * FROM asks WHERE {_AMONG} AND +settled_at <= :at
    ORDER BY +settled_at DESC, seq DESC LIMIT :limit
"""  # noqa: S608 - constants
FOUND_ROWS = f"""
    SELECT {", ".join(ROW_COLUMNS)} FROM asks
    WHERE {_AMONG} AND +settled_at <= :at AND (+settled_at < :at OR seq < :seq)
    ORDER BY +settled_at DESC, seq DESC LIMIT :limit
"""  # noqa: S608 - constants
UNSETTLED_DELIVERY = """
    SELECT * FROM asks WHERE delivered_at IS NULL AND kept = 0 AND discarded = 0
    AND (status = 'answered' OR late IS NOT NULL) ORDER BY settled_at
"""
BEHIND = """
    SELECT * FROM asks WHERE seq IN (
        SELECT seq FROM asks WHERE status = 'open' AND NOT EXISTS (
            SELECT 1 FROM posts WHERE posts.ask = asks.seq AND posts.surface = :surface
            AND posts.revision >= asks.revision)
        UNION ALL
        SELECT seq FROM asks JOIN posts ON posts.ask = asks.seq AND posts.surface = :surface
        WHERE settled_at > :since AND posts.revision < asks.revision
    ) ORDER BY seq
"""
POST_AT = """
    SELECT posts.*, asks.id AS ask_id FROM handles
    JOIN posts ON posts.ask = handles.ask AND posts.surface = handles.surface
    JOIN asks ON asks.seq = posts.ask WHERE handles.surface = ? AND handles.handle = ?
"""
ANSWERS_IN = """
    SELECT * FROM asks WHERE project = :project AND settled_at IS NOT NULL
    AND (status = 'answered' OR late IS NOT NULL) ORDER BY settled_at DESC, seq DESC LIMIT :limit
"""
STANDING_GRANTS = """
    SELECT asks.id, asks.fingerprint, grants.folder FROM grants JOIN asks ON asks.seq = grants.ask
    WHERE grants.project = :project AND grants.taken_back_at IS NULL
    AND (grants.until > :now OR grants.until IS NULL AND EXISTS (
         SELECT 1 FROM calls WHERE calls.ask = grants.ask AND calls.link = :link))
    ORDER BY grants.ask
"""
SURFACES_OF = """
    SELECT posts.surface FROM posts JOIN asks ON asks.seq = posts.ask
    WHERE asks.id = ? AND posts.revision > 0
"""
NOTICES = """
    SELECT * FROM notices WHERE at > :since AND at >= :least
    AND at <= :at AND (at < :at OR seq < (SELECT seq FROM notices WHERE id = :id))
    AND (:dismissed = 1 OR dismissed = 0)
    AND (CAST(:search AS TEXT) IS NULL OR instr(words, :search) > 0)
    ORDER BY at DESC, seq DESC LIMIT :limit
"""
FOUND_NOTICES = f"""
    SELECT * FROM notices WHERE {_AMONG} AND +at > :since
    AND +at <= :at AND (+at < :at OR seq < (SELECT seq FROM notices WHERE id = :id))
    AND (:dismissed = 1 OR dismissed = 0)
    ORDER BY +at DESC, seq DESC LIMIT :limit
"""  # noqa: S608 - constants
NOTICES_BEHIND = """
    SELECT * FROM notices WHERE at > :since AND NOT EXISTS (
        SELECT 1 FROM notice_posts WHERE notice = notices.seq AND surface = :surface)
    ORDER BY +seq
"""
NOTICE_AT = """
    SELECT notices.* FROM notice_posts JOIN notices ON notices.seq = notice
    WHERE surface = ? AND handle = ? ORDER BY notices.seq DESC LIMIT 1
"""
MESSAGES = "SELECT * FROM owner_messages ORDER BY seq DESC LIMIT ?"
MESSAGES_BEHIND = """
    SELECT * FROM owner_messages WHERE surface = ? AND surface != '' AND shown < revision
    ORDER BY seq
"""
MESSAGE_AT = "SELECT * FROM owner_messages WHERE surface = ? AND handle = ?"
OPEN_ASKS_BY_LINK = """
    SELECT calls.link, count(DISTINCT calls.ask) FROM calls JOIN asks ON asks.seq = calls.ask
    WHERE calls.ended_at IS NULL AND asks.status = 'open' GROUP BY calls.link
"""
NEWEST_LINK = """
    SELECT calls.link FROM calls JOIN asks ON asks.seq = calls.ask
    WHERE asks.id = ? ORDER BY started_at DESC, calls.rowid DESC LIMIT 1
"""
STORED_IDS = """
    SELECT id FROM asks WHERE id IN (SELECT value FROM json_each(:ids))
    UNION ALL SELECT id FROM owner_messages WHERE id IN (SELECT value FROM json_each(:ids))
"""
ATTACHMENT_DIGESTS = "SELECT DISTINCT digest FROM attachments"
NOTICE_SURFACES = """
    SELECT surface FROM notice_posts JOIN notices ON notices.seq = notice WHERE notices.id = ?
"""
TALLY = """
    SELECT (SELECT count(*) FROM asks WHERE settled_at >= :since AND settled_at <= :now
            AND status = 'timed_out') AS timed_out,
           (SELECT count(*) FROM calls WHERE late = 1
            AND delivered_at >= :since AND delivered_at <= :now) AS late,
           (SELECT count(*) FROM notices WHERE at >= :since AND at <= :until
            AND operation IS NULL) AS notices,
           (SELECT count(*) FROM operations WHERE ended_at >= :since AND ended_at <= :until
            AND synchronous = 0 AND stage IN ('failed', 'timed_out', 'interrupted')) AS failed
"""
NOTE = "SELECT * FROM notes WHERE channel = ? AND key = ?"


class SqlStore:
    ask_times_sql: ClassVar[str]
    file_copies: FileCopies | None = None
    """Where files are besides the state directory, if several hubs have this database."""

    def __init__(
        self, *, reading: Connection, writing: Connection, trail: Trail | None = None
    ) -> None:
        self._reading = reading
        self._writing = writing
        self.on_lost: Callable[[str], None] = lambda fault: None
        """Called when what is written now would be lost, with what to do."""
        self._trail = trail
        self._cache = Cache()
        self._unreadable = UnreadableRows()
        self._writer = Writer(writing, self._cache, self._unreadable, trail)
        self.write = self._writer.run
        self.operations = SqlOperations(reading, self._writer, self._unreadable)
        self._index = SearchIndex(reading, self._writer)

    async def close(self) -> None:
        await self._index.close()
        await self._writer.close()
        await self._reading.close()
        await self._writing.close()

    def faults(self) -> list[str]:
        """What its owner should know of it."""
        if not (aside := self._unreadable.listed):
            return []
        named = ", ".join(f"{kind} {name}" for kind, name in aside[:NAMED])
        more = f" and {len(aside) - NAMED} more" if len(aside) > NAMED else ""
        return [
            f"This version of chatbridge cannot read {named}{more} in its database, and leaves it "
            "alone. If a newer version wrote it, install that one again",
        ]

    def look(self) -> None:
        """There is nothing outside that could change."""

    async def ask(self, ask_id: str) -> Ask | None:
        self._reading.check_open()
        if known := self._cache.asks.get(ask_id):
            return known
        rows = await self._reading.rows(ASK, (ask_id,))
        return self._unreadable.first(QUESTION, rows)

    async def asks_by_prefix(self, *, project: str, prefix: str) -> Sequence[Ask]:
        return await self._asks(BY_PREFIX, {"project": project, **prefixed(prefix)})

    async def open_asks(self) -> Sequence[Ask]:
        return await self._asks(OPEN_ASKS)

    async def open_rows(self, *, limit: int, skip: int = 0) -> Rows:
        unread = {"aside": self._unreadable.open_asks}
        page = {"limit": limit, "skip": skip, **unread}
        rows = await self._rows(await self._reading.rows(OPEN_ROWS, page))
        ((total,),) = await self._reading.rows(COUNT_OPEN_ASKS, unread)
        return Rows(tuple(rows), total)

    async def history(self, *, limit: int, search: str | None = None) -> Sequence[Ask]:
        given = {"limit": limit, "search": search and search.casefold(), "at": math.inf}
        return await self._read_asks(
            await self._searched(ASK_DOCS, HISTORY, FOUND_IN_HISTORY, given)
        )

    async def past_rows(
        self, *, limit: int, before: Past | None = None, search: str | None = None
    ) -> Sequence[Row]:
        at, seq = before or (math.inf, 0)
        wanted = {"limit": limit, "search": search and search.casefold()}
        found: list[Row] = []
        while len(found) < limit:  # a page that is not full would be taken for the last one
            given = {**wanted, "at": at, "seq": seq}
            rows = await self._searched(ASK_DOCS, PAST_ROWS, FOUND_ROWS, given)
            found += await self._rows(rows)
            if len(rows) < limit:
                break
            at, seq = rows[-1]["settled_at"], rows[-1]["seq"]
        return found[:limit]

    async def answers_in(self, *, project: str, limit: int) -> Sequence[Ask]:
        return await self._asks(ANSWERS_IN, {"project": project, "limit": limit})

    async def ask_times(self, *, since: float, until: float) -> Sequence[AskTimes]:
        rows = await self._reading.rows(self.ask_times_sql, {"since": since, "until": until})
        return await asyncio.to_thread(times_of, rows)

    async def standing_grants(
        self, *, project: str, link: str, now: float
    ) -> Sequence[StandingGrant]:
        of = {"project": project, "link": link, "now": now}
        return [(row[0], row[1], row[2]) for row in await self._reading.rows(STANDING_GRANTS, of)]

    async def surfaces_of(self, ask_id: str) -> Sequence[str]:
        return texts(await self._reading.rows(SURFACES_OF, (ask_id,)))

    async def notices(
        self,
        *,
        limit: int,
        since: float = 0.0,
        before: PastNotice | None = None,
        search: str | None = None,
        dismissed: bool = True,
    ) -> Sequence[Notice]:
        at, last = before or (math.inf, "")
        given = {"limit": limit, "since": since, "at": at, "id": last, "dismissed": dismissed}
        given["search"] = search and search.casefold()
        rows = await self._searched(NOTICE_DOCS, NOTICES, FOUND_NOTICES, given)
        return self._unreadable.read(NOTICE, rows)

    async def _searched(
        self, kind: DocKind, plain: str, among: str, given: Mapping[str, Any]
    ) -> Sequence[Record]:
        """What is in most of them is found among the newest, anything else by the index, if there
        is something to search for and it helps."""
        everything = {**given, "least": -math.inf}
        if not given["search"] or not (some := await self._reading.rows(kind.time_of_some, given)):
            return await self._reading.rows(plain, everything)
        rows = await self._reading.rows(plain, {**given, "least": some[0][0]})
        if len(rows) == given["limit"]:
            return rows
        found = await self._index.rows(kind, among, given)
        return await self._reading.rows(plain, everything) if found is None else found

    async def notice(self, notice_id: str) -> Notice | None:
        rows = await self._reading.rows(NOTICE_OF_ID, (notice_id,))
        return self._unreadable.first(NOTICE, rows)

    async def notices_behind(self, *, surface: str, since: float) -> Sequence[Notice]:
        behind = {"surface": surface, "since": since}
        rows = await self._reading.rows(NOTICES_BEHIND, behind)
        return self._unreadable.read(NOTICE, rows)

    async def notice_at(self, handle: str, *, surface: str) -> Notice | None:
        rows = await self._reading.rows(NOTICE_AT, (surface, handle))
        return self._unreadable.first(NOTICE, rows)

    async def message(self, message_id: str) -> OwnerMessage | None:
        return next(iter(await self._messages(MESSAGE_OF_ID, (message_id,))), None)

    async def open_messages(self) -> Sequence[OwnerMessage]:
        return await self._messages(OPEN_MESSAGES)

    async def messages(self, *, limit: int) -> Sequence[OwnerMessage]:
        return await self._messages(MESSAGES, (limit,))

    async def messages_behind(self, *, surface: str) -> Sequence[OwnerMessage]:
        return await self._messages(MESSAGES_BEHIND, (surface,))

    async def message_at(self, handle: str, *, surface: str) -> OwnerMessage | None:
        return next(iter(await self._messages(MESSAGE_AT, (surface, handle))), None)

    async def _messages(self, sql: str, parameters: Parameters = ()) -> list[OwnerMessage]:
        return self._unreadable.read(MESSAGE, await self._reading.rows(sql, parameters))

    async def open_asks_by_link(self) -> Mapping[str, int]:
        rows = await self._reading.rows(OPEN_ASKS_BY_LINK)
        return {str(link): int(count) for link, count in rows}

    async def newest_link(self, ask_id: str) -> str | None:
        return next(iter(texts(await self._reading.rows(NEWEST_LINK, (ask_id,)))), None)

    async def notice_surfaces(self, notice_id: str) -> Sequence[str]:
        return texts(await self._reading.rows(NOTICE_SURFACES, (notice_id,)))

    async def unsettled_delivery(self) -> Sequence[Ask]:
        return await self._asks(UNSETTLED_DELIVERY)

    async def behind(self, *, surface: str, since: float) -> Sequence[Ask]:
        return await self._asks(BEHIND, {"surface": surface, "since": since})

    async def post(self, ask_id: str, *, surface: str) -> Post | None:
        self._reading.check_open()
        if (known := self._cache.posts.get(ask_id)) is not None:
            return known.get(surface)
        rows = await self._reading.rows(POST_OF, (ask_id, surface))
        return self._unreadable.first(POST, rows)

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        rows = await self._reading.rows(POST_AT, (surface, handle))
        return self._unreadable.first(POST, rows)

    async def note(self, channel: str, key: str) -> ChannelState | None:
        rows = await self._reading.rows(NOTE, (channel, key))
        return note_of(rows[0]) if rows else None

    async def tally(self, *, since: float, until: float, now: float) -> Tally:
        of = {"since": since, "until": until, "now": now}
        (row,) = await self._reading.rows(TALLY, of)
        return Tally(**dict(row))

    async def attachment_digests(self) -> frozenset[str]:
        return frozenset(texts(await self._reading.rows(ATTACHMENT_DIGESTS)))

    async def stored_ids(self, ids: Iterable[str]) -> frozenset[str]:
        found = await self._reading.rows(STORED_IDS, {"ids": json.dumps([*ids])})
        return frozenset(texts(found))

    async def sweep(self, *, before: float) -> int:
        limits, removed = (before, SWEPT_AT_ONCE), 0
        async with self._index.released(before=before):
            while batch := await self._writer.run(lambda tx: tx.change(REMOVE_ENDED, limits)):
                removed += batch
                for cached in (self._cache.asks, self._cache.calls, self._cache.posts):
                    cached.clear()
            for sql in (REMOVE_NOTICES, REMOVE_MESSAGES):
                await self._remove(sql, before)
        await self._index.grow()
        return removed

    async def record(self, entry: Callable[[Auditor], Entry]) -> None:
        if self._trail is None:
            return

        async def work(tx: SqlTransaction) -> None:
            assert tx.trail is not None
            tx.trail.add([entry(tx.trail.auditor)])

        await self._writer.run(work)

    async def audit(
        self, *, since: float, until: float, after: int = 0, limit: int
    ) -> Sequence[Line]:
        return await read_lines(self._reading, since=since, until=until, after=after, limit=limit)

    async def sweep_audit(self, *, before: float) -> int:
        return await self._remove(REMOVE_AUDIT_LINES, before)

    async def _remove(self, sql: str, before: float) -> int:
        remove = partial(SqlTransaction.change, sql=sql, parameters=(before, SWEPT_AT_ONCE))
        removed = 0
        while batch := await self._writer.run(remove):
            removed += batch
        return removed

    async def _asks(self, sql: str, parameters: Parameters = ()) -> list[Ask]:
        return await self._read_asks(await self._reading.rows(sql, parameters))

    async def _read_asks(self, rows: Sequence[Record]) -> list[Ask]:
        read = self._unreadable.read
        return [ask async for row in sliced(rows) for ask in read(QUESTION, (row,))]

    async def _rows(self, rows: Sequence[Record]) -> list[Row]:
        found: list[Row] = []
        async for row in sliced(rows):
            summary = summary_in(row["summary"])
            if summary is None:
                whole = await self.ask(row["id"])
                if whole is None:  # swept meanwhile, or set aside
                    continue
                summary = summary_of(whole)
            kind = Kind(QUESTION.name, QUESTION.key, partial(row_of, summary=summary))
            found += self._unreadable.read(kind, (row,))
        return found
