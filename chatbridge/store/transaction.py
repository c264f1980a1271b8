"""The store inside one transaction of the writing connection, and a cache of what it wrote.

Begin, commit and roll-back are the writer's.
"""

from __future__ import annotations

from collections import ChainMap, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from chatbridge.core.bounds import weight_of
from chatbridge.core.errors import StoreError, UnknownAsk
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Call, CallName, ChannelState, Notice, Post, Status
from chatbridge.store.audit import Trail
from chatbridge.store.database import Connection, Parameters, Record
from chatbridge.store.rows import (
    CALL,
    MESSAGE,
    NOTICE,
    POST,
    QUESTION,
    UnreadableRows,
    ask_row,
    assignments,
    changed_row,
    columns,
    insert,
    insert_of_ask,
    notice_row,
    texts,
)

K = TypeVar("K")
T = TypeVar("T")

CACHED = 2_000  # Of each kind; an ask takes about 5 KB
MAX_CACHED_CHARACTERS = 20_000  # Longer asks are read from the database

ASK = "SELECT * FROM asks WHERE id = ?"
OPEN_TWIN = """
    SELECT * FROM asks
    WHERE status = 'open' AND fingerprint = :fingerprint AND project = :project
    AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.ask = asks.seq AND calls.ended_at IS NULL)
    ORDER BY seq DESC LIMIT 9
"""
KEPT_TWIN = """
    SELECT * FROM asks
    WHERE delivered_at IS NULL AND discarded = 0 AND kept_until > :now
    AND fingerprint = :fingerprint AND project = :project
    AND (status = 'answered' OR late IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.ask = asks.seq AND calls.ended_at IS NULL
                    AND NOT (calls.ticket = 1 AND asks.kept = 1))
    ORDER BY seq DESC LIMIT 9
"""
ANYTHING_LIKE = """
    SELECT 1 FROM calls WHERE link = :link AND request = :request
    UNION ALL
    SELECT 1 FROM asks WHERE status = 'open' AND fingerprint = :fingerprint
    UNION ALL
    SELECT 1 FROM asks WHERE delivered_at IS NULL AND discarded = 0 AND kept_until IS NOT NULL
    AND fingerprint = :fingerprint
    UNION ALL
    SELECT 1 FROM calls JOIN asks ON asks.seq = calls.ask
    WHERE calls.link = :link AND calls.ended_at IS NULL AND asks.fingerprint = :fingerprint
    LIMIT 1
"""
READABLE = "(:aside = '[]' OR seq NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(:aside)))"
"""Not an open ask that is known to be set aside: nobody could end it."""
COUNT_OPEN_ASKS = """
    SELECT count(*) - (SELECT count(*) FROM json_each(:aside) CROSS JOIN asks
                       WHERE seq = CAST(value AS BIGINT) AND status = 'open')
    FROM asks WHERE status = 'open'
"""
"""A look at each of 10,000 whether it is set aside would take a millisecond."""
_OPEN_ASKS_OF = f"SELECT count(*) FROM asks WHERE status = 'open' AND {READABLE}"  # noqa: S608
COUNT_OPEN_ASKS_OF_PROJECT = f"{_OPEN_ASKS_OF} AND project = :party"
_BEGINS_SO = "substr(project || ':', 1, length(:party)) = :party"
COUNT_OPEN_ASKS_OF_PARTY = f"{_OPEN_ASKS_OF} AND {_BEGINS_SO}"
_URGENT_ASKS = """
    SELECT count(*) FROM asks WHERE (status = 'open' OR settled_at >= :since)
    AND created_at >= :since AND instr(attention, '"priority": "urgent"') > 0
"""
"""Of what is in two indexes: open asks, and what has ended since then."""
COUNT_URGENT_ASKS = f"{_URGENT_ASKS} AND project = :party"
COUNT_URGENT_ASKS_OF_PARTY = f"{_URGENT_ASKS} AND {_BEGINS_SO}"
OPEN_ASKS_OF = """
    SELECT * FROM asks WHERE status = 'open'
    AND EXISTS (SELECT 1 FROM calls WHERE calls.ask = asks.seq AND calls.link = ?) ORDER BY seq
"""
_CALLS = "calls.*, asks.id AS ask_id FROM calls JOIN asks ON asks.seq = calls.ask"
CALL_NAMED = f"SELECT {_CALLS} WHERE calls.link = ? AND calls.request = ?"
LIVE_CALLS = f"SELECT {_CALLS} WHERE asks.id = ? AND calls.ended_at IS NULL ORDER BY started_at"
NEWEST_CALL = """
    SELECT calls.link, calls.request FROM calls JOIN asks ON asks.seq = calls.ask
    WHERE asks.id = ? AND calls.link = ?
    AND NOT (calls.counts_until IS NULL AND calls.delivered_at IS NULL
             AND coalesce(calls.ended_at <= asks.settled_at, 0 = 1))
    ORDER BY calls.started_at DESC, calls.rowid DESC LIMIT 1
"""
LIVE_CALLS_OF = f"""
    SELECT {_CALLS} WHERE calls.link = :link AND calls.ended_at IS NULL
    AND (CAST(:fingerprint AS TEXT) IS NULL OR asks.fingerprint = :fingerprint)
    ORDER BY calls.started_at, calls.rowid
"""
LIVE_LINKS = "SELECT DISTINCT link FROM calls WHERE ended_at IS NULL"
POST_OF = """
    SELECT posts.*, asks.id AS ask_id FROM posts JOIN asks ON asks.seq = posts.ask
    WHERE asks.id = ? AND posts.surface = ?
"""
_SAVE_HANDLE = """
    INSERT INTO handles (surface, handle, ask) SELECT ?, ?, seq FROM asks WHERE id = ?
    ON CONFLICT (surface, handle) DO NOTHING
"""
_SAVE_NOTE = """
    INSERT INTO notes (channel, key, value, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value, at = excluded.at
"""
_SAVE_GRANT = """
    INSERT INTO grants (ask, project, folder, until, taken_back_at)
    SELECT seq, project, :folder, :until, :taken_back_at FROM asks WHERE id = :id
    ON CONFLICT (ask) DO UPDATE SET taken_back_at = excluded.taken_back_at
"""
_DROP_NOTE = "DELETE FROM notes WHERE channel = ? AND key = ?"
_UNLESS_NOTICED = "ON CONFLICT DO NOTHING"  # The call, the title and the message are unique
_NOTICE_OF = """
    SELECT * FROM notices
    WHERE link = :link AND request = :request AND title = :title AND message = :message
"""
COUNT_NOTICES = """
    SELECT count(*) FROM notices WHERE at > :since AND at <= :until AND operation IS NULL
    AND (CAST(:link AS TEXT) IS NULL OR link = :link)
    AND (CAST(:party AS TEXT) IS NULL OR project = :party
         OR :party LIKE '%:' AND substr(project || ':', 1, length(:party)) = :party)
"""
_SAVE_NOTICE_POST = """
    INSERT INTO notice_posts (notice, surface, handle) SELECT seq, ?, ? FROM notices WHERE id = ?
    ON CONFLICT (notice, surface)
    DO UPDATE SET handle = coalesce(excluded.handle, notice_posts.handle)
"""
NOTICE_OF_ID = "SELECT * FROM notices WHERE id = ?"
SHOWN_NOTICE = """
    SELECT 1 FROM notice_posts JOIN notices ON notices.seq = notice
    WHERE notices.id = ? AND surface = ?
"""
MESSAGE_OF_ID = "SELECT * FROM owner_messages WHERE id = ?"
OPEN_MESSAGES = "SELECT * FROM owner_messages WHERE settled_at IS NULL ORDER BY seq"
_MESSAGE_STATE = ("state", "handed_to", "way", "settled_at", "revision")
_SAVE_MESSAGE = f"UPDATE owner_messages SET {assignments(_MESSAGE_STATE)} WHERE id = :id"  # noqa: S608
_SAVE_MESSAGE_POST = """
    UPDATE owner_messages SET place = :place, handle = :handle, shown = :shown WHERE id = :id
"""
REMOVE_MESSAGES = """
    DELETE FROM owner_messages WHERE seq IN
    (SELECT seq FROM owner_messages WHERE settled_at < ? ORDER BY settled_at LIMIT ?)
"""
_ATTACH_TO_ASK = "INSERT INTO attachments (digest, ask) SELECT ?, seq FROM asks WHERE id = ?"
_ATTACH_TO_NOTICE = (
    "INSERT INTO attachments (digest, notice) SELECT ?, seq FROM notices WHERE id = ?"
)
_DISMISS_NOTICE = """
    UPDATE notices SET dismissed = 1 WHERE dismissed = 0
    AND (id = :id OR :and_older = 1 AND seq < (SELECT seq FROM notices WHERE id = :id))
"""
REMOVE_NOTICES = """
    DELETE FROM notices WHERE seq IN (SELECT seq FROM notices WHERE at < ? ORDER BY at LIMIT ?)
"""
REMOVE_ENDED = """
    DELETE FROM asks WHERE seq IN
    (SELECT seq FROM asks WHERE settled_at < ? ORDER BY settled_at LIMIT ?)
"""


