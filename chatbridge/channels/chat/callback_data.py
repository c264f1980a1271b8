"""Callback data: what a button carries, in at most 64 bytes of ASCII, and never a label.

Every tap on an ask's button names the ask, the question the card showed, and what it does; taps of
the form carry the step they were drawn for, and a toggle the state it sets. The one button of an
operation names the operation, those of quiet hours the words that they stand for, and those of a
message to an agent the message or the agent.
"""

from __future__ import annotations

import base64
import re
import uuid
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.forms.form import AskMore, Event, Pick, ShowAll
from chatbridge.core.model import Ask

MAX_BYTES = 64
REMEMBERED = 128
"""Ids: a card has many buttons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Send the prompt for typing."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Post this ask's card anew at the bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Take the message that this one replies to as the answer, or as the remark of an option."""

    step: int
    option: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickAnswer:
    """Answer with one of the owner's quick answers, known by its checksum: after a change of the
    settings an old button must not say something else."""

    step: int
    check: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neither:
    """Close a message that asked which question was meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """Send the pictures of this ask as they are, which were shown smaller."""


Action = Event | AskAction | Write | Show | Use | QuickAnswer | Neither | Originals


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """`question` counts from 0; the review counts as the last one. See `question_shown`."""

    ask_id: str
    question: int
    action: Action

    @property
    def is_on_card(self) -> bool:
        """Whether the button is one of the ask's own card."""
        return not isinstance(self.action, Show | Use | Neither)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Send all that this operation printed."""

    operation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """Switch quiet hours as these words say: `2h`, `until 08:00` or `off`."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    """Take back a message to an agent."""

    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TellAgent:
    """Ask what this agent is to be told. `agent` is the key of a `ConnectedAgent`, here and
    below."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantFor:
    """Tell this agent the message that this one replies to."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverMind:
    """Close the message that asked what this agent is to be told. A reply to it is what."""

    agent: str


Button = Tap | Output | Quiet | TakeBack | TellAgent | MeantFor | NeverMind

NEITHER = Tap(ask_id="", question=0, action=Neither())


def crc(text: str) -> int:
    return zlib.crc32(text.encode())


def question_shown(ask: Ask) -> int:
    """The question a tap on the ask's present card carries."""
    return min(ask.draft.at, len(ask.questions) - 1)


_ACTIONS: dict[str, tuple[Callable[..., Action], tuple[str, ...]]] = {
    "c": (form.Choose, ("step", "option")),
    "t": (partial(form.Toggle, on=True), ("step", "option")),
    "f": (partial(form.Toggle, on=False), ("step", "option")),
    "e": (form.Edit, ("step", "question")),
    "x": (form.DropOther, ("step",)),
    "d": (form.Done, ("step",)),
    "o": (form.Other, ("step",)),
    "s": (form.Skip, ("step",)),
    "b": (form.Back, ("step",)),
    "g": (form.Submit, ("step",)),
    "k": (form.AskCancel, ("step",)),
    "q": (form.Cancel, ("step",)),
    "a": (form.AnswerAnyway, ("step",)),
    "i": (form.AskExplain, ("step",)),
    "j": (form.Explain, ("step",)),
    "r": (form.Rephrase, ("step",)),
    "l": (AskMore, ("step",)),
    "p": (Pick, ("step", "option")),
    "h": (ShowAll, ("step",)),
    "z": (form.Undo, ("step",)),
    "w": (Write, ("step",)),
    "y": (QuickAnswer, ("step", "check")),
    "u": (Use, ("step",)),
    "v": (Use, ("step", "option")),
    "L": (form.AskLater, ("step",)),
    "m": (form.Extend, ("step", "minutes")),
    "M": (form.ExtendUntil, ("step", "until")),
    "N": (form.Snooze, ("step", "minutes")),
    "U": (form.SnoozeUntil, ("step", "until")),
    "Y": (form.Take, ("step",)),
    "R": (form.Release, ("step",)),
    "K": (form.AskHandOver, ("step",)),
    "P": (form.HandOver, ("step", "to")),
    "W": (form.ShowNow, ("step",)),
    "A": (form.SendAttached, ("step",)),
    "B": (form.DropAttached, ("step",)),
    "H": (form.SendHeard, ("step",)),
    "E": (partial(form.Extend, minutes=15), ()),  # on cards of earlier versions
    "D": (lambda: AskAction.DISCARD, ()),
    "T": (lambda: AskAction.TAKE_BACK, ()),
    "S": (Show, ()),
    "F": (Originals, ()),
}
_NEITHER = "n"
_ID = r"([A-Za-z0-9_-]{22})"
_TAP_FORM = re.compile(rf"{_ID}([A-Za-z])([0-9]+)((?:\.[0-9]+)*)", re.ASCII)
_QUIET_WORDS = re.compile(r"[0-9]{1,2}h|until [0-9]{2}:[0-9]{2}|off", re.ASCII)
_SHORT_ID = re.compile(_ID, re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]", re.ASCII)
"""16 bytes, without spare bits at the end."""


