"""`chatbridge ask`, which prints the answer, and `chatbridge notify`, which waits for none.

Both are real tool calls, through a link of their own or, with `--hub`, over HTTP: shown, answered
and kept like an agent's. A restart of the hub is not noticed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.hub.tool_client import NoAnswer, ToolClient, own_link
from chatbridge.cli.questions.commands import LEVELS
from chatbridge.cli.questions.files import attachments, file_line, readable, refusal
from chatbridge.cli.ui.running import FAILED, UNREACHABLE, WrongUsage, complain, say
from chatbridge.cli.ui.wording import duration, seconds_of, time_of
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line, title_of, visible
from chatbridge.durations import parse
from chatbridge.link.loop import wake_on

if TYPE_CHECKING:
    from chatbridge.cli.hub.remote_client import RemoteToolClient

Json = dict[str, Any]

CLIENT = "chatbridge-cli"
TIMED_OUT, CANCELLED = 3, 5
MIN_TIMEOUT_SECONDS = 10.0
MAX_QUESTION, MAX_TITLE, MAX_MESSAGE = 1_000, 100, 10_000
NOTICE_SECONDS = 30.0
TOO_LONG = "timeout is out of range"
"""How `ask_user` refuses a time. What is too short never gets there."""
ELSEWHERE: Json = {"attach": "data"}
"""What is known of a hub on another machine: it cannot read our files."""


def ask(given: argparse.Namespace) -> int:
    _check(given)
    timeout = _timeout(given.timeout)
    text = _text("question", given.question, MAX_QUESTION)
    attached = readable(given.attach)
    link: AbstractContextManager[ToolClient | RemoteToolClient]
    if remote := _remote(given):
        limits, asked = ELSEWHERE, OpenQuestion(through=str(remote.address))
        link = nullcontext(remote)
    else:
        limits = ask_hub("limits", start=True)
        if timeout is not None and timeout > limits["longest"]:
            raise WrongUsage(
                f"--timeout {given.timeout!r}: {duration(limits['longest'])} is the longest\n"
                "To allow more: chatbridge setup, or max_timeout in config.toml"
            )
        asked = OpenQuestion(withdraws=bool(limits["withdraws"]))
        link = own_link(CLIENT, quiet=True, wake=wake_on())
    try:
        _on_leaving(_leave)
        with link as calls:
            arguments = _arguments(given, text, timeout) | attachments(attached, limits)
            outcome = _outcome(calls, arguments, asked)
        _on_leaving(signal.SIG_DFL)
    except _Left as left:
        say(asked.left_sentence)
        return left.code
    except NoAnswer as error:
        if remote and TOO_LONG in str(error):
            complain(
                f"--timeout {given.timeout!r} is longer than this hub allows. To allow more: "
                "max_timeout in its config.toml"
            )
            return FAILED
        return _failed(error, given.attach)
    return _print_outcome(outcome, asked, whole=given.json, confirm=given.confirm)


def notify(given: argparse.Namespace) -> int:
    message = _text("message", given.message, MAX_MESSAGE)
    arguments: Json = {"message": message, "level": LEVELS[given.level]}
    if given.title:
        arguments["title"] = given.title
    remote = _remote(given)
    if attached := readable(given.attach):
        limits = ELSEWHERE if remote else ask_hub("limits", start=True)
        arguments |= attachments(attached, limits)
    link: AbstractContextManager[ToolClient | RemoteToolClient]
    link = nullcontext(remote) if remote else own_link(CLIENT, quiet=True)
    try:
        with link as calls:
            content = calls.content("notify_user", arguments, within=NOTICE_SECONDS)
    except NoAnswer as error:
        return _failed(error, given.attach)
    say(notified(content))
    return 0


def _remote(given: argparse.Namespace) -> RemoteToolClient | None:
    """The hub that `--hub` names."""
    if given.hub is None:
        if given.plain_http:
            raise WrongUsage("--plain-http goes with --hub")
        return None
    from chatbridge.cli.hub import remote_client

    address = remote_client.parse_address(given.hub, plain_http=given.plain_http)
    return remote_client.RemoteToolClient(address, remote_client.given_token(), CLIENT)


def notified(content: Json) -> str:
    """What came of a notice: where it is shown, and where it follows."""
    sent, waiting = (", ".join(map(title_of, content[name])) for name in ("sent", "waiting"))
    if not sent:
        why = content.get("delivery") or "Nobody was reached yet."
        return f"Not shown yet. {why} It is kept and shown later."
    later = f" Later, when it can be reached: {waiting}." if waiting else ""
    return f"Shown: {sent}.{later}"


def _failed(error: NoAnswer, attached: list[str]) -> int:
    complain(refusal(str(error), attached))
    return FAILED if error.refused else UNREACHABLE


def _check(given: argparse.Namespace) -> None:
    options = given.option
    if given.confirm and options:
        raise WrongUsage("--confirm takes no options")
    if given.multi and not options:
        raise WrongUsage("--multi needs options: -o LABEL -o LABEL")
    if twice := next((it for it in options if options.count(it) > 1), None):
        raise WrongUsage(f"the option {twice!r} is given twice")
    if not all(label.strip() for label in options):
        raise WrongUsage("an option is empty")
    if given.title and len(given.title) > MAX_TITLE:
        raise WrongUsage(f"--title has {len(given.title)} characters, at most {MAX_TITLE}")


def _timeout(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        found = parse(text)
    except ValueError as error:
        raise WrongUsage(f"--timeout {text!r}: {error}") from None
    if found < MIN_TIMEOUT_SECONDS:
        raise WrongUsage(f"--timeout {text!r}: {MIN_TIMEOUT_SECONDS:.0f} s is the shortest")
    return found


def _text(what: str, given: str, longest: int) -> str:
    text = (sys.stdin.read() if given == "-" else given).strip()
    if not text:
        raise WrongUsage(f"the {what} is empty")
    if len(text) > longest:
        raise WrongUsage(f"the {what} has {len(text):,} characters, at most {longest:,}")
    return text


class _Left(BaseException):
    """A signal says that nobody wants to wait any longer."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number


