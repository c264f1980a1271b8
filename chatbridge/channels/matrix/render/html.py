"""Matrix's writer: everything twice, as the plain body and as HTML, and how large the two are.

Whatever an agent wrote is escaped, and nothing of it is something to tap: an address is shown
whole, as code, which clients neither link nor preview. A name with an @ needs no care: with
`m.mentions` in an event, which ours always have, clients look nowhere else for whom to ping.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import assert_never

from chatbridge import markdown
from chatbridge.channels.chat import document as doc
from chatbridge.core.cards import markup
from chatbridge.core.cards.card import Choice
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.text import clipped, isolated, one_line

LIMIT = 28_000
"""The largest body and HTML together, as JSON. An event has 65,536 bytes, of which encryption takes
a quarter."""
BOLD_AT_MOST = 200
BOXED_ABOVE = 120
"""A longer description keeps its lines, in a frame of its own: they cannot pass for ours."""
REMEMBERED = 128
"""A card is drawn again for every answer, from the same few texts."""
INDENT = "    "

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

    def inside(self, tag: str) -> Words:
        return Words(self.body, f"<{tag}>{self.html}</{tag}>") if self else self


NOTHING = Words()
BREAK = Words("\n", "<br>")


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def trusted(text: str) -> Words:
    """A sentence of ours, or what is already kept apart in it."""
    return Words(text, escape(text).replace("\n", "<br>"))


def untrusted(text: str) -> Words:
    """Somebody else's plain words, with addresses as code."""
    parts = _ADDRESS.split(text) if _may_name(text) else [text]  # every second one is an address
    shown = (
        f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(parts)
    )
    return Words(text, "".join(shown).replace("\n", "<br>"))


def _may_name(text: str) -> bool:
    """Whether an address can be in it: the pattern is slow, and most texts name none."""
    return "://" in text or "www." in text.lower()


def inline_code(text: str) -> Words:
    return Words(text, escape(text)).inside("code")


def code_block(text: str, language: str | None, *, indent: str = "") -> Words:
    known = language is not None and _LANGUAGE.fullmatch(language)
    code = f'<code class="language-{language}">' if known else "<code>"
    shown = f"<pre>{code}{escape(text)}</code></pre>"
    return Words(_indented(text, indent), shown) if text else NOTHING


def joined(parts: Iterable[Words], between: Words = NOTHING) -> Words:
    found = [part for part in parts if part]
    return Words(
        between.body.join(part.body for part in found),
        between.html.join(part.html for part in found),
    )


def _isolated(words: Words) -> Words:
    return Words(isolated(words.body), isolated(words.html))


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def write(document: doc.Document, *, now: float) -> Words:
    found, apart = NOTHING, ""
    for block, tight in _flat(document):
        words = _block(block, now)
        if words:
            found += Words(apart) + words
            long = isinstance(block, doc.Markdown) and not tight and "\n" in words.body
            apart = "\n\n" if long else "\n"
    return found


def _flat(blocks: Iterable[doc.Block], *, tight: bool = False) -> Iterator[tuple[doc.Block, bool]]:
    for block in blocks:
        if isinstance(block, doc.Group):
            yield from _flat(block.blocks, tight=block.tight)
        else:
            yield block, tight


def _block(block: doc.Block, now: float) -> Words:
    match block:
        case doc.Lines(lines=lines):
            return _lines(lines, now).inside("p")
        case doc.Numbered(items=items):
            return _listed([_lines(item, now) for item in items], mark=". ")
        case doc.Options(choices=choices):
            return _listed([_option(choice) for choice in choices], mark=" ")
        case doc.Markdown():
            return _question(block)
        case doc.Code():
            return _exact_code(block)
        case doc.Output(text=text, limit=limit):
            return code_block(_last(text, limit), None)
        case doc.Quote(text=text):
            return Words(_indented(text, "> "), untrusted(text).inside("blockquote").html)
        case doc.Group(blocks=blocks):
            return write(blocks, now=now)
        case _:
            assert_never(block)


def _lines(lines: Iterable[doc.Line], now: float) -> Words:
    return joined((_inlines(line, now=now) for line in lines), BREAK)


def _listed(items: Sequence[Words], *, mark: str) -> Words:
    """A list; `mark` follows the number in the body."""
    body = "\n".join(f"{i}{mark}{item.body}" for i, item in enumerate(items, 1))
    return Words(body, "".join(f"<li>{item.html}</li>" for item in items)).inside("ol")


def _option(option: Choice) -> Words:
    first = _isolated(untrusted(option.label)).inside("strong")
    if option.recommended:
        first += trusted(" (recommended)")
    text = option.description or ""
    if not text.strip():
        return first
    line = untrusted(one_line(text))
    shown = BREAK.html + line.html
    if len(text) > BOXED_ABOVE:
        shown = untrusted(text.strip("\n")).inside("blockquote").html
    return first + Words(f": {isolated(line.body)}", shown)


