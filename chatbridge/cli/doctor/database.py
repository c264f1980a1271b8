"""The database file, only read, beside a hub that writes."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from chatbridge.channels.checks import Finding, Mark, fine, from_error, problem, remark
from chatbridge.cli.database import DatabaseServer, opened
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.postgres import cannot_read, server
from chatbridge.cli.ui.wording import counted, display_path
from chatbridge.core.errors import StoreError

LOOK_SECONDS = 8.0
"""Less than a check has. A file of many gigabytes takes longer."""
STEPS = 10_000
GONE = "the database "
"""How a hub begins that has lost its file, or cannot work with its server."""


async def database(context: DoctorContext) -> Sequence[Finding]:
    from chatbridge.store.sqlite import migrate  # slow to import

    if isinstance(context.database, DatabaseServer):
        looked = await server(context.database, context.clock, hub=context.hub)
        if any(found.mark is Mark.PROBLEM for found in looked):
            return looked
        said = [it for it in (await context.hub()).remarks if it.startswith(GONE)]
        return [*looked, *(from_error("database", f"for the hub, {it}") for it in said)]
    name, path = "database", context.database.path
    if not path.exists():
        if any(said.startswith(GONE) for said in (await context.hub()).faults):
            return []  # the check of the hub says so
        return [fine(name, "none yet: the first hub creates it", file=str(path))]
    try:
        await migrate.check(path)
    except StoreError as error:
        return [from_error(name, str(error), file=str(path))]
    return await asyncio.to_thread(_looked_at, path)


def _looked_at(path: Path) -> list[Finding]:
    from chatbridge.store.sqlite import migrate

    name = "database"
    fix = (
        "chatbridge stop, then put back a copy, or save what can be read with sqlite.org's: "
        f"sqlite3 {display_path(path)} .recover"
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
        return [problem(name, f"{display_path(path)} cannot be read ({error})", file=str(path))]
    except sqlite3.DatabaseError as error:
        return [problem(name, f"{display_path(path)} is damaged ({error})", fix, file=str(path))]
    if said != ["ok"]:
        what = f"{display_path(path)} is damaged: {'; '.join(said[:3])}"
        return [problem(name, what, fix, file=str(path), found=said)]
    details = {"file": str(path), "questions": questions, "schema": schema}
    if unreadable:
        return [cannot_read(unreadable, **details)]
    return [fine(name, f"{counted(questions, 'question')}, integrity ok", **details)]


def _unreadable(file: sqlite3.Connection) -> list[str]:
    from chatbridge.store.rows import STORED, unreadable
    from chatbridge.store.sqlite.reading import text_or_bytes

    file.row_factory = sqlite3.Row
    file.text_factory = text_or_bytes
    return [name for kind, sql in STORED for name in unreadable(kind, file.execute(sql))]
