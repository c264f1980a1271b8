"""Text for Matrix: everything twice, as the plain body and as HTML, and how large the two are.

Owns how a question's markdown looks in the few tags used here. Whatever an agent wrote is escaped,
and nothing of it is something to tap: an address is shown whole, as code, which clients neither
link nor preview. A name with an @ needs no care: with `m.mentions` in an event, which ours always
have, clients look nowhere else for whom to ping.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

from chatbridge import markdown
from chatbridge.channels.chat import document
from chatbridge.core.cards.markup import (
    Block,
    Break,
    Code,
    CodeBlock,
    Emphasis,
    Inline,
    Items,
    Link,
    Paragraph,
    Plain,
    Quote,
    Strong,
)
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.text import isolated

LIMIT = 28_000
"""The largest body and HTML together, as JSON. An event has 65,536 bytes, of which encryption takes
a quarter."""
BOLD_AT_MOST = 200
REMEMBERED = 128
"""A card is drawn again for every answer, from the same few texts."""

_ADDRESS = re.compile(r"((?:[a-z][a-z0-9+.-]{0,20}://|www\.)\S+)", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Words:
    """The same words as plain text and as HTML."""

    body: str = ""
    html: str = ""

    def __add__(self, other: Words) -> Words:
        return Words(self.body + other.body, self.html + other.html)

    def __bool__(self) -> bool:
        return bool(self.body)


NOTHING = Words()


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def trusted(text: str) -> Words:
    """A sentence of ours, or what is already kept apart in it."""
    return Words(text, escape(text).replace("\n", "<br>"))


def untrusted(text: str) -> Words:
    """Somebody else's plain words."""
    return Words(text, _unlinked(text))


def name(text: str) -> Words:
    """Somebody else's words among ours."""
    return Words(isolated(text), isolated(_unlinked(text)))


def strong(words: Words) -> Words:
    return Words(words.body, f"<strong>{words.html}</strong>") if words else words


def faint(words: Words) -> Words:
    return Words(words.body, f"<em>{words.html}</em>") if words else words


def inline_code(text: str) -> Words:
    return Words(text, f"<code>{escape(text)}</code>") if text else NOTHING


def code_block(text: str, language: str | None) -> Words:
    known = language is not None and _LANGUAGE.fullmatch(language)
    code = f'<code class="language-{language}">' if known else "<code>"
    return Words(text, f"<pre>{code}{escape(text)}</code></pre>") if text else NOTHING


def sentences(words: Iterable[Words]) -> Words:
    return _joined(words, Words(" ", " "))


def lines(words: Iterable[Words]) -> Words:
    return _joined(words, Words("\n", "<br>"))


def paragraph(words: Words) -> Words:
    return Words(words.body, f"<p>{words.html}</p>") if words else words


def paragraphs(parts: Iterable[Words], *, apart: str = "\n") -> Words:
    """Parts that are paragraphs, lists or boxes, one under the other; `apart` in the body."""
    return _joined(parts, Words(apart, ""))


def numbered(items: Iterable[Words], *, mark: str) -> Words:
    """A list; `mark` follows the number in the body."""
    listed = list(items)
    body = "\n".join(f"{i}{mark}{item.body}" for i, item in enumerate(listed, 1))
    inside = "".join(f"<li>{item.html}</li>" for item in listed)
    return Words(body, f"<ol>{inside}</ol>") if listed else NOTHING


def _joined(parts: Iterable[Words], between: Words = NOTHING) -> Words:
    found = [part for part in parts if part]
    return Words(
        between.body.join(part.body for part in found),
        between.html.join(part.html for part in found),
    )


def _unlinked(text: str) -> str:
    """Escaped, and with addresses as code."""
    parts = _ADDRESS.split(text)  # every second one is an address
    shown = (
        f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(parts)
    )
    return "".join(shown).replace("\n", "<br>")


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def write(blocks: Iterable[document.Block], *, now: float) -> Words:
    return paragraphs(_written(block, now) for block in blocks)


def write_line(parts: document.Line, *, now: float) -> Words:
    return _joined(_inline_words(part, now) for part in parts)


def _written(block: document.Block, now: float) -> Words:
    match block:
        case document.Lines(lines=found):
            return paragraph(_lines_of(found, now))
        case document.Numbered(items=items, title=title, more=more):
            listed = numbered((_lines_of(item, now) for item in items), mark=". ")
            above, below = (paragraph(write_line(each, now=now)) for each in (title, more))
            return paragraphs((above, listed, below))
        case document.Quote(text=text):
            return Words(_indented(text, "> "), f"<blockquote>{untrusted(text).html}</blockquote>")
        case document.Code(text=text, language=language):
            return code_block(text, language)
        case _:
            assert_never(block)


