"""The arguments of commands that ask, list and answer questions, and of those about nights."""

from __future__ import annotations

import argparse
import time

from chatbridge.cli.ui.running import ATTACH, Command, argument, flag

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
SHOW_EPILOG = """\
Pictures, texts, recordings and PDFs are opened with this computer's own program
for them, everything else can only be saved. Without a terminal they are listed.

examples:
  chatbridge show 3f9a2c               lists them, and opens the only one
  chatbridge show 3f9a2c 2             opens the second
  chatbridge show 3f9a2c --save .      copies them all to this folder
"""
QUIET_EPILOG = """\
examples:
  chatbridge quiet on 2h        quiet for two hours, 7 days at most
  chatbridge quiet until 08:00
  chatbridge quiet on           until the next quiet hours end, or for 8 hours
  chatbridge quiet off          shows what was held; the next night is quiet again

exit codes: 0 done, 1 refused, 2 wrong usage, 4 no hub could be reached
"""
ID = argument("id", metavar="ID", help="the beginning of its id is enough")
WHEN = argument("when", metavar="TIME", nargs="+", help="as in 45min, 1h or until 08:00")
HUB = argument(
    "--hub",
    metavar="URL",
    help="a hub elsewhere, with the token in CHATBRIDGE_TOKEN",
)
PLAIN_HTTP = flag("--plain-http", help="allow http:// there")


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


def _since(text: str) -> float:
    """Seconds since the epoch."""
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


def _moment(text: str) -> float:
    """Seconds since the epoch."""
    from datetime import datetime

    from chatbridge.durations import parse_period

    try:
        if "-" in text:
            return datetime.fromisoformat(text.strip()).astimezone().timestamp()
        return time.time() - parse_period(_with_unit(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give how long ago, as in 12h or 7d, or a day or a time, as in "
            "2026-11-01 or 2026-11-01T18:00"
        ) from None


def _with_unit(text: str) -> str:
    """Seconds are too short for what people mean by a bare number."""
    return text if text.strip()[-1:].isalpha() else ""


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

snooze = Command(
    "snooze",
    "Puts an open question off: its card goes out of the way and comes back as a new\n"
    "message at that time. Its deadline moves along, as far as max_timeout allows.",
    ID,
    WHEN,
    epilog="examples:\n  chatbridge snooze 3f9a2c 1h\n  chatbridge snooze 3f9a2c until 08:00\n",
    work="chatbridge.cli.questions.nights:snooze",
)

extend = Command(
    "extend",
    "Gives an open question more time, as far as max_timeout allows.",
    ID,
    WHEN,
    epilog="examples:\n  chatbridge extend 3f9a2c 15min\n  chatbridge extend 3f9a2c until 08:00\n",
    work="chatbridge.cli.questions.nights:extend",
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
    work="chatbridge.cli.questions.nights:quiet",
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

audit = Command(
    "audit",
    "Prints the audit trail, the oldest line first: who asked, who was shown it, who answered "
    "what, what was allowed, and what was run. Reads the database itself, with or without a hub.",
    argument(
        "--since",
        metavar="TIME",
        type=_moment,
        help="from then on: how long ago, as in 12h or 7d, or a day or a time, as in 2026-11-01",
    ),
    argument("--until", metavar="TIME", type=_moment, help="before then"),
    argument("--project", metavar="NAME", help="only this project: its name or its folder"),
    argument("--person", metavar="NAME", help="only this person: the name, or as in telegram:7123"),
    flag("--json", help="print each line as JSON"),
    work="chatbridge.cli.questions.audit:audit",
)
