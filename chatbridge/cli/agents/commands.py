"""The arguments of commands about agents, those on other machines included."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import ATTACH, Command, argument, flag

TELL_USAGE = """\
chatbridge tell AGENT TEXT ... [--attach FILE] ...
       chatbridge tell --take-back ID"""
TELL_EPILOG = """\
examples:
  chatbridge tell shop-api Use tabs, not spaces
  chatbridge tell shop-api "Fix what you see here" --attach screen.png
  chatbridge tell shop-api - < plan.md

exit codes: 0 it waits for the agent, 1 refused, 2 wrong usage, 4 no hub could be
reached
"""
TOOLS_USAGE = """\
chatbridge tools check [FILE ...] [--json]
       chatbridge tools list [--json]
       chatbridge tools add [NAME ...]"""

CHECK = (
    "Checks definition files as the hub does, without a hub. Says everything that is wrong: "
    "the line, what was found, what is accepted, and how to fix it."
)
LIST = "Lists the tools that the files define, and which of them need your approval."
ADD = "Copies an example into the first of your folders. An existing file is not changed."
HTTP_ADDRESS = "127.0.0.1:8788"

agents = Command(
    "agents",
    "Lists the agents that are connected, and the messages that wait for them.",
    [
        flag("--json", help="print them as JSON"),
        flag("--names", help="print only their names, one per line"),
    ],
    epilog="exit codes: 0 listed, 4 no hub could be reached",
    work="chatbridge.cli.agents.messages:agents",
)

tell = Command(
    "tell",
    "Writes to a running agent, which reads it with its next step. Only a person at\n"
    "a terminal can, and no program that an agent has started.",
    argument("agent", metavar="AGENT", nargs="?", help="its name, as chatbridge agents lists it"),
    argument(
        "text",
        metavar="TEXT",
        nargs="*",
        default=[],
        help="what to tell it; - reads it from standard input",
    ),
    ATTACH,
    argument("--take-back", metavar="ID", help="take a message back that still waits"),
    usage=TELL_USAGE,
    epilog=TELL_EPILOG,
    passes_on=True,
    work="chatbridge.cli.agents.messages:tell",
)


def _tools(parser: argparse.ArgumentParser) -> None:
    action = parser.add_subparsers(
        dest="do", required=True, metavar="check | list | add", prog="chatbridge tools"
    )
    check = action.add_parser("check", help="check files, and say what to fix", description=CHECK)
    check.add_argument("file", nargs="*", metavar="FILE", help="default: all in your folders")
    check.add_argument("--json", action="store_true", help="all details, for programs")
    shown = action.add_parser("list", help="the tools that agents have", description=LIST)
    shown.add_argument("--json", action="store_true", help="all details, for programs")
    add = action.add_parser("add", help="copy an example into your folder", description=ADD)
    add.add_argument("name", nargs="*", metavar="NAME", help="default: say which there are")


tools = Command(
    "tools",
    "Commands that your agents may run, as you define them in JSON files. They are in\n"
    "~/.config/chatbridge/tools, or in the folders that commands.dirs names.\n",
    extend=_tools,
    usage=TOOLS_USAGE,
    epilog="exit codes: 0 all is well, 1 a problem was found, 2 wrong usage",
    work="chatbridge.cli.agents.definition_files:tools",
)


def _address(value: str) -> str:
    from chatbridge.settings.tools import host_and_port

    try:
        host_and_port(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value


serve = Command(
    "serve",
    "Runs the hub in the foreground, and lets agents on other machines connect to it "
    "over HTTP. Each needs a token: chatbridge token add NAME. A hub that an agent has started "
    "hands over to this one. To have it always, set http.address in config.toml instead.",
    argument(
        "--http",
        metavar="ADDRESS",
        type=_address,
        default=HTTP_ADDRESS,
        help=f"where to listen (default: {HTTP_ADDRESS}); agents connect to http://ADDRESS/mcp",
    ),
    argument("--config", help="the configuration file to use"),
    work="chatbridge.cli.agents.serve:serve_command",
)


def _tokens(parser: argparse.ArgumentParser) -> None:
    from chatbridge.hub.http.tokens import ACCEPTED

    action = parser.add_subparsers(dest="do", required=True, metavar="add | list | remove")
    add = action.add_parser("add", help="make a token, and show it once")
    add.add_argument("name", metavar="NAME", help=ACCEPTED)
    shown = action.add_parser("list", help="show who has one, and when it was last used")
    shown.add_argument("--json", action="store_true", help="as JSON")
    remove = action.add_parser("remove", help="revoke it at once, for connected agents too")
    remove.add_argument("name", metavar="NAME", help="the name it was made with")


token = Command(
    "token",
    "Tokens for agents that connect over HTTP, one for each. The token's name is "
    "what the cards show as the project.",
    extend=_tokens,
    work="chatbridge.cli.agents.serve:token",
)
