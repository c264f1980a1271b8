"""The first line to a hub, which describes the link. Secrets are sent as digests only."""

from __future__ import annotations

import os

from chatbridge import __version__
from chatbridge.digests import sha256_hex
from chatbridge.link.root import find_root, read_file

PROTOCOL = 1
MAX_LIMIT_SECONDS = 3650 * 24 * 3600
STORE = "CHATBRIDGE_STORE"
ACCOUNT_SETTINGS = (
    "TOKEN", "ACCESS_TOKEN", "BOT_TOKEN", "APP_TOKEN", "HOMESERVER", "SERVER", "USER_ID",
    "CHAT_ID", "ROOM_ID", "CHANNEL_ID",
)  # fmt: skip
"""Settings of a chat that say which account and which place it uses. A link knows no channels, so
the names are the same for all. No password: its digest could be guessed."""
INBOX = "CHATBRIDGE_WEB__"  # The table of no chat


def build_preface(label: str | None, *, limit: int | None = None) -> dict[str, object]:
    """The link's first line, to each hub the same. `limit`: after so many seconds its client gives
    a call up."""
    given = {name: value for name, value in os.environ.items() if value and is_compared(name)}
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


def is_compared(variable: str) -> bool:
    """Whether a link tells the hub the digest of this variable."""
    prefix, _, table_and_name = variable.partition("_")
    table, _, name = table_and_name.partition("__")
    of_chat = prefix == "CHATBRIDGE" and table != "" and name in ACCOUNT_SETTINGS
    return variable == STORE or (of_chat and not variable.startswith(INBOX))


def parse_limit(text: str) -> int:
    """The value of `--limit`. :raises ValueError:"""
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
