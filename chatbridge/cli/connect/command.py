"""`chatbridge connect`: writes chatbridge into a client's configuration, after a look at it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

from chatbridge.cli.ui.running import FAILED, complain, run

DESCRIPTION = """\
Adds chatbridge to the MCP servers of an agent's program. Shows what would change and asks; the rest
of the file stays as it is, and a copy is kept beside it. Without a client: lists those on this
computer.
"""
USAGE = 2
EPILOG = "clients: {}. For any other: chatbridge connect --print"


def main(argv: list[str]) -> int:
    given = checked(parser(), argv)
    from chatbridge.cli.connect.run import connect  # after --help, which needs none of it

    return carried_out(connect, given)


def parser() -> argparse.ArgumentParser:
    found = argument_parser("connect", DESCRIPTION)
    found.add_argument(
        "--print", action="store_true", dest="show", help="print the entry, write nothing"
    )
    return found


def carried_out(work: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """The exit code."""
    from chatbridge.cli.connect.catalogue import UnknownClient
    from chatbridge.core.errors import ChatbridgeError

    def carry_out() -> int:
        try:
            return work(given)
        except ChatbridgeError as error:
            complain(str(error))
            return USAGE if isinstance(error, UnknownClient) else FAILED

    return run(carry_out)


def argument_parser(word: str, description: str) -> argparse.ArgumentParser:
    from chatbridge.cli.connect.catalogue import CLIENTS

    parser = argparse.ArgumentParser(
        prog=f"chatbridge {word}",
        description=description,
        epilog=EPILOG.format(", ".join(CLIENTS)),
    )
    parser.add_argument("client", nargs="?", help="the program, such as codex")
    parser.add_argument(
        "--project", action="store_true", help="for this folder's project only, not for all"
    )
    parser.add_argument(
        "--workspace",
        nargs="+",
        metavar="DIR",
        help="claude-code: these folders, with the permission to use the tools",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    return parser


def checked(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """What was asked for. What does not go together ends the program, with a sentence."""
    given = parser.parse_args(argv)
    if given.workspace and given.client != "claude-code":
        parser.error("--workspace goes with claude-code")
    if given.workspace and given.project:
        parser.error("give --project or --workspace")
    given.folder = Path.cwd() if given.project else None
    given.again = shlex.join([*parser.prog.split(), *argv, "--yes"])
    return given
