"""Addresses in agents' texts: what can be opened says where it leads, and the rest stays text."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.web.addresses import MAX_ADDRESS, parse_address, split_addresses
from chatbridge.channels.web.render import MAX_LINKS, markup
from chatbridge.core.text import prose
from tests import strategies as some

PIECES = st.lists(
    st.sampled_from(
        ["https://", "http:", "//", "a.b", "/x", "@", "\\", "é", "⟨", ")", ".", " ", "#"]
    )
    | st.characters(),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("text", "exact", "host"),
    [
        ("https://example.org", "https://example.org/", "example.org"),
        ("HTTP://Example.ORG:8080/A?b=c&d#e", "http://example.org:8080/A?b=c&d#e", "example.org"),
        ("https://gооgle.com/", "https://xn--ggle-55da.com/", "xn--ggle-55da.com"),
        ("https://x.org/ä?ö", "https://x.org/%C3%A4?%C3%B6", "x.org"),
        ("http://[::1]:8787/a", "http://[::1]:8787/a", "[::1]"),
        (
            "https://google.com.evil.example/",
            "https://google.com.evil.example/",
            "google.com.evil.example",
        ),
    ],
)
def test_an_address_can_be_opened_by_its_exact_letters(text: str, exact: str, host: str) -> None:
    address = parse_address(text)
    assert address is not None
    assert (address.text, address.host) == (exact, host)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "https://google.com@evil.example/",
        "https://google.com\\@evil.example/",
        "https://x.org/a\\b",
        "https://%65vil.example/",
        "https://a..b/",
        "https://a b/",
        "https://x.org/a b",
        "https://x.org/a\nb",
        "https://x.org:99999999/",
        "https://ex\u200bample.org/",
        "https://x.org/\u202e",
        prose("https://x.org/\u202e"),
        f"https://x.org/{'a' * MAX_ADDRESS}",
        f"https://{'a' * 64}.org/",
        f"https://{'a.' * 130}org/",
    ],
)
def test_what_could_lead_elsewhere_than_it_looks_stays_text(text: str) -> None:
    assert parse_address(text) is None
    assert "<a" not in markup(f"`{text}`")


@given(PIECES)
def test_whatever_can_be_opened_is_plain_ascii_with_its_host_in_it(text: str) -> None:
    for shown, address in split_addresses(text):
        if address is None:
            continue
        assert shown in text
        assert address.text.isascii()
        assert address.text.isprintable()
        assert re.match(rf"https?://{re.escape(address.host)}(?:[:/?#]|$)", address.text)
        assert parse_address(address.text) == address


@given(PIECES | some.texts)
def test_a_text_is_the_same_with_its_addresses_as_links(text: str) -> None:
    assert "".join(shown for shown, _ in split_addresses(text)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://x.org/a, or (https://y.org/b).", ["https://x.org/a", "https://y.org/b"]),
        ("https://en.example/wiki/A_(b)", ["https://en.example/wiki/A_(b)"]),
        ("'https://x.org' ends https://y.org...", ["https://x.org", "https://y.org"]),
        ("http://u:p@x.org https://", []),
    ],
)
def test_punctuation_behind_an_address_is_no_part_of_it(text: str, found: list[str]) -> None:
    assert [shown for shown, address in split_addresses(text) if address] == found


def test_long_hostile_addresses_cost_next_to_nothing() -> None:
    hosts, brackets = f"https://{'é' * 1900}.org ", f"https://x.org/{')' * 1900} "
    began = time.process_time()
    for text in (hosts, brackets):
        list(split_addresses(text * MAX_LINKS))
    assert time.process_time() - began < 0.5


def test_links_bare_addresses_and_code_lead_to_the_page_that_shows_them() -> None:
    shown = markup("[docs](https://x.org/?a=1&b=2) https://y.org `https://z.org/` [<b>](mailto:a)")
    links = re.findall(
        r'<a class="address" href="([^"]*)" data-host="([^"]*)"><code>(.*?)</code>', shown
    )
    assert [tuple(map(html.unescape, link)) for link in links] == [
        ("/address?to=https%3A%2F%2Fx.org%2F%3Fa%3D1%26b%3D2", "x.org", "https://x.org/?a=1&b=2"),
        ("/address?to=https%3A%2F%2Fy.org%2F", "y.org", "https://y.org"),
        ("/address?to=https%3A%2F%2Fz.org%2F", "z.org", "https://z.org/"),
    ]
    assert shown.count("<a ") == 3
    assert "&lt;b&gt; <code>mailto:a</code>" in shown


def test_a_text_with_very_many_addresses_is_shown_without_links() -> None:
    assert markup("https://x.org `https://x.org` " * (MAX_LINKS // 2)).count("<a ") == MAX_LINKS
    assert "<a " not in markup("https://x.org `https://x.org` " * (MAX_LINKS // 2 + 1))


def test_a_table_is_escaped_and_scrolls_by_itself() -> None:
    shown = markup("| <i> | b |\n|---|---|\n| **1** | `<u>` |")
    assert shown == (
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
        "<thead><tr><th>&lt;i&gt;</th><th>b</th></tr></thead>"
        "<tbody><tr><td><strong>1</strong></td><td><code>&lt;u&gt;</code></td></tr></tbody>"
        "</table></div>"
    )
