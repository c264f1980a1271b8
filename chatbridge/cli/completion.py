"""`chatbridge completion`: what a shell needs to complete our commands, from their own parsers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import cast

from chatbridge.cli import APART, COMMANDS, command

OPEN_IDS = "chatbridge pending --ids 2>/dev/null"
AGENT_NAMES = "chatbridge agents --names 2>/dev/null"


def completion(given: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(whole_parser(), given.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands as one parser; those that have none of their own only by name."""
    import shtab

    from chatbridge.cli.connect.catalogue import CLIENTS

    whole = argparse.ArgumentParser(prog="chatbridge")
    whole.add_argument("--version", action="store_true", help="the installed version")
    words = whole.add_subparsers()
    for name, what in COMMANDS.items():
        make = parser_of(name)
        own = make() if make else argparse.ArgumentParser()
        added = words.add_parser(name, parents=[own], add_help=False, description=what, help=what)
        for action in added._actions:
            if action.dest == "id":
                action.complete = shtab.cmd(OPEN_IDS)  # type: ignore[attr-defined]
            elif action.dest == "agent":
                action.complete = shtab.cmd(AGENT_NAMES)  # type: ignore[attr-defined]
            elif action.dest == "client":
                action.choices = CLIENTS
            elif action.dest == "attach":
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.dest in ("workspace", "save"):
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return whole


def parser_of(name: str) -> Callable[[], argparse.ArgumentParser] | None:
    """None: it reads its arguments by itself."""
    place = import_module(APART[name]) if name in APART else command(name)
    return cast("Callable[[], argparse.ArgumentParser] | None", getattr(place, "parser", None))
