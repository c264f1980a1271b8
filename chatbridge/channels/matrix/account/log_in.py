"""Logging in: with the access token that is set, with the log-in that was kept, or once with the
password."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chatbridge.channels.matrix.account import session as sessions
from chatbridge.channels.matrix.account.session import Session
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.errors import LoggedOut
from chatbridge.core.errors import SettingsError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    homeserver: str
    user_id: str
    access_token: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    hint: str = "matrix.access_token"
    """Where these are set."""


async def log_in(
    api: Api, account: Account, *, folder: Path, hide: Callable[[str], None]
) -> Session:
    """Go on as a device of this account, with its keys.

    :raises LoggedOut: nothing that is known counts any more. :raises RetryLater:
    """
    session = await _session(api, account, folder, hide)
    store = None
    if session.device_id:
        store = await asyncio.to_thread(sessions.crypto_folder, folder, session.device_id)
    else:
        log.warning("matrix: this access token has no device, so nothing can be encrypted")
    await api.begin(session, store=store)
    return session


async def _session(
    api: Api, account: Account, folder: Path, hide: Callable[[str], None]
) -> Session:
    if account.access_token is not None:
        device = await api.device_of(account.access_token)
        return Session(
            user_id=account.user_id, device_id=device or "", access_token=account.access_token
        )
    kept = await asyncio.to_thread(
        sessions.load, folder, user_id=account.user_id, homeserver=account.homeserver
    )
    device_id = None
    if kept is not None:
        hide(kept.access_token)
        try:
            await api.device_of(kept.access_token)
        except LoggedOut as error:
            log.warning("matrix: the bot was logged out, and logs in again")
            device_id = kept.device_id if error.soft else None
        else:
            return kept
    assert account.password is not None
    new = await api.log_in(account.password, device_id=device_id)
    hide(new.access_token)
    try:
        await asyncio.to_thread(sessions.save, folder, new, homeserver=account.homeserver)
    except SettingsError as error:
        log.warning("matrix: %s", error)  # it works until the next start
    return new
