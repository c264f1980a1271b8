"""Callback data: what a button carries, in at most 64 bytes of ASCII, and never a label.

Every tap on an ask's button names the ask, the question the card showed, and what it does; taps of
the form carry the step they were drawn for, and a toggle the state it sets. The one button of an
operation names the operation.
"""

from __future__ import annotations

import base64
import re
import uuid
from dataclasses import dataclass

from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.forms.form import AskSession, Event, ShowAll
from chatbridge.core.model import Ask

MAX_BYTES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Send the prompt for typing."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Post this ask's card anew at the bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Take the message that this one replies to as the answer."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neither:
    """Close a message that asked which question was meant."""


Action = Event | AskAction | Write | Show | Use | Neither


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """`question` counts from 0; the review counts as the last one. See `question_shown`."""

    ask_id: str
    question: int
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Send all that this operation printed."""

    operation_id: str


NEITHER = Tap(ask_id="", question=0, action=Neither())


def question_shown(ask: Ask) -> int:
    """The question a tap on the ask's present card carries."""
    return min(ask.draft.at, len(ask.questions) - 1)


_Stepped = (
    form.DropOther
    | form.Done
    | form.Other
    | form.Skip
    | form.Back
    | form.Submit
    | form.AskCancel
    | form.Cancel
    | form.AnswerAnyway
    | form.AskExplain
    | form.Explain
    | form.Rephrase
    | AskSession
    | ShowAll
    | Write
    | Use
)

_NEITHER = "n"
_CHOOSE, _ON, _OFF, _EDIT = "c", "t", "f", "e"
_STEPPED: dict[str, type[_Stepped]] = {
    "x": form.DropOther,
    "d": form.Done,
    "o": form.Other,
    "s": form.Skip,
    "b": form.Back,
    "g": form.Submit,
    "k": form.AskCancel,
    "q": form.Cancel,
    "a": form.AnswerAnyway,
    "i": form.AskExplain,
    "j": form.Explain,
    "r": form.Rephrase,
    "l": AskSession,
    "h": ShowAll,
    "w": Write,
    "u": Use,
}
_CODES = {kind: code for code, kind in _STEPPED.items()}
_FIXED: dict[str, AskAction | Show] = {"E": AskAction.EXTEND, "D": AskAction.DISCARD, "S": Show()}

_OUTPUT = "o:"
"""No ask's button has a colon."""
_ID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_FORM = re.compile(rf"({_ID.pattern})([A-Za-z])([0-9]+)((?:\.[0-9]+)*)", re.ASCII)


def encode(tap: Tap | Output) -> str:
    """:raises ValueError: no button can carry this: an id in it is no UUID, or it has words."""
    if isinstance(tap, Output):
        return _OUTPUT + _short(tap.operation_id)
    if isinstance(tap.action, Neither):
        return _NEITHER
    code, numbers = _written(tap.action)
    return ".".join([f"{_short(tap.ask_id)}{code}{tap.question}", *map(str, numbers)])


def _short(id: str) -> str:
    return base64.urlsafe_b64encode(uuid.UUID(id).bytes).decode().rstrip("=")


def _long(short: str) -> str:
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{short}==")))


def _written(action: Action) -> tuple[str, tuple[int, ...]]:
    match action:
        case form.Choose(step=step, option=option):
            return _CHOOSE, (step, option)
        case form.Toggle(step=step, option=option, on=on):
            return _ON if on else _OFF, (step, option)
        case form.Edit(step=step, question=question):
            return _EDIT, (step, question)
        case form.Text() | Neither():
            pass
        case form.Cancel(reason=str()):
            pass
        case AskAction() | Show():
            return next(code for code, fixed in _FIXED.items() if fixed == action), ()
        case _:
            return _CODES[type(action)], (action.step,)
    raise ValueError(f"no button can carry {action!r}")


def decode(data: str) -> Tap | Output | None:
    """The tap, or None for anything that `encode` cannot have made. Never raises."""
    if data == _NEITHER:
        return NEITHER
    tap = _output_in(data) if data.startswith(_OUTPUT) else _tap_in(data)
    # Leading zeros, or spare bits at an id's end: a button of ours has neither.
    return tap if tap is not None and encode(tap) == data else None


def _output_in(data: str) -> Output | None:
    found = _ID.fullmatch(data.removeprefix(_OUTPUT))
    return Output(operation_id=_long(found[0])) if found else None


def _tap_in(data: str) -> Tap | None:
    found = _FORM.fullmatch(data) if len(data) <= MAX_BYTES else None
    if found is None:
        return None
    ask, code, question, rest = found.groups()
    action = _read(code, tuple(int(number) for number in rest.split(".")[1:]))
    if action is None:
        return None
    return Tap(ask_id=_long(ask), question=int(question), action=action)


def _read(code: str, numbers: tuple[int, ...]) -> Action | None:
    match code, numbers:
        case "c", (step, option):
            return form.Choose(step=step, option=option)
        case "t" | "f", (step, option):
            return form.Toggle(step=step, option=option, on=code == _ON)
        case "e", (step, question):
            return form.Edit(step=step, question=question)
        case _, (step,) if code in _STEPPED:
            return _STEPPED[code](step=step)
        case _, ():
            return _FIXED.get(code)
    return None
