"""`chatbridge people`: lists who may answer, and removes somebody.

Owns the changes of `config.toml` that let people in and out: a channel's list of people and chats,
and ids in `[[people]]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chatbridge.cli.config_file import Key, Value, change, config_file, settings_with, table_in
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.ui import prompts, tables
from chatbridge.cli.ui.running import fitted
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.people.team import Member, Role
from chatbridge.core.text import title_of

if TYPE_CHECKING:
    from chatbridge.channels.spec import ChannelSpec, PersonName
    from chatbridge.settings import Settings

NAMES_TIMEOUT_SECONDS = 4.0
"""How long a service may take to say what people are called."""


class Removal(NamedTuple):
    """What takes somebody out of the file, and the settings without them."""

    spec: ChannelSpec[Any]
    changes: dict[Key, Value]
    after: Settings


class Listed(NamedTuple):
    """A channel's people and chats, as the file has them."""

    allowed: tuple[Any, ...]
    chats: tuple[Any, ...]


def people(given: argparse.Namespace) -> int:
    if given.command == "remove":
        return _remove(given.id)
    from chatbridge import settings
    from chatbridge.settings.people import specs_with_people

    found = settings.load()
    if found.people:
        return _team(found)
    rows = []
    for spec in specs_with_people():
        names = names_of(spec, found.table(spec))
        rows += [(str(it), called(name), spec.title) for it, name in names.items()]
    if not rows:
        print("Nobody is paired. Run: chatbridge setup, or if you have a bot: chatbridge pair")
        return 0
    titles = ("ID", "NAME", "CHANNEL") if any(name for _, name, _ in rows) else ("ID", "CHANNEL")
    shown = [row if "NAME" in titles else (row[0], row[2]) for row in rows]
    tables.write(Table(columns=tuple(map(Column, titles)), rows=shown))
    if sys.stdout.isatty():
        print(fitted("\nAdd: chatbridge pair     Remove: chatbridge people remove ID"))
    return 0


def _team(found: Settings) -> int:
    """With their names and roles; whoever is only in a channel's list has all of them."""
    from chatbridge.settings.people import specs_with_people

    team, rows = found.team(), list[tuple[str, ...]]()
    for member in team.members:
        roles = ", ".join(role for role in Role if role in member.roles)
        for channel, person in member.identities or (("", ""),):
            rows.append((person, member.name, title_of(channel) if channel else "", roles))
    named = {identity for member in team.members for identity in member.identities}
    for spec in specs_with_people():
        for other in spec.people_in(found.table(spec)):
            if (spec.name, str(other)) not in named:
                rows.append((str(other), "", spec.title, "answer, approve"))
    titles = ("ID", "NAME", "CHANNEL", "ROLES")
    tables.write(Table(columns=tuple(map(Column, titles)), rows=rows))
    if sys.stdout.isatty():
        change_it = "\nAdd or change: [[people]] in config.toml"
        print(fitted(f"{change_it}     Remove: chatbridge people remove ID"))
    return 0


def names_of(spec: ChannelSpec[Any], table: Any) -> dict[object, PersonName | None]:
    """Who may answer there, and what the service calls them; None: it does not say."""
    import asyncio

    people, known = spec.people_in(table), {}
    if spec.names is not None and people and spec.is_on(table):

        async def ask() -> dict[object, PersonName]:
            async with asyncio.timeout(NAMES_TIMEOUT_SECONDS):
                return dict(await spec.load(str(spec.names))(table, people))

        with suppress(ChatbridgeError, OSError):  # the ids have to do
            known = asyncio.run(ask())
    return {person: known.get(person) for person in people}


def called(name: PersonName | None) -> str:
    if name is None:
        return ""
    return f"{name.name} (@{name.username})" if name.username else name.name


def listed_names(spec: ChannelSpec[Any], table: Any) -> str:
    """`Ada (@ada), Ben (4243), 4244`."""
    return ", ".join(
        called(name) if name and name.username else with_id(person, name)
        for person, name in names_of(spec, table).items()
    )


def with_id(person: object, name: PersonName | None) -> str:
    return f"{name.name} ({person})" if name else str(person)


