"""A question's markdown as Matrix's HTML and as plain text, and where it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.document import Markdown, Name, Untrusted, paragraph
from chatbridge.channels.matrix.render.html import Words, size, write
from chatbridge.core.text import clipped, visible
from tests import strategies as some
from tests.matrix_asks import html_text
from tests.telegram_strategies import long_texts


def shown(source: str, room: int | None = None) -> Words:
    return write((Markdown(source=source, limit=room, left_out="[end]"),), now=0.0)


@pytest.mark.parametrize(
    ("source", "html", "body"),
    [
        ("Really?", "<p><strong>Really?</strong></p>", "Really?"),
        ("x" * 201, f"<p>{'x' * 201}</p>", "x" * 201),
        ("a <p> & c", "<p><strong>a &lt;p&gt; &amp; c</strong></p>", "a <p> & c"),
        ("is **this** *it*?", "<p><strong>is this <em>it</em>?</strong></p>", "is this it?"),
        ("a\n\n**b** `c`", "<p><strong>a</strong></p><p><strong>b</strong> <code>c</code></p>", 0),
        ("a\nb", "<p><strong>a<br>b</strong></p>", "a\nb"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>', "3. a\n4. b"),
        ("- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>", "- a\n  - b"),
        ("- a\n\n  b", "<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  b"),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>", 0),
        ("> a\n>\n> b", "<blockquote><p>a</p><p>b</p></blockquote>", "> a\n> b"),
        ("```sql\nx < 1\n```", '<pre><code class="language-sql">x &lt; 1</code></pre>', "x < 1"),
        ('```"><x\na\n```', "<pre><code>a</code></pre>", "a"),
    ],
)
def test_markdown_becomes_a_few_tags_and_readable_text(
    source: str, html: str, body: str | int
) -> None:
    words = shown(source)
    assert words.html == html
    assert body == 0 or words.body == body
    html_text(words.html)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (
            "[here](https://example.org/?a=1&b=2)",
            "here <code>https://example.org/?a=1&amp;b=2</code>",
        ),
        ("![cat](https://example.org/cat.png)", "cat <code>https://example.org/cat.png</code>"),
        ("<https://example.org>", "<code>https://example.org</code>"),
        ("see https://example.org/x now", "see <code>https://example.org/x</code> now"),
        ("www.example.org", "<code>www.example.org</code>"),
        (
            "[@ada](https://matrix.to/#/@ada:example.org)",
            "@ada <code>https://matrix.to/#/@ada:example.org</code>",
        ),
    ],
)
def test_an_address_is_shown_whole_and_links_nowhere(source: str, html: str) -> None:
    words = shown(source)
    assert words.html == f"<p><strong>{html}</strong></p>"
    assert "<" not in words.body


def test_a_label_has_its_address_as_code_and_stays_apart() -> None:
    words = write(paragraph(Name("see https://a.b/<x>")), now=0.0)
    assert words.html == "<p>\u2068see <code>https://a.b/&lt;x&gt;</code>\u2069</p>"
    assert words.body == "\u2068see https://a.b/<x>\u2069"


def test_a_question_that_does_not_fit_is_cut_between_paragraphs() -> None:
    source = "\n\n".join(f"Paragraph {i} " + "x" * 300 for i in range(20))
    words = shown(source, 3_000)
    *kept, last = words.body.split("\n\n")
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


@given(long_texts | some.words.map(visible))
def test_a_whole_question_says_the_same_in_html_and_in_its_body(source: str) -> None:
    words = shown(source)
    in_html = "".join(html_text(words.html.replace("<br>", "")).split())
    body = "".join(words.body.split())
    # The body alone has the marks of lists and quotes.
    letters = [char for char in in_html if char.isalpha()]
    assert [char for char in body if char.isalpha()] == letters


@given(st.text(max_size=60), st.integers(2, 40))
def test_a_clipped_text_counts_an_emoji_as_two(text: str, limit: int) -> None:
    cut = clipped(text, limit)
    assert len(cut.encode("utf-16-le", "surrogatepass")) // 2 <= limit
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


@given(some.texts)
def test_nothing_that_is_not_ours_can_be_a_tag(text: str) -> None:
    assert html_text(write(paragraph(Untrusted(text)), now=0.0).html).replace(
        "\n", ""
    ) == text.replace("\n", "")
