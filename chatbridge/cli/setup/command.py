"""`chatbridge setup`: at a terminal the wizard, with `--non-interactive` what the flags say."""

from __future__ import annotations

import argparse
import sys

from chatbridge.cli.ui.running import new_parser
from chatbridge.cli.ui.running import run as as_command
from chatbridge.core.errors import NoTerminal

USAGE = 2
ABOUT = """\
Sets chatbridge up, step by step: Telegram, Matrix, or the browser. Run it again
at any time; what is there is kept."""
SCRIPTS = """\
Secrets are read from files, - is standard input: what stands on a command
line can be seen by every user of the computer. Everything is checked before
anything is written."""


def parser() -> argparse.ArgumentParser:
    from chatbridge.channels.registry import channel_specs

    found = new_parser("setup", ABOUT, usage="chatbridge setup [--non-interactive FLAGS]")
    found.add_argument(
        "--non-interactive", action="store_true", help="for scripts: only what these flags say"
    )
    flags = found.add_argument_group("with --non-interactive", SCRIPTS)
    for spec in channel_specs():
        if spec.setup is not None:
            spec.setup.add_flags(flags)
    flags.add_argument("--web-only", action="store_true", help="no chat: the inbox alone")
    flags.add_argument("--wait", metavar="TIME", help="how long agents wait, as in 30m, 1h or 8h")
    flags.add_argument(
        "--service",
        action=argparse.BooleanOptionalAction,
        help="install the systemd user service; not, unless it is said",
    )
    flags.add_argument(
        "--connect", metavar="CLIENT", nargs="+", default=[], help="agents that use it"
    )
    return found


def main(argv: list[str]) -> int:
    command = parser()
    given = command.parse_args(argv)
    if given.non_interactive:
        from chatbridge.cli.setup import scripted

        return as_command(lambda: scripted.run(given))
    if argv:
        command.error("these flags are for --non-interactive")
    return as_command(_wizard)


def _wizard() -> int:
    from chatbridge.cli.ui import prompts

    try:
        prompts.take_terminal("setup")
    except NoTerminal as error:
        sys.stderr.write(
            f"{error}. For scripts: chatbridge setup --non-interactive, with flags such as\n"
            "--telegram-token-file FILE --telegram-user ID, or --web-only. All of them:\n"
            "chatbridge setup --help\n"
        )
        return USAGE
    from chatbridge.cli.setup import wizard

    with prompts.unechoed():
        return wizard.run()
