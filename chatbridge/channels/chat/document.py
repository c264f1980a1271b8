"""Documents: what a message in a chat says, before a channel writes it in its own markup.

A document is a sequence of blocks. Plain strings in it are chatbridge's own words. Whatever an
agent or a person wrote is `Untrusted`, or a `Name` where it shares a line with our words.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Somebody else's words."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """Somebody else's words among ours, isolated so that they cannot reorder ours."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    part: Inline | tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Faint:
    part: Inline


@dataclass(frozen=True, slots=True)
class InlineCode:
    text: str


@dataclass(frozen=True, slots=True)
class Time:
    """A time, shown in relation to now."""

    at: float


Inline = str | Untrusted | Name | Strong | Faint | InlineCode | Time
Line = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """A paragraph. Empty lines are left out."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A numbered list; an item may have several lines."""

    items: tuple[tuple[Line, ...], ...]
    title: Line = ()
    more: Line = ()
    """A last line without a number."""
    foldable: bool = False
    """A channel may fold it up if it is long."""


@dataclass(frozen=True, slots=True)
class Quote:
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str | None = field(default=None)


Block = Lines | Numbered | Quote | Code
Document = tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A button."""

    text: str
    data: str
    style: str | None = None


Rows = tuple[tuple[Key, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A document with buttons below it."""

    document: Document
    rows: Rows = ()


def paragraph(*parts: Inline) -> Document:
    """A document of one line."""
    return (Lines((parts,)),)
