"""A night as the rules see it: the log by riddle and by notice, and how things are at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field

from tests.chaos.log import (
    Asked,
    CameBack,
    Carried,
    Event,
    Gave,
    Heard,
    Notified,
    Refused,
    Struck,
    Told,
    TookOver,
    Wrote,
)
from tests.chaos.riddles import Riddle, Status, Values

ANOTHER_FIRST = "Already answered"
AROUND = 15.0
"""How many seconds before and after are shown beside a violation."""
FULL_DISK = "fill the disk"
FULL_FOR = 30.0
"""So long after a full disk a call may still be told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAsk:
    """An ask as the store has it at the end."""

    id: str
    riddle: str
    status: str
    values: Values = ()
    delivered: bool = False
    kept: bool = False
    revision: int = 0
    shown: Mapping[str, int] = field(default_factory=dict)
    """The revision that each surface shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCard:
    """A card as a channel shows it at the end."""

    channel: str
    riddle: str
    where: str
    text: str
    live: tuple[str, ...] = ()
    """Buttons that still ask for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNotice:
    """A notice as the store has it at the end."""

    notice: str
    at: float
    """By the clock that was moved."""
    shown: tuple[str, ...] = ()
    """The surfaces that count as having shown it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNotice:
    """A notice as a channel shows it at the end: in a message of its own, or in a list."""

    channel: str
    notice: str
    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message to an agent as the store has it at the end."""

    key: str
    project: str
    """Whose agent it is for, as the chat says: with one agent no name is needed."""
    state: str
    behind: bool = False
    """The chat that it was written in does not say what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    asks: tuple[StoredAsk, ...] = ()
    cards: tuple[LastCard, ...] = ()
    second: tuple[tuple[str, str], ...] = ()
    """Texts of the person's beneath which a chat says that another was first: chat and text."""
    inbox: tuple[str, ...] = ()
    """Riddles that the web inbox still lists."""
    notices: tuple[StoredNotice, ...] = ()
    seen: tuple[SeenNotice, ...] = ()
    listed: tuple[str, ...] = ()
    """Notices that the web inbox lists."""
    messages: tuple[StoredMessage, ...] = ()
    summaries: tuple[tuple[str, str], ...] = ()
    """Each summary of a night: the chat, and its first line, which names the time."""
    leftovers: tuple[str, ...] = ()
    """Processes that ran on."""
    leaks: tuple[str, ...] = ()
    """Where a secret was found."""
    strange_lines: int = 0
    """Lines on a link's standard output that are no MCP."""
    troubles: tuple[str, ...] = ()
    """What else could not be done at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    rule: str
    about: str
    """A riddle, a notice or a message; empty if it is about none."""
    what: str
    around: tuple[str, ...] = ()
    """What happened at that time, and to what it is about."""


class Night:
    """The log, by riddle and by notice."""

    def __init__(
        self, events: Iterable[Event], riddles: Mapping[str, Riddle], final: Final
    ) -> None:
        self.events = sorted(events, key=lambda it: it.at)
        self.riddles = riddles
        self.final = final
        self.asked: dict[str, list[Asked]] = defaultdict(list)
        self.back: dict[str, list[CameBack]] = defaultdict(list)
        self.gave: dict[str, list[Gave]] = defaultdict(list)
        self.refused: dict[str, list[Refused]] = defaultdict(list)
        self.struck: list[Struck] = []
        self.notified: dict[str, list[Notified]] = defaultdict(list)
        self.told: dict[str, list[Told]] = defaultdict(list)
        self.carried: dict[str, list[Carried]] = defaultdict(list)
        self.took_over: list[TookOver] = []
        self.wrote: dict[str, Wrote] = {}
        self.heard: dict[str, list[Heard]] = defaultdict(list)
        for event in self.events:
            match event:
                case Asked():
                    self.asked[event.riddle].append(event)
                case CameBack():
                    self.back[event.riddle].append(event)
                case Gave():
                    self.gave[event.riddle].append(event)
                case Refused():
                    self.refused[event.riddle].append(event)
                case Struck():
                    self.struck.append(event)
                case Notified():
                    self.notified[event.notice].append(event)
                case Told():
                    self.told[event.notice].append(event)
                case Carried():
                    self.carried[event.notice].append(event)
                case TookOver():
                    self.took_over.append(event)
                case Wrote():
                    self.wrote[event.message] = event
                case Heard():
                    self.heard[event.message].append(event)

    def answers(self, riddle: str) -> list[CameBack]:
        return [it for it in self.back[riddle] if it.status == Status.ANSWERED]

    def standing(self, riddle: str) -> list[Gave]:
        """What answers the riddle as far as the person was told."""
        return [
            it for it in self.gave[riddle] if it.accepted and it.whole and not self._was_refused(it)
        ]

    def _was_refused(self, gave: Gave) -> bool:
        return any(
            no.way == gave.way and no.values == gave.values and no.at >= gave.at
            for no in self.refused[gave.riddle]
        )

    def disk_was_full(self, at: float) -> bool:
        return any(it.fault == FULL_DISK and it.at <= at <= it.at + FULL_FOR for it in self.struck)

    def was_struck(self, faults: Collection[str], since: float, until: float) -> bool:
        """Whether one of these faults was there at some time between the two."""
        for began in self.struck:
            if began.fault in faults and not began.detail and began.at <= until:
                ends = (it.at for it in self.struck if it.fault == began.fault and it.detail)
                if min((end for end in ends if end >= began.at), default=until) >= since:
                    return True
        return False

    def violation(self, rule: str, about: str, what: str, at: float | None = None) -> Violation:
        """With everything about this riddle or notice, and every fault near that moment."""
        around = [
            f"{event.at - self.events[0].at:7.2f} {_line(event)}"
            for event in self.events
            if about in (getattr(event, name, None) for name in ("riddle", "notice", "message"))
            or (isinstance(event, Struck) and at is not None and abs(event.at - at) < AROUND)
        ]
        return Violation(rule=rule, about=about, what=what, around=tuple(around))


def _line(event: Event) -> str:
    """What is left of it without its time and what it is about."""
    known = ("at", "riddle", "notice", "message")
    told = {name: value for name, value in asdict(event).items() if name not in known}
    return " ".join((type(event).__name__, *(f"{n}={v!s}" for n, v in told.items() if v != "")))
