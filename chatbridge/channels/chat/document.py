"""Documents: what a message in a chat says, before a channel writes it in its own markup.

A document is a sequence of blocks. Plain strings in it are chatbridge's own words. Whatever an
agent or a person wrote is `Untrusted`, or a `Name` where it shares a line with our words. Where a
part has a limit, the channel's writer cuts it, in the unit in which the channel counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.core.cards import markup
from chatbridge.core.cards.card import Choice

Untrusted = markup.Plain
InlineCode = markup.Code
Name = markup.Name
Time = markup.Time

# ── in a line ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Path:
    """A path to the letter, isolated like a name."""

    text: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Strong:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Faint:
    children: tuple[Inline, ...]


Inline = str | Untrusted | Name | Path | Strong | Faint | InlineCode | Time
Line = tuple[Inline, ...]


# ── blocks ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Lines:
    """A paragraph. Empty lines are left out."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A numbered list; an item may have several lines."""

    items: tuple[tuple[Line, ...], ...]
    foldable: bool = False
    """A channel may fold it up if it is long."""
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    choices: tuple[Choice, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """An agent's markdown."""

    source: str
    limit: int | None = None
    left_out: str = ""
    """Follows where it was cut."""
    whole: bool = False
    """Otherwise a writer may shorten long code in it."""
    asking: bool = True
    """A short first paragraph is the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Code to the letter. If it is too long, its beginning and its end are shown."""

    text: str
    language: str | None = None
    limit: int | None = None
    counted: bool = False
    """A writer may say how many characters are left out."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed; the end of it, if it is too long."""

    text: str
    limit: int


@dataclass(frozen=True, slots=True)
class Quote:
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that belong together; `tight` without blank lines between them, `inline` each behind
    the one before."""

    blocks: tuple[Block, ...]
    tight: bool = False
    inline: bool = False


Block = Lines | Numbered | Options | Markdown | Code | Output | Quote | Group
Document = tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A button."""

    text: str
    data: str = ""
    style: str | None = None
    url: str | None = None
    """It opens this address, and carries no data."""


Rows = tuple[tuple[Key, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A document with buttons below it."""

    document: Document
    rows: Rows = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    name: str
    content: bytes = b""
    path: str | None = None
    """Where it is read from as a stream instead, so that the hub's memory does not grow with it."""
    type: str = "text/plain"
    caption: str = ""
    """Plain text."""
    size: tuple[int, int] | None = None
    """Of a picture that the chat should show, in pixels. Anything else is offered as a file."""


@dataclass(frozen=True, slots=True)
class Upload:
    """The files of one message: either all are pictures that the chat should show, or none."""

    files: tuple[File, ...]

    @classmethod
    def of(cls, file: File) -> Upload:
        return cls((file,))


def line(*parts: Inline) -> Lines:
    return Lines((parts,))


def paragraph(*parts: Inline) -> Document:
    """A document of one line."""
    return (line(*parts),)


def strong(*parts: Inline) -> Strong:
    return Strong(parts)
