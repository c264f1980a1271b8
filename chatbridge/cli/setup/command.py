"""`chatbridge setup`: at a terminal the wizard, with `--non-interactive` what the flags say."""

from __future__ import annotations

import argparse
import sys

from chatbridge.cli.ui.running import WrongUsage, command, flag
from chatbridge.core.errors import NoTerminal

SCRIPTS = """\
Secrets are read from files, - is standard input: what stands on a command
line can be seen by every user of the computer. Everything is checked before
anything is written."""


def _flags(parser: argparse.ArgumentParser) -> None:
    from chatbridge.channels.registry import channel_specs

    flags = parser.add_argument_group("with --non-interactive", SCRIPTS)
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


@command(
    "setup",
    "Sets chatbridge up, step by step: Telegram, Matrix, or the browser. Run it again\n"
    "at any time; what is there is kept.",
    flag("--non-interactive", help="for scripts: only what these flags say"),
    extend=_flags,
    usage="chatbridge setup [--non-interactive FLAGS]",
)
def main(given: argparse.Namespace) -> int:
    if given.non_interactive:
        from chatbridge.cli.setup import scripted

        return scripted.run(given)
    if given.argv:
        raise WrongUsage("these flags are for --non-interactive")
    from chatbridge.cli.ui import prompts

    try:
        prompts.take_terminal("setup")
    except NoTerminal as error:
        sys.stderr.write(
            f"{error}. For scripts: chatbridge setup --non-interactive, with flags such as\n"
            "--telegram-token-file FILE --telegram-user ID, or --web-only. All of them:\n"
            "chatbridge setup --help\n"
        )
        return 2
    from chatbridge.cli.setup import wizard

    with prompts.unechoed():
        return wizard.run()