def _on_leaving(action: Callable[[int, object], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, action)


def _leave(number: int, _frame: object) -> None:
    _on_leaving(signal.SIG_IGN)  # an impatient second one changes nothing
    raise _Left(number)


class OpenQuestion:
    """What is known of the question that is out."""

    def __init__(self, *, withdraws: bool = False, through: str | None = None) -> None:
        """`through`: the address of a hub on another machine, of which no more can be asked."""
        self.id: str | None = None
        self.deadline: float | None = None
        self._withdraws, self.through = withdraws, through

    @property
    def left_sentence(self) -> str:
        if self.through is not None:
            return "Stopped waiting. Whether it is still open shows, at the hub: chatbridge pending"
        if self.id is None:
            return "Stopped. If the question was sent, it is listed here: chatbridge pending"
        if self._withdraws:
            return "Stopped waiting. The question is withdrawn."
        return "Stopped waiting. The question stays open: chatbridge pending"

    def look(self) -> Json | None:
        """What the hub says of it now; None if it cannot be asked."""
        if self.through is not None:
            return None
        try:
            found = ask_hub("ask", id=self.id)
        except ChatbridgeError:
            return None
        deadline = found["ask"]["deadline"]
        self.deadline = None if deadline is None else seconds_of(deadline)
        return found

    def sentence(self) -> str:
        """Asked on Telegram and in the web inbox (k3f9a2). Ends 23:41. Ctrl-C: leave."""
        found = self.look()
        if found is None:
            where = f" through {self.through}" if self.through else ""
            return f"Asked{where} ({str(self.id)[:6]}). Ctrl-C: leave."
        places, troubles, short = found["places"], found["troubles"], found["ask"]["short"]
        *others, last = places or [""]
        where = f" {', '.join(others)} and {last}" if others else f" {last}"
        line = f"Asked{where} ({short})." if places else f"Nobody can see it yet ({short})."
        if self.deadline is not None:
            line += f" Ends {time_of(self.deadline)}."
        lines = [f"{line} Ctrl-C: leave.", *(f"{name}: {why}" for name, why in troubles.items())]
        if not places and not troubles:
            lines.append("No channel is set up. Run: chatbridge setup")
        return "\n".join(lines)


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
    if given.priority:
        arguments["priority"] = given.priority
    return arguments


def _outcome(calls: ToolClient | RemoteToolClient, arguments: Json, asked: OpenQuestion) -> Json:
    """How it ended. With a ticket first, so that it is known under which id it is out."""
    outcome = calls.content("ask_user", arguments)
    if outcome.get("pending"):
        asked.id = str(outcome["askId"])
        told = [outcome.get("note"), outcome.get("delivery") if asked.through else None]
        say(asked.sentence(), *filter(None, told))
    while outcome.get("pending"):
        outcome = calls.content("wait_for_answer", {"askId": asked.id})
    return {**({"askId": asked.id} if asked.id else {}), **outcome}


def _print_outcome(outcome: Json, asked: OpenQuestion, *, whole: bool, confirm: bool) -> int:
    if whole:
        print(json.dumps(outcome))
    if outcome["answered"]:
        if outcome.get("late") and asked.id is None:
            say("Answered before, and kept for this question.")
        answer = outcome["answers"][0]
        own = answer.get("customText")
        if confirm and own and not whole:
            say(f"Remark: {one_line(own)}")  # a script compares the answer with yes or no
            own = None
        for file in answer.get("attachments", ()):
            say(f"Attached: {file_line(file)}")
        for text in [] if whole else [*answer["values"], *filter(None, [own])]:
            # A script reads it as it was given; a terminal is not to be steered.
            sys.stdout.write(f"{visible(text) if sys.stdout.isatty() else text}\n")
        return 0
    if outcome["cancelled"]:
        reason = outcome.get("reason")
        say(f"Cancelled: {one_line(reason)}" if reason else "Cancelled.")
        return CANCELLED
    asked.look()
    by = f" by {time_of(asked.deadline)}" if asked.deadline else ""
    say(f"Nobody answered{by}.", *filter(None, [outcome.get("delivery")]))
    return TIMED_OUT
