"""Text for Telegram: runs of tagged characters, their length, where to cut them, and their HTML.

Owns how a question's markdown looks in Telegram's few tags. Flat runs instead of a tree make every
cut valid HTML, and keep out what Telegram forbids: marks inside code, and quotes inside quotes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from chatbridge.core.cards.phrases import TIME_ONLY_SECONDS, WEEKDAY_ONLY_SECONDS, format_time
from chatbridge.core.text import isolated

LIMIT = 4096
"""The longest message, in UTF-16 units after parsing."""

SOURCE_LIMIT = 32_768
"""And the longest source of one, in bytes."""

BOLD_AT_MOST = 200
LINES_AT_MOST = 6
"""A list with more of them is folded up."""
LINE_WIDTH = 38
"""About how many characters a phone shows in a line."""
LONG_CODE, CODE_HEAD, CODE_TAIL = 20, 12, 6

REMEMBERED = 128
"""A card is drawn again for every tap, from the same few texts."""

_TAG = re.compile(r"<[^>]*>")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}", re.ASCII)
_BOXES = ("pre", "blockquote")
QUOTE = "blockquote"
FOLDED_QUOTE = "blockquote expandable"

headline = markdown.headline


@dataclass(frozen=True, slots=True)
class Run:
    """Characters, and the tags they stand in, the outermost first."""

    text: str
    tags: tuple[str, ...] = ()


Text = tuple[Run, ...]


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def to_html(text: Iterable[Run]) -> str:
    found: list[str] = []
    opened: tuple[str, ...] = ()
    for run in (*text, Run("")):
        shared = 0
        while run.tags[shared : shared + 1] == opened[shared : shared + 1] != ():
            shared += 1
        found += [f"</{tag.partition(' ')[0]}>" for tag in reversed(opened[shared:])]
        found += [f"<{tag}>" for tag in run.tags[shared:]]
        found.append(escape(run.text))
        opened = run.tags
    return "".join(found)


def readable(source: str) -> str:
    """HTML that a server reads: with more tags than it takes, it goes without them."""
    return source if len(source.encode()) <= SOURCE_LIMIT else escape(plain_text(source))


def plain_text(source: str) -> str:
    """HTML of ours as the text a person reads, for a server that does not know our tags."""
    return html.unescape(_TAG.sub("", source))


def time_tag(at: float, *, now: float) -> str:
    """A time of day in the viewer's zone; in the hub's, where a client does not know the tag.
    Without seconds, which nobody sees: a deadline that moves by a few needs no edit."""
    tag, text = _time(at, now)
    return f"<{tag}>{text}</tg-time>"


def _time(at: float, now: float) -> tuple[str, str]:
    """Its tag, and what stands in it."""
    away = abs(at - now)
    form = "t" if away <= TIME_ONLY_SECONDS else "wt" if away <= WEEKDAY_ONLY_SECONDS else "dt"
    return f'tg-time unix="{int(at) // 60 * 60}" format="{form}"', format_time(at, now=now)


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def write(blocks: Iterable[document.Block], *, now: float) -> str:
    return to_html(joined(write_block(block, now=now) for block in blocks))


def write_line(parts: document.Line, *, now: float, tags: tuple[str, ...] = ()) -> Text:
    return tuple(run for part in parts for run in _inline_runs(part, now, tags))


def write_block(block: document.Block, *, now: float) -> Text:
    match block:
        case document.Lines(lines=lines):
            return _lines_of(lines, now)
        case document.Numbered():
            return _numbered(block, now)
        case document.Quote(text=text):
            return (Run(text, (QUOTE,)),)
        case document.Code(text=text, language=language):
            return code(text, language)
        case _:
            assert_never(block)


def _numbered(block: document.Numbered, now: float) -> Text:
    items = [(Run(f"{i}. "), *_lines_of(item, now)) for i, item in enumerate(block.items, 1)]
    listed = _stacked(items)
    shown = sum(1 + units(line) // LINE_WIDTH for line in _characters(listed).split("\n"))
    if block.foldable and shown > LINES_AT_MOST:
        listed = tuple(replace(run, tags=(FOLDED_QUOTE, *run.tags)) for run in listed)
    around = (write_line(each, now=now) for each in (block.title, block.more))
    title, more = around
    return _stacked((title, listed, more))


def _lines_of(lines: Iterable[document.Line], now: float) -> Text:
    return _stacked(write_line(line, now=now) for line in lines)


def _stacked(texts: Iterable[Text]) -> Text:
    found: list[Run] = []
    for text in texts:
        found += (Run("\n"), *text) if found and text else text
    return tuple(found)


def _inline_runs(part: document.Inline, now: float, tags: tuple[str, ...]) -> Text:
    match part:
        case str():
            return (Run(part, tags),)
        case document.Untrusted(text=text):
            return (Run(text, tags),)
        case document.Name(text=text):
            return (Run(isolated(text), tags),)
        case document.Strong(part=inner):
            parts = inner if isinstance(inner, tuple) else (inner,)
            return write_line(parts, now=now, tags=(*tags, "b"))
        case document.Faint(part=inner):
            return _inline_runs(inner, now, (*tags, "i"))
        case document.InlineCode(text=text):
            return (Run(text, (*tags, "code")),)
        case document.Time(at=at):
            tag, text = _time(at, now)
            return (Run(text, (*tags, tag)),)
        case _:
            assert_never(part)


# ── lengths and cuts ──────────────────────────────────────────────────────────────────────────────


def units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def length(source: str) -> int:
    """How much of Telegram's limit some HTML takes."""
    return units(plain_text(source))


