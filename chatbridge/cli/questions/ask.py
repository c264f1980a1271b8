"""`chatbridge ask`: asks a question from a script or a terminal, and prints the answer.

It is a real tool call through a link of its own: shown, answered and kept like an agent's. A
restart of the hub is not noticed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chatbridge.cli.ui.running import (
    FAILED,
    UNREACHABLE,
    ScriptsParser,
    complain,
    new_parser,
    run,
    say,
)

if TYPE_CHECKING:
    from chatbridge.cli.hub.tool_client import Calls

Json = dict[str, Any]

CLIENT = "chatbridge-cli"
CANCELLED, TIMED_OUT = 2, 3
SHORTEST = 10.0
LONGEST_QUESTION, LONGEST_TITLE = 1_000, 100
DESCRIPTION = """\
Asks you on your phone, or wherever you answer, and waits for the answer. A hub
is started if none runs.
"""
EPILOG = """\
The answer alone goes to standard output, everything else to standard error.
Beside options you can always answer in your own words; a --confirm is answered
with yes or no and nothing else.

exit codes: 0 answered, 2 cancelled, 3 timed out, 4 no hub could be reached,
1 refused, 64 wrong usage, 130 left with Ctrl-C (143 with SIGTERM)
"""


def parser() -> argparse.ArgumentParser:
    # 2 says here that somebody has cancelled the question.
    found = new_parser("ask", DESCRIPTION, epilog=EPILOG, kind=ScriptsParser)
    found.add_argument("question", help="what to ask; - reads it from standard input")
    kind = found.add_mutually_exclusive_group()
    found.add_argument(
        "-o", "--option", action="append", default=[], metavar="LABEL", help="an option, repeated"
    )
    kind.add_argument(
        "--multi", action="store_true", help="several options may be chosen: one a line"
    )
    kind.add_argument("--confirm", action="store_true", help="yes or no, without options")
    found.add_argument("--title", help="a heading that says what it is about")
    found.add_argument(
        "--timeout", metavar="TIME", help="how long to wait, as in 90, 15min or 8h (10 s or more)"
    )
    found.add_argument("--json", action="store_true", help="print the whole outcome")
    return found


def main(argv: list[str]) -> int:
    command = parser()
    given = command.parse_args(argv)
    if given.confirm and given.option:
        command.error("--confirm takes no options")
    if given.multi and not given.option:
        command.error("--multi needs options: -o LABEL -o LABEL")
    if twice := next((it for it in given.option if given.option.count(it) > 1), None):
        command.error(f"the option {twice!r} is there twice")
    if not all(label.strip() for label in given.option):
        command.error("an option is empty")
    if given.title and len(given.title) > LONGEST_TITLE:
        command.error(f"--title has {len(given.title)} characters, at most {LONGEST_TITLE}")
    timeout = _timeout(given.timeout, command)
    return run(lambda: _ask(given, timeout, command))


def _question(given: str, command: argparse.ArgumentParser) -> str:
    text = sys.stdin.read() if given == "-" else given
    if not text.strip():
        command.error("the question is empty")
    if len(text.strip()) > LONGEST_QUESTION:
        command.error(
            f"the question has {len(text.strip()):,} characters, at most {LONGEST_QUESTION:,}"
        )
    return text.strip()


def _timeout(text: str | None, command: argparse.ArgumentParser) -> float | None:
    if text is None:
        return None
    from chatbridge.durations import seconds

    try:
        found = float(str(seconds(text)))
    except ValueError as error:
        command.error(f"--timeout {text!r}: {error}")
    if found < SHORTEST:
        command.error(f"--timeout {text!r}: {SHORTEST:.0f} s is the shortest")
    return found


class _Left(BaseException):
    """A signal says that nobody wants to wait any longer."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number


class _NotAsked(Exception):
    def __init__(self, text: str, *, code: int) -> None:
        super().__init__(text)
        self.code = code


def _ask(given: argparse.Namespace, timeout: float | None, command: argparse.ArgumentParser) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub
    from chatbridge.cli.hub.tool_client import NoAnswer, own_link
    from chatbridge.cli.ui.wording import duration

    text = _question(given.question, command)
    limits = ask_hub("limits", start=True)
    if timeout is not None and timeout > limits["longest"]:
        command.error(
            f"--timeout {given.timeout!r}: {duration(limits['longest'])} is the longest\n"
            "To allow more: chatbridge setup, or max_timeout in config.toml"
        )
    asked = Asked(withdraws=bool(limits["withdraws"]))
    try:
        _on_leaving(_leave)
        with own_link(CLIENT, quiet=True) as calls:
            outcome = _outcome(calls, _arguments(given, text, timeout), asked)
        _on_leaving(signal.SIG_DFL)
    except _Left as left:
        say(asked.left_sentence)
        return left.code
    except NoAnswer as error:
        complain(str(error))
        return UNREACHABLE
    except _NotAsked as error:
        complain(str(error))
        return error.code
    return _told(outcome, asked, whole=given.json)