def _remove(id: str) -> int:
    from chatbridge import settings

    path = config_file()
    spec, _, after = removal(path, id)
    prompts.take_terminal("people remove")
    found = settings.load()
    member = next((it for it in found.team().members if (spec.name, id) in it.identities), None)
    if member:
        who = f"{member.name} ({id})"
    else:
        names = names_of(spec, found.table(spec))
        who = next((with_id(it, name) for it, name in names.items() if str(it) == id), id)
    left = after.table(spec)
    if spec.chats_in(left):
        chats = f"{spec.name}.{spec.chats}"
        reads = f". Whoever is in a chat of {chats} still reads new questions there."
    else:
        reads = ", nor read new questions there."
    prompts.wrapped(f"{who} will no longer answer on {spec.title}{reads}")
    if not spec.people_in(left):
        prompts.wrapped(f"Nobody else is paired on {spec.title}: no questions will arrive there.")
    if not prompts.confirm(f"Remove {who}?", default=False):
        prompts.say("Nothing was changed.")
        return 1
    change(path, removal(path, id).changes)  # by the file as it is now
    try:
        restart_hub(start=False)
    except BaseException:
        prompts.remark(f"{who} is out of {path}, but counts until chatbridge restart has worked.")
        raise
    if _is_let_in(settings.load(), spec, id):
        raise ChatbridgeError(
            f"{who} still counts: {path} was changed meanwhile. "
            f"Look at it, then run again: chatbridge people remove {id}"
        )
    prompts.good(f"{who} is removed")
    prompts.wrapped("    Cards that are in that chat stay there, but do nothing any more.")
    if member:
        prompts.wrapped(f"    {_what_stays(member, (spec.name, id))}")
    if found.server() is not None:
        prompts.wrapped(
            "    Each hub on the same database goes by its own list: run this there, too."
        )
    return 0


def _what_stays(member: Member, removed: tuple[str, str]) -> str:
    others = [f"{title_of(it[0])} ({it[1]})" for it in member.identities if it != removed]
    if others:
        return f"{member.name} is still let in on {', '.join(others)}."
    return f"{member.name} stays in [[people]], without an id."


def removal(path: Path, id: str) -> Removal:
    """:raises ChatbridgeError: a change of the file does not remove them."""
    from chatbridge import settings
    from chatbridge.settings.people import specs_with_people

    found, specs = settings.load(path), specs_with_people()
    for spec in specs:
        listed = people_in(path, spec)
        changes: dict[Key, Value] = {}
        if id in map(str, listed.allowed):
            left = [each for each in listed.allowed if str(each) != id]
            changes[spec.name, spec.people or ""] = left
        for at, person in enumerate(found.people):
            if str(person.identity(spec)) == id:
                changes["people", str(at), spec.name] = None
        if not changes:
            continue
        if spec.chats and id in map(str, listed.chats):
            chats = [each for each in listed.chats if str(each) != id]
            changes[spec.name, spec.chats] = chats or None
        after = settings_with(path, changes)
        if not _is_let_in(after, spec, id):
            return Removal(spec, changes, after)
    if any(_is_let_in(found, spec, id) for spec in specs):
        raise ChatbridgeError(
            f"{id} is let in by a variable, a credential or a file in secrets, whatever {path} "
            "says. Nothing was changed. Remove it there first"
        )
    raise ChatbridgeError(f"{id} is not among those who may answer. List them: chatbridge people")


def _is_let_in(found: Settings, spec: ChannelSpec[Any], id: str) -> bool:
    return id in map(str, spec.people_in(found.table(spec)))


def people_in(path: Path, spec: ChannelSpec[Any]) -> Listed:
    """:raises SettingsError: the file cannot be read, or not be used."""
    table = table_in(path, spec.name)
    names = [name for name in (spec.people, spec.chats) if name in table]
    listed = spec.settings.model_validate({name: table[name] for name in names})
    return Listed(spec.people_in(listed), spec.chats_in(listed))


def add_people(
    path: Path, spec: ChannelSpec[Any], people: Collection[object], chats: Collection[object] = ()
) -> None:
    """To those whom the file lists now: who was taken out while a wizard waited stays out."""
    listed = people_in(path, spec)
    lists = {
        (spec.name, str(spec.people)): list(dict.fromkeys([*listed.allowed, *people])),
        (spec.name, str(spec.chats)): list(dict.fromkeys([*listed.chats, *chats])),
    }
    # An empty list would keep a variable from naming people.
    change(path, {key: ids for key, ids in lists.items() if ids})
