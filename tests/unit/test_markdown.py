"""Markdown as agents write it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge import markdown
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
    Table,
)
from chatbridge.markdown import (
    HEADLINE_SOURCE,
    MAX_LINES,
    MAX_MARKS,
    headline,
    parse,
    plain,
)
from tests import strategies as some

SIGNS = st.sampled_from("[]()*_`#<>\\&!~a \n")
PIECES = st.sampled_from(
    [
        "**",
        "```",
        "![",
        "](",
        "|",
        "\n|-|\n",
        "\n|-|-|\n|",
        "&amp;",
        "&#x202e;",
        "---",
        "<b>",
        "<http://x/>",
        "<a@b.c>",
    ]
)
LINE_STARTS = st.sampled_from(["\n\n", "\n> ", "\n- ", "\n1. ", "\n    ", "\n# "])
sources = st.lists(SIGNS | PIECES | LINE_STARTS, max_size=30).map("".join) | some.texts


def paragraph(*inlines: Inline) -> tuple[Block, ...]:
    return (Paragraph(inlines),)


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        ("", ()),
        ("  \n ", ()),
        ("a `b` c", paragraph(Plain("a "), Code("b"), Plain(" c"))),
        ("**a *b***", paragraph(Strong((Plain("a "), Emphasis((Plain("b"),)))))),
        (
            "one\ntwo  \nthree",
            paragraph(Plain("one"), Break(), Plain("two"), Break(), Plain("three")),
        ),
        ("# Title", paragraph(Strong((Plain("Title"),)))),
        ("a\n\n---\n\nb", (Paragraph((Plain("a"),)), Paragraph((Plain("b"),)))),
        ("```py extra\nx = 1\n\n```", (CodeBlock("x = 1\n", "py"),)),
        ("    x", (CodeBlock("x"),)),
        ("> a", (Quote(paragraph(Plain("a"))),)),
        ("- a\n- b", (Items((paragraph(Plain("a")), paragraph(Plain("b")))),)),
        ("3) a", (Items((paragraph(Plain("a")),), start=3),)),
        (
            "- a\n  1. b",
            (Items(((*paragraph(Plain("a")), Items((paragraph(Plain("b")),), start=1)),)),),
        ),
        (
            "| a | b |\n|---|--:|\n| `long` | **1** |\n| c |",
            (
                Table(
                    "a    | b\n---- | -\nlong | 1\nc    |",
                    rows=(
                        ((Plain("a"),), (Plain("b"),)),
                        ((Code("long"),), (Strong((Plain("1"),)),)),
                        ((Plain("c"),), ()),
                    ),
                ),
            ),
        ),
        ("~~a~~", paragraph(Plain("~~a~~"))),
    ],
)
def test_basic_markdown_becomes_the_tree(source: str, blocks: tuple[Block, ...]) -> None:
    assert parse(source) == blocks


@pytest.mark.parametrize(
    ("source", "link"),
    [
        ("[docs](https://x.y/a?b=c&d=é#f)", Link((Plain("docs"),), "https://x.y/a?b=c&d=é#f")),
        ('[docs](<a b> "title")', Link((Plain("docs"),), "a b")),
        ("<https://x.y/é>", Link((Plain("https://x.y/é"),), "https://x.y/é")),
        ("<a@b.c>", Link((Plain("a@b.c"),), "a@b.c")),
        ("![alt](pic.png)", Link((Plain("alt"),), "pic.png")),
    ],
)
def test_a_link_keeps_its_whole_address_as_written(source: str, link: Link) -> None:
    assert parse(source) == paragraph(link)


@pytest.mark.parametrize(
    "source",
    [
        "<b>bold</b> <script>alert(1)</script>",
        "&amp; &#x202e; &zwj;",
        "[a](javascript:alert(1))",
        "[x]: https://hidden.example",
        "https://bare.example",
        "***",
        ">" * 30 + " deep",
        "- " * 30 + "deep",
    ],
)
def test_what_is_not_understood_is_shown_as_written(source: str) -> None:
    assert parse(source) == paragraph(Plain(source))


@pytest.mark.parametrize("mark", ["[", "![[", "*_", "\\["])
def test_a_text_of_nothing_but_marks_is_shown_as_written(mark: str) -> None:
    source = mark * (MAX_MARKS // len(mark) + 1)
    assert parse(source) == paragraph(Plain(source))


@pytest.mark.parametrize(
    "rows",
    [
        "| a |\n|---|\n| b | ✓ |",
        "| a |\n|---|\n| b | more |",
        "|a" * 99 + "\n" + "|-" * 99 + "\n|a" * 9,
    ],
)
def test_a_table_that_would_hide_a_cell_or_has_too_many_is_shown_as_written(rows: str) -> None:
    (shown,) = parse(rows)
    assert isinstance(shown, Paragraph)
    assert [node.text for node in shown.children if isinstance(node, Plain)] == rows.split("\n")


def test_html_over_several_lines_is_shown_as_written() -> None:
    assert plain(parse("<div>\n<b>x</b>\n</div>")) == "<div> <b>x</b> </div>"


def test_an_entity_cannot_hide_in_an_address() -> None:
    assert parse("[a](b&#x202e;c)") == paragraph(Link((Plain("a"),), "b&#x202e;c"))


def test_a_text_that_breaks_the_parser_is_shown_as_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: str) -> None:
        raise RecursionError

    monkeypatch.setattr(markdown._parser, "parse", broken)
    with caplog.at_level(logging.WARNING):
        assert parse("a *b*\nc") == paragraph(Plain("a *b*"), Break(), Plain("c"))
    assert "could not be parsed" in caplog.text


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("# A\n\nb\nc", "A b c"),
        ("- a\n- b\n\n7. c\n8. d", "- a - b 7. c 8. d"),
        ("> q\n\n```\nx\ny\n```", "q x y"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b; 1, 2"),
        ("[docs](https://x.y) <https://z>", "docs (https://x.y) https://z"),
    ],
)
def test_plain_is_one_line(source: str, line: str) -> None:
    assert plain(parse(source)) == line


@given(sources)
def test_nothing_breaks_the_parser_and_no_character_is_made_up(source: str) -> None:
    blocks = parse(source)
    made_up = set("".join(leaves(blocks))) - set(source) - set(" \n\ufffd")  # NUL, tab, line ends
    assert not made_up
    assert bool(plain(blocks)) == bool(source.strip())
    assert len(plain(blocks).splitlines()) <= 1


@pytest.mark.parametrize("opening", ["*a ", "**", "[", "![", "> ", "- ", "`", "> - ", "_a *b "])
def test_hostile_nesting_stays_shallow(opening: str) -> None:
    source = opening * 1_000 + "x" + opening[::-1] * 1_000
    assert max(map(depth, parse(source))) < 50


def leaves(nodes: Iterable[Block | Inline]) -> Iterable[str]:
    for node in nodes:
        match node:
            case Plain(text=text) | Code(text=text):
                yield text
            case CodeBlock(text=text, language=language):
                yield text + (language or "")
            case Link(address=address):
                yield address
        yield from leaves(inside(node))


def depth(node: Block | Inline) -> int:
    return 1 + max(map(depth, inside(node)), default=0)


def inside(node: Block | Inline) -> tuple[Block | Inline, ...]:
    match node:
        case Items(items=items):
            return tuple(block for item in items for block in item)
        case Paragraph() | Quote() | Strong() | Emphasis() | Link():
            return node.children
        case _:
            return ()


@given(st.text(st.sampled_from("ab 1.)!&#>-+=~|:/\t\"'?") | st.characters(), max_size=30))
def test_a_headline_without_marks_is_what_parsing_would_make_of_it(source: str) -> None:
    blocks = parse(f"x{source}")
    assert headline(f"x{source}") in (plain(blocks), plain(blocks[:1]))


def test_a_text_of_very_many_lines_is_shown_as_written_in_few_blocks() -> None:
    first, rest = parse("- a\n" * 50_000)
    assert isinstance(first, Paragraph)
    assert len(first.children) == 2 * MAX_LINES - 1
    assert rest == CodeBlock("\n".join(["- a"] * (50_000 - MAX_LINES)))


def test_a_headline_is_made_of_the_beginning_alone() -> None:
    assert len(headline("**word** " * 20_000)) <= HEADLINE_SOURCE


def test_a_table_with_one_very_wide_cell_is_not_much_longer_than_its_source() -> None:
    source = f"|a|b|\n|-|-|\n|{'x' * 15_000}|y|\n" + "|q|z|\n" * 240
    (table,) = parse(source)
    assert isinstance(table, Table)
    assert len(table.text) < 2 * len(source)
    assert table.text.splitlines()[2] == f"{'x' * 15_000} | y"
