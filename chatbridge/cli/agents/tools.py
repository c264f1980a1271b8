"""`chatbridge tools`: the commands that agents may run, as the owner's files define them.

The work is done in `definition_files`, which is not imported for `--help`.
"""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import ScriptsParser, WrongUsage, command

USAGE = """\
chatbridge tools check [FILE ...] [--json]
       chatbridge tools list [--json]
       chatbridge tools add [NAME ...]"""
CHECK = (
    "Looks at definition files as the hub does, without one, and says everything that is wrong: "
    "the line, what was found, what is accepted, and how to mend it."
)
LIST = "Lists the tools that the files define, and which of them need your approval."
ADD = "Copies an example into the first of your folders. A file that is there stays as it is."


def _actions(parser: argparse.ArgumentParser) -> None:
    action = parser.add_subparsers(
        dest="do", required=True, metavar="check | list | add", prog="chatbridge tools"
    )
    check = action.add_parser(
        "check", help="look at files, and say what to mend", description=CHECK
    )
    check.add_argument("file", nargs="*", metavar="FILE", help="default: all in your folders")
    check.add_argument("--json", action="store_true", help="all details, for programs")
    shown = action.add_parser("list", help="the tools that agents have", description=LIST)
    shown.add_argument("--json", action="store_true", help="all details, for programs")
    add = action.add_parser("add", help="copy an example into your folder", description=ADD)
    add.add_argument("name", nargs="*", metavar="NAME", help="default: say which there are")


@command(
    "tools",
    "Commands that your agents may run, as you define them in JSON files. They are in\n"
    "~/.config/chatbridge/tools, or in the folders that commands.dirs names.\n",
    extend=_actions,
    usage=USAGE,
    epilog="exit codes: 0 all is well, 1 a problem was found, 64 wrong usage\n",
    kind=ScriptsParser,
)
def main(given: argparse.Namespace) -> int:
    from chatbridge.cli.agents import definition_files

    if given.do == "check":
        return definition_files.check(given.file, as_json=given.json)
    if given.do == "list":
        return definition_files.list_tools(as_json=given.json)
    known = definition_files.names()
    if unknown := [name for name in given.name if name not in known]:
        raise WrongUsage(f"there is no example {unknown[0]!r}; there are: {', '.join(known)}")
    return definition_files.add(given.name)
