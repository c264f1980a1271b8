"""Telegram's HTML in the test server: the real one's entities, and its errors to the byte."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.telegram.entities import Entity, Formatted, formatted, width
from tests.fakes.telegram.html import parse_html
from tests.fakes.telegram.replies import Refusal

PREFIX = "Bad Request: can't parse entities: "


def shown(source: str) -> Formatted:
    return formatted(*parse_html(source))


def pieces(source: str) -> list[tuple[str, str]]:
    message = shown(source)
    return [(entity.type, entity.of(message.text)) for entity in message.entities]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("hello <x>there</x>", 'Unsupported start tag "x" at byte offset 6'),
        ("ünï <p>", 'Unsupported start tag "p" at byte offset 6'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("a <b", "Unclosed start tag at byte offset 2"),
        ("<b>bold", 'Can\'t find end tag corresponding to start tag "b"'),
        ("</b>", "Unexpected end tag at byte offset 0"),
        (
            "<b><i>x</b></i>",
            'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"',
        ),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ("<a ='x'>y</a>", 'Empty attribute name in the tag "a" at byte offset 0'),
        ("<a href>y", 'Can\'t find end tag corresponding to start tag "a"'),
        ("<a href=", 'Unclosed start tag "a" at byte offset 0'),
        ('<a href="x', "Unclosed start tag at byte offset 0"),
        ("<a href=a/b>y</a>", "Unexpected end of name token at byte offset 8"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ("<tg-emoji emoji-id=x>y</tg-emoji>", "Invalid custom emoji identifier specified"),
        ('<tg-time unix="5" format="q">y</tg-time>', "Invalid date format used"),
        (
            "x &#xd800; y",
            "Text contains invalid Unicode characters after decoding HTML entities, check for "
            "unmatched surrogate code units",
        ),
    ],
)
def test_wrong_html_is_refused_in_telegrams_words(source: str, complaint: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_html(source)

    assert refused.value.description == PREFIX + complaint
    assert refused.value.status == 400


def test_every_tag_becomes_its_entity() -> None:
    assert pieces(
        "<b>1</b> <strong>2</strong> <i>3</i> <em>4</em> <u>5</u> <ins>6</ins> <s>7</s> "
        "<strike>8</strike> <del>9</del> <span class='tg-spoiler'>10</span> "
        "<tg-spoiler>11</tg-spoiler> <code>12</code> <blockquote>13</blockquote> "
        "<blockquote expandable>14</blockquote> <pre>15</pre>"
    ) == [
        ("bold", "1"),
        ("bold", "2"),
        ("italic", "3"),
        ("italic", "4"),
        ("underline", "5"),
        ("underline", "6"),
        ("strikethrough", "7"),
        ("strikethrough", "8"),
        ("strikethrough", "9"),
        ("spoiler", "10"),
        ("spoiler", "11"),
        ("code", "12"),
        ("blockquote", "13"),
        ("expandable_blockquote", "14"),
        ("pre", "15"),
    ]


def test_arguments_reach_their_entities() -> None:
    message = shown(
        '<a href="https://a.example/?x=1&amp;y=2">link</a> <a href="tg://user?id=7">Ada</a> '
        '<a href="javascript:x">none</a> '
        '<pre><code class="language-python">x = 1</code></pre> '
        '<code class="language-python">y</code> '
        '<tg-time unix="1794782700" format="t">22:45</tg-time>'
    )

    assert message.text == "link Ada none x = 1 y 22:45"
    assert message.entities == (
        Entity(type="text_link", offset=0, length=4, url="https://a.example/?x=1&y=2"),
        Entity(type="text_mention", offset=5, length=3, user=7),
        Entity(type="pre", offset=14, length=5, language="python"),
        Entity(type="code", offset=20, length=1),
        Entity(type="date_time", offset=22, length=5, unix_time=1794782700, date_time_format="t"),
    )


def test_an_older_server_knows_no_times() -> None:
    with pytest.raises(Refusal, match='Unsupported start tag "tg-time" at byte offset 2'):
        parse_html('x <tg-time unix="5">y</tg-time>', times=False)


def test_only_four_names_and_numbers_are_references() -> None:
    assert shown("&lt;&gt;&amp;&quot;&#65;&#x42; &nbsp; &apos; & &lt &#0;").text == (
        '<>&"AB &nbsp; &apos; & < &#0;'
    )


def test_code_takes_no_other_formatting() -> None:
    message = shown("<b>a <code>b</code> c</b> <code>d <i>e</i></code>")

    assert [(it.type, it.of(message.text)) for it in message.entities] == [
        ("bold", "a "),
        ("code", "b"),
        ("bold", " c"),
        ("code", "d e"),
    ]
    assert [it.type for it in message.lost] == ["italic"]


def test_a_quote_inside_a_quote_is_lost() -> None:
    message = shown("<blockquote>a <blockquote>b</blockquote></blockquote>")

    assert [it.type for it in message.entities] == ["blockquote"]
    assert [it.of(message.text) for it in message.lost] == ["b"]


def test_a_quote_holds_code_and_links() -> None:
    assert pieces("<blockquote><pre>x</pre></blockquote>") == [("blockquote", "x"), ("pre", "x")]


def test_commands_and_addresses_are_found_outside_code() -> None:
    assert pieces("/start now, see https://a.example/x. <code>/cancel</code> a/b @somebody") == [
        ("bot_command", "/start"),
        ("url", "https://a.example/x"),
        ("code", "/cancel"),
        ("mention", "@somebody"),
    ]


def test_blanks_around_the_text_go_and_entities_move_along() -> None:
    message = shown(" \n <b>x</b> y \n\n")

    assert message.text == "x y"
    assert message.entities == (Entity(type="bold", offset=0, length=1),)


def test_blanks_inside_the_first_entity_stay() -> None:
    assert shown("  <b> x</b>").text == " x"


def test_direction_overrides_and_control_characters_do_not_survive() -> None:
    message = shown("a\u202e\r<b>b\x07c</b>")

    assert message.text == "ab c"
    assert message.entities == (Entity(type="bold", offset=1, length=3),)


@pytest.mark.parametrize("source", [" ", "\n\n", "<b> </b>", "<b></b>", "\u200b", "&#32;"])
def test_a_text_of_nothing_is_refused(source: str) -> None:
    with pytest.raises(Refusal, match="Bad Request: text must be non-empty"):
        shown(source)


def test_offsets_count_utf_16_units() -> None:
    assert shown("😀<b>é😀</b>").entities == (Entity(type="bold", offset=2, length=3),)
    assert width("😀é") == 3


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(TEXT)
def test_escaped_text_is_always_taken_and_shown_as_it_is(text: str) -> None:
    assert parse_html(escape(text, quote=False))[0] == text


@given(st.text(st.sampled_from("ab<>/&;=\"' #x😀\n-"), max_size=40))
def test_any_source_is_taken_or_refused_with_a_reason(source: str) -> None:
    complaint, text, entities = PREFIX, "", list[Entity]()
    try:
        text, entities = parse_html(source)
    except Refusal as error:
        complaint = error.description

    assert complaint.startswith(PREFIX)
    assert all(0 <= it.offset < it.end <= width(text) for it in entities)


TREE = st.recursive(
    TEXT.map(lambda text: (escape(text, quote=False), text)),
    lambda children: st.tuples(st.sampled_from("biusa"), st.lists(children, max_size=3)).map(
        lambda node: (
            f"<{node[0]}>" + "".join(child[0] for child in node[1]) + f"</{node[0]}>",
            "".join(child[1] for child in node[1]),
        )
    ),
)


@given(TREE)
def test_what_is_kept_lies_inside_the_text(tree: tuple[str, str]) -> None:
    try:
        message = shown(f"x {tree[0]} <code>{tree[0]}</code>")
    except Refusal:
        return
    assert all(0 <= it.offset < it.end <= width(message.text) for it in message.entities)
    assert not any(
        it.type != "code" and it.offset < code.end and code.offset < it.end
        for code in message.entities
        if code.type == "code"
        for it in message.entities
    )


@given(TREE)
def test_nested_tags_never_change_the_text(tree: tuple[str, str]) -> None:
    source, text = tree

    parsed, entities = parse_html(source)

    assert parsed == text
    assert all(0 <= it.offset < it.end <= width(text) for it in entities)