def width(text: Iterable[Run]) -> int:
    return sum(units(run.text) for run in text)


def cut(text: Text, limit: int) -> Text:
    """At most `limit` units, cut with an ellipsis."""
    if width(text) <= limit:
        return text
    head, _ = _parted(text, _reach(_characters(text), limit - 1))
    return (*_trimmed(head, left=False), Run("…"))


def ends_of(text: str, *, head: int, tail: int) -> tuple[str, str]:
    """The first and the last units of a bare text that is longer."""
    last = _reach(text[::-1], tail)
    return text[: _reach(text, head)], text[len(text) - last :]


def pieces(text: Text, limit: int) -> tuple[Text, ...]:
    """`text` in parts of at most `limit` units: cut between paragraphs, else lines, else
    characters, but never so that a part stays half empty."""
    found = []
    while width(text) > limit:
        characters = _characters(text)
        end = _reach(characters, limit)
        for mark in ("\n\n", "\n"):
            at = characters.rfind(mark, end // 2, end)
            if at > 0:
                end = at
                break
        head, text = _parted(text, end)
        found.append(_trimmed(head, left=False))
        text = _trimmed(text, left=True)
    return tuple(part for part in (*found, text) if part)


def _characters(text: Iterable[Run]) -> str:
    return "".join(run.text for run in text)


def _reach(characters: str, limit: int) -> int:
    """How many characters fit into `limit` units."""
    head = characters[:limit].encode("utf-16-le", "surrogatepass")[: 2 * limit]
    return len(head.decode("utf-16-le", "ignore"))


def _parted(text: Text, at: int) -> tuple[Text, Text]:
    head: list[Run] = []
    for i, run in enumerate(text):
        if at < len(run.text):
            inside = (replace(run, text=run.text[:at]),) if at else ()
            return (*head, *inside), (replace(run, text=run.text[at:]), *text[i + 1 :])
        head.append(run)
        at -= len(run.text)
    return text, ()


def _trimmed(text: Text, *, left: bool) -> Text:
    """Without line breaks on the left, or without any blanks on the right."""
    runs = list(text)
    while runs:
        at = 0 if left else -1
        bare = runs[at].text.lstrip("\n") if left else runs[at].text.rstrip()
        if bare:
            runs[at] = replace(runs[at], text=bare)
            break
        runs.pop(at)
    return tuple(runs)


# ── markdown ──────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=REMEMBERED)
def blocks(source: str, *, whole: bool = False, asking: bool = True) -> tuple[Text, ...]:
    """An agent's markdown, block by block; if it is `asking`, a short first paragraph is bold. Long
    code is shortened unless it is to be `whole`."""
    parsed = markdown.parse(source)
    found = [_block(block, (), whole=whole) for block in parsed]
    bold = asking and parsed and isinstance(parsed[0], Paragraph)
    if bold and width(found[0]) <= BOLD_AT_MOST:
        found[0] = _bold(found[0])
    return tuple(text for text in found if text)


def joined(texts: Iterable[Text], *, tags: tuple[str, ...] = (), apart: str = "\n\n") -> Text:
    """Blocks one under the other; code and quotes have an edge of their own and need no gap."""
    found: list[Run] = []
    for text in texts:
        if found and text:
            boxed = _boxed(found[-1], tags) or _boxed(text[0], tags)
            found.append(Run("\n" if boxed else apart, tags))
        found += text
    return tuple(found)


def _boxed(run: Run, tags: tuple[str, ...]) -> bool:
    return any(tag.startswith(_BOXES) for tag in run.tags[len(tags) :])


def _bold(text: Text) -> Text:
    return tuple(
        run if "b" in run.tags or "code" in run.tags else replace(run, tags=("b", *run.tags))
        for run in text
    )


def _block(block: Block, tags: tuple[str, ...], *, whole: bool) -> Text:
    match block:
        case Paragraph(children=children):
            return tuple(run for run in _inlines(children, tags) if run.text)
        case CodeBlock(text=text, language=language):
            shown = None if whole else (CODE_HEAD, CODE_TAIL)
            return code(text, language, tags=tags, above=LONG_CODE, shown=shown)
        case Quote(children=children):
            inside = tags or (QUOTE,)
            return joined((_block(b, inside, whole=whole) for b in children), tags=inside)
        case Items(items=items, start=start):
            marks = (f"{start + i}. " if start is not None else "• " for i in range(len(items)))
            pairs = zip(marks, items, strict=True)
            listed = (_item(mark, item, tags, whole=whole) for mark, item in pairs)
            return joined(listed, tags=tags, apart="\n")
        case _:
            assert_never(block)


def code(
    text: str,
    language: str | None = None,
    *,
    tags: tuple[str, ...] = (),
    above: int = 0,
    shown: tuple[int, int] | None = None,
) -> Text:
    """Code to the letter. Of more lines than `above` only the first and last are `shown`, so many
    as that says; all of them without it."""
    known = language is not None and _LANGUAGE.fullmatch(language)
    inside = (*tags, "pre", f'code class="language-{language}"') if known else (*tags, "pre")
    lines = text.split("\n")
    if shown is None or len(lines) <= above:
        return (Run(text, inside),) if text else ()
    first, last = shown
    left_out = f"\n… {len(lines) - first - last} lines …\n"
    head, tail = "\n".join(lines[:first]), "\n".join(lines[-last:])
    return tuple(
        run for run in (Run(head, inside), Run(left_out, tags), Run(tail, inside)) if run.text
    )


def _item(mark: str, item: Sequence[Block], tags: tuple[str, ...], *, whole: bool) -> Text:
    inside = joined((_block(b, tags, whole=whole) for b in item), tags=tags, apart="\n")
    if inside and _boxed(inside[0], tags):
        mark += "\n"
    indent = "\n" + " " * 3
    moved = []
    for i, run in enumerate(inside, 1):
        text = run.text if _boxed(run, tags) else run.text.replace("\n", indent)
        if any(_boxed(after, tags) for after in inside[i : i + 1]):
            text = text.removesuffix(" " * 3)
        moved.append(replace(run, text=text))
    return (Run(mark, tags), *moved)


def _inlines(children: Sequence[Inline], tags: tuple[str, ...]) -> Iterator[Run]:
    for child in children:
        yield from _inline(child, tags)


def _inline(inline: Inline, tags: tuple[str, ...]) -> Iterator[Run]:
    match inline:
        case Plain(text=text):
            yield Run(text, tags)
        case Code(text=text):
            yield _unmarked_code(text, tags)
        case Strong(children=children):
            yield from _inlines(children, tags if "b" in tags else (*tags, "b"))
        case Emphasis(children=children):
            yield from _inlines(children, tags if "i" in tags else (*tags, "i"))
        case Link(children=children, address=address):
            if children != (Plain(address),):
                yield from _inlines(children, tags)
                yield Run(" ", tags)
            yield _unmarked_code(address, tags)
        case Break():
            yield Run("\n", tags)
        case _:
            assert_never(inline)


def _unmarked_code(text: str, tags: tuple[str, ...]) -> Run:
    return Run(text, (*(tag for tag in tags if tag.startswith(QUOTE)), "code"))
