"""Logging in: with the access token that is set, with the log-in that was kept, or once with the
password. Owns `session.json`, in which the log-in is kept, and the folders of devices' keys."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from chatbridge.atomic_write import write_atomically
from chatbridge.channels.matrix.client.errors import LoggedOut
from chatbridge.core.errors import SettingsError
from chatbridge.digests import sha256_hex
from chatbridge.redaction import hide
from chatbridge.safe_json import value_at

if TYPE_CHECKING:
    from chatbridge.channels.matrix.client.api import Api
    from chatbridge.channels.matrix.settings import Matrix

log = logging.getLogger(__name__)

FILE = "session.json"
LONGEST = 65536
PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Without a dot, so that it is neither a way upwards nor the name of another file here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    user_id: str
    device_id: str
    access_token: str = field(repr=False)


async def log_in(api: Api, table: Matrix, folder: Path) -> Session:
    """Go on as a device of this account, with its keys. :raises LoggedOut: :raises RetryLater:"""
    session = await _session(api, table, folder)
    store = None
    if session.device_id:
        store = await asyncio.to_thread(crypto_folder, folder, session.device_id)
    else:
        log.warning("matrix: this access token has no device, so nothing can be encrypted")
    await api.begin(session, store=store)
    return session


async def _session(api: Api, table: Matrix, folder: Path) -> Session:
    user, homeserver = api.user_id, api.homeserver
    if table.access_token is not None:
        token = table.access_token.get_secret_value()
        device = await api.device_of(token)
        return Session(user_id=user, device_id=device or "", access_token=token)
    kept = await asyncio.to_thread(load, folder, user_id=user, homeserver=homeserver)
    device_id = None
    if kept is not None:
        try:
            await api.device_of(kept.access_token)
        except LoggedOut as error:
            log.warning("matrix: the bot was logged out, and logs in again")
            device_id = kept.device_id if error.soft else None
        else:
            return kept
    assert table.password is not None
    new = await api.log_in(table.password.get_secret_value(), device_id=device_id)
    hide(new.access_token)
    try:
        await asyncio.to_thread(save, folder, new, homeserver=homeserver)
    except SettingsError as error:
        log.warning("matrix: %s", error)  # it works until the next start
    return new


# ── the folder ────────────────────────────────────────────────────────────────────────────────────


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
            "or remove it: the bot then logs in again"
        ) from error
    if (value_at(found, "user_id"), value_at(found, "homeserver")) != (user_id, homeserver):
        return None
    device, token = value_at(found, "device_id"), value_at(found, "access_token")
    for text in (device, token):
        # What has line breaks or half characters in it could be sent in no request.
        if not isinstance(text, str) or not text or not text.isprintable():
            return None
    hide(token)
    return Session(user_id=user_id, device_id=device, access_token=token)


def save(folder: Path, session: Session, *, homeserver: str) -> None:
    """:raises SettingsError: it cannot be written. The old one is still there."""
    kept = {"homeserver": homeserver, **asdict(session)}
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
    """The folder of this device's keys, made if needed. :raises SettingsError:"""
    name = device_id
    if not PLAIN_NAME.fullmatch(device_id):  # the server chose it
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
