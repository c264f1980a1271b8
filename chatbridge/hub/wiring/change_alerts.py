"""Tells the chats when other people may answer, or agents may do other things, than before.

Settings and definitions of commands are files and variables, and any program that runs as their
owner can change them. So each hub notes what it went by, for the next one to compare.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from chatbridge.channels.registry import channel_specs
from chatbridge.channels.spec import text_of
from chatbridge.commands.definitions.definition import Command
from chatbridge.core.approval_rules import Rule
from chatbridge.core.cards.phrases import local_time
from chatbridge.core.ports import Clock
from chatbridge.core.store_port import Store
from chatbridge.core.text import one_line, shortened
from chatbridge.hub.wiring.known_projects import read_note, write_note
from chatbridge.link.hub_start import PROXY_NAMES
from chatbridge.settings import Settings

log = logging.getLogger(__name__)

PLACES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
KEY = "people"
HUB, AUTHORITY = "hub", "authority"
COMMANDS, GRANTS = "commands", "grants"
LONGEST_VALUE = 80
MOST_SETTINGS = 4  # Told with their values: a remark has 1,000 characters
MOST_COMMANDS = 10


async def tell_of_newcomers(
    settings: Settings, store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """Who may answer is compared with who could when the last hub started."""
    for spec in channel_specs():
        if spec.people is None:
            continue
        channel, now = spec.name, [str(it) for it in spec.people_in(settings.table(spec))]
        before: list[Any] = await read_note(store, channel, KEY, list)
        if now == before:
            continue
        new = [person for person in now if person not in before]
        if before and new:
            tell(
                f"Somebody new may answer: {', '.join(new)}. If that was not you, run: "
                f"chatbridge people remove {new[0]}"
            )
        await write_note(store, channel, KEY, now, clock=clock)


async def tell_of_other_settings(
    settings: Settings,
    config: Path,
    store: Store,
    *,
    clock: Clock,
    tell: Callable[[str], None],
    hub: str | None = None,
) -> None:
    """What else decides who may allow what is compared with what the last hub went by, or where
    there are several, the same `hub`. News only once some hub had chats: until then nobody was
    there to be deceived, and setting one up is no surprise."""
    now = _authority(settings, config)
    key = AUTHORITY if hub is None else f"{AUTHORITY} of {hub}"
    noted: dict[str, Any] = await read_note(store, HUB, key, dict)
    before, had_chats = noted.get("settings"), noted.get("chats") is True
    if before == now:
        return
    before = before if isinstance(before, dict) else {}
    # What an earlier version did not note yet is no news.
    names = [name for name in now if name in before and before[name] != now[name]]
    if names and had_chats:
        told = "; ".join(
            f"{n} is {_shown(now, n)}, was {_shown(before, n)}" for n in names[:MOST_SETTINGS]
        )
        more = f"; and {len(names) - MOST_SETTINGS} more" if len(names) > MOST_SETTINGS else ""
        remark = (
            f"This hub goes by other settings than the last one: {told}{more}. "
            f"If that was not you, look at {one_line(str(config))} and run: chatbridge doctor"
        )
        log.warning("%s", remark)
        tell(remark)
    fresh = {"settings": now, "chats": had_chats or bool(settings.chats())}
    await write_note(store, HUB, key, fresh, clock=clock)


async def tell_of_new_commands(
    commands: Iterable[Command], store: Store, *, clock: Clock, tell: Callable[[str], None]
) -> None:
    """What there is is compared with what there was when this was last looked at."""
    now = {command.tool: command.grant for command in commands}
    before: dict[str, Any] = await read_note(store, COMMANDS, GRANTS, dict)
    if now == before:
        return
    new = [tool for tool in now if tool not in before]
    changed = [tool for tool in now if tool in before and now[tool] != before[tool]]
    said = [("new commands", new), ("commands that were changed", changed)]
    told = [f"{what}: {_named(tools)}" for what, tools in said if tools]
    if told:
        tell(
            f"Agents can use {'; '.join(told)}. If that was not you, look at them with: "
            "chatbridge tools list"
        )
    await write_note(store, COMMANDS, GRANTS, now, clock=clock)


def _authority(settings: Settings, config: Path) -> dict[str, str]:
    """In words, by the names that the owner knows. Who may answer is told by itself."""
    commands, rules = settings.commands, settings.approvals.rules()
    found = {
        "approvals.channels": _listed(sorted(settings.approval_channels())),
        "approvals.allow": _listed(map(_rule, rules)),
        **dict(_of_channels(settings, chats=True)),
        "commands.enabled": str(commands.enabled).lower(),
        "commands.dirs": _listed(commands.dirs),
        "commands.path": _listed(commands.path),
        **dict(_of_channels(settings, chats=False)),
        "http.address": settings.http.address or "",
        "on_timeout": settings.on_timeout,
        "elicit": settings.elicit,
        "ignored variables": _listed(settings.ignored),
        "the configuration file": str(config),
        **{name: os.environ.get(name, "") for name in PLACES},
        **{name: _variable(name) for name in sorted(PROXY_NAMES)},
    }
    return {name: one_line(value) for name, value in found.items()}


def _rule(rule: Rule) -> str:
    until = "" if rule.expires is None else f" until {local_time(rule.expires):%Y-%m-%d %H:%M}"
    return f"{rule.what} in {rule.project}{until}"


def _of_channels(settings: Settings, *, chats: bool) -> Iterator[tuple[str, str]]:
    for spec in channel_specs():
        if spec.is_chat == chats:
            table = settings.table(spec)
            if chats:
                on = spec.is_on(table)
                yield spec.name, f"{spec.account(table)} at {spec.server(table)}" if on else ""
            for name in spec.watched_settings:
                yield f"{spec.name}.{name}", text_of(getattr(table, name), separator=", ")


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


def _named(tools: list[str]) -> str:
    more = f" and {len(tools) - MOST_COMMANDS} more" if len(tools) > MOST_COMMANDS else ""
    return one_line(", ".join(tools[:MOST_COMMANDS])) + more
