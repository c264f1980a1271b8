"""The arguments of all commands. Their work is imported once these are read."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import Command, argument, flag

ID = argument("id", metavar="ID", help="the beginning of its id is enough")
LEVELS = {"info": "info", "warning": "warning", "error": "error", "warn": "warning"}
PRIORITIES = ("low", "normal", "urgent")
LIMIT = 20
STATS_SECONDS = 30 * 86400.0
ASK_EPILOG = """\
The answer alone goes to standard output, everything else to standard error.
Beside options you can always answer in your own words. A --confirm prints yes or
no and nothing else; a remark that you add goes to standard error.

exit codes: 0 answered, 1 refused, 2 wrong usage, 3 timed out, 4 no hub could be
reached, 5 cancelled, 130 left with Ctrl-C (143 with SIGTERM)
"""
ANSWER_EPILOG = """\
examples:
  chatbridge answer 3f9a2c           shows the question and takes what you type
  chatbridge answer 3f9a2c 2         the second option
  chatbridge answer 3f9a2c Not today
  chatbridge answer 3f9a2c --json    reads what the inbox's API takes:
                       {"answers": [{"questionId": "…", "values": ["…"]}]}
"""
QUIET_EPILOG = """\
examples:
  chatbridge quiet on 2h        quiet for two hours, 7 days at most
  chatbridge quiet until 08:00
  chatbridge quiet on           until the next quiet hours end, or for 8 hours
  chatbridge quiet off          shows what was held; the next night is quiet again

exit codes: 0 done, 1 refused, 2 wrong usage, 4 no hub could be reached
"""
SHOW_EPILOG = """\
Pictures, texts, recordings and PDFs are opened with this computer's own program
for them, everything else can only be saved. Without a terminal they are listed.

examples:
  chatbridge show 3f9a2c               lists them, and opens the only one
  chatbridge show 3f9a2c 2             opens the second
  chatbridge show 3f9a2c --save .      copies them all to this folder
"""
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
SERVICE = """\
Keeps the hub running as a service of systemd, on macOS of launchd: it starts
with this computer or when you log in, and comes back by itself.

  install    write its files, enable and start it; again if folders change
  uninstall  stop it and remove its files
  status     whether it runs, and which version
  logs       what the hub says; further options go to journalctl, on macOS to
             tail (-f, -n 20)
  restart    after an upgrade or a change of the settings
  start      start it after a stop
  stop       stop it until the next log-in, or until: chatbridge service start

Agents that wait do not notice a restart.
"""
SERVICE_WORDS = ("install", "uninstall", "status", "logs", "restart", "start", "stop")
SCRIPTS = """\
Secrets are read from files, - is standard input: every user of the computer
can see what is on a command line. Everything is checked before anything is
written."""
INBOX_EPILOG = """\
--phone finds Tailscale, a proxy (web.url) or your own certificate (web.tls_cert),
says what it would change, and asks. It then checks that the address is secure and
leads to this hub. Nothing is opened to the internet.
"""
SHELLS = ("bash", "zsh", "fish")
COMPLETION_EPILOG = """\
where it goes:
  bash   ~/.local/share/bash-completion/completions/chatbridge
  zsh    _chatbridge in a folder of your $fpath
  fish   ~/.config/fish/completions/chatbridge.fish

