"""The setting `store`: the address of the database.

No address is taken of which a part of the password would be read as something else, and thus be
shown: as a port, a path, or the name of a host. Nothing of a refused one is quoted.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import AfterValidator

SQLITE, POSTGRESQL = "sqlite:///", "postgresql://"
ACCEPTED = f"accepted: {SQLITE}path/to/file.db, {POSTGRESQL}user@host/database"
ENCODE = (
    "it cannot be read as user, host and database. In a user's name and a password write / as %2F, "
    "? as %3F, # as %23, @ as %40, [ as %5B and ] as %5D; or put the password into store_password"
)
ELSEWHERE = "a password does not belong after the ?: put it into store_password"


def database_address(value: str) -> str:
    """:raises ValueError: it is none."""
    try:
        parts = urlsplit(value)
    except ValueError:  # which may quote it
        raise ValueError(ENCODE) from None
    if not any(value.startswith(kind) and value != kind for kind in (SQLITE, POSTGRESQL)):
        raise ValueError(ACCEPTED)
    if value.startswith(POSTGRESQL):
        if not _is_unambiguous(parts):
            raise ValueError(ENCODE)
        if any("pass" in name.lower() for name, _ in parse_qsl(parts.query)):
            raise ValueError(ELSEWHERE)
    return value


Database = Annotated[str, AfterValidator(database_address)]


def passwords_in(address: str) -> tuple[str, ...]:
    """As it is written there, and as it is meant."""
    written = urlsplit(address).password
    return (written, unquote(written)) if written else ()


def without_password(address: str) -> str:
    parts = urlsplit(address)
    user = f"{parts.username}@" if parts.username else ""
    rest = address[len(POSTGRESQL) + len(parts.netloc) :]
    return f"{POSTGRESQL}{user}{_places(parts)}{rest}"


def _is_unambiguous(parts: SplitResult) -> bool:
    if parts.fragment or "@" in parts.path + parts.query or parts.path.count("/") > 1:
        return False
    if parts.netloc.count("@") > 1:
        return False
    ports = (place.rpartition("]")[2].partition(":")[2] for place in _places(parts).split(","))
    return all(not port or port.isdecimal() for port in ports)


def _places(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
