"""The database, only read, beside a hub that writes."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from chatbridge.channels.checks import Finding, fine, from_error, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import counted, first_of, shown
from chatbridge.core.errors import StoreError
from chatbridge.core.model import Ask

LOOK_SECONDS = 8.0
"""Less than a check has. A file of many gigabytes takes longer."""
STEPS = 10_000
GONE = "the database "
"""How a hub begins that has lost its file."""


async def database(context: DoctorContext) -> Sequence[Finding]:
    from chatbridge.store import migrate  # slow to import, and `notes` does without

    name, path = "database", context.database
    if not path.exists():
        if any(said.startswith(GONE) for said in (await context.hub()).faults):
            return []  # the check of the hub says so
        return [fine(name, "none yet: the first hub creates it", file=str(path))]
    try:
        await migrate.check(path)
    except StoreError as error:
        return [from_error(name, str(error), file=str(path))]
    return await asyncio.to_thread(_looked_at, path)


TIMED_GRANTS = """
    SELECT asks.project_name, grants.folder, grants.until FROM grants JOIN asks ON seq = ask
    WHERE grants.taken_back_at IS NULL AND grants.until > ? ORDER BY grants.until, ask
"""


def notes(path: Path, channel: str) -> dict[str, str]:
    """What a channel remembers, such as where a chat has moved to, if that can be read."""
    try:
        with opened(path) as file:
            file.text_factory = lambda stored: stored.decode(errors="replace")
            rows = file.execute("SELECT key, value FROM notes WHERE channel = ?", (channel,))
            return {str(key): str(value) for key, value in rows}
    except sqlite3.Error:
        return {}


def asks(path: Path, where: str, *values: float) -> list[Ask]:
    """Those for which this holds, without those that this version cannot read."""
    from chatbridge.store.connection import text_or_bytes
    from chatbridge.store.rows import QUESTION, UNREADABLE

    found = []
    with suppress(sqlite3.Error), opened(path) as file:
        file.row_factory = sqlite3.Row
        file.text_factory = text_or_bytes
        for row in file.execute(f"SELECT * FROM asks WHERE {where}", values):  # noqa: S608 - ours
            with suppress(*UNREADABLE):
                found.append(QUESTION.read(row))
    return found


def _looked_at(path: Path) -> list[Finding]:
    from chatbridge.store import migrate

    name = "database"
    fix = (
        "chatbridge stop, then put back a copy, or save what can be read with sqlite.org's: "
        f"sqlite3 {shown(path)} .recover"
    )
    until = time.monotonic() + LOOK_SECONDS
    try:
        with opened(path) as file:
            file.set_progress_handler(lambda: time.monotonic() > until, STEPS)
            rows = file.execute("PRAGMA integrity_check(10)")
            said = [line for (row,) in rows for line in str(row).splitlines()]
            ((questions,),) = file.execute("SELECT count(*) FROM asks")
            ((schema,),) = file.execute("PRAGMA user_version")
            unreadable = _unreadable(file) if said == ["ok"] and schema == migrate.newest() else []
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return [remark(name, f"too large to be checked within {LOOK_SECONDS:g} s")]
        return [problem(name, f"{shown(path)} cannot be read ({error})", file=str(path))]
    except sqlite3.DatabaseError as error:
        return [problem(name, f"{shown(path)} is damaged ({error})", fix, file=str(path))]
    if said != ["ok"]:
        what = f"{shown(path)} is damaged: {'; '.join(said[:3])}"
        return [problem(name, what, fix, file=str(path), found=said)]
    details = {"file": str(path), "questions": questions, "schema": schema}
    if unreadable:
        what = f"this version cannot read {first_of(unreadable)}"
        fix = "reinstall the version that wrote it; everything else works"
        return [problem(name, what, fix, unreadable=unreadable, **details)]
    return [fine(name, f"{counted(questions, 'question')}, integrity ok", **details)]


def timed_grants(path: Path, now: float) -> list[tuple[str, str | None, float]]:
    """What was allowed for a time that is not over: the project's name, the folder in which edits
    are allowed, and until when."""
    try:
        with opened(path) as file:
            return file.execute(TIMED_GRANTS, (now,)).fetchall()
    except sqlite3.Error:
        return []  # the check of the database says why, or it is of an earlier version


def _unreadable(file: sqlite3.Connection) -> list[str]:
    from chatbridge.store.connection import text_or_bytes
    from chatbridge.store.rows import CALL, COMMAND, NOTICE, QUESTION, UNREADABLE, Kind

    kinds: tuple[tuple[Kind[Any], str], ...] = (
        (QUESTION, "SELECT * FROM asks"),
        (CALL, "SELECT calls.*, asks.id AS ask_id FROM calls JOIN asks ON seq = ask"),
        (NOTICE, "SELECT * FROM notices"),
        (COMMAND, "SELECT * FROM operations"),
    )
    file.row_factory = sqlite3.Row
    file.text_factory = text_or_bytes
    found = []
    for kind, sql in kinds:
        for row in file.execute(sql):
            try:
                kind.read(row)
            except UNREADABLE:
                found.append(f"{kind.name} {kind.name_of(row)}")
    return found


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """As `migrate.check` does it: what the log beside the file holds counts, and where there is no
    log, none is made."""
    log = path.with_name(path.name + "-wal")
    mode = "mode=ro" if log.exists() else "immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as file:
        yield file
