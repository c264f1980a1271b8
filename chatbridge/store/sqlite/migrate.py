"""Schema versions: which one a file has, and the way up from it. There is no way down.

A migration is `schema/NNNN_name.sql`, applied in one transaction together with its number, which
SQLite keeps as `user_version`. One that was committed is never changed: a test holds their digests.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from chatbridge.core.errors import NewerDatabase, StoreError
from chatbridge.store.sqlite.connection import SqliteConnection
from chatbridge.store.sqlite.reading import mode_to_read

SCHEMA: Traversable = files("chatbridge.store.sqlite") / "schema"

APPLICATION = 0x63627267  # The application_id that `0001_initial.sql` writes

_HEADER = """
    SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) AS objects
    FROM pragma_user_version, pragma_application_id
"""

_FIRST_OPERATIONS = """
    SELECT 1 FROM pragma_user_version WHERE user_version >= 4
    AND NOT EXISTS (SELECT 1 FROM pragma_table_info('operations') WHERE name = 'synchronous')
"""
"""Whether 0004 was applied as it was before 0.1.0, without this column."""
_ADD_SYNCHRONOUS = """
    BEGIN IMMEDIATE;
    ALTER TABLE operations ADD COLUMN synchronous INTEGER NOT NULL DEFAULT 0;
    UPDATE operations SET synchronous = instr(plan, '"synchronous": true') > 0;
    DROP INDEX operations_of_project;
    CREATE INDEX operations_of_project
        ON operations (project, ended_at IS NULL, NOT synchronous, seq);
    COMMIT;
"""


async def check(path: Path) -> None:
    """Look at the file without changing a byte of it. :raises NewerDatabase: :raises StoreError: it
    is not a database, or another program's."""
    connection = await SqliteConnection.open(path, mode=mode_to_read(path))
    try:
        (header,) = await connection.rows(_HEADER)
    finally:
        await connection.close()
    version, application = header["user_version"], header["application_id"]
    if application != APPLICATION and (version or application or header["objects"]):
        raise StoreError(
            f"the database {path} belongs to another program. It was left untouched. "
            "Name another file in CHATBRIDGE_STORE"
        )
    known = newest()
    if version > known:
        raise NewerDatabase(path=str(path), found=version, known=known)


def newest() -> int:
    """The version of the schema that this version of chatbridge uses."""
    return _migrations()[-1][0]


async def upgrade(connection: SqliteConnection) -> None:
    """Apply the migrations that the file does not have yet, and mend what an early one left out.
    Foreign keys must be off: a migration that rebuilds a table would else lose its children.
    :raises StoreError: the failed migration left nothing behind; those before it stay."""
    if await connection.rows(_FIRST_OPERATIONS):
        await connection.script(_ADD_SYNCHRONOUS)
    ((found,),) = await connection.rows("PRAGMA user_version")
    for version, sql in _migrations():
        if version > found:
            await connection.script(
                f"BEGIN IMMEDIATE;\n{sql}\nPRAGMA user_version = {version};\nCOMMIT;"
            )


def _migrations() -> list[tuple[int, str]]:
    scripts = [file for file in SCHEMA.iterdir() if file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.read_text(encoding="utf-8")) for file in scripts)
