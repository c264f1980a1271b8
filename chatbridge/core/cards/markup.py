"""The small, closed tree that a question's markdown becomes. Each channel renders it.

The parser is `chatbridge.markdown`; this module has no idea of markdown's syntax.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Emphasis:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Shown as its text with the whole address beside it, never as something to tap blindly."""

    children: tuple[Inline, ...]
    address: str


@dataclass(frozen=True, slots=True)
class Break:
    """A line break inside a paragraph."""


Inline = Plain | Code | Strong | Emphasis | Link | Break


@dataclass(frozen=True, slots=True)
class Paragraph:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `start` is the first number, None for bullets."""

    items: tuple[tuple[Block, ...], ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    children: tuple[Block, ...]


Block = Paragraph | CodeBlock | Items | Quote
