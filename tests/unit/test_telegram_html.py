"""A question's markdown as Telegram's HTML, and where a text is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.runs import Run, Text, blocks, cut, joined, pieces, width
from chatbridge.channels.telegram.render.html import escape, length, plain_text, readable, to_html
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.text import clipped, isolated, visible
from chatbridge.markdown import headline
from tests.telegram_asks import HOUR, NOW, read, time_tag
from tests.telegram_strategies import long_texts


def shown(source: str, *, whole: bool = False) -> str:
    return to_html(joined(blocks(source, whole=whole)))


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("Really?", "<b>Really?</b>"),
        ("x" * 201, "x" * 201),
        ("a <b> & c", "<b>a &lt;b&gt; &amp; c</b>"),
        ("is **this** *it*?", "<b>is this <i>it</i>?</b>"),
        ("use `SKIP` now", "<b>use </b><code>SKIP</code><b> now</b>"),
        ("- a\n- b", "• a\n• b"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("1. a\n2.\n3. c", "1. a\n2. \n3. c"),
        ("- a\n  - b\n    more\n- c", "• a\n   • b\n      more\n• c"),
        ("> a\n> > b", "<blockquote>a\n\nb</blockquote>"),
        ("```sql\nSELECT 1\n```", '<pre><code class="language-sql">SELECT 1</code></pre>'),
        ("```<x>\na\n```", "<pre>a</pre>"),
        ("- \n  ```\n  a\n  ```\n- b", "• \n<pre>a</pre>\n• b"),
        ("a\n\n```\nb\n```\n\nc", "<b>a</b>\n<pre>b</pre>\nc"),
        (
            "[here](https://example.org/?a=1&b=2)",
            "<b>here </b><code>https://example.org/?a=1&amp;b=2</code>",
        ),
        ("<https://example.org>", "<code>https://example.org</code>"),
        ("a\nb", "<b>a\nb</b>"),
    ],
)
def test_markdown_becomes_the_few_tags_there_are(source: str, html: str) -> None:
    assert shown(source) == html
    read(html)


def test_long_code_is_shown_by_its_ends() -> None:
    source = "```\n" + "\n".join(f"line {i}" for i in range(1, 57)) + "\n```"
    html = shown(source)
    assert html.startswith("<pre>line 1\n")
    assert "line 12</pre>\n… 38 lines …\n<pre>line 51\n" in html
    assert "38 lines" not in shown(source, whole=True)


@given(long_texts)
def test_all_markdown_is_html_that_telegram_takes(source: str) -> None:
    for piece in pieces(joined(blocks(visible(source), whole=True)), 4096):
        read(readable(to_html(piece)))


def test_a_source_that_is_too_long_for_a_server_goes_without_tags() -> None:
    html = "<b>&amp;</b>" * 4_000
    assert readable(html) == "&amp;" * 4_000
    assert readable("<b>&amp;</b>") == "<b>&amp;</b>"


@given(st.text())
def test_a_text_comes_back_from_html_as_it_was(text: str) -> None:
    assert plain_text(f"<b>{escape(text)}</b>") == text
    assert length(f"<b>{escape(text)}</b>") == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_a_length_counts_what_telegram_counts() -> None:
    assert length("<b>a</b>&amp;") == 2
    assert length("😀") == 2


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
    assert [to_html(piece) for piece in pieces(paragraphs, 40)] == [
        "a" * 30,
        "b" * 30,
        "c" + "d" * 39,
        "d" * 40,
        "d",
    ]


def test_a_cut_goes_through_no_character() -> None:
    assert clipped("😀😀😀", 4) == "😀…"
    assert clipped("😀😀", 4) == "😀😀"


def test_tags_are_closed_where_a_text_is_cut() -> None:
    code = (Run("a\n" * 40 + "a", ("pre", 'code class="language-x"')),)
    for piece in pieces(code, 30):
        html = to_html(piece)
        assert html.startswith('<pre><code class="language-x">a')
        assert html.endswith("a</code></pre>")


# ── lines and times ───────────────────────────────────────────────────────────────────────────────


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


def test_isolated_text_has_an_invisible_fence() -> None:
    assert isolated("x") == "\u2068x\u2069"