def _on_leaving(action: Callable[[int, object], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, action)


def _leave(number: int, _frame: object) -> None:
    _on_leaving(signal.SIG_IGN)  # an impatient second one changes nothing
    raise _Left(number)


class Asked:
    """What is known of the question that is out."""

    def __init__(self, *, withdraws: bool) -> None:
        self.id: str | None = None
        self.deadline: float | None = None
        self._withdraws = withdraws

    @property
    def left_sentence(self) -> str:
        if self.id is None:
            return "Stopped. If the question is out already, it is here: chatbridge pending"
        if self._withdraws:
            return "Stopped waiting. The question is withdrawn."
        return "Stopped waiting. The question stays open: chatbridge pending"

    def look(self) -> Json | None:
        """What the hub says of it now; None if it cannot be asked."""
        from chatbridge.cli.hub.hub_client import ask_hub
        from chatbridge.cli.ui.wording import seconds_of
        from chatbridge.core.errors import ChatbridgeError

        try:
            found = ask_hub("ask", id=self.id)
        except ChatbridgeError:
            return None
        deadline = found["ask"]["deadline"]
        self.deadline = None if deadline is None else seconds_of(deadline)
        return found


def _arguments(given: argparse.Namespace, text: str, timeout: float | None) -> Json:
    question: Json = {"id": "answer", "question": text, "type": "text"}
    if given.confirm:
        question["type"] = "confirm"
    elif given.option:
        question["type"] = "multi-select" if given.multi else "select"
        question["options"] = given.option
    arguments: Json = {"questions": [question], "wait": False}
    if given.title:
        arguments["title"] = given.title
    if timeout is not None:
        arguments["timeout"] = int(timeout * 1000)
    return arguments


def _outcome(calls: Calls, arguments: Json, asked: Asked) -> Json:
    """How it ended. With a ticket first, so that it is known under which id it is out.

    :raises _NotAsked: :raises NoAnswer:
    """
    outcome = _content(calls.call("ask_user", arguments))
    if outcome.get("pending"):
        asked.id = str(outcome["askId"])
        say(_asked_sentence(asked))
    while outcome.get("pending"):
        outcome = _content(calls.call("wait_for_answer", {"askId": asked.id}))
    return {**({"askId": asked.id} if asked.id else {}), **outcome}


def _content(result: Json) -> Json:
    from chatbridge.cli.hub.tool_client import ALONE

    content, meta = result.get("content"), result.get("_meta")
    if result.get("isError") or "structuredContent" not in result:
        text = str(content[0].get("text")) if isinstance(content, list) and content else "no answer"
        orphaned = isinstance(meta, dict) and meta.get(ALONE)
        raise _NotAsked(text, code=UNREACHABLE if orphaned else FAILED)
    return dict(result["structuredContent"])


def _asked_sentence(asked: Asked) -> str:
    """Asked on Telegram and in the web inbox (k3f9a2). Ends 23:41. Ctrl-C: leave."""
    from chatbridge.core.cards.phrases import format_time

    found = asked.look()
    if found is None:
        return f"Asked ({str(asked.id)[:6]}). Ctrl-C: leave."
    parts = [f"Asked{_listed(found['places'])} ({found['ask']['short']})."]
    if not found["places"]:
        parts = [f"Nobody can see it yet ({found['ask']['short']})."]
    if asked.deadline is not None:
        parts.append(f"Ends {format_time(asked.deadline, now=time.time())}.")
    lines = [" ".join([*parts, "Ctrl-C: leave."])]
    lines += [f"{name}: {why}" for name, why in found["troubles"].items()]
    if not found["places"] and not found["troubles"]:
        lines.append("No channel is set up. Run: chatbridge setup")
    return "\n".join(lines)


def _listed(places: list[str]) -> str:
    *first, last = places or [""]
    return f" {', '.join(first)} and {last}" if first else f" {last}".rstrip()


def _told(outcome: Json, asked: Asked, *, whole: bool) -> int:
    from chatbridge.core.cards.phrases import format_time
    from chatbridge.core.text import one_line

    if whole:
        print(json.dumps(outcome))
    if outcome["answered"]:
        if outcome.get("late") and asked.id is None:
            say("Answered before, and kept for this question.")
        if not whole:
            _print_answer(outcome["answers"][0])
        return 0
    if outcome["cancelled"]:
        reason = outcome.get("reason")
        say(f"Cancelled: {one_line(reason)}" if reason else "Cancelled.")
        return CANCELLED
    asked.look()
    by = f" by {format_time(asked.deadline, now=time.time())}" if asked.deadline else ""
    say(f"Nobody answered{by}.", *filter(None, [outcome.get("delivery")]))
    return TIMED_OUT


def _print_answer(answer: Json) -> None:
    """One value a line. A script reads it as it was given; a terminal is not to be steered."""
    from chatbridge.core.text import visible

    for text in [*answer["values"], *filter(None, [answer.get("customText")])]:
        sys.stdout.write(f"{visible(text) if sys.stdout.isatty() else text}\n")