def _lines_of(found: Iterable[document.Line], now: float) -> Words:
    return lines(write_line(each, now=now) for each in found)


def _inline_words(part: document.Inline, now: float) -> Words:
    match part:
        case str():
            return trusted(part)
        case document.Untrusted(text=text):
            return untrusted(text)
        case document.Name(text=text):
            return name(text)
        case document.Strong(part=inner):
            parts = inner if isinstance(inner, tuple) else (inner,)
            return strong(write_line(parts, now=now))
        case document.Faint(part=inner):
            return faint(_inline_words(inner, now))
        case document.InlineCode(text=text):
            return inline_code(text)
        case document.Time(at=at):
            return trusted(format_time(at, now=now))
        case _:
            assert_never(part)


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────


def size(words: Words) -> int:
    """What these take of an event, in bytes. The library that sends them escapes what is not ASCII
    before it encrypts."""
    return len(json.dumps({"body": words.body, "formatted_body": words.html}))


def begun(text: str, room: int) -> str:
    """As much of the beginning of somebody's plain words as fits into `room` bytes."""
    if size(untrusted(text)) <= room:
        return text
    length = min(len(text), room)
    while length > 1 and size(untrusted(text[:length])) > room:
        length = length * 3 // 4
    return text[:length].rstrip() + "…"


# ── markdown ──────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=REMEMBERED)
def blocks(source: str) -> tuple[Words, ...]:
    """A question's markdown, block by block; a short first paragraph is bold."""
    found = []
    for i, block in enumerate(markdown.parse(source)):
        words = _block(block)
        if i == 0 and isinstance(block, Paragraph) and len(words.body) <= BOLD_AT_MOST:
            words = paragraph(strong(_inlines(block.children, bold=True)))
        if words:
            found.append(words)
    return tuple(found)


def question(source: str, *, room: int, left_out: Words) -> Words:
    """As many of the blocks as fit into `room` bytes; `left_out` follows where some do not."""
    shown: list[Words] = []
    for words in blocks(source):
        if size(words) > room:
            shown += [left_out] if shown else [_cut(words, room), left_out]
            break
        shown.append(words)
        room -= size(words)
    return paragraphs(shown, apart="\n\n")


def _cut(words: Words, room: int) -> Words:
    """The beginning of a single large block, without its marks, cut at a line if that keeps half
    of what fits."""
    length = min(len(words.body), room)
    while length > 1 and size(_begun(words, length)) > room:
        length = length * 3 // 4
    at_line = words.body.rfind("\n", length // 2, length)
    return _begun(words, at_line if at_line > 0 else length)


def _begun(words: Words, length: int) -> Words:
    return paragraph(untrusted(words.body[:length].rstrip() + "…"))


def _block(block: Block) -> Words:
    match block:
        case Paragraph(children=children):
            return paragraph(_inlines(children))
        case CodeBlock(text=text, language=language):
            return code_block(text, language)
        case Quote(children=children):
            inside = paragraphs(_block(child) for child in children)
            return Words(_indented(inside.body, "> "), f"<blockquote>{inside.html}</blockquote>")
        case Items():
            return _list(block)
        case _:
            assert_never(block)


def _list(items: Items) -> Words:
    start = items.start
    body, inside = [], []
    for i, item in enumerate(items.items):
        words = _item(item)
        mark = "- " if start is None else f"{start + i}. "
        body.append(mark + _indented(words.body, " " * len(mark)).removeprefix(" " * len(mark)))
        inside.append(f"<li>{words.html}</li>")
    tag = "ul" if start is None else "ol"
    opened = f'<ol start="{start}">' if start not in (None, 1) else f"<{tag}>"
    return Words("\n".join(body), f"{opened}{''.join(inside)}</{tag}>")


def _item(item: Sequence[Block]) -> Words:
    """An item with one paragraph needs no space around that."""
    lone = sum(isinstance(child, Paragraph) for child in item) == 1
    return paragraphs(
        _inlines(child.children) if lone and isinstance(child, Paragraph) else _block(child)
        for child in item
    )


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


def _inlines(children: Iterable[Inline], *, bold: bool = False) -> Words:
    return _joined(_inline(child, bold=bold) for child in children)


def _inline(inline: Inline, *, bold: bool) -> Words:
    match inline:
        case Plain(text=text):
            return untrusted(text)
        case Code(text=text):
            return inline_code(text)
        case Strong(children=children):
            inside = _inlines(children, bold=True)
            return inside if bold else strong(inside)
        case Emphasis(children=children):
            return faint(_inlines(children, bold=bold))
        case Link(children=children, address=address):
            if children == (Plain(address),):
                return inline_code(address)
            return _inlines(children, bold=bold) + Words(" ", " ") + inline_code(address)
        case Break():
            return Words("\n", "<br>")
        case _:
            assert_never(inline)
