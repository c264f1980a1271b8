"""The first line to a hub, which describes the link. Secrets are sent as digests only."""

from __future__ import annotations

import os

from chatbridge import __version__
from chatbridge.digests import sha256_hex
from chatbridge.link.root import find_root, read_file

PROTOCOL = 1
MAX_LIMIT_SECONDS = 3650 * 24 * 3600
NAMED_SETTINGS = (
    "CHATBRIDGE_STORE",
    "CHATBRIDGE_TELEGRAM__TOKEN",
    "CHATBRIDGE_TELEGRAM__CHAT_ID",
    "CHATBRIDGE_MATRIX__HOMESERVER",
    "CHATBRIDGE_MATRIX__USER_ID",
    "CHATBRIDGE_MATRIX__ACCESS_TOKEN",
    "CHATBRIDGE_MATRIX__ROOM_ID",
)


def build_preface(label: str | None, *, limit: int | None = None) -> dict[str, object]:
    """Build the first line, the same for each hub. `limit`: seconds after which the client gives a
    call up."""
    given = {name: os.environ[name] for name in NAMED_SETTINGS if os.environ.get(name)}
    settings = {name: sha256_hex(os.fsencode(value))[:16] for name, value in given.items()}
    folder = working_directory()
    root = find_root(folder)
    return {
        "chatbridge": "link",
        "protocol": PROTOCOL,
        "version": __version__,
        "link": os.urandom(16).hex(),
        "cwd": folder,
        "root": root,
        "file": read_file(root) if root else None,
        "label": label,
        "limit": limit,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "settings": settings,
    }


def parse_limit(text: str) -> int:
    """Parse the value of `--limit`. :raises ValueError:"""
    short = len(text) <= len(str(MAX_LIMIT_SECONDS))
    limit = int(text) if short and text.isascii() and text.isdigit() else 0
    if not 0 < limit <= MAX_LIMIT_SECONDS:
        raise ValueError(
            f"give a whole number of seconds, 1 to {MAX_LIMIT_SECONDS}, not {text[:40]!r}"
        )
    return limit


def working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # removed under us
        return "/"
