"""The SQLite schema: every version leads to the newest, and every statement has its index."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Attachment, Post
from chatbridge.store import audit, search, sql_store, transaction
from chatbridge.store.rows import changed_row, columns, insert_of_ask
from chatbridge.store.sqlite import migrate
from chatbridge.store.sqlite.ask_times import ASK_TIMES
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import a_call, an_ask

SCRIPTS = sorted(Path(str(migrate.SCHEMA)).glob("*.sql"))
STATEMENTS = {
    name: value
    for module in (sql_store, transaction, audit, search)
    for name, value in vars(module).items()
    if isinstance(value, str) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b", value)
}
STATEMENTS["SAVE_ASK"] = transaction.save_ask_sql(tuple(changed_row(an_ask(), None)))
STATEMENTS["SAVE_CALL"] = insert_of_ask(
    "calls", tuple(columns(a_call(an_ask()))), key=("link", "request")
)
STATEMENTS["SAVE_POST"] = insert_of_ask("posts", Post.__slots__, key=("ask", "surface"))
FROZEN = {
    "0001_initial.sql": "d964c85e2cb49a6fceff4f62ad245d2cf7dde53707b1cf6bb354faf3e4661dfc",
    "0002_surfaces.sql": "7d5e871e244852029b9faad23e84640e8c574d3baf5d7e1a5934400963429cf7",
    "0003_contracts.sql": "022c27c57eaf0b32d1cf17a295b0f09d96f1fe0e5a936ba9dd9b6d36ca1940d3",
    "0004_operations.sql": "da2bf95c6f1de9a31091e20358cf5336f70322d3ec20f231da3126d8c7a2a279",
    "0005_summary.sql": "04bdbded5d135af4859b1e9f6be687dbdf6ad687dfc3df58698f4918cf08a097",
    "0006_dismissed.sql": "465f73c030cf3b2e6b35ddc56444567f0d1eb7ea54b5b421a2bd2abe6c1a176f",
    "0007_grants.sql": "edb8be1cec005e170b6280b117de107198e58cd8348c90d8cdd46c5993ba0bd5",
    "0008_attention.sql": "e335e7ac6e81f16cf733881dbe482ba19c1248ef7f724cafa0bb5320ae845ff8",
    "0009_late_calls.sql": "33a7630ce7ae6195d5bfd7ff820b85e9dda8b44b85bccf451480321163cab395",
    "0010_stats.sql": "b6c01eddd096afbe4774a5d5a365545615311e19740fc361a923a11042873df3",
    "0011_attachments.sql": "6677aa08dc8477477965b98bfafe0691b9edf075bc137a2c8ddfe4e7fcd8b009",
    "0012_owner_messages.sql": "f5cfc599fb1d72039c78d767235db7c2c96a6050db703f8a09b0cdb2c068f6e7",
    "0013_audit.sql": "ed5e17f9973a3a73956dc5a722273cb8a78133f5c136e70658d749d8ac03ebb6",
    "0014_search.sql": "eb67ea518f58af66db240ef1af5b9ac2c11ae99dfc8f79c6c5bdec278a3bcc43",
}
"""SHA-256 of each migration. Add a line with a new one; never change a line, nor its file."""
SEGMENTS = {"SCAN search_segments"}  # A row for a thousand texts
WHOLE_TABLES = {
    "ATTACHMENT_DIGESTS": {"SCAN attachments"},
    "AUDIT_NAMES": {"SCAN audit"},  # after a mistyped name, by a command
    "MESSAGES": {"SCAN owner_messages"},
    "WITH_GRAMS": {*SEGMENTS, "SCAN search_queue", "SCAN waiting"},
    "WITH_BEGINNING": {*SEGMENTS, "SCAN search_queue", "SCAN waiting", "SCAN found"},
    "UNFINISHED": SEGMENTS,
    "REMOVE_UNFINISHED": SEGMENTS,
    "TO_RELEASE": SEGMENTS,
}
"""What has to be walked through, because all of it is the answer, or its newest rows are."""
A_MIGRATION = """
    ALTER TABLE asks ADD COLUMN colour TEXT;
    UPDATE asks SET colour = 'blue';
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chatbridge.db"


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the schema's folder, in use instead of the real one."""
    folder = tmp_path / "schema"
    shutil.copytree(str(migrate.SCHEMA), folder)
    monkeypatch.setattr(migrate, "SCHEMA", folder)
    return folder


def query(path: Path, sql: str, parameters: Any = ()) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, parameters).fetchall()


async def test_the_scripts_are_numbered_without_a_gap() -> None:
    assert [int(script.name[:4]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))


