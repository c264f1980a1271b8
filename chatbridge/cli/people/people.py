"""`chatbridge people`: who may answer, and taking somebody out again."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbridge.cli.config_file import Key, Value, change, config_file, table_in
from chatbridge.cli.ui.running import new_parser, run
from chatbridge.core.errors import ChatbridgeError

if TYPE_CHECKING:
    from chatbridge.channels.spec import ChannelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A channel's people and chats, as the file has them."""

    allowed: tuple[Any, ...]
    chats: tuple[Any, ...]


def parser() -> argparse.ArgumentParser:
    found = new_parser(
        "people",
        "Lists who may answer your agents' questions. Nobody else can, or learns\n"
        "anything. To add somebody: chatbridge pair.",
        usage="chatbridge people [remove ID]",
    )
    commands = found.add_subparsers(dest="command", metavar="COMMAND", prog="chatbridge people")
    remove = commands.add_parser(
        "remove",
        help="take somebody out, by the id that the list shows",
        description="Takes somebody out, after asking. The hub is restarted; agents that wait do "
        "not notice.",
    )
    remove.add_argument("id", help="as the list shows it")
    return found


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    if given.command == "remove":
        return run(lambda: _remove(given.id))
    return run(_list)


def _list() -> int:
    from chatbridge import settings

    found = settings.load()
    rows = [
        (str(person), spec.title)
        for spec in _with_people()
        for person in spec.people_in(found.table(spec))
    ]
    if not rows:
        print("Nobody is paired. Run: chatbridge setup, or with a bot: chatbridge pair")
        return 0
    width = max(len("ID"), *(len(row[0]) for row in rows))
    for who, channel in (("ID", "CHANNEL"), *rows):
        print(f"{who:<{width}}   {channel}")
    if sys.stdout.isatty():
        print("\nAdd: chatbridge pair     Take out: chatbridge people remove ID")
    return 0


def _remove(id: str) -> int:
    from chatbridge.cli.hub.stop import restart_hub
    from chatbridge.cli.ui import prompts

    path = config_file()
    spec, changes = _without(path, id)
    channel = spec.title
    prompts.take_terminal("people remove")
    prompts.say(f"{id} can then no longer answer on {channel}, nor read new questions there.")
    if not changes[spec.name, spec.people or ""]:
        prompts.say(f"Nobody else is paired on {channel}: questions do not arrive there then.")
    if not prompts.confirm(f"Take {id} out?", default=False):
        prompts.say("Nothing was changed.")
        return 1
    change(path, changes)
    restart_hub(start=False)
    prompts.good(f"{id} is out")
    prompts.say("    Cards that are in that chat stay there, and do nothing any more.")
    return 0


def _without(path: Path, id: str) -> tuple[ChannelSpec[Any], dict[Key, Value]]:
    """The channel, and what to change. :raises ChatbridgeError: they are not in the file."""
    from chatbridge import settings

    specs = _with_people()
    for spec in specs:
        listed = people_in(path, spec)
        if id in map(str, listed.allowed):
            left = [each for each in listed.allowed if str(each) != id]
            changes: dict[Key, Value] = {(spec.name, spec.people or ""): left}
            if spec.chats and id in map(str, listed.chats):
                chats = [each for each in listed.chats if str(each) != id]
                changes[spec.name, spec.chats] = chats or None
            return spec, changes
    found = settings.load()
    if any(id in map(str, spec.people_in(found.table(spec))) for spec in specs):
        raise ChatbridgeError(
            f"{id} is not in {path} but in a variable or a credential. Take it out there"
        )
    raise ChatbridgeError(f"{id} is not among those who may answer. List them: chatbridge people")


def people_in(path: Path, spec: ChannelSpec[Any]) -> Listed:
    """:raises SettingsError: the file cannot be read, or not be used."""
    table = table_in(path, spec.name)
    names = [name for name in (spec.people, spec.chats) if name in table]
    listed = spec.settings.model_validate({name: table[name] for name in names})
    return Listed(allowed=spec.people_in(listed), chats=spec.chats_in(listed))


def _with_people() -> list[ChannelSpec[Any]]:
    from chatbridge.channels.registry import channel_specs

    return [spec for spec in channel_specs() if spec.people is not None]
