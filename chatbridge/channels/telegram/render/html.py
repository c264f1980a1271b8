"""Telegram's HTML: its tags and its limits."""

from __future__ import annotations

import html
import re
from functools import lru_cache, partial

from chatbridge.channels.chat import runs

LIMIT = 4096
"""The longest message, in UTF-16 units after parsing."""
SOURCE_LIMIT = 32_768
"""And the longest source of one, in bytes."""

REMEMBERED = 256
"""Pairs of tags that follow one another: there are few."""
_TAG = re.compile(r"<[^>]*>")


def to_html(text: runs.Text) -> str:
    """The text with its tags; without them if there are more than Telegram takes."""
    found: list[str] = []
    opened: runs.Tags = ()
    for run in text:
        if run.tags != opened:
            found.append(_between(opened, run.tags))
            opened = run.tags
        found.append(escape(run.text))
    source = "".join([*found, _between(opened, ())])
    if len(source.encode()) > SOURCE_LIMIT:
        return escape("".join(run.text for run in text))
    return source


@lru_cache(maxsize=REMEMBERED)
def _between(opened: runs.Tags, tags: runs.Tags) -> str:
    """What leads from the tags that are open to others."""
    shared = 0
    while tags[shared : shared + 1] == opened[shared : shared + 1] != ():
        shared += 1
    closing = (f"</{_tag(tag).partition(' ')[0]}>" for tag in reversed(opened[shared:]))
    return "".join((*closing, *(f"<{_tag(tag)}>" for tag in tags[shared:])))


def _tag(tag: str) -> str:
    if not tag.startswith("time "):
        return tag
    _, at, form = tag.split(" ")
    return f'tg-time unix="{at}" format="{form}"'


escape = partial(html.escape, quote=False)


def plain_text(source: str) -> str:
    """HTML of ours as the text a person reads, for a server that does not know our tags."""
    return html.unescape(_TAG.sub("", source))
