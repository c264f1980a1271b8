"""`chatbridge audit`: the audit trail, line by line, from the database itself."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chatbridge import runtime_paths
from chatbridge.cli.ui.running import WrongUsage, say
from chatbridge.cli.ui.wording import cell
from chatbridge.core.asks.serialize import iso
from chatbridge.core.audit import Line, Thing
from chatbridge.core.errors import StoreError
from chatbridge.core.text import did_you_mean
from chatbridge.extras import need
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load
from chatbridge.store.audit import all_lines, names_in
from chatbridge.store.database import Connection
from chatbridge.store.fence import POSTGRES
from chatbridge.store.sqlite import migrate
from chatbridge.store.sqlite.connection import SqliteConnection
from chatbridge.store.sqlite.reading import mode_to_read

OFF = (
    "There is no audit trail: it is off. To switch it on: enabled = true under [audit] in "
    "config.toml, then chatbridge restart"
)
EMPTY = "Nothing was found"
SHORT_ID = 6
NOBODY = "-"
PLAIN = re.compile(r"\w[\w .@/'-]*")
LIKE_QUOTES = "\u02ba\u02dd\u02ee\u05f4\u201c\u201d\u201e\u201f\u2033\u2036\u275d\u275e\u3003\uff02"
AS_QUOTES = str.maketrans(dict.fromkeys(LIKE_QUOTES, '"'))
IN_WORDS = {"timed_out": "timed out", "handed_over": "handed over", "taken_back": "taken back"}


def audit(given: argparse.Namespace) -> int:
    if given.since is not None and given.until is not None and given.until <= given.since:
        raise WrongUsage("--until is not after --since. Exchange them, or leave one of them out")
    settings = load()
    for secret in settings.secrets():
        hide(secret)
    found, meant = asyncio.run(_print(settings, given, _as_json if given.json else as_text))
    if not found:
        say(EMPTY + (meant or ".") if settings.keeps_audit() else OFF)
    return 0


async def _print(
    settings: Settings, given: argparse.Namespace, drawn: Callable[[Line], str]
) -> tuple[int, str]:
    """How many lines there were, and if none, what was probably meant. Only some of them are in
    memory at a time."""
    connection, count = await _opened(settings), 0
    if connection is None:
        return 0, ""
    try:
        lines = all_lines(
            connection,
            since=-math.inf if given.since is None else given.since,
            until=math.inf if given.until is None else given.until,
            project=given.project or "",
            person=given.person or "",
        )
        async for line in lines:
            sys.stdout.write(f"{drawn(line)}\n")
            count += 1
        return count, "" if count else await _meant(connection, given)
    finally:
        await connection.close()


async def _meant(connection: Connection, given: argparse.Namespace) -> str:
    """A name of the trail that is near a given one which it does not have."""
    people, projects = await names_in(connection)
    for name, known in ((given.person, people), (given.project, projects)):
        if name not in known and (near := did_you_mean(name, known, before="; ")):
            return cell(near)
    return ""


async def _opened(settings: Settings) -> Connection | None:
    """None: there is no database yet. :raises ChatbridgeError:"""
    connection: Connection
    if (server := settings.server()) is not None:
        need(POSTGRES)
        from chatbridge.store.postgres.connection import Address, PostgresConnection

        connection = PostgresConnection(Address(*server))
        await connection.open()
        there = "SELECT 1 WHERE to_regclass('audit') IS NOT NULL"
    else:
        path = settings.database(Path(runtime_paths.state_dir()))
        if not path.exists():
            return None
        await migrate.check(path)
        connection = await SqliteConnection.open(path, mode=mode_to_read(path))
        there = "SELECT 1 FROM sqlite_master WHERE name = 'audit'"
    try:
        if await connection.rows(there):
            return connection
        raise StoreError(
            f"{connection.called} is of an earlier version, without an audit trail. A hub of this "
            "version adds it: chatbridge restart"
        )
    except BaseException:
        await connection.close()
        raise


def _as_json(line: Line) -> str:
    who = {"name": line.who or None, "id": line.who_id or None, "channel": line.channel}
    return json.dumps(
        {
            "seq": line.seq,
            "at": iso(line.at),
            "kind": line.kind,
            "thing": line.thing,
            "id": line.id,
            "project": {"name": line.project_name, "key": line.project},
            "agent": {"name": line.agent_name, "client": line.client},
            "who": who if line.channel else None,
            "surface": line.surface or None,
            "what": line.what,
        }
    )


def as_text(line: Line) -> str:
    at = datetime.fromtimestamp(line.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    kind = cell(IN_WORDS.get(line.kind, line.kind))
    name = f"rule {line.id}" if line.thing == Thing.RULE else line.id[:SHORT_ID]
    name_or_id = _named(line.who) if line.who else cell(line.who_id)
    who = f"{name_or_id} ({cell(line.surface)})" if name_or_id else cell(line.surface)
    agent = _named(f"{line.project_name}/{line.agent_name}")
    # Who it was comes before whatever an agent could choose.
    parts = (f"{at}  {kind:<11}", cell(name), who or NOBODY, agent, _words(line.what))
    return "  ".join(part for part in parts if part)


def _named(name: str) -> str:
    """In quotes if it could be taken for more than a name."""
    return cell(name) if PLAIN.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """So that nothing in it can be taken for its end."""
    return json.dumps(cell(text).translate(AS_QUOTES), ensure_ascii=False)


def _words(what: Any) -> str:
    """What a line says, as `"about", key: value, …`."""
    rest = {key: value for key, value in what.items() if key != "about" and value is not None}
    said = [_value(what["about"])] if "about" in what else []
    return ", ".join([*said, *(f"{key}: {_value(value)}" for key, value in rest.items())])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        words = [f"{'' if key == 'picked' else f'{key} '}{_value(value[key])}" for key in value]
        return " ".join(words) or "skipped"
    if isinstance(value, list):
        return "; ".join(map(_value, value))
    return _quoted(value) if isinstance(value, str) else str(value)
