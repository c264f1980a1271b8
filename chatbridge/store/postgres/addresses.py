"""What is wrong with the address of a database that nothing can connect to.

Quotes nothing of a part in which somebody's password may have ended up.
"""

from __future__ import annotations

import shlex
import ssl
from urllib.parse import parse_qsl, unquote, urlsplit

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SERVERS = ("any", "primary", "standby", "read-write", "read-only", "prefer-standby")
LAST_PORT = 65_535


def wrong_part(dsn: str) -> str | None:
    """Why this address, which names one host, was refused unread."""
    parts = urlsplit(dsn)
    try:
        given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        return "what follows the ? is not name=value, parted by &"
    if not all(map(_is_port, (_port_in(parts.netloc), given.get("port", "")))):
        return "the port is no number up to 65535"
    mode = given.get("sslmode", "prefer")
    if mode not in MODES:
        return f"sslmode is none of {', '.join(MODES)}"
    if given.get("target_session_attrs", "any") not in SERVERS:
        return f"target_session_attrs is none of {', '.join(SERVERS)}"
    if mode.startswith("verify") and "sslrootcert" not in given:
        return f"sslmode={mode} needs the file of an authority's certificate. Add &sslrootcert=…"
    return None


def unreadable_authority(dsn: str) -> str | None:
    """The file of `sslrootcert`, if it would be read and cannot be used."""
    given = dict(parse_qsl(urlsplit(dsn).query))
    path = given.get("sslrootcert")
    if path is None or given.get("sslmode") not in MODES[MODES.index("require") :]:
        return None
    try:
        ssl.create_default_context(cafile=path)
    except OSError:
        return path
    return None


def createdb(dsn: str) -> str:
    """The command that makes this database, on the server's computer."""
    parts = urlsplit(dsn)
    user = unquote(parts.username or "") or "USER"
    name = unquote(parts.path.lstrip("/")) or user
    words = ("--owner", user, "--encoding", "UTF8", "--template", "template0", name)
    return shlex.join(["sudo", "-u", "postgres", "createdb", *words])


def _port_in(netloc: str) -> str:
    return netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]


def _is_port(given: str) -> bool:
    return not given or (given.isdecimal() and 0 < int(given) <= LAST_PORT)
