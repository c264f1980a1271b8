"""Parses agents' markdown into the tree of `core.cards.markup`.

Supports tables, and CommonMark without HTML, entities and reference definitions. These are shown as
written, so that a text has no character that its source does not have. Channels do the escaping and
styling.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from chatbridge.core.cards import markup as tree

log = logging.getLogger(__name__)

MAX_BLOCK_DEPTH = 20
"""In markdown-it's levels, of which a list takes two. The parser silently drops deeper blocks."""
MAX_INLINE_DEPTH = 8
MAX_PARSED_CHARACTERS = 20_000
MAX_LINES = 400
MAX_MARKS = 1_000
"""A text with more characters, lines or possible marks is shown as written: the parser takes 50 µs
for a line and quadratic time for marks, and it blocks the hub."""
MARKS = "[]!*_<`\\"
MAX_CELLS = 1_000
"""If the lines of a text could make a table with more cells, its tables are shown as written."""
MAX_COLUMN = 40
"""Wider cells move the rest of their row: filling every row up to one could make megabytes."""
CACHE_SIZE = 64
"""Parsed texts: a card is drawn several times while its question is answered."""
HEADLINE_SOURCE = 1_000
"""Characters of a question that are used for its headline."""
HEADLINE_MIN_CHARACTERS = 30
"""Minimum length of a first paragraph without a question mark to serve as the headline."""

_PLAIN = re.compile(r"[^\W\d_][^\x00\n\r\[\]*_<`\\]*")
"""One line that begins with a letter and has no marks, which parsing would not change. This is the
usual case, and every change of an ask needs the headline."""
_AMPERSAND = "\ufdd0"
"""Replaces "&" while parsing: link addresses are decoded even without the entity rule, so that
`&#x202E;` would bring back a character that `core.text.visible` has replaced. A noncharacter, which
texts do not need."""
_NO_FRAMES = str.maketrans("", "", " |-:;,")
"""Without the frame of a table as written, and what `plain` has instead."""


def _new_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_BLOCK_DEPTH})
    parser.disable(["entity", "html_block", "html_inline", "reference"])
    # Keep addresses as written, not percent-encoded: people compare them with what they know.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


_parser = _new_parser()
_table_parser = _new_parser().enable("table")


@lru_cache(maxsize=CACHE_SIZE)
def parse(source: str) -> tuple[tree.Block, ...]:
    """Return the blocks of `source`, or `source` as written if it cannot be parsed or would show
    nothing."""
    marks = sum(source.count(mark) for mark in MARKS)
    if len(source) > MAX_PARSED_CHARACTERS or source.count("\n") > MAX_LINES or marks > MAX_MARKS:
        return _as_written(source)
    try:
        coded = source.replace(_AMPERSAND, "").replace("&", _AMPERSAND)
        tokens = _parser.parse(coded)
        blocks = _blocks(tokens)
        if _can_have_table(source):
            blocks = _with_tables(coded, blocks)
    except Exception:  # the question must be shown even if the parser fails
        log.warning("a text could not be parsed as markdown", exc_info=True)
        return _as_written(source)
    too_deep = any(token.level >= MAX_BLOCK_DEPTH - 1 for token in tokens)
    return _as_written(source) if too_deep or not plain(blocks) else blocks


def _can_have_table(source: str) -> bool:
    lines = source.split("\n")
    most = max(line.count("|") for line in lines)
    return most > 0 and (most + 1) * len(lines) <= MAX_CELLS


def _with_tables(coded: str, blocks: tuple[tree.Block, ...]) -> tuple[tree.Block, ...]:
    """Return `blocks` with tables. Cells that a table's head has no column for would not be shown:
    then it stays as written."""
    with_tables = _blocks(_table_parser.parse(coded))
    shown, written = (plain(each).translate(_NO_FRAMES) for each in (with_tables, blocks))
    return with_tables if len(shown) == len(written) else blocks


def plain(blocks: Iterable[tree.Block]) -> str:
    """Return the blocks as one line of text, for titles, list rows and lock screens."""
    return " ".join(" ".join(map(_node_text, blocks)).split())


@lru_cache(maxsize=2 * CACHE_SIZE)
def headline(source: str) -> str:
    """Return a question as one line, for lists and summaries: its first paragraph, if that is long
    enough."""
    source = source[:HEADLINE_SOURCE]
    if _PLAIN.fullmatch(source):
        return " ".join(source.split())
    blocks = parse(source)
    first = plain(blocks[:1])
    asks = first.endswith("?") or len(first) >= HEADLINE_MIN_CHARACTERS
    return first if asks else plain(blocks)


# ── blocks ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Open:
    """A container that is not closed yet."""

    token: Token
    blocks: list[tree.Block] = field(default_factory=list)
    items: list[tuple[tree.Block, ...]] = field(default_factory=list)
    cells: list[tuple[tree.Inline, ...]] = field(default_factory=list)
    rows: list[tuple[tuple[tree.Inline, ...], ...]] = field(default_factory=list)


def _blocks(tokens: list[Token]) -> tuple[tree.Block, ...]:
    stack = [_Open(Token("root", "", 1))]
    for token in tokens:
        match token.type:
            case "inline" if stack[-1].token.type in ("th_open", "td_open"):
                stack[-2].cells.append(_inlines(token.children or []))
            case "inline":
                children = _inlines(token.children or [])
                if stack[-1].token.type == "heading_open":
                    children = (tree.Strong(children),) if children else ()
                if _text(children).strip():
                    stack[-1].blocks.append(tree.Paragraph(children))
            case "fence" | "code_block":
                language = _restored(token.info).split(maxsplit=1)[:1]
                text = _restored(token.content).removesuffix("\n")
                if text.strip():
                    stack[-1].blocks.append(tree.CodeBlock(text, language[0] if language else None))
            case _ if token.nesting == 1:
                stack.append(_Open(token))
            case _ if token.nesting == -1:
                _close(stack)
    return tuple(stack[0].blocks)


