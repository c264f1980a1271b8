"""`chatbridge people`: who may answer, and taking somebody out again."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbridge.cli.config_file import change, config_file, table_in
from chatbridge.cli.ui.running import new_parser, run
from chatbridge.core.errors import ChatbridgeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Telegram's people and chats, as the file has them."""

    allowed: tuple[int, ...]
    chats: tuple[int, ...]


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
        *((str(number), "Telegram") for number in found.telegram.allowed_users),
        *((user, "Matrix") for user in found.matrix.allowed_users),
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
    channel, changes = _without(path, id)
    prompts.take_terminal("people remove")
    prompts.say(f"{id} can then no longer answer on {channel}, nor read new questions there.")
    if not changes[channel.lower(), "allowed_users"]:
        prompts.say(f"Nobody else is paired on {channel}: questions do not arrive there then.")
    if not prompts.confirm(f"Take {id} out?", default=False):
        prompts.say("Nothing was changed.")
        return 1
    change(path, changes)
    restart_hub(start=False)
    prompts.good(f"{id} is out")
    prompts.say("    Cards that are in that chat stay there, and do nothing any more.")
    return 0


def _without(path: Path, id: str) -> tuple[str, dict[tuple[str, ...], Any]]:
    """The channel, and what to change. :raises ChatbridgeError: they are not in the file."""
    from chatbridge import settings

    listed, matrix = people_in(path), _matrix_in(path)
    if id in map(str, listed.allowed):
        left = [number for number in listed.allowed if str(number) != id]
        changes: dict[tuple[str, ...], Any] = {("telegram", "allowed_users"): left}
        if id in map(str, listed.chats):
            chats = [number for number in listed.chats if str(number) != id]
            changes["telegram", "chat_id"] = chats or None
        return "Telegram", changes
    if id in matrix:
        return "Matrix", {("matrix", "allowed_users"): [user for user in matrix if user != id]}
    found = settings.load()
    if id in (*map(str, found.telegram.allowed_users), *found.matrix.allowed_users):
        raise ChatbridgeError(
            f"{id} is not in {path} but in a variable or a credential. Take it out there"
        )
    raise ChatbridgeError(f"{id} is not among those who may answer. List them: chatbridge people")


def people_in(path: Path) -> Listed:
    """:raises SettingsError: the file cannot be read, or not be used."""
    from chatbridge import settings

    table = table_in(path, "telegram")
    telegram = settings.Telegram.model_validate(
        {name: table[name] for name in ("allowed_users", "chat_id") if name in table}
    )
    return Listed(allowed=telegram.allowed_users, chats=telegram.chat_id)


def _matrix_in(path: Path) -> tuple[str, ...]:
    from chatbridge import settings

    listed = table_in(path, "matrix").get("allowed_users", ())
    return settings.Matrix.model_validate({"allowed_users": listed}).allowed_users
