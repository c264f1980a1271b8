"""Tells the chats when this hub lets others answer, or other things be done, than the last one did.

The settings are a file and variables, and whatever runs as their owner can write to the one and
start a hub with others. So each hub leaves a note of what it went by, for the next one.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store, Transaction
from chatbridge.core.text import one_line, shortened
from chatbridge.link.hub_start import PROXY_NAMES
from chatbridge.settings import Settings

log = logging.getLogger(__name__)

PLACES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
KEY = "people"
HUB, AUTHORITY = "hub", "authority"
LONGEST_VALUE = 80
NAMED = 4
"""So many settings are told with their values: a remark has 1,000 characters."""


async def tell_of_newcomers(
    settings: Settings, store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """Who may answer is compared with who could when the last hub started."""
    people = {
        "telegram": [str(number) for number in settings.telegram.allowed_users],
        "matrix": list(settings.matrix.allowed_users),
    }
    for channel, now in people.items():
        noted = await _noted(store, channel, KEY)
        before = noted if isinstance(noted, list) else []
        if now == before:
            continue
        new = [person for person in now if person not in before]
        if before and new:
            named = ", ".join(new)
            tell(
                f"Somebody new may answer: {named}. If that was not you, run: "
                f"chatbridge people remove {new[0]}"
            )
        await _remember(store, channel, KEY, now, clock=clock)


async def tell_of_other_settings(
    settings: Settings, config: Path, store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """What else decides who may allow what is compared with what the last hub went by. News only
    once some hub had chats: until then nobody was there to be deceived, and setting one up is no
    surprise."""
    now = _authority(settings, config)
    chats = settings.chats()
    noted = await _noted(store, HUB, AUTHORITY)
    noted = noted if isinstance(noted, dict) else {}
    before, had_chats = noted.get("settings"), noted.get("chats") is True
    if before == now:
        return
    before = before if isinstance(before, dict) else {}
    # What an earlier version did not note yet is no news.
    names = [name for name in now if name in before and before[name] != now[name]]
    if names and had_chats:
        told = "; ".join(f"{n} is {_shown(now, n)}, was {_shown(before, n)}" for n in names[:NAMED])
        more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
        remark = (
            f"This hub goes by other settings than the last one: {told}{more}. "
            f"If that was not you, look at {one_line(str(config))} and run: chatbridge doctor"
        )
        log.warning("%s", remark)
        tell(remark)
    fresh = {"settings": now, "chats": had_chats or bool(chats)}
    await _remember(store, HUB, AUTHORITY, fresh, clock=clock)


def _authority(settings: Settings, config: Path) -> dict[str, str]:
    """In words, by the names that the owner knows. Who may answer is told by itself."""
    telegram, matrix, commands = settings.telegram, settings.matrix, settings.commands
    token = telegram.token.get_secret_value() if telegram.token else ""
    found = {
        "approvals.channels": _listed(sorted(settings.approval_channels())),
        "telegram": f"bot {token.partition(':')[0]} at {telegram.api_base}" if token else "",
        "telegram.chat_id": _listed(telegram.chat_id),
        "matrix": f"{matrix.user_id} at {matrix.homeserver}" if matrix.on else "",
        "matrix.room_id": _listed(matrix.room_id),
        "commands.enabled": str(commands.enabled).lower(),
        "commands.dirs": _listed(commands.dirs),
        "commands.path": _listed(commands.path),
        "web.enabled": str(settings.web.enabled).lower(),
        "web.host": settings.web.host,
        "web.url": settings.web.url or "",
        "http.address": settings.http.address or "",
        "on_timeout": settings.on_timeout,
        "elicit": settings.elicit,
        "ignored variables": _listed(settings.ignored),
        "the configuration file": str(config),
        **{name: os.environ.get(name, "") for name in PLACES},
        **{name: _variable(name) for name in sorted(PROXY_NAMES)},
    }
    return {name: one_line(value) for name, value in found.items()}


def _variable(lower: str) -> str:
    """However it is spelt, without the log-in of a proxy."""
    found = sorted((name, value) for name, value in os.environ.items() if name.lower() == lower)
    return _listed(value.rpartition("@")[2] for _, value in found)


def _listed(values: Any) -> str:
    return ", ".join(map(str, values))


def _shown(settings: dict[str, Any], name: str) -> str:
    value = one_line(str(settings.get(name) or ""))
    if value.startswith("/") and len(value) > LONGEST_VALUE:
        return f"…{value[1 - LONGEST_VALUE :]}"  # the end of a path says more
    return shortened(value, LONGEST_VALUE) or "none"


async def _noted(store: Store, channel: str, key: str) -> Any:
    """None: nothing, or nothing that can be read."""
    note = await store.note(channel=channel, key=key)
    try:
        return json.loads(note.value) if note else None
    except ValueError:
        return None


async def _remember(store: Store, channel: str, key: str, value: object, *, clock: Clock) -> None:
    note = ChannelState(channel=channel, key=key, value=json.dumps(value), at=clock.time())

    async def work(tx: Transaction) -> None:
        await tx.save_note(note)

    await store.write(work)
