"""The arguments of commands that are slow to import, which they are only once they are to work."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import ScriptsParser, argument, command, flag

ID = argument("id", metavar="ID", help="the beginning of its id is enough")
LEVELS = {"info": "info", "warn": "warning", "error": "error"}
LIMIT = 20
ASK_EPILOG = """\
The answer alone goes to standard output, everything else to standard error.
Beside options you can always answer in your own words; a --confirm is answered
with yes or no and nothing else.

exit codes: 0 answered, 2 cancelled, 3 timed out, 4 no hub could be reached,
1 refused, 64 wrong usage, 130 left with Ctrl-C (143 with SIGTERM)
"""
ANSWER_EPILOG = """\
examples:
  chatbridge answer 3f9a2c           shows the question and takes what you type
  chatbridge answer 3f9a2c 2         the second option
  chatbridge answer 3f9a2c Not today
  chatbridge answer 3f9a2c --json    reads what the inbox's API takes:
                       {"answers": [{"questionId": "…", "values": ["…"]}]}
"""
TOOLS_USAGE = """\
chatbridge tools check [FILE ...] [--json]
       chatbridge tools list [--json]
       chatbridge tools add [NAME ...]"""
CHECK = (
    "Looks at definition files as the hub does, without one, and says everything that is wrong: "
    "the line, what was found, what is accepted, and how to mend it."
)
LIST = "Lists the tools that the files define, and which of them need your approval."
ADD = "Copies an example into the first of your folders. A file that is there stays as it is."


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)


ask = command(
    "ask",
    "Asks you on your phone, or wherever you answer, and waits for the answer. A hub\n"
    "is started if none runs.\n",
    argument("question", help="what to ask; - reads it from standard input"),
    argument(
        "-o", "--option", action="append", default=[], metavar="LABEL", help="an option, repeated"
    ),
    [
        flag("--multi", help="several options may be chosen: one a line"),
        flag("--confirm", help="yes or no, without options"),
    ],
    argument("--title", help="a heading that says what it is about"),
    argument(
        "--timeout", metavar="TIME", help="how long to wait, as in 90, 15min or 8h (10 s or more)"
    ),
    flag("--json", help="print the whole outcome"),
    epilog=ASK_EPILOG,
    kind=ScriptsParser,  # 2 says here that somebody has cancelled the question
)("chatbridge.cli.questions.ask:ask")

notify = command(
    "notify",
    "Tells you something on your phone, or wherever you answer, and does not wait.\n"
    "A hub is started if none runs; what cannot be shown now is shown later.",
    argument("message", help="what to tell; - reads it from standard input"),
    argument("--title", help="a heading"),
    argument(
        "--level",
        choices=LEVELS,
        default="info",
        help="info (the default) arrives silently, warn and error make the phone ring",
    ),
    epilog="exit codes: 0 the hub has it, 4 no hub could be reached, 1 refused",
)("chatbridge.cli.questions.ask:notify")

pending = command(
    "pending",
    "Lists the open questions, the nearest deadline first.",
    flag("--watch", help="stay, and show what changes"),
    [
        flag("--json", help="print them as JSON"),
        flag("--ids", help="print their ids alone, one a line"),
    ],
)("chatbridge.cli.questions.lists:pending")

history = command(
    "history",
    "Lists questions that have ended, the newest last, by day.",
    argument("--search", metavar="TEXT", help="only those with this in them"),
    argument("--limit", metavar="N", type=_count, default=LIMIT, help=f"how many ({LIMIT})"),
    [
        flag("--json", help="print them as JSON, the newest first"),
        flag("--yaml", help="print them as YAML, the newest first"),
    ],
)("chatbridge.cli.questions.lists:history")

answer = command(
    "answer",
    "Answers an open question. The first answer counts, wherever it comes from. An\n"
    "approval is given in the chat, not here, where an agent could do it as well.",
    ID,
    argument(
        "values",
        metavar="VALUE",
        nargs="*",
        help="an option, its number, or a text; several where several may be chosen",
    ),
    flag("--json", help="read the answers from standard input"),
    epilog=ANSWER_EPILOG,
)("chatbridge.cli.questions.answer:answer")

cancel = command(
    "cancel",
    "Cancels an open question: the agent is told that you will not answer. An\n"
    "approval is denied in the chat, not here.",
    ID,
    argument("--reason", metavar="TEXT", help="what the agent is told with it"),
)("chatbridge.cli.questions.answer:cancel")


def _tools(parser: argparse.ArgumentParser) -> None:
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


tools = command(
    "tools",
    "Commands that your agents may run, as you define them in JSON files. They are in\n"
    "~/.config/chatbridge/tools, or in the folders that commands.dirs names.\n",
    extend=_tools,
    usage=TOOLS_USAGE,
    epilog="exit codes: 0 all is well, 1 a problem was found, 64 wrong usage\n",
    kind=ScriptsParser,
)("chatbridge.cli.agents.definition_files:tools")
