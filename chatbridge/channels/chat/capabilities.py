"""What a chat service can do and how much it takes, by which the kit decides what a card says.

A channel has one `Capabilities` value, with its writer in it: all that the kit knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chatbridge.channels.chat.card_messages import ALL_SENT, SentFiles
from chatbridge.channels.chat.document import Block, Document, Line

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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
    files: SentFiles = ALL_SENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How much of each part of a card is shown; None: all of it."""

    question: int | None = None
    label: int | None = None
    description: int | None = None
    options: int | None = None
    """How many of them."""
    scale: int = 1
    """Answers are cut to 1/`scale` of their usual length."""


CONTINUED = (
    Lengths(question=300, label=200, description=120),
    *(Lengths(question=300, label=label, description=0) for label in (100, 40, 12)),
)
"""Of a card whose whole question is in continuations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
    """How many and how wide: a label alone in its row, and one of two in a row, in columns."""

    most_options: int
    """With more options, the others are chosen by their number."""
    private: tuple[int, int]
    group: tuple[int, int]
    boxes: bool = True
    """The label of what can be picked has a box. Without, the service has lists of its own for it,
    see `keyboard.option_keys`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuations(Generic[T]):
    """Messages and files that go with a card and hold what it cannot."""

    split: Callable[[Document, int, Callable[[int, int], Line]], Sequence[T]]
    """Write a document as messages of this size, below a title for a number of so many."""
    size: int
    most: int
    """What takes more messages is sent as a file."""
    options: int
    """How much of the options a card repeats whose question is in continuations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Which files a service takes from a bot, and gives to it."""

    largest: int
    """In bytes. Larger ones are in the inbox only."""
    picture: int | None = None
    """The largest picture that is shown, if that is less."""
    album: int = 1
    """How many files one message can have."""
    fetched: int | None = None
    """The largest that a bot can fetch; None: any."""
    too_large: str = "That file is too large. Send it through the inbox, or a smaller one."
    """What a person is told who sends a larger one."""


class Writer(Protocol[T_co]):
    """Writes a document in a channel's markup."""

    def __call__(self, document: Document, *, now: float) -> T_co: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities(Generic[T]):
    """Sizes are in the unit in which the service counts, which is that of `size`."""

    channel: str
    write: Writer[T]
    size: Callable[[T], int]
    card: int
    """The largest card; for a channel with continuations, its question with the options."""
    lengths: tuple[Lengths, ...] = (
        Lengths(question=1_000, label=200, description=120),
        Lengths(question=300, label=40, description=0, options=20, scale=4),
    )
    """What is shown of a card that is too large, from much to little. The defaults, here and below,
    suit messages of 2,000 characters."""
    approval_question: int = 200
    path: int = 160
    code: int = 1_200
    """Of an approval, while it is open; then, once it has ended."""
    ended_code: int = 600
    output: int = 1_500
    """How much of an operation's output is shown."""
    buttons: Buttons | None = None
    """Without them, people react or type."""
    continuations: Continuations[T] | None = None
    """Without them, a card that is too large refers to the web inbox, and what an approval is
    about is sent on pages."""
    files: Files | None = None
    """Without, pictures and files are in the inbox only."""
    page: int = 1_800
    threads: bool = False
    """Each step of an ask is a message of its own, in the ask's thread."""
    root_code: int = 0
    """Of an approval, at the root of its thread."""

    def size_of(self, *blocks: Block) -> int:
        return self.size(self.write(blocks, now=0.0))

    def is_cut(self, block: Block, whole: Block) -> bool:
        """Whether `block` shows less than `whole`, which is the same without a limit."""
        return self.write((block,), now=0.0) != self.write((whole,), now=0.0)