def test_no_migration_is_changed_once_it_is_there() -> None:
    digests = {script.name: sha256(script.read_bytes()).hexdigest() for script in SCRIPTS}
    assert digests == FROZEN


@pytest.mark.parametrize("gap", ["", " "])
async def test_approvals_of_an_older_version_are_counted_as_such(path: Path, gap: str) -> None:
    question = '[{"id": "q", "text": "\\"type\\": \\"approval\\"?", "type":%s"%s"}]'
    columns = "id, project, client, fingerprint, status, revision, created_at, settled_at, kept, "
    columns += "discarded, alone, project_name, agent_name, tool, dialect, words, draft, questions"
    values = "?, 'p', 'c', 'f', 'answered', 1, 1000.0, 1060.0, 0, 0, 0, 'p', ?, 't', 'd', '', '{}'"
    with closing(sqlite3.connect(path)) as old:
        for script in SCRIPTS[:8]:
            old.executescript(script.read_text())
        for kind in ("approval", "text"):
            row = (kind, kind, question % (gap, kind))
            old.execute(f"INSERT INTO asks ({columns}) VALUES ({values}, ?)", row)  # noqa: S608
        old.execute("PRAGMA user_version = 8")
        old.commit()
    store = await SqliteStore.open(path)
    try:
        found = await store.ask_times(since=0.0, until=2000.0)
    finally:
        await store.close()
    assert {(times.agent, times.approval) for times in found} == {
        ("approval", True),
        ("text", False),
    }


async def test_statistics_read_nothing_but_their_index_of_asks_that_have_ended(path: Path) -> None:
    await (await SqliteStore.open(path)).close()
    steps = [step for step in plan(path, ASK_TIMES) if " asks" in step]
    (of_open,) = [step for step in steps if "USING COVERING INDEX asks_counted" not in step]
    assert of_open.startswith("SEARCH asks USING INDEX asks_open")
    assert len(steps) == 8
    key = "project_name=? AND agent_name=? AND approval=? AND status=? AND alone_since"
    ends = [f"({key}=? AND created_at>? AND created_at<?)", f"({key}>?)", f"({key}>?)"]
    assert [step.partition("asks_counted ")[2] for step in steps if "status=? AND" in step] == ends


async def test_notices_of_an_older_version_are_there_and_can_be_searched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as old:
        for script in SCRIPTS[:5]:
            old.executescript(script.read_text())
        old.execute(
            "INSERT INTO notices (id, link, request, project, client, project_name, agent_name,"
            " title, message, level, at) VALUES ('n', 'l', '1', '/p', 'c', 'p', 'a', 'Build',"
            " 'It is DONE.', 'info', 5.0)"
        )
        old.execute("PRAGMA user_version = 5")
        old.commit()
    store = await SqliteStore.open(path)
    try:
        (found,) = await store.notices(limit=9, search="done", dismissed=False)
    finally:
        await store.close()
    assert found.message == "It is DONE."


async def test_asks_and_notices_of_an_older_version_wait_for_the_index_of_the_search(
    path: Path,
) -> None:
    columns = "seq, id, project, client, fingerprint, status, revision, created_at, settled_at, "
    columns += "kept, discarded, alone, project_name, agent_name, tool, dialect, words, draft, "
    columns += "questions"
    values = "?, ?, '/p', 'c', 'f', ?, 1, 1.0, ?, 0, 0, 0, 'p', 'a', 't', 'd', '', '', ''"
    with closing(sqlite3.connect(path)) as old:
        for script in SCRIPTS[:13]:
            old.executescript(script.read_text())
        for row in ((3, "over", "answered", 5.0), (4, "open", "open", None)):
            old.execute(f"INSERT INTO asks ({columns}) VALUES ({values})", row)  # noqa: S608
        old.execute(
            "INSERT INTO notices (seq, id, link, request, project, client, project_name,"
            " agent_name, title, message, level, at, words)"
            " VALUES (6, 'n', 'l', '1', '/p', 'c', 'p', 'a', '', '', 'info', 5.0, '')"
        )
        old.execute("PRAGMA user_version = 13")
        old.commit()
    await (await SqliteStore.open(path)).close()
    assert query(path, "SELECT doc FROM search_queue ORDER BY doc") == [(-6,), (3,)]


