"""Runs: a document as flat text with tags, for channels whose markup is marks in a text.

Owns its length in UTF-16 units, and where it is cut. Flat runs instead of a tree make every cut
valid, and keep out what chats forbid: marks inside code, and quotes inside quotes. A channel has to
write the tags: `b`, `i`, `code`, `pre` and in it `code class="language-…"`, `blockquote`,
`blockquote expandable`, and `time` with seconds since 1970 and the form `t`, `wt` or `dt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, assert_never

from chatbridge import markdown
from chatbridge.channels.chat import document as doc
from chatbridge.core.cards import markup
from chatbridge.core.cards.build import FIRST_LINES, HEAD, LAST_LINES, LONG_DIFF, TAIL
from chatbridge.core.cards.card import Choice
from chatbridge.core.cards.phrases import TIME_ONLY_SECONDS, WEEKDAY_ONLY_SECONDS, format_time
from chatbridge.core.text import clipped, isolated, one_line

BOLD_AT_MOST = 200
LINES_AT_MOST = 6
"""A list with more of them is folded up."""
LINE_WIDTH = 38
"""About how many characters a phone shows in a line."""
FOLDED_ABOVE = 120
"""A longer description is folded up."""
LONG_CODE, CODE_HEAD, CODE_TAIL = 20, 12, 6
REMEMBERED = 128
"""A card is drawn again for every tap, from the same few texts."""

_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}", re.ASCII)
PRE, QUOTE = "pre", "blockquote"
_BOXES = (PRE, QUOTE)
FOLDED_QUOTE = "blockquote expandable"


class Run(NamedTuple):
    """Characters, and the tags they stand in, the outermost first."""

    text: str
    tags: tuple[str, ...] = ()


Text = tuple[Run, ...]
Tags = tuple[str, ...]


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def write(document: doc.Document, *, now: float) -> Text:
    """The document with a blank line between its blocks."""
    found: list[Run] = []
    for block in document:
        text = block_runs(block, now)
        if any(run.text or run.tags for run in text):
            found += (Run("\n\n"), *text) if found else text
    return tuple(found)


def write_plain(document: doc.Document, *, now: float) -> str:
    """The document for a service without markup."""
    return characters(write(document, now=now))


def split(
    document: doc.Document, size: int, title: Callable[[int, int], doc.Line]
) -> Sequence[Text]:
    """The document in parts of at most `size` units, each below its title."""
    parts = pieces(joined(block_runs(block, 0.0) for block in document), size)
    titles = (tuple(_inlines(title(i, len(parts)), (), 0.0)) for i in range(1, len(parts) + 1))
    return [joined(both) for both in zip(titles, parts, strict=True)]


def block_runs(block: doc.Block, now: float) -> Text:
    match block:
        case doc.Lines(lines=lines):
            return _lines(lines, now)
        case doc.Numbered():
            return _numbered(block, now)
        case doc.Options(choices=choices, limit=limit):
            return _options(choices, limit)
        case doc.Markdown():
            return _markdown(block)
        case doc.Code():
            return _exact_code(block)
        case doc.Output(text=text, limit=limit):
            if units(text) > limit:
                text = "…" + ends_of(text, head=0, tail=limit - 1)[1].lstrip("\n")
            return code(text)
        case doc.Quote(text=text):
            return (Run(text, (QUOTE,)),)
        case doc.Group(blocks=children, tight=tight, inline=inline):
            apart = " " if inline else "\n" if tight else "\n\n"
            return joined((block_runs(b, now) for b in children), apart=apart)
        case _:
            assert_never(block)


def _lines(lines: Iterable[doc.Line], now: float) -> Text:
    return joined((tuple(_inlines(line, (), now)) for line in lines), apart="\n")


def _numbered(block: doc.Numbered, now: float) -> Text:
    items = [(Run(f"{i}. "), *_lines(item, now)) for i, item in enumerate(block.items, 1)]
    listed = joined(items, apart="\n\n" if block.spaced else "\n")
    shown = sum(1 + units(line) // LINE_WIDTH for line in characters(listed).split("\n"))
    if block.foldable and shown > LINES_AT_MOST:
        listed = tuple(run._replace(tags=(FOLDED_QUOTE, *run.tags)) for run in listed)
    return listed


@lru_cache(maxsize=REMEMBERED)
def _options(choices: tuple[Choice, ...], limit: int | None) -> Text:
    return cut(joined(map(_option, choices), apart="\n"), limit)


def _option(option: Choice) -> Text:
    recommended = (Run(" (recommended)"),) if option.recommended else ()
    first = (Run(f"{option.number}. {isolated(option.label)}", ("b",)), *recommended)
    text = option.description or ""
    if not text.strip():
        return first
    if units(text) > FOLDED_ABOVE:
        # In a frame of its own: an agent's lines cannot pass for another option.
        return (*first, Run("\n"), Run(text.strip("\n"), (FOLDED_QUOTE,)))
    return (*first, Run("\n"), Run(one_line(text)))


def _exact_code(block: doc.Code) -> Text:
    text, language, limit = block.text, block.language, block.limit
    if not text.strip():
        return (Run("empty", ("i",)),)
    if limit is None:
        return code(text, language)
    shown = (FIRST_LINES, LAST_LINES) if language == "diff" else None
    whole = code(text, language, above=LONG_DIFF, shown=shown)
    if width(whole) <= limit:
        return whole
    first, last = ends_of(text, head=min(2 * limit // 3, HEAD), tail=min(limit // 3, TAIL))
    count = f"… {len(text) - len(first) - len(last):,} characters …" if block.counted else "…"
    return (*code(first, language), Run(f"\n{count}\n"), *code(last, language))


def _inlines(parts: Iterable[doc.Inline | markup.Inline], tags: Tags, now: float) -> Iterator[Run]:
    for part in parts:
        yield from _inline(part, tags, now)


def _inline(part: doc.Inline | markup.Inline, tags: Tags, now: float) -> Iterator[Run]:
    match part:
        case str():
            yield Run(part, tags)
        case markup.Plain(text=text):
            yield Run(text, tags)
        case doc.Name(text=text, limit=limit):
            yield Run(isolated(clipped(text, limit) if limit else text), tags)
        case doc.Path(text=text, limit=limit):
            if limit and units(text) > limit:  # its end says more
                text = "…".join(ends_of(text, head=limit // 4, tail=limit // 2))
            yield from (Run("\u2068", tags), Run(text, (*tags, "code")), Run("\u2069", tags))
        case markup.Code(text=text):
            yield Run(text, (*(tag for tag in tags if tag.startswith(QUOTE)), "code"))
        case markup.Strong(children=children) | doc.Strong(children=children):
            yield from _inlines(children, tags if "b" in tags else (*tags, "b"), now)
        case markup.Emphasis(children=children) | doc.Faint(children=children):
            yield from _inlines(children, tags if "i" in tags else (*tags, "i"), now)
        case markup.Link():
            yield from _inlines(part.shown, tags, now)
        case markup.Break():
            yield Run("\n", tags)
        case doc.Time(at=at):
            yield _time(at, tags, now)
        case _:
            assert_never(part)


def _time(at: float, tags: Tags, now: float) -> Run:
    """In the hub's zone; a channel that can shows it in the viewer's. Without seconds, which nobody
    sees: a deadline that moves by a few needs no edit."""
    away = abs(at - now)
    form = "t" if away <= TIME_ONLY_SECONDS else "wt" if away <= WEEKDAY_ONLY_SECONDS else "dt"
    return Run(format_time(at, now=now), (*tags, f"time {int(at) // 60 * 60} {form}"))


# ── markdown ──────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=REMEMBERED)
def _markdown(block: doc.Markdown) -> Text:
    all_of_it = joined(blocks(block.source, whole=block.whole, asking=block.asking))
    shown = cut(all_of_it, block.limit)
    cut_off = block.left_out and shown != all_of_it
    return joined((shown, (Run(block.left_out),))) if cut_off else shown


@lru_cache(maxsize=REMEMBERED)
def blocks(source: str, *, whole: bool = False, asking: bool = True) -> tuple[Text, ...]:
    """An agent's markdown, block by block; if it is `asking`, a short first paragraph is bold. Long
    code is shortened unless it is to be `whole`."""
    parsed = markdown.parse(source)
    found = [_markup_block(block, (), whole=whole) for block in parsed]
    bold = asking and parsed and isinstance(parsed[0], markup.Paragraph)
    if bold and width(found[0]) <= BOLD_AT_MOST:
        found[0] = tuple(
            run if {"b", "code"} & set(run.tags) else run._replace(tags=("b", *run.tags))
            for run in found[0]
        )
    return tuple(text for text in found if text)


def _markup_block(block: markup.Block, tags: Tags, *, whole: bool) -> Text:
    match block:
        case markup.Paragraph(children=children):
            return tuple(run for run in _inlines(children, tags, 0.0) if run.text)
        case markup.CodeBlock(text=text, language=language):
            shown = None if whole else (CODE_HEAD, CODE_TAIL)
            return code(text, language, tags=tags, above=LONG_CODE, shown=shown)
        case markup.Quote(children=children):
            inside = tags or (QUOTE,)
            return joined((_markup_block(b, inside, whole=whole) for b in children), tags=inside)
        case markup.Items(items=items, start=start):
            marks = (f"{start + i}. " if start is not None else "• " for i in range(len(items)))
            pairs = zip(marks, items, strict=True)
            listed = (_item(mark, item, tags, whole=whole) for mark, item in pairs)
            return joined(listed, tags=tags, apart="\n")
        case _:
            assert_never(block)


def _item(mark: str, item: Sequence[markup.Block], tags: Tags, *, whole: bool) -> Text:
    inside = joined((_markup_block(b, tags, whole=whole) for b in item), tags=tags, apart="\n")
    if inside and _boxed(inside[0], tags):
        mark += "\n"
    moved = []
    for i, run in enumerate(inside, 1):
        text = run.text if _boxed(run, tags) else run.text.replace("\n", "\n   ")
        if any(_boxed(after, tags) for after in inside[i : i + 1]):
            text = text.removesuffix("   ")
        moved.append(run._replace(text=text))
    return (Run(mark, tags), *moved)


def code(
    text: str,
    language: str | None = None,
    *,
    tags: Tags = (),
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


def joined(texts: Iterable[Text], *, tags: Tags = (), apart: str = "\n\n") -> Text:
    """Blocks one under the other; code and quotes have an edge of their own and need no gap."""
    found: list[Run] = []
    for text in texts:
        if found and text:
            boxed = _boxed(found[-1], tags) or _boxed(text[0], tags)
            found.append(Run("\n" if boxed else apart, tags))
        found += text
    return tuple(found)


def _boxed(run: Run, tags: Tags) -> bool:
    return any(tag.startswith(_BOXES) for tag in run.tags[len(tags) :])


def in_boxes(text: Text) -> Iterator[tuple[str, Text]]:
    """The parts that are code (`pre`), quotes (`blockquote`) or neither (empty), for services where
    each is an element. Elements have edges, so the line breaks around code and quotes go."""
    groups = [(box, [*inside]) for box, inside in groupby(text, key=_box)]
    for i, (box, inside) in enumerate(groups):
        if not box and i > 0:
            inside[0] = inside[0]._replace(text=inside[0].text.removeprefix("\n"))
        if not box and i < len(groups) - 1:
            inside[-1] = inside[-1]._replace(text=inside[-1].text.removesuffix("\n"))
        if shown := tuple(run for run in inside if run.text):
            yield box, shown


def _box(run: Run) -> str:
    return next((box for box in _BOXES if any(tag.startswith(box) for tag in run.tags)), "")


def time_of(run: Run) -> tuple[str, str] | None:
    """The seconds since 1970 and the form, of one that is a time."""
    time = next((tag for tag in run.tags if tag.startswith("time ")), None)
    _, at, form = time.split(" ") if time is not None else ("", "", "")
    return (at, form) if at else None


# ── lengths and cuts ──────────────────────────────────────────────────────────────────────────────


def units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def width(text: Iterable[Run]) -> int:
    return sum(units(run.text) for run in text)


def cut(text: Text, limit: int | None) -> Text:
    """At most `limit` units, cut with an ellipsis."""
    if limit is None or width(text) <= limit:
        return text
    head, _ = _parted(text, _reach(characters(text), limit - 1))
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
        flat = characters(text)
        end = _reach(flat, limit)
        breaks = (flat.rfind(mark, end // 2, end) for mark in ("\n\n", "\n"))
        head, text = _parted(text, next((at for at in breaks if at > 0), end))
        found.append(_trimmed(head, left=False))
        text = _trimmed(text, left=True)
    return tuple(part for part in (*found, text) if part)


def characters(text: Iterable[Run]) -> str:
    return "".join(run.text for run in text)


def _reach(characters: str, limit: int) -> int:
    """How many characters fit into `limit` units."""
    head = characters[:limit].encode("utf-16-le", "surrogatepass")[: 2 * limit]
    return len(head.decode("utf-16-le", "ignore"))


def _parted(text: Text, at: int) -> tuple[Text, Text]:
    head: list[Run] = []
    for i, run in enumerate(text):
        if at < len(run.text):
            inside = (run._replace(text=run.text[:at]),) if at else ()
            return (*head, *inside), (run._replace(text=run.text[at:]), *text[i + 1 :])
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
            runs[at] = runs[at]._replace(text=bare)
            break
        runs.pop(at)
    return tuple(runs)