def _close(stack: list[_Open]) -> None:
    closed = stack.pop()
    parent = stack[-1]
    match closed.token.type:
        case "list_item_open":
            parent.items.append(tuple(closed.blocks))
        case "bullet_list_open":
            parent.blocks.append(tree.Items(tuple(closed.items)))
        case "ordered_list_open":
            start = int(closed.token.attrs.get("start", 1))
            parent.blocks.append(tree.Items(tuple(closed.items), start=start))
        case "blockquote_open":
            parent.blocks.append(tree.Quote(tuple(closed.blocks)))
        case "tr_open":
            stack[-2].rows.append(tuple(closed.cells))
        case "table_open":
            parent.blocks.append(_table(tuple(closed.rows)))
        case _:  # paragraphs and headings hold one inline token, which has become a block
            parent.blocks.extend(closed.blocks)


def _table(rows: tuple[tuple[tuple[tree.Inline, ...], ...], ...]) -> tree.Table:
    texts = [[" ".join(_text(cell).split()) for cell in row] for row in rows]
    widest = (max(map(len, column)) for column in zip(*texts, strict=True))
    widths = [min(width, MAX_COLUMN) for width in widest]
    lines = [
        " | ".join(map(str.ljust, row, widths)).rstrip()
        for row in (texts[0], ["-" * width for width in widths], *texts[1:])
    ]
    return tree.Table("\n".join(lines), rows=rows)


def _as_written(source: str) -> tuple[tree.Block, ...]:
    if not source.strip():
        return ()
    lines = source.splitlines()
    inlines: list[tree.Inline] = []
    for line in lines[:MAX_LINES]:
        inlines += [tree.Plain(line), tree.Break()]
    shown = tree.Paragraph(tuple(inlines[:-1]))
    # One block for all further lines: rendering two elements for each of 50,000 takes too long.
    rest = "\n".join(lines[MAX_LINES:])
    return (shown, tree.CodeBlock(rest)) if rest.strip() else (shown,)


# ── inlines ───────────────────────────────────────────────────────────────────────────────────────


def _inlines(tokens: list[Token], *, depth: int = 0) -> tuple[tree.Inline, ...]:
    """Marks nested deeper than MAX_INLINE_DEPTH are dropped, but not their text."""
    # A dropped mark shares its parent's list: copying the list would be quadratic.
    stack: list[tuple[Token | None, list[tree.Inline]]] = [(None, [])]
    for token in tokens:
        found = stack[-1][1]
        match token.type:
            case "text" if token.content:
                found.append(tree.Plain(_restored(token.content)))
            case "code_inline":
                found.append(tree.Code(_restored(token.content)))
            case "softbreak" | "hardbreak":
                if not _at_line_start(found):  # no blank lines: they push other text out of sight
                    found.append(tree.Break())
            case "image":
                inside = _inlines(token.children or [], depth=depth + len(stack))
                found.append(tree.Link(inside, _restored(str(token.attrs.get("src", "")))))
            case _ if token.nesting == 1:
                shallow = depth + len(stack) <= MAX_INLINE_DEPTH or token.type == "link_open"
                stack.append((token, []) if shallow else (None, found))
            case _ if token.nesting == -1:
                opened, children = stack.pop()
                if opened is not None:
                    stack[-1][1].append(_marked(opened, tuple(children)))
    return tuple(stack[0][1])


def _at_line_start(found: list[tree.Inline]) -> bool:
    """Whether nothing visible follows the last break."""
    while found and isinstance(found[-1], tree.Plain | tree.Code) and not found[-1].text.strip():
        found.pop()
    return not found or isinstance(found[-1], tree.Break)


def _marked(opened: Token, children: tuple[tree.Inline, ...]) -> tree.Inline:
    match opened.type:
        case "strong_open":
            return tree.Strong(children)
        case "em_open":
            return tree.Emphasis(children)
        case _ if opened.markup == "autolink":
            # The parser adds "mailto:" to the address.
            return tree.Link(children, _text(children))
        case _:
            return tree.Link(children, _restored(str(opened.attrs.get("href", ""))))


def _restored(text: str) -> str:
    return text.replace(_AMPERSAND, "&")


# ── text ──────────────────────────────────────────────────────────────────────────────────────────


def _text(nodes: Iterable[tree.Block | tree.Inline]) -> str:
    return "".join(map(_node_text, nodes))


def _node_text(node: tree.Block | tree.Inline) -> str:
    match node:
        case tree.Table(rows=rows):
            return "; ".join(", ".join(map(_text, row)) for row in rows)
        case tree.Plain() | tree.Code() | tree.CodeBlock():
            return node.text
        case tree.Break():
            return " "
        case tree.Strong() | tree.Emphasis() | tree.Paragraph():
            return _text(node.children)
        case tree.Link(children=inside, address=address):
            text = _text(inside)
            return text if text == address else f"{text} ({address})"
        case tree.Quote(children=blocks):
            return plain(blocks)
        case tree.Items(items=items, start=None):
            return " ".join(f"- {plain(item)}" for item in items)
        case tree.Items(items=items, start=int(start)):
            return " ".join(f"{number}. {plain(item)}" for number, item in enumerate(items, start))
    raise AssertionError(node)