def _exact_code(block: doc.Code) -> Words:
    """The whole of it if it fits, else its beginning and its end. Indented in the body: no line of
    it can pass for one of ours."""
    text = block.text

    def shown(kept: int) -> Words:
        head = kept * 2 // 3
        cut = f"{text[:head]}\n…\n{text[len(text) - (kept - head) :]}"
        return code_block(text if kept == len(text) else cut, block.language, indent=INDENT)

    return shown(_fitting(len(text), shown, block.limit or sys.maxsize))


def _last(text: str, limit: int) -> str:
    length = _fitting(len(text), lambda kept: code_block(text[-kept:], None), limit)
    return text if length == len(text) else "…" + text[-length:].lstrip("\n")


def _inlines(
    parts: Iterable[doc.Inline | markup.Inline], *, now: float = 0.0, bold: bool = False
) -> Words:
    return joined(_inline(part, now, bold) for part in parts)


def _inline(part: doc.Inline | markup.Inline, now: float, bold: bool) -> Words:
    match part:
        case str():
            return trusted(part)
        case markup.Plain(text=text):
            return untrusted(text)
        case doc.Name(text=text, limit=limit):
            return _isolated(untrusted(clipped(text, limit) if limit else text))
        case doc.Path(text=text, limit=limit):
            return _isolated(inline_code(begun(text, limit) if limit else text))
        case markup.Code(text=text):
            return inline_code(text)
        case markup.Strong(children=children) | doc.Strong(children=children):
            inside = _inlines(children, now=now, bold=True)
            return inside if bold else inside.inside("strong")
        case markup.Emphasis(children=children) | doc.Faint(children=children):
            return _inlines(children, now=now, bold=bold).inside("em")
        case markup.Link():
            return _inlines(part.shown, now=now, bold=bold)
        case markup.Break():
            return BREAK
        case doc.Time(at=at):
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
    length = _fitting(min(len(text), room), lambda kept: untrusted(text[:kept]), room)
    return text[:length].rstrip() + "…"


def _fitting(length: int, write: Callable[[int], Words], room: int) -> int:
    """How much of a text is written so that it fits into `room` bytes: three quarters each time."""
    while length > 1 and size(write(length)) > room:
        length = length * 3 // 4
    return length


# ── markdown ──────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=REMEMBERED)
def blocks(source: str) -> tuple[Words, ...]:
    """A question's markdown, block by block; a short first paragraph is bold."""
    found = []
    for i, block in enumerate(markdown.parse(source)):
        words = _markup_block(block)
        if i == 0 and isinstance(block, markup.Paragraph) and len(words.body) <= BOLD_AT_MOST:
            words = _inlines(block.children, bold=True).inside("strong").inside("p")
        if words:
            found.append(words)
    return tuple(found)


def _question(block: doc.Markdown) -> Words:
    """As many of its blocks as fit."""
    shown: list[Words] = []
    room = block.limit or sys.maxsize
    for words in blocks(block.source):
        if size(words) > room:
            left_out = trusted(block.left_out).inside("p")
            shown += [left_out] if shown else [_cut(words, room), left_out]
            break
        shown.append(words)
        room -= size(words)
    return joined(shown, Words("\n\n"))


def _cut(words: Words, room: int) -> Words:
    """The beginning of a single large block, without its marks, cut at a line if that keeps half
    of what fits."""
    length = _fitting(min(len(words.body), room), partial(_begun, words), room)
    at_line = words.body.rfind("\n", length // 2, length)
    return _begun(words, at_line if at_line > 0 else length)


def _begun(words: Words, length: int) -> Words:
    return untrusted(words.body[:length].rstrip() + "…").inside("p")


def _markup_block(block: markup.Block) -> Words:
    match block:
        case markup.Paragraph(children=children):
            return _inlines(children).inside("p")
        case markup.CodeBlock(text=text, language=language):
            return code_block(text, language)
        case markup.Quote(children=children):
            inside = joined(map(_markup_block, children), Words("\n"))
            return Words(_indented(inside.body, "> "), f"<blockquote>{inside.html}</blockquote>")
        case markup.Items():
            return _items(block)
        case _:
            assert_never(block)


def _items(items: markup.Items) -> Words:
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


def _item(item: Sequence[markup.Block]) -> Words:
    """An item with one paragraph needs no space around that."""
    lone = sum(isinstance(child, markup.Paragraph) for child in item) == 1
    parts = (
        _inlines(child.children)
        if lone and isinstance(child, markup.Paragraph)
        else _markup_block(child)
        for child in item
    )
    return joined(parts, Words("\n"))
