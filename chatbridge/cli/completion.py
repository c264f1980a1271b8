"""`chatbridge completion`: what a shell needs to complete our commands, from their own parsers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from chatbridge.cli.ui.running import new_parser, parser_of, run

Commands = Mapping[str, tuple[str, str]]
"""By its name, each command's module and what it is for."""

SHELLS = ("bash", "zsh", "fish")
OPEN_IDS = "chatbridge pending --ids 2>/dev/null"
EPILOG = """\
where it goes:
  bash   ~/.local/share/bash-completion/completions/chatbridge
  zsh    _chatbridge in a folder of your $fpath
  fish   ~/.config/fish/completions/chatbridge.fish

example: chatbridge completion fish > ~/.config/fish/completions/chatbridge.fish
"""


def parser() -> argparse.ArgumentParser:
    found = new_parser(
        "completion",
        "Prints a script that lets your shell complete commands, options, and the ids\n"
        "of open questions. Write it where your shell looks for such scripts.",
        epilog=EPILOG,
    )
    found.add_argument("shell", choices=SHELLS)
    return found


def main(argv: list[str], commands: Commands) -> int:
    given = parser().parse_args(argv)

    def work() -> int:
        import shtab

        print(shtab.complete(whole_parser(commands), given.shell))
        return 0

    return run(work)


def whole_parser(commands: Commands) -> argparse.ArgumentParser:
    """All commands as one parser; those that have none of their own only by name."""
    import shtab

    from chatbridge.cli.connect.catalogue import CLIENTS

    whole = argparse.ArgumentParser(prog="chatbridge")
    whole.add_argument("--version", action="store_true", help="the installed version")
    words = whole.add_subparsers()
    for name, (place, what) in commands.items():
        make = parser_of(place)
        own = make() if make else new_parser(name, what)
        added = words.add_parser(name, parents=[own], add_help=False, description=what, help=what)
        for action in added._actions:
            if action.dest == "id":
                action.complete = shtab.cmd(OPEN_IDS)  # type: ignore[attr-defined]
            elif action.dest == "client":
                action.choices = CLIENTS
            elif action.dest == "workspace":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return whole