def encode(tap: Button) -> str:
    """:raises ValueError: no button can carry this: an id in it is no UUID, or it has words."""
    match tap:
        case Output(operation_id=id):
            return f"o:{_short(id)}"
        case TakeBack(message_id=id):
            return f"b:{_short(id)}"
        case Quiet(words=words):
            return f"q:{words}"
        case TellAgent(agent=agent):
            return f"t:{agent}"
        case MeantFor(agent=agent):
            return f"m:{agent}"
        case NeverMind(agent=agent):
            return f"n:{agent}"
    if tap == NEITHER:
        return _NEITHER
    for code in _CODES.get(type(tap.action), ()):
        numbers = [getattr(tap.action, name) for name in _ACTIONS[code][1]]
        if None not in numbers and _action(code, numbers) == tap.action:
            return ".".join([f"{_short(tap.ask_id)}{code}{tap.question}", *map(str, numbers)])
    raise ValueError(f"no button can carry {tap.action!r}")


def decode(data: str) -> Button | None:
    """The tap, or None for anything that `encode` cannot have made. Never raises."""
    if data == _NEITHER:
        return NEITHER
    if len(data) > MAX_BYTES:
        return None
    tap = _decode_beside(data[:2], data[2:]) if data[1:2] == ":" else _decode_tap(data)
    # Leading zeros, or spare bits at an id's end: a button of ours has neither.
    return tap if tap is not None and encode(tap) == data else None


def _decode_tap(data: str) -> Tap | None:
    found = _TAP_FORM.fullmatch(data)
    if found is None:
        return None
    ask, code, question, rest = found.groups()
    action = _action(code, [int(number) for number in rest.split(".")[1:]])
    if action is None:
        return None
    return Tap(ask_id=_long(ask), question=int(question), action=action)


def _decode_beside(kind: str, rest: str) -> Button | None:
    """A button that is no ask's: only these have a colon."""
    match kind:
        case "o:" if _SHORT_ID.fullmatch(rest):
            return Output(operation_id=_long(rest))
        case "b:" if _SHORT_ID.fullmatch(rest):
            return TakeBack(message_id=_long(rest))
        case "q:" if _QUIET_WORDS.fullmatch(rest):
            return Quiet(words=rest)
        case "t:" if _KEY.fullmatch(rest):
            return TellAgent(agent=rest)
        case "m:" if _KEY.fullmatch(rest):
            return MeantFor(agent=rest)
        case "n:" if _KEY.fullmatch(rest):
            return NeverMind(agent=rest)
    return None


def selected(name: str, values: Iterable[str]) -> Button | None:
    """What a list of options means that has the name of its first button's data, when the values
    are the data of the buttons that are picked in it. None for anything that cannot be."""
    first, picked = decode(name), [decode(value) for value in values]
    if not isinstance(first, Tap) or not isinstance(first.action, form.Toggle):
        return picked[0] if len(picked) == 1 else None
    options, step = set[int](), first.action.step
    for tap in picked:
        if not isinstance(tap, Tap) or not isinstance(tap.action, form.Toggle):
            return None
        if (tap.ask_id, tap.question, tap.action.step) != (first.ask_id, first.question, step):
            return None
        options.add(tap.action.option)
    return replace(first, action=form.Select(step=step, options=frozenset(options)))


def _action(code: str, numbers: list[int]) -> Action | None:
    make, names = _ACTIONS.get(code, (None, ()))
    if make is None or len(names) != len(numbers):
        return None
    return make(**dict(zip(names, numbers, strict=True)))


@lru_cache(maxsize=REMEMBERED)
def _short(id: str) -> str:
    return base64.urlsafe_b64encode(uuid.UUID(id).bytes).decode().rstrip("=")


def _long(short: str) -> str:
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(f"{short}==")))


_CODES: dict[type, list[str]] = {}
for _code, (_make, _names) in _ACTIONS.items():
    _CODES.setdefault(type(_make(**dict.fromkeys(_names, 0))), []).append(_code)