@cache
def save_ask_sql(row: tuple[str, ...]) -> str:
    return f"UPDATE asks SET {assignments(row)} WHERE id = :id AND status = :was"  # noqa: S608


@dataclass(slots=True)
class Cache:
    """What was written last, as it is in the database: most reads are of these. The hub's lock, or
    its fence, makes this process the only writer, so nothing can change behind its back. None: the
    database has another text than was given."""

    asks: OrderedDict[str, Ask | None] = field(default_factory=OrderedDict)
    calls: OrderedDict[CallName, Call | None] = field(default_factory=OrderedDict)
    posts: OrderedDict[str, dict[str, Post] | None] = field(default_factory=OrderedDict)
    """All posts of an ask, by surface."""

    def update(self, changes: Cache) -> None:
        _update(self.asks, changes.asks)
        _update(self.calls, changes.calls)
        _update(self.posts, changes.posts)


def _update(cached: OrderedDict[K, T | None], changed: OrderedDict[K, T | None]) -> None:
    for key, value in changed.items():
        cached.pop(key, None)
        if value is not None:
            cached[key] = value
    while len(cached) > CACHED:
        cached.popitem(last=False)


@dataclass(slots=True)
class SqlTransaction:
    """`wrote` and `failed` tell the writer whether the transaction can still be shared."""

    connection: Connection
    committed: Cache
    changes: Cache  # Those of the transaction's other works so far; takes up this one's
    unreadable: UnreadableRows
    trail: Trail | None = None
    """Where the lines of the audit trail are collected, if there is one."""
    wrote: bool = False
    failed: StoreError | None = None
    over: bool = False

    async def ask(self, ask_id: str) -> Ask | None:
        self._check()
        return self._known(ask_id) or self._one(await self.rows(ASK, (ask_id,)))

    def _known(self, ask_id: str) -> Ask | None:
        return ChainMap(self.changes.asks, self.committed.asks).get(ask_id)

    async def add_ask(self, ask: Ask) -> None:
        self.connection.check_lasts()
        row = ask_row(ask)
        await self.change(insert("asks", row), row)
        for attachment in ask.files:
            await self.change(_ATTACH_TO_ASK, (attachment.digest, ask.id))
        await self._save_grant(ask)
        if self.trail:
            self.trail.add([self.trail.auditor.opened(ask)])
        self.changes.asks[ask.id] = self._to_keep(ask)
        self.changes.posts[ask.id] = {}

    async def save_ask(self, ask: Ask, *, was: Status) -> bool:
        before = await self.ask(ask.id) if self.trail else self._known(ask.id)
        row = changed_row(ask, before)
        sql = save_ask_sql(tuple(row))
        saved = await self.change(sql, {**row, "id": ask.id, "was": was.value}) == 1
        if saved:
            await self._save_grant(ask)
            if self.trail and before:
                self.trail.add(self.trail.auditor.changed(before, ask))
            self.changes.asks[ask.id] = self._to_keep(ask)
        return saved

    async def _save_grant(self, ask: Ask) -> None:
        if grant := ask.grant:
            row = columns(grant, "folder", "until", "taken_back_at")
            await self.change(_SAVE_GRANT, {**row, "id": ask.id})

    async def is_new(self, name: CallName, *, fingerprint: str) -> bool:
        asked = {"link": name.link, "request": name.request, "fingerprint": fingerprint}
        return not await self.rows(ANYTHING_LIKE, asked)

    async def open_twin(self, *, project: str, fingerprint: str) -> Ask | None:
        twin = {"project": project, "fingerprint": fingerprint}
        return self._one(await self.rows(OPEN_TWIN, twin))

    async def kept_twin(self, *, project: str, fingerprint: str, now: float) -> Ask | None:
        twin = {"project": project, "fingerprint": fingerprint, "now": now}
        return self._one(await self.rows(KEPT_TWIN, twin))

    async def count_open_asks(self, *, party: str | None = None) -> int:
        sql = COUNT_OPEN_ASKS
        if party is not None:
            several = party.endswith(":")
            sql = COUNT_OPEN_ASKS_OF_PARTY if several else COUNT_OPEN_ASKS_OF_PROJECT
        ((count,),) = await self.rows(sql, {"party": party, "aside": self.unreadable.open_asks})
        return int(count)

    async def count_urgent_asks(self, *, party: str, since: float) -> int:
        sql = COUNT_URGENT_ASKS_OF_PARTY if party.endswith(":") else COUNT_URGENT_ASKS
        ((count,),) = await self.rows(sql, {"party": party, "since": since})
        return int(count)

    async def open_asks_of(self, link: str) -> Sequence[Ask]:
        return self.unreadable.read(QUESTION, await self.rows(OPEN_ASKS_OF, (link,)))

    async def call(self, name: CallName) -> Call | None:
        self._check()
        if known := ChainMap(self.changes.calls, self.committed.calls).get(name):
            return known
        rows = await self.rows(CALL_NAMED, (name.link, name.request))
        return self.unreadable.first(CALL, rows)

    async def save_call(self, call: Call) -> None:
        row = columns(call)
        if not await self.change(insert_of_ask("calls", tuple(row), key=("link", "request")), row):
            raise UnknownAsk(call.ask_id)
        self.changes.calls[call.name] = self._as_stored(call)

    async def live_calls(self, ask_id: str) -> Sequence[Call]:
        return self.unreadable.read(CALL, await self.rows(LIVE_CALLS, (ask_id,)))

    async def newest_call(self, ask_id: str, *, link: str) -> CallName | None:
        rows = await self.rows(NEWEST_CALL, (ask_id, link))
        return CallName(**dict(rows[0])) if rows else None

    async def live_calls_of(self, link: str, *, fingerprint: str | None = None) -> Sequence[Call]:
        of = {"link": link, "fingerprint": fingerprint}
        return self.unreadable.read(CALL, await self.rows(LIVE_CALLS_OF, of))

    async def live_links(self) -> Sequence[str]:
        return texts(await self.rows(LIVE_LINKS))

    async def post(self, *, ask_id: str, surface: str) -> Post | None:
        rows = await self.rows(POST_OF, (ask_id, surface))
        return self.unreadable.first(POST, rows)

    async def save_post(self, post: Post, *, handles: Sequence[str] = ()) -> None:
        # The ask may have been swept while its card was on the way: then there is nothing to note.
        if self.trail and post.revision and not await self._is_shown(post):
            ask = await self.ask(post.ask_id)
            self.trail.add([self.trail.auditor.shown(ask, post.surface)] if ask else ())
        row = columns(post)
        await self.change(insert_of_ask("posts", tuple(row), key=("ask", "surface")), row)
        for handle in handles:
            await self.change(_SAVE_HANDLE, (post.surface, handle, post.ask_id))
        known = ChainMap(self.changes.posts, self.committed.posts).get(post.ask_id)
        if known is not None:
            self.changes.posts[post.ask_id] = self._as_stored({**known, post.surface: post})

    async def _is_shown(self, post: Post) -> bool:
        known = ChainMap(self.changes.posts, self.committed.posts).get(post.ask_id)
        if known is None:
            before = await self.post(ask_id=post.ask_id, surface=post.surface)
        else:
            before = known.get(post.surface)
        return before is not None and before.revision > 0

    async def save_note(self, note: ChannelState) -> None:
        await self.change(_SAVE_NOTE, (note.channel, note.key, note.value, note.at))

    async def drop_note(self, channel: str, key: str) -> None:
        await self.change(_DROP_NOTE, (channel, key))

    async def add_notice(self, notice: Notice) -> Notice:
        row = notice_row(notice)
        if await self.change(f"{insert('notices', row)} {_UNLESS_NOTICED}", row):
            for attachment in notice.attachments:
                await self.change(_ATTACH_TO_NOTICE, (attachment.digest, notice.id))
            if self.trail:
                self.trail.add([self.trail.auditor.notified(notice)])
        known = await self.rows(_NOTICE_OF, row)
        return self.unreadable.first(NOTICE, known) or notice

    async def count_notices(
        self, *, link: str | None = None, party: str | None = None, since: float, until: float
    ) -> int:
        of = {"link": link, "party": party, "since": since, "until": until}
        ((count,),) = await self.rows(COUNT_NOTICES, of)
        return int(count)

    async def dismiss_notice(self, notice_id: str, *, and_older: bool = False) -> None:
        await self.change(_DISMISS_NOTICE, {"id": notice_id, "and_older": and_older})

    async def save_notice_post(
        self, notice_id: str, *, surface: str, handle: str | None = None
    ) -> None:
        if self.trail and not await self.rows(SHOWN_NOTICE, (notice_id, surface)):
            rows = await self.rows(NOTICE_OF_ID, (notice_id,))
            notices = self.unreadable.read(NOTICE, rows)
            self.trail.add(self.trail.auditor.notice_shown(it, surface) for it in notices)
        await self.change(_SAVE_NOTICE_POST, (surface, handle, notice_id))

    async def message(self, message_id: str) -> OwnerMessage | None:
        return self.unreadable.first(MESSAGE, await self.rows(MESSAGE_OF_ID, (message_id,)))

    async def open_messages(self) -> Sequence[OwnerMessage]:
        return self.unreadable.read(MESSAGE, await self.rows(OPEN_MESSAGES))

    async def add_message(self, message: OwnerMessage) -> None:
        self.connection.check_lasts()
        row = columns(message)
        await self.change(insert("owner_messages", row), row)
        if self.trail:
            self.trail.add([self.trail.auditor.told(message)])

    async def save_message(self, message: OwnerMessage) -> None:
        if self.trail and (before := await self.message(message.id)):
            self.trail.add(self.trail.auditor.message_changed(before, message))
        row = columns(message, *_MESSAGE_STATE)
        await self.change(_SAVE_MESSAGE, {**row, "id": message.id})

    async def save_message_post(
        self, message_id: str, *, place: str | None, handle: str | None, shown: int
    ) -> None:
        post = {"id": message_id, "place": place, "handle": handle, "shown": shown}
        await self.change(_SAVE_MESSAGE_POST, post)

    async def rows(self, sql: str, parameters: Parameters = ()) -> Sequence[Record]:
        self._check()
        try:
            return await self.connection.rows(sql, parameters)
        except StoreError as error:
            self.failed = error
            raise

    async def change(self, sql: str, parameters: Parameters) -> int:
        self._check()
        self.wrote = True
        try:
            return await self.connection.change(sql, parameters)
        except StoreError as error:
            self.failed = error
            raise

    async def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._check()
        self.wrote = True
        try:
            await self.connection.change_each(sql, rows)
        except StoreError as error:
            self.failed = error
            raise

    def _check(self) -> None:
        if self.over:
            raise RuntimeError("a transaction was used after its work had returned")
        # The error may have rolled everything back: what came after it would stand alone.
        if self.failed is not None:
            raise self.failed

    def _one(self, rows: Sequence[Record]) -> Ask | None:
        return self.unreadable.first(QUESTION, rows)

    def _to_keep(self, ask: Ask) -> Ask | None:
        return self._as_stored(ask) if weight_of(ask) <= MAX_CACHED_CHARACTERS else None

    def _as_stored(self, value: T) -> T | None:
        return None if self.connection.replaced else value
