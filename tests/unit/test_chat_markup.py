"""An agent's markdown in each chat's markup, and where a text is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.document import Markdown, Name, Untrusted, paragraph
from chatbridge.channels.chat.runs import Run, Text, blocks, cut, joined, pieces, units, width
from chatbridge.channels.matrix.render.html import Words, size
from chatbridge.channels.matrix.render.html import write as matrix
from chatbridge.channels.telegram.render.html import (
    escape,
    plain_text,
    to_html,
)
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.text import clipped, isolated, visible
from chatbridge.markdown import headline
from tests import strategies as some
from tests.matrix_asks import html_text
from tests.telegram_asks import HOUR, NOW, read, time_tag
from tests.telegram_html import write as telegram
from tests.telegram_strategies import long_texts


def shown(source: str, room: int | None = None) -> Words:
    return matrix((Markdown(source=source, limit=room, left_out="[end]"),), now=0.0)


@pytest.mark.parametrize(
    ("source", "html", "in_matrix", "body"),
    [
        ("Really?", "<b>Really?</b>", "<p><strong>Really?</strong></p>", "Really?"),
        ("x" * 201, "x" * 201, f"<p>{'x' * 201}</p>", "x" * 201),
        (
            "a <p> & c",
            "<b>a &lt;p&gt; &amp; c</b>",
            "<p><strong>a &lt;p&gt; &amp; c</strong></p>",
            "a <p> & c",
        ),
        (
            "is **this** *it*?",
            "<b>is this <i>it</i>?</b>",
            "<p><strong>is this <em>it</em>?</strong></p>",
            "is this it?",
        ),
        (
            "use `SKIP` now\n\n**b**",
            "<b>use </b><code>SKIP</code><b> now</b>\n\n<b>b</b>",
            "<p><strong>use <code>SKIP</code> now</strong></p><p><strong>b</strong></p>",
            "use SKIP now\n\nb",
        ),
        ("a\nb", "<b>a\nb</b>", "<p><strong>a<br>b</strong></p>", "a\nb"),
        ("- a\n- b", "• a\n• b", "<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        (
            "3. a\n4. b",
            "3. a\n4. b",
            '<ol start="3"><li>a</li><li>b</li></ol>',
            "3. a\n4. b",
        ),
        (
            "1. a\n2.\n3. c",
            "1. a\n2. \n3. c",
            "<ol><li>a</li><li></li><li>c</li></ol>",
            "1. a\n2. \n3. c",
        ),
        (
            "- a\n  - b\n    more\n- c",
            "• a\n   • b\n      more\n• c",
            "<ul><li>a<ul><li>b<br>more</li></ul></li><li>c</li></ul>",
            "- a\n  - b\n    more\n- c",
        ),
        ("- a\n\n  b", "• a\n   b", "<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  b"),
        (
            "> a\n> > b",
            "<blockquote>a\n\nb</blockquote>",
            "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
            "> a\n> > b",
        ),
        (
            "> a\n>\n> b",
            "<blockquote>a\n\nb</blockquote>",
            "<blockquote><p>a</p><p>b</p></blockquote>",
            "> a\n> b",
        ),
        (
            "```sql\nx < 1\n```",
            '<pre><code class="language-sql">x &lt; 1</code></pre>',
            '<pre><code class="language-sql">x &lt; 1</code></pre>',
            "x < 1",
        ),
        ('```"><x\na\n```', "<pre>a</pre>", "<pre><code>a</code></pre>", "a"),
        (
            "| a | <b> |\n|---|---|\n| long | 1 |",
            "<pre>a    | &lt;b&gt;\n---- | ---\nlong | 1</pre>",
            "<pre><code>a    | &lt;b&gt;\n---- | ---\nlong | 1</code></pre>",
            "a    | <b>\n---- | ---\nlong | 1",
        ),
        (
            "- \n  ```\n  a\n  ```\n- b",
            "• \n<pre>a</pre>\n• b",
            "<ul><li><pre><code>a</code></pre></li><li>b</li></ul>",
            "- a\n- b",
        ),
        (
            "a\n\n```\nb\n```\n\nc",
            "<b>a</b>\n<pre>b</pre>\nc",
            "<p><strong>a</strong></p><pre><code>b</code></pre><p>c</p>",
            "a\n\nb\n\nc",
        ),
    ],
)
def test_markdown_becomes_a_few_tags_and_readable_text(
    source: str, html: str, in_matrix: str, body: str
) -> None:
    assert telegram((Markdown(source=source),), now=0.0) == html
    read(html)
    words = shown(source)
    assert (words.html, words.body) == (in_matrix, body)
    html_text(words.html)


@pytest.mark.parametrize(
    ("source", "before", "address"),
    [
        ("[here](https://example.org/?a=1&b=2)", "here ", "https://example.org/?a=1&amp;b=2"),
        ("![cat](https://example.org/cat.png)", "cat ", "https://example.org/cat.png"),
        ("<https://example.org>", "", "https://example.org"),
        (
            "[@ada](https://matrix.to/#/@ada:example.org)",
            "@ada ",
            "https://matrix.to/#/@ada:example.org",
        ),
    ],
)
def test_an_address_is_shown_whole_and_links_nowhere(
    source: str, before: str, address: str
) -> None:
    bold = f"<b>{before}</b>" if before else ""
    assert telegram((Markdown(source=source),), now=0.0) == f"{bold}<code>{address}</code>"
    words = shown(source)
    assert words.html == f"<p><strong>{before}<code>{address}</code></strong></p>"
    assert "<" not in words.body


def test_matrix_shows_bare_addresses_as_code_which_nobody_links() -> None:
    code = "see <code>https://example.org/x</code> now"
    assert shown("see https://example.org/x now").html == f"<p><strong>{code}</strong></p>"
    assert "<code>www.example.org</code>" in shown("www.example.org").html
    words = matrix(paragraph(Name("see https://a.b/<x>")), now=0.0)
    assert words.html == "<p>\u2068see <code>https://a.b/&lt;x&gt;</code>\u2069</p>"
    assert words.body == "\u2068see https://a.b/<x>\u2069"


def test_long_code_is_shown_by_its_ends() -> None:
    source = "```\n" + "\n".join(f"line {i}" for i in range(1, 57)) + "\n```"
    html = telegram((Markdown(source=source),), now=0.0)
    assert html.startswith("<pre>line 1\n")
    assert "line 12</pre>\n… 38 lines …\n<pre>line 51\n" in html
    assert "38 lines" not in telegram((Markdown(source=source, whole=True),), now=0.0)


@given(long_texts)
def test_all_markdown_is_html_that_telegram_takes(source: str) -> None:
    for piece in pieces(joined(blocks(visible(source), whole=True)), 4096):
        read(to_html(piece))


@given(long_texts | some.words.map(visible))
def test_a_whole_question_says_the_same_in_html_and_in_its_body(source: str) -> None:
    words = shown(source)
    in_html = "".join(html_text(words.html.replace("<br>", "")).split())
    body = "".join(words.body.split())
    # The body alone has the marks of lists and quotes.
    letters = [char for char in in_html if char.isalpha()]
    assert [char for char in body if char.isalpha()] == letters


@given(some.texts)
def test_nothing_that_is_not_ours_can_be_a_tag(text: str) -> None:
    words = matrix(paragraph(Untrusted(text)), now=0.0)
    assert html_text(words.html).replace("\n", "") == text.replace("\n", "")


# ── Telegram's HTML ───────────────────────────────────────────────────────────────────────────────


def test_a_source_that_is_too_long_for_a_server_goes_without_tags() -> None:
    bold, plain = Run("&", ("b",)), Run("")
    assert to_html((bold, plain) * 4_000) == "&amp;" * 4_000
    assert to_html((bold,)) == "<b>&amp;</b>"


@given(st.text())
def test_a_text_comes_back_from_html_as_it_was(text: str) -> None:
    assert plain_text(f"<b>{escape(text)}</b>") == text
    assert (
        units(plain_text(f"<b>{escape(text)}</b>"))
        == len(text.encode("utf-16-le", "surrogatepass")) // 2
    )


@pytest.mark.parametrize(
    ("away", "form"),
    [(HOUR, "t"), (-HOUR, "t"), (21 * HOUR, "wt"), (-21 * HOUR, "wt"), (400 * HOUR, "dt")],
)
def test_a_time_names_the_day_where_it_could_be_another(away: float, form: str) -> None:
    tag = time_tag(NOW + away, now=NOW)
    (entity,) = read(tag).entities
    assert (entity.unix_time, entity.date_time_format) == (NOW + away, form)
    assert clock_time(NOW + away) in plain_text(tag)


def test_times_of_one_minute_are_written_the_same_so_that_no_edit_tells_them_apart() -> None:
    assert time_tag(NOW + HOUR + 55, now=NOW + 55) == time_tag(NOW + HOUR, now=NOW)


# ── cuts ──────────────────────────────────────────────────────────────────────────────────────────

_runs = st.builds(
    Run, st.text("ab \n😀e\u0301", max_size=40), st.sampled_from([(), ("b",), ("b", "i"), ("pre",)])
)
_texts = st.lists(_runs, max_size=8).map(tuple)


def squeezed(*texts: Text) -> str:
    return re.sub(r"\s", "", "".join(run.text for text in texts for run in text))


@given(_texts, st.integers(4, 50))
def test_pieces_are_short_enough_and_lose_nothing(text: Text, limit: int) -> None:
    found = pieces(text, limit)
    assert all(0 < width(piece) <= limit for piece in found if squeezed(piece))
    assert squeezed(*found) == squeezed(text)


@given(_texts, st.integers(4, 50))
def test_a_cut_text_says_so(text: Text, limit: int) -> None:
    found = cut(text, limit)
    assert width(found) <= limit
    assert found == text or found[-1] == Run("…")


def test_a_text_is_cut_between_paragraphs_then_lines_then_characters() -> None:
    paragraphs = (Run("a" * 30 + "\n\n" + "b" * 30 + "\nc" + "d" * 80),)
    cut_up = ["a" * 30, "b" * 30, "c" + "d" * 39, "d" * 40, "d"]
    assert [to_html(piece) for piece in pieces(paragraphs, 40)] == cut_up


def test_tags_are_closed_where_a_text_is_cut() -> None:
    code = (Run("a\n" * 40 + "a", ("pre", 'code class="language-x"')),)
    for piece in pieces(code, 30):
        html = to_html(piece)
        assert html.startswith('<pre><code class="language-x">a')
        assert html.endswith("a</code></pre>")


def test_a_question_that_does_not_fit_is_cut_between_paragraphs() -> None:
    source = "\n\n".join(f"Paragraph {i} " + "x" * 300 for i in range(20))
    *kept, last = shown(source, 3_000).body.split("\n\n")
    assert last == "[end]"
    assert kept == source.split("\n\n")[: len(kept)]
    assert 2 <= len(kept) < 20
    assert shown(source, 30_000).body == source


def test_one_large_paragraph_is_cut_at_a_line_if_it_has_one() -> None:
    lines = shown("\n".join(["x" * 50] * 400), 3_000).body
    assert set(lines.removesuffix("…\n\n[end]").split("\n")) == {"x" * 50}
    words = shown("x" * 50_000, 3_000)
    assert words.body.endswith("x…\n\n[end]")
    assert 2_000 < size(words) < 3_200


@given(long_texts | some.words.map(visible), st.integers(300, 10_000))
def test_any_question_is_well_formed_and_fits_its_room(source: str, room: int) -> None:
    words = shown(source, room)
    html_text(words.html)
    assert size(words) <= room + 100
    assert words.body


@given(st.text(max_size=60), st.integers(2, 40))
def test_a_clipped_text_counts_an_emoji_as_two(text: str, limit: int) -> None:
    found = clipped(text, limit)
    assert len(found.encode("utf-16-le", "surrogatepass")) // 2 <= limit
    assert found == text or (found.endswith("…") and text.startswith(found[:-1]))
    assert [clipped("😀😀😀", 4), clipped("😀😀", 4)] == ["😀…", "😀😀"]
    assert isolated("x") == "\u2068x\u2069"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("Which **one**?\n\nThere are two.", "Which one?"),
        ("# Plan\n\nIs it good?", "Plan Is it good?"),
        (
            "The suite runs on SQLite, which is slow.\n\nMore",
            "The suite runs on SQLite, which is slow.",
        ),
    ],
)
def test_a_headline_is_the_first_paragraph_that_says_enough(source: str, line: str) -> None:
    assert headline(source) == line
