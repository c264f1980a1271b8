"""What the tests of Matrix's drawing share: who looks, and how a drawing is read."""

from __future__ import annotations

import html
import json
import re

from hypothesis import strategies as st

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.forms import form
from chatbridge.core.model import Ask
from tests.telegram_asks import NOW, later, stepped

ADA_PLACE = "@ada:example.org"
SEEN = Seen(now=NOW, viewer=ADA_PLACE)

_TAG = re.compile(
    r"<(/?)(p|strong|em|code|pre|blockquote|ul|ol|li|br)"
    r'(?: start="\d+"| class="language-[\w+#.-]+")?>',
    re.ASCII,
)


def card(shown: Ask) -> Card:
    return build_card(shown, channel="matrix", later=later(shown))


def go(shown: Ask, *events: form.Event) -> Ask:
    """The ask after these events, each of them for the step that it meets."""
    return stepped(shown, *events)


def plain(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "")


def html_text(source: str) -> str:
    """What a person reads of HTML. Fails on what is not well-formed, or has another tag in it."""
    opened: list[str] = []
    for closing, tag in _TAG.findall(source):
        if closing:
            assert opened.pop() == tag, source
        elif tag != "br":
            opened.append(tag)
    assert not opened, source
    rest = _TAG.sub("", source)
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", rest), source
    return html.unescape(rest)


def check(drawing: Words) -> None:
    """What holds for every message."""
    assert plain(drawing.body).strip()
    assert plain(html_text(drawing.html)).strip()
    content = {"body": drawing.body, "formatted_body": drawing.html}
    assert len(json.dumps(content)) < 28_000
    assert drawing.body.count("\u2068") == drawing.body.count("\u2069")


seens = st.builds(
    Seen,
    now=st.sampled_from([0.0, 150.0, 350.0, 500.0, 2e9]),
    reactions=st.booleans(),
    reacted=st.frozensets(st.integers(0, 9), max_size=3),
    viewer=st.none() | st.just(ADA_PLACE),
)