async def test_asks_and_notices_of_an_older_version_have_no_files_and_new_ones_may(
    path: Path,
) -> None:
    columns = "id, project, client, fingerprint, status, revision, created_at, kept, discarded, "
    columns += "alone, project_name, agent_name, tool, dialect, words, draft, questions"
    values = "'old', '/p', 'c', 'f', 'open', 1, 1.0, 0, 0, 0, 'p', 'a', 't', 'd', '', ?, ?"
    texts = ('{"entries": [{}]}', '[{"id": "q", "text": "Which?", "type": "text"}]')
    with closing(sqlite3.connect(path)) as old:
        for script in SCRIPTS[:10]:
            old.executescript(script.read_text())
        old.execute(f"INSERT INTO asks ({columns}) VALUES ({values})", texts)  # noqa: S608
        old.execute(
            "INSERT INTO notices (id, link, request, project, client, project_name, agent_name,"
            " title, message, level, at) VALUES ('n', 'l', '1', '/p', 'c', 'p', 'a', 'Build',"
            " 'It is done.', 'info', 5.0)"
        )
        old.execute("PRAGMA user_version = 10")
        old.commit()
    file = Attachment(digest="a" * 64, name="build.log", type="text/plain", size=12)
    store = await SqliteStore.open(path)
    try:
        (ask,), (notice,) = await store.open_asks(), await store.notices(limit=9)
        assert (ask.id, ask.files, notice.id, notice.attachments) == ("old", (), "n", ())
        assert await store.attachment_digests() == frozenset()
        await store.write(lambda tx: tx.add_ask(an_ask(attachments=(file,))))
        assert await store.attachment_digests() == {file.digest}
    finally:
        await store.close()


@pytest.mark.parametrize("version", range(1, len(SCRIPTS) + 1))
async def test_every_older_version_comes_to_the_same_schema(
    tmp_path: Path, path: Path, version: int
) -> None:
    with closing(sqlite3.connect(path)) as old:
        for script in SCRIPTS[:version]:
            old.executescript(script.read_text())
        old.execute(f"PRAGMA user_version = {version}")
    fresh = tmp_path / "fresh.db"
    for each in (path, fresh):
        await (await SqliteStore.open(each)).close()
    objects = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    assert query(path, objects) == query(fresh, objects)
    assert query(path, "PRAGMA user_version") == [(len(SCRIPTS),)]


async def test_a_migration_is_applied_once_and_keeps_what_is_there(
    path: Path, schema: Path
) -> None:
    ask = an_ask()
    store = await SqliteStore.open(path)
    await store.write(lambda tx: tx.add_ask(ask))
    await store.close()
    next_version = len(SCRIPTS) + 1
    (schema / f"{next_version:04}_colour.sql").write_text(A_MIGRATION)
    for _ in range(2):
        store = await SqliteStore.open(path)
        assert await store.ask(ask.id) == ask
        await store.close()
    assert query(path, "SELECT colour FROM asks") == [("blue",)]
    assert query(path, "PRAGMA user_version") == [(next_version,)]


async def test_a_migration_that_fails_leaves_the_version_before_it(
    path: Path, schema: Path
) -> None:
    ask = an_ask()
    store = await SqliteStore.open(path)
    await store.write(lambda tx: tx.add_ask(ask))
    await store.close()
    broken = schema / f"{len(SCRIPTS) + 1:04}_colour.sql"
    broken.write_text(f"{A_MIGRATION} DROP TABLE no_such_table;")
    with pytest.raises(StoreError, match="no_such_table"):
        await SqliteStore.open(path)
    assert query(path, "PRAGMA user_version") == [(len(SCRIPTS),)]
    assert "colour" not in [column[1] for column in query(path, "PRAGMA table_info(asks)")]
    broken.unlink()
    store = await SqliteStore.open(path)
    assert await store.ask(ask.id) == ask
    await store.close()


def plan(path: Path, sql: str) -> list[str]:
    parameters: Any = defaultdict(int) if ":" in sql else [0] * sql.count("?")
    return [row[3] for row in query(path, "EXPLAIN QUERY PLAN " + sql, parameters)]