example: chatbridge completion fish > ~/.config/fish/completions/chatbridge.fish
"""
HTTP_ADDRESS = "127.0.0.1:8788"


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def _period(text: str) -> float:
    from chatbridge.durations import parse_period

    try:
        return parse_period(_with_unit(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give how far back, as in 12h or 30d, at most 3650d"
        ) from None


def _with_unit(text: str) -> str:
    """Seconds are too short for what people mean by a bare number."""
    return text if text.strip()[-1:].isalpha() else ""


def _since(text: str) -> float:
    """Seconds since the epoch."""
    import time

    from chatbridge.core.nights.hours import parse_clock
    from chatbridge.core.nights.summary import last_time
    from chatbridge.durations import parse_period

    now = time.time()
    try:
        if ":" in text:
            return last_time(parse_clock(text), now=now)
        return now - parse_period(_with_unit(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give the time of day, as in 22:30, or how long ago, as in 8h"
        ) from None


ATTACH = argument(
    "--attach",
    action="append",
    default=[],
    metavar="FILE",
    help="a file to show with it, repeated",
)

HUB = argument(
    "--hub",
    metavar="URL",
    help="a hub elsewhere, with the token in CHATBRIDGE_TOKEN",
)
PLAIN_HTTP = flag("--plain-http", help="allow http:// there")

ask = Command(
    "ask",
    "Asks you on your phone, or wherever you answer, and waits for the answer. A hub\n"
    "is started if none runs.\n",
    argument("question", help="what to ask; - reads it from standard input"),
    argument(
        "-o", "--option", action="append", default=[], metavar="LABEL", help="an option, repeated"
    ),
    [
        flag("--multi", help="several options may be chosen; prints one per line"),
        flag("--confirm", help="yes or no, without options"),
    ],
    ATTACH,
    argument("--title", help="a heading that says what it is about"),
    argument(
        "--timeout", metavar="TIME", help="how long to wait, as in 90, 15min or 8h (10 s or more)"
    ),
    argument(
        "--priority",
        choices=PRIORITIES,
        metavar="PRIORITY",
        help="low never rings, urgent rings in quiet hours, too; default: normal",
    ),
    flag("--json", help="print the whole outcome"),
    HUB,
    PLAIN_HTTP,
    epilog=ASK_EPILOG,
    work="chatbridge.cli.questions.ask:ask",
)

notify = Command(
    "notify",
    "Tells you something on your phone, or wherever you answer, and does not wait.\n"
    "A hub is started if none runs; what cannot be shown now is shown later.",
    argument("message", help="what to tell; - reads it from standard input"),
    ATTACH,
    argument("--title", help="a heading"),
    argument(
        "--level",
        choices=LEVELS,
        default="info",
        metavar="LEVEL",
        help="info (the default) arrives silently, warning and error make the phone ring",
    ),
    HUB,
    PLAIN_HTTP,
    epilog="exit codes: 0 the hub has it, 1 refused, 2 wrong usage, 4 no hub could be reached",
    work="chatbridge.cli.questions.ask:notify",
)

pending = Command(
    "pending",
    "Lists the open questions, the nearest deadline first.",
    flag("--watch", help="stay, and show what changes"),
    [
        flag("--json", help="print them as JSON"),
        flag("--ids", help="print only their ids, one per line"),
    ],
    work="chatbridge.cli.questions.lists:pending",
)

history = Command(
    "history",
    "Lists questions that have ended, the newest last, by day.",
    argument("--search", metavar="TEXT", help="only those with this in them"),
    argument("--limit", metavar="N", type=_count, default=LIMIT, help=f"how many ({LIMIT})"),
    [
        flag("--json", help="print them as JSON, the newest first"),
        flag("--yaml", help="print them as YAML, the newest first"),
    ],
    work="chatbridge.cli.questions.lists:history",
)

stats = Command(
    "stats",
    "Says what your silence costs: for each project and agent how many questions there were and "
    "how they ended, how long you took to answer, and how long agents waited, by the hour of the "
    "day.",
    argument(
        "--since",
        metavar="TIME",
        type=_period,
        default=STATS_SECONDS,
        help="how far back, as in 12h, 7d or 30d (30d)",
    ),
    flag("--json", help="print it as JSON"),
    work="chatbridge.cli.questions.stats:stats",
)

summary = Command(
    "summary",
    "Says what has happened while you were away, and what is waiting now.",
    argument(
        "--since",
        metavar="TIME",
        type=_since,
        help="the time of day, as in 22:30, or how long ago, as in 8h (default: since the last\n"
        "quiet hours began, or 12h)",
    ),
    flag("--json", help="print it as JSON"),
    work="chatbridge.cli.questions.lists:summary",
)

show = Command(
    "show",
    "Lists the files of a question, its answer or a message, and opens one.",
    ID,
    argument("number", metavar="NUMBER", nargs="?", type=_count, help="which one"),
    [
        flag("--open", help="open it, even if this is no terminal"),
        argument("--save", metavar="FOLDER", help="copy it there, or all of them"),
        flag("--json", help="print the list as JSON"),
    ],
    epilog=SHOW_EPILOG,
    work="chatbridge.cli.questions.files:show",
)

answer = Command(
    "answer",
    "Answers an open question. The first answer counts, wherever it comes from. An\n"
    "approval is given in the chat, not here, where an agent could do it as well.",
    ID,
    argument(
        "values",
        metavar="VALUE",
        nargs="*",
        default=[],
        help="an option, its number, or a text; several where several may be chosen",
    ),
    flag("--json", help="read the answers from standard input"),
    epilog=ANSWER_EPILOG,
    work="chatbridge.cli.questions.answer:answer",
)

cancel = Command(
    "cancel",
    "Cancels an open question: the agent is told that you will not answer. An\n"
    "approval is denied in the chat, not here.",
    ID,
    argument("--reason", metavar="TEXT", help="what the agent is told with it"),
    work="chatbridge.cli.questions.answer:cancel",
)

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

quiet = Command(
    "quiet",
    "Says whether quiet hours are on, and switches them by hand: on for a while, or\n"
    "off until they would end. Regular quiet hours are in config.toml.",
    argument(
        "words",
        metavar="WHAT",
        nargs="*",
        default=[],
        help="on, on 2h, until 08:00 or off; nothing: only say how they are",
    ),
    epilog=QUIET_EPILOG,
    work="chatbridge.cli.questions.quiet:quiet",
)

WHEN = argument("when", metavar="TIME", nargs="+", help="as in 45min, 1h or until 08:00")

snooze = Command(
    "snooze",
    "Puts an open question off: its card goes out of the way and comes back as a new\n"
    "message at that time. Its deadline moves along, as far as max_timeout allows.",
    ID,
    WHEN,
    epilog="examples:\n  chatbridge snooze 3f9a2c 1h\n  chatbridge snooze 3f9a2c until 08:00\n",
    work="chatbridge.cli.questions.answer:snooze",
)

extend = Command(
    "extend",
    "Gives an open question more time, as far as max_timeout allows.",
    ID,
    WHEN,
    epilog="examples:\n  chatbridge extend 3f9a2c 15min\n  chatbridge extend 3f9a2c until 08:00\n",
    work="chatbridge.cli.questions.answer:extend",
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

pair = Command(
    "pair",
    "Pairs a phone, yours or another person's, with this computer. Shows a code that\n"
    "works once, within 10 minutes: scan it, or send it to the bot, and say here who\n"
    "it was.",
    argument("channel", nargs="?", metavar="CHANNEL", help="where, if there are several bots"),
    work="chatbridge.cli.people:pair_command",
)

status = Command(
    "status",
    "Says whether the hub runs, and whether all is well with it.",
    flag("--json", help="print it as JSON"),
    epilog="exit codes: 0 it runs, 4 it does not. What could be wrong: chatbridge doctor",
    work="chatbridge.cli.hub.status:status",
)

version = Command(
    "version",
    "Prints the installed version, and says if the running hub has another one.",
    work="chatbridge.cli.hub.status:version",
)

FORCE = flag("--force", help="even if no hub could start with the settings")

stop = Command(
    "stop",
    "Stops the hub. Open questions stay open: the next hub goes on with them.",
    FORCE,
    work="chatbridge.cli.hub.control:stop",
)

restart = Command(
    "restart",
    "Restarts the hub, for instance after a change of the settings. Agents that\n"
    "wait do not notice. A hub is started if none runs.",
    FORCE,
    work="chatbridge.cli.hub.control:restart",
)

inbox = Command(
    "inbox",
    "Prints a link that logs your browser in to the inbox. It works once, for 10\n"
    "minutes. A hub is started if none runs.",
    [
        flag("--open", help="open the link in this computer's browser, too"),
        flag("--phone", help="make the inbox reachable from your phone, and show a code to scan"),
    ],
    flag("--yes", "-y", help="with --phone: do not ask"),
    flag("--json", help="with --phone: print the address and the link as JSON"),
    epilog=INBOX_EPILOG,
    work="chatbridge.cli.inbox.link:inbox",
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


def _name_clients(parser: argparse.ArgumentParser) -> None:
    from chatbridge.cli.connect.catalogue import CLIENTS

    parser.epilog = f"clients: {', '.join(CLIENTS)}."
    if not parser.prog.endswith("disconnect"):
        parser.epilog += " For any other: chatbridge connect --print"


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

service = Command(
    "service",
    SERVICE,
    argument("what", choices=SERVICE_WORDS, metavar="WHAT", help="one of these"),
    argument(
        "--linger",
        action=argparse.BooleanOptionalAction,
        help="install: go on after a log-out, without asking (not on macOS)",
    ),
    flag("--force", help="restart, stop: even if no hub could start with the settings"),
    usage="chatbridge service WHAT [--linger | --no-linger] [--force]",
    passes_on=True,  # to what shows the log
    work="chatbridge.cli.service.command:service",
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

completion = Command(
    "completion",
    "Prints a script that lets your shell complete commands, options, and the ids\n"
    "of open questions. Write it where your shell looks for such scripts.",
    argument("shell", choices=SHELLS),
    epilog=COMPLETION_EPILOG,
    work="chatbridge.cli.completion:completion",
)
