"""The tree of a question's markup, which `chatbridge.markdown` parses and each channel renders; and
what stands in sentences of ours beside plain words."""

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
    """Shown as its text and the whole address, so that nobody taps an unknown link."""

    children: tuple[Inline, ...]
    address: str

    @property
    def shown(self) -> tuple[Inline, ...]:
        code = Code(self.address)
        bare = self.children == (Plain(self.address),)
        return (code,) if bare else (*self.children, Plain(" "), code)


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
class Table(CodeBlock):
    """A table, the first row its head. `text` has it as columns, for where there are no tables."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `start` is the first number, None for bullets."""

    items: tuple[tuple[Block, ...], ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    children: tuple[Block, ...]


Block = Paragraph | CodeBlock | Items | Quote


@dataclass(frozen=True, slots=True)
class Name:
    """Somebody else's words among ours, on one line. A chat cuts them and isolates them, so that
    they cannot reorder ours."""

    text: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Time:
    """A time, shown in relation to now."""

    at: float
