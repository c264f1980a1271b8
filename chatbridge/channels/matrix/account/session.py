"""Who the bot is logged in as, kept over restarts, and the folder of that device's keys.

Owns `session.json` in the channel's folder and the names in it. It talks to no server: whether the
token still counts, only the server knows.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.core.errors import SettingsError

FILE = "session.json"
NEW = "session.json.new"
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
        with open(path, "rb", opener=_opened) as file:
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
    if not isinstance(found, dict):
        return None
    if (found.get("user_id"), found.get("homeserver")) != (user_id, homeserver):
        return None
    device, token = _text(found.get("device_id")), _text(found.get("access_token"))
    if device is None or token is None:
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
    path, new = folder / FILE, folder / NEW
    try:
        _make_private(folder)
        new.unlink(missing_ok=True)  # a hub that was killed here has left it
        with open(new, "x", encoding="ascii", opener=_opened) as out:
            out.write(json.dumps(kept) + "\n")
            out.flush()
            os.fsync(out.fileno())
        new.replace(path)
        _sync(folder)
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
        name = "sha256." + hashlib.sha256(device_id.encode("utf-8", "surrogatepass")).hexdigest()
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


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _sync(folder: Path) -> None:
    """So that the new name, too, is on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _text(value: object) -> str | None:
    """What has line breaks or half characters in it could be sent in no request."""
    return value if isinstance(value, str) and value and value.isprintable() else None
