"""Questions to the person at the terminal, and messages to them.

Reads from the terminal and not from standard input, so that what only a person may decide cannot be
piped in. Ctrl-C raises KeyboardInterrupt everywhere.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from chatbridge.cli.ui import running
from chatbridge.cli.ui.running import columns, printable
from chatbridge.core.errors import NoTerminal

T = TypeVar("T")

ESCAPE = "\x1b"
ENTER = "\r\n"
MAX_WIDTH = 80
LATER = "Esc: later"
LOCAL_MODES = 3
"""Where `tcgetattr` has them."""
ESCAPE_SEQUENCE_SECONDS = 0.05
"""The rest of an arrow key's bytes comes at once; after Esc alone nothing does."""


def take_terminal(command: str) -> None:
    """From here on standard input and output are the person's terminal. :raises NoTerminal:"""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise NoTerminal(
            f"This needs a terminal, and a person at it. Run chatbridge {command} in a terminal "
            "window, or over ssh -t"
        ) from None
    sys.stdout.flush()
    os.dup2(terminal, 0)
    os.dup2(terminal, 1)
    os.close(terminal)


@contextmanager
def unechoed() -> Iterator[None]:
    """What is typed or pasted between two questions is not shown: it may be a token."""
    before = termios.tcgetattr(0)
    quiet = [*before]
    quiet[LOCAL_MODES] &= ~termios.ECHO
    try:
        termios.tcsetattr(0, termios.TCSANOW, quiet)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def say(text: str = "") -> None:
    print(printable(text), flush=True)


def good(text: str) -> None:
    wrapped(f"  ✓ {text}")


def bad(what: str, then: str = "") -> None:
    """First what happened, then what to do."""
    wrapped(f"  ✗ {what}")
    if then:
        wrapped(f"    {then}")


def remark(text: str) -> int:
    """How many lines it takes."""
    return wrapped(f"  ! {text}")


def wrapped(text: str) -> int:
    """Broken between words; how many lines it takes."""
    begin = re.match(r" *([✓✗!] |\d\. )?", text)
    hanging = " " * (begin.end() if begin else 0)
    lines = running.wrapped(printable(text), min(columns(), MAX_WIDTH), hanging=hanging)
    say("\n".join(lines))
    return len(lines)


def explain(text: str) -> None:
    """Several lines, each broken between words where the window is narrow."""
    for line in text.split("\n"):
        wrapped(line)


def say_with_later(text: str) -> None:
    """Say it, and at the right edge or below that Esc leaves."""
    line = with_key(text, LATER)
    if line == text:
        wrapped(text)
        line = f"    {LATER}"
    say(line)


def with_key(text: str, *keys: str) -> str:
    """With the first of these hints about keys that fits at the right edge."""
    room = min(columns(), MAX_WIDTH) - len(text) - 1
    return text + next((key.rjust(room) for key in keys if len(key) < room), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Generic[T]):
    value: T
    title: str
    picked: bool = False


def pick(question: str, choices: Sequence[Choice[T]], *, default: T | None = None) -> T:
    import questionary

    offered = [questionary.Choice(it.title, value=it.value) for it in choices]
    first = next((it for it in offered if it.value == default), offered[0])
    answer: T = _asked(
        "select", question, choices=offered, default=first, pointer="❯", instruction=" "
    )
    return answer


def pick_several(question: str, choices: Sequence[Choice[T]]) -> list[T]:
    import questionary

    offered = [questionary.Choice(it.title, value=it.value, checked=it.picked) for it in choices]
    hint = "(space: select, Enter: done)"
    answer: list[T] = _asked("checkbox", question, choices=offered, pointer="❯", instruction=hint)
    return answer


def _asked(kind: str, question: str, **options: Any) -> Any:
    import questionary

    return getattr(questionary, kind)(question, **options).unsafe_ask()


def confirm(question: str, *, default: bool) -> bool:
    return bool(_asked("confirm", question, default=default, auto_enter=False))


def text(question: str, *, problem: Callable[[str], str | None]) -> str:
    """`problem` says what is wrong with an answer, if anything."""

    def check(given: str) -> bool | str:
        return problem(given.strip()) or True

    return str(_asked("text", question, validate=check)).strip()


def hidden(question: str) -> str:
    """What is typed or pasted stays out of the scroll-back. Line breaks in it do not end it."""
    return str(_asked("password", question))


def forget_typed() -> None:
    """What was typed ahead: where a terminal does not say that it pastes, the rest of a message
    must not answer the next questions."""
    from prompt_toolkit.application.current import get_app_session
    from prompt_toolkit.input.typeahead import clear_typeahead

    clear_typeahead(get_app_session().input)
    termios.tcflush(0, termios.TCIFLUSH)


@contextmanager
def keys() -> Iterator[None]:
    """Keys come one by one and are not shown. What was typed before is dropped, so say inside what
    to press: what a quick person presses before would be lost."""
    before = termios.tcgetattr(0)
    try:
        tty.setcbreak(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSAFLUSH, before)


def key(seconds: float | None, *, until: int | None = None) -> str | None:
    """The key that was pressed; None: `until` can be read, or the time is over."""
    found, _, _ = select.select([0] if until is None else [0, until], [], [], seconds)
    if 0 not in found:
        return None
    pressed = os.read(0, 1).decode("ascii", "replace")
    if not pressed:
        raise KeyboardInterrupt  # the terminal has gone
    if pressed == ESCAPE and select.select([0], [], [], ESCAPE_SEQUENCE_SECONDS)[0]:
        os.read(0, 64)  # an arrow, for instance
        return ""
    return pressed


def enter_or_escape(invite: Callable[[], object]) -> bool:
    """Whether Enter was pressed, and not Esc. `invite` says what for."""
    with keys():
        invite()
        while (pressed := key(None)) != ESCAPE:
            if pressed and pressed in ENTER:
                return True
    return False
