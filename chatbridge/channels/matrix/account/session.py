"""Who the bot is logged in as, kept over restarts, and the folder of that device's keys.

Owns `session.json` in the channel's folder and the names in it. It talks to no server: whether the
token still counts, only the server knows.
"""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import SettingsError
from chatbridge.digests import sha256_hex
from chatbridge.safe_json import value_at

FILE = "session.json"
LONGEST = 65536
PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Without a dot, so that it is neither a way upwards nor the name of another file here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    user_id: str
    device_id: str
    access_token: str = field(repr=False)


def load(folder: Path, *, user_id: str, homeserver: str) -> Session | None:
    """The log-in of this user at this server. A damaged file is none.

    :raises SettingsError: there may be one, but it cannot be read. A second log-in would be a
        second device, without the keys of the first.
    """
    path = folder / FILE
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with open(opened, "rb") as file:
            found = json.loads(file.read(LONGEST))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR):
            return None  # not of our making
        raise SettingsError(
            f"the bot's log-in cannot be read from {path} ({error.strerror}). Correct its owner, "
            "or remove it: the bot then logs in anew"
        ) from error
    if (value_at(found, "user_id"), value_at(found, "homeserver")) != (user_id, homeserver):
        return None
    device, token = value_at(found, "device_id"), value_at(found, "access_token")
    for text in (device, token):
        # What has line breaks or half characters in it could be sent in no request.
        if not isinstance(text, str) or not text or not text.isprintable():
            return None
    return Session(user_id=user_id, device_id=device, access_token=token)


def save(folder: Path, session: Session, *, homeserver: str) -> None:
    """Keep the log-in: after a crash there is the old one or the new one, whole.

    :raises SettingsError: it cannot be written. The old one is still there.
    """
    kept = {
        "homeserver": homeserver,
        "user_id": session.user_id,
        "device_id": session.device_id,
        "access_token": session.access_token,
    }
    path = folder / FILE
    try:
        _make_private(folder)
        write_atomically(path, f"{json.dumps(kept)}\n".encode())
    except OSError as error:
        raise SettingsError(
            f"the bot's log-in cannot be kept in {path} ({error.strerror}). Free some space on the "
            "disk, or correct the folder's owner"
        ) from error


def crypto_folder(folder: Path, device_id: str) -> Path:
    """Where the keys of this device are, made if it is not there. The server chose the id: one that
    is no plain name is not used as one.

    :raises SettingsError: it cannot be made.
    """
    name = device_id
    if not PLAIN_NAME.fullmatch(device_id):
        name = f"sha256.{sha256_hex(device_id.encode('utf-8', 'surrogatepass'))}"
    path = folder / name
    try:
        _make_private(folder)
        _make_private(path)
    except OSError as error:
        raise SettingsError(
            f"the folder {path} for the bot's keys cannot be made ({error.strerror}). Free some "
            "space on the disk, or correct the owner of the folder around it"
        ) from error
    return path


def _make_private(folder: Path) -> None:
    """0700 also if it is there already; a link to another folder is refused."""
    folder.mkdir(mode=0o700, exist_ok=True)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(opened, 0o700)
    finally:
        os.close(opened)
