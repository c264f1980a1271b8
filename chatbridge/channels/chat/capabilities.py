"""What a chat service can do and how much it takes, by which the kit decides what a card says.

A channel has one `Capabilities` value, with its writer in it: all that the kit knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chatbridge.channels.chat.document import Document, Line

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Write(Protocol[T_co]):
    """Writes a document in a channel's markup."""

    def __call__(self, document: Document, *, now: float) -> T_co: ...


class Split(Protocol[T_co]):
    """Writes a document as messages of `room` each, below `title(number, of how many)`."""

    def __call__(
        self, document: Document, *, room: int, title: Callable[[int, int], Line]
    ) -> Sequence[T_co]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where, when and by whom a card is seen."""

    now: float
    viewer: str | None = None
    """The person whose private chat this is."""
    private: bool = True
    reactions: bool = True
    """People can react here. Without buttons and reactions everything is typed."""
    reacted: frozenset[int] = frozenset()
    """The options, from 0, that people's reactions on this very message show as picked."""
    prompted: bool = False
    """The prompt for typing is out."""
    again: bool = False
    """The card was posted again after a gap in which taps were not kept."""
    overflowed: bool = False
    """The whole question was sent before the card."""
    unsent: bool = False
    """Not all of what an approval is about is out yet, so that it cannot be allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of each part of a card is shown; None: all of it."""

    question: int | None = None
    label: int | None = None
    description: int | None = None
    options: int | None = None
    """How many of them."""
    scale: int = 1
    """Answers are cut to 1/`scale` of their usual length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How wide a label may be with so many buttons in its row."""

    one: int
    two: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
    most_options: int
    """With more options, the others are chosen by their number."""
    private: Columns
    group: Columns

    def columns(self, *, private: bool) -> Columns:
        return self.private if private else self.group


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuations(Generic[T]):
    """Messages and files that go with a card and hold what it cannot."""

    split: Split[T]
    room: int
    most: int
    """What takes more messages is sent as a file."""
    options: int
    """How much of the options a card repeats whose question is in continuations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """How much of an approval is shown, in units of the message's size."""

    question: int
    path: int
    code: int
    ended_code: int
    root_code: int = 0
    """At the root of a thread."""
    page: int = 0
    """A message of what a card cannot hold, where that is not sent as a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities(Generic[T]):
    channel: str
    write: Write[T]
    size: Callable[[T], int]
    room: int
    """The largest card; for a channel with continuations, its question with the options."""
    rooms: tuple[Room, ...]
    """What is shown of a card that is too large, from much to little."""
    approvals: Approvals
    output: int
    """How much of an operation's output is shown."""
    buttons: Buttons | None = None
    """Without them, people react or type."""
    continuations: Continuations[T] | None = None
    """Without them, a card that is too large refers to the web inbox."""
    threads: bool = False
    """Each step of an ask is a message of its own, in the ask's thread."""