@pytest.mark.parametrize("statement", STATEMENTS)
async def test_no_statement_walks_through_a_whole_table(path: Path, statement: str) -> None:
    await (await SqliteStore.open(path)).close()
    partial = {
        name
        for name, sql in query(path, "SELECT name, sql FROM sqlite_master WHERE type = 'index'")
        if sql and "WHERE" in sql
    }
    steps = plan(path, STATEMENTS[statement])
    # A list that is handed in as JSON is no table, and neither is a row of other queries' results.
    no_table = ("json_each", "CONSTANT ROW")
    scans = [s for s in steps if s.startswith("SCAN") and not any(each in s for each in no_table)]
    walked = {re.sub(r"SCAN \w+ USING (COVERING )?INDEX ", "", line) for line in scans}
    # An index of the few rows that are wanted may be walked through; nothing else.
    assert walked <= partial | WHOLE_TABLES.get(statement, set())


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("ASK", "sqlite_autoindex_asks_1 (id=?)"),
        ("SAVE_ASK", "sqlite_autoindex_asks_1 (id=?)"),
        ("ANYTHING_LIKE", "sqlite_autoindex_calls_1 (link=? AND request=?)"),
        ("ANYTHING_LIKE", "asks_open_twins (fingerprint=?)"),
        ("ANYTHING_LIKE", "asks_kept_twins (fingerprint=?)"),
        ("ANYTHING_LIKE", "calls_live (link=? AND ended_at=?)"),
        ("OPEN_TWIN", "asks_open_twins (fingerprint=?)"),
        ("OPEN_TWIN", "calls_of_ask (ask=? AND ended_at=?)"),
        ("KEPT_TWIN", "asks_kept_twins (fingerprint=?)"),
        ("KEPT_TWIN", "calls_of_ask (ask=? AND ended_at=?)"),
        ("COUNT_OPEN_ASKS_OF_PROJECT", "asks_open_agents (project=?)"),
        ("OPEN_ASKS_OF", "calls_of_ask (ask=?)"),
        ("NEWEST_CALL", "calls_of_ask (ask=?)"),
        ("OPEN_ASKS", "asks_open (status=?)"),
        ("LIVE_CALLS", "calls_of_ask (ask=? AND ended_at=?)"),
        ("LIVE_CALLS_OF", "calls_live (link=? AND ended_at=?)"),
        ("LIVE_LINKS", "calls_live"),
        ("OPEN_ROWS", "asks_open (status=?)"),
        ("HISTORY", "asks_ended (settled_at>?)"),
        ("PAST_ROWS", "asks_ended (settled_at>? AND settled_at<?)"),
        ("UNSETTLED_DELIVERY", "asks_unsettled"),
        ("BEHIND", "COVERING INDEX asks_open_revisions (status=?)"),
        ("BEHIND", "asks_ended (settled_at>?)"),
        ("REMOVE_ENDED", "COVERING INDEX asks_ended (settled_at<?)"),
        ("FOUND_IN_HISTORY", "SEARCH asks USING INTEGER PRIMARY KEY (rowid=?)"),
        ("FOUND_ROWS", "SEARCH asks USING INTEGER PRIMARY KEY (rowid=?)"),
        ("FOUND_NOTICES", "SEARCH notices USING INTEGER PRIMARY KEY (rowid=?)"),
        ("WITH_GRAMS", "search_grams USING PRIMARY KEY (segment=? AND gram=?)"),
        ("WITH_BEGINNING", "search_grams USING PRIMARY KEY (segment=? AND gram>? AND gram<?)"),
        ("WAITING", "search_queue USING INTEGER PRIMARY KEY (rowid>?)"),
        ("INDEXED", "search_queue USING INTEGER PRIMARY KEY (rowid=?)"),
        ("ANSWERS_IN", "asks_answered (project=? AND settled_at>?)"),
        ("NOTICES", "notices_at (at>? AND at<?)"),
        ("NOTICES_BEHIND", "notices_at (at>?)"),
        ("TALLY", "asks_ended (settled_at>? AND settled_at<?)"),
        ("TALLY", "calls_late (delivered_at>? AND delivered_at<?)"),
        ("TALLY", "notices_at (at>? AND at<?)"),
        ("TALLY", "operations_ended (ended_at>? AND ended_at<?)"),
        ("OPEN_MESSAGES", "owner_messages_open"),
        ("MESSAGES_BEHIND", "owner_messages_behind (surface=?)"),
        ("MESSAGE_AT", "owner_messages_at (surface=? AND handle=?)"),
        ("NOTICE_AT", "notice_posts_at (surface=? AND handle=?)"),
        ("REMOVE_MESSAGES", "owner_messages_settled (settled_at<?)"),
        ("AUDIT_LINES", "INTEGER PRIMARY KEY (rowid>?)"),
        ("FIRST_AUDIT_LINE", "COVERING INDEX audit_at (at>?)"),
        ("REMOVE_AUDIT_LINES", "COVERING INDEX audit_at (at<?)"),
    ],
)
async def test_a_hot_statement_uses_its_index(path: Path, statement: str, index: str) -> None:
    await (await SqliteStore.open(path)).close()
    lines = plan(path, STATEMENTS[statement])
    assert any(line.endswith(index) for line in lines), lines
    sorted_in_memory = [line for line in lines if "TEMP B-TREE" in line]
    # Only what is one ask's or one link's is sorted, or may have a search's term, and once in a
    # hub's life what was missed.
    few = ("LIVE_CALLS", "NEWEST_CALL", "OPEN_ASKS_OF", "FOUND", "NOTICES_BEHIND", "NOTICE_AT")
    assert not sorted_in_memory or statement.startswith(few)
