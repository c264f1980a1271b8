"""The arguments of commands that set chatbridge up on a computer, and find what is wrong."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import Command, argument, flag

SCRIPTS = """\
Secrets are read from files, - is standard input: every user of the computer
can see what is on a command line. Everything is checked before anything is
written."""
STORE_COPY = """\
Copies everything into an empty PostgreSQL database, in one transaction: all of it
arrives, or nothing. The SQLite file stays as it is. No hub may run meanwhile.
Open questions stay open, and agents that wait notice nothing.
"""
SHELLS = ("bash", "zsh", "fish")
COMPLETION_EPILOG = """\
where it goes:
  bash   ~/.local/share/bash-completion/completions/chatbridge
  zsh    _chatbridge in a folder of your $fpath
  fish   ~/.config/fish/completions/chatbridge.fish

example: chatbridge completion fish > ~/.config/fish/completions/chatbridge.fish
"""

PARTS = (
    argument(
        "--no-hooks",
        dest="leave_out",
        action="append_const",
        const="hooks",
        default=[],
        help="Claude Code's own questions and permissions stay in its window, and what you write "
        "to an agent waits for its next call of chatbridge",
    ),
    argument(
        "--no-instructions",
        dest="leave_out",
        action="append_const",
        const="instructions",
        default=[],
        help="no paragraph that tells agents when and how to ask",
    ),
)


def _client(name: str) -> str:
    from chatbridge.cli.connect.catalogue import UnknownClient, client_of

    try:
        return client_of(name).name
    except UnknownClient as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _setup_flags(parser: argparse.ArgumentParser) -> None:
    from chatbridge.channels.registry import channel_specs

    flags = parser.add_argument_group("with --non-interactive", SCRIPTS)
    for spec in channel_specs():
        if spec.setup is not None:
            spec.setup.add_flags(flags)
    flags.add_argument("--web-only", action="store_true", help="no chat: the inbox alone")
    flags.add_argument(
        "--phone", action="store_true", help="the inbox on your phone, as chatbridge inbox --phone"
    )
    flags.add_argument("--wait", metavar="TIME", help="how long agents wait, as in 30m, 1h or 8h")
    flags.add_argument(
        "--service",
        action=argparse.BooleanOptionalAction,
        help="install the service (default: no)",
    )
    flags.add_argument(
        "--connect", metavar="CLIENT", nargs="+", default=[], type=_client, help="agents to connect"
    )


setup = Command(
    "setup",
    "Sets chatbridge up, step by step: where you answer, how long agents wait, and which\n"
    "agents use it. Run it again at any time; what is set up already is kept.",
    flag("--non-interactive", help="for scripts: only what these flags say"),
    *PARTS,
    extend=_setup_flags,
    usage="chatbridge setup [--no-hooks] [--no-instructions]\n"
    "       chatbridge setup --non-interactive FLAGS",
    work="chatbridge.cli.setup.wizard:setup",
)

CLIENT = (
    argument("client", nargs="?", help="the program, such as codex"),
    flag("--project", help="for this folder's project only, not for all"),
    argument(
        "--workspace",
        nargs="+",
        metavar="DIR",
        help="claude-code: these folders, with the permission to use the tools",
    ),
    flag("--yes", "-y", help="do not ask"),
)


def _name_clients(parser: argparse.ArgumentParser) -> None:
    from chatbridge.cli.connect.catalogue import CLIENTS

    parser.epilog = f"clients: {', '.join(CLIENTS)}."
    if not parser.prog.endswith("disconnect"):
        parser.epilog += " For any other: chatbridge connect --print"


connect = Command(
    "connect",
    "Adds chatbridge to the MCP servers of an agent's program, with the permission to use it, and "
    "where the program has them with hooks and a paragraph for agents. Shows what would change and "
    "asks; the rest of each file stays as it is, and a copy is kept beside it. Without a client: "
    "lists those on this computer.",
    *CLIENT,
    *PARTS,
    flag("--print", dest="show", help="print what would be written, write nothing"),
    extend=_name_clients,
    work="chatbridge.cli.connect.command:connect",
)

disconnect = Command(
    "disconnect",
    "Removes everything that connect has written for an agent's program. Shows what would "
    "change and asks; the files are then as they were before.",
    *CLIENT,
    extend=_name_clients,
    work="chatbridge.cli.connect.command:disconnect",
)

pair = Command(
    "pair",
    "Pairs a phone, yours or another person's, with this computer. Shows a code that\n"
    "works once, within 10 minutes: scan it, or send it to the bot, and say here who\n"
    "it was.",
    argument("channel", nargs="?", metavar="CHANNEL", help="where, if there are several bots"),
    work="chatbridge.cli.pairing:pair_command",
)


def _people(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="command", metavar="COMMAND", prog="chatbridge people")
    remove = actions.add_parser(
        "remove",
        help="remove somebody, by the id that the list shows",
        description="Removes somebody, after asking. The hub is restarted; agents that wait do "
        "not notice.",
    )
    remove.add_argument("id", help="as the list shows it")


people = Command(
    "people",
    "Lists who may answer your agents' questions. Nobody else can answer or read\n"
    "them. To add somebody: chatbridge pair.",
    extend=_people,
    usage="chatbridge people [remove ID]",
    work="chatbridge.cli.people:people",
)


def _store(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="do", metavar="COMMAND", prog="chatbridge store")
    copy = actions.add_parser(
        "copy",
        help="move everything from the SQLite file to a PostgreSQL server",
        description=STORE_COPY,
        formatter_class=parser.formatter_class,
    )
    for names, options in (
        argument(
            "--to",
            metavar="ADDRESS",
            help="postgresql://user@host/database; without it the one in store. The password is "
            "that of store_password",
        ),
        argument(
            "--from",
            dest="source",
            metavar="ADDRESS",
            help="sqlite:///path/to/file.db; without it the one that a hub would use",
        ),
        flag(
            "--stop", help="stop the hub first, if one runs: agents that wait start it again soon"
        ),
        flag("--dry-run", help="try all of it on the server, and undo it; the hub runs on"),
        flag("--yes", "-y", help="set store in config.toml afterwards, without asking"),
    ):
        copy.add_argument(*names, **options)


store = Command(
    "store",
    "Moves the questions, the open ones included, to a PostgreSQL server: for a team,\n"
    "or for several hubs.",
    extend=_store,
    usage="chatbridge store copy [--to ADDRESS] [--from ADDRESS] [--stop] [--dry-run] [--yes]",
    work="chatbridge.cli.setup.store:store",
)

doctor = Command(
    "doctor",
    "Checks everything that chatbridge needs, and says how to fix what is wrong. Changes nothing, "
    "and starts no hub. Exit code 1 if there is a problem. With --tonight, exit code 0 only if "
    "agents can be left alone until the morning.",
    flag("--tonight", help="can I go to bed? What would stop an agent in the night"),
    flag("--json", help="all details, for programs"),
    work="chatbridge.cli.doctor.run:doctor",
)

completion = Command(
    "completion",
    "Prints a script that lets your shell complete commands, options, and the ids\n"
    "of open questions. Write it where your shell looks for such scripts.",
    argument("shell", choices=SHELLS),
    epilog=COMPLETION_EPILOG,
    work="chatbridge.cli.completion:completion",
)
