"""Telegram's HTML: its tags and its limits."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import runs
from chatbridge.channels.chat.runs import Run

LIMIT = 4096
"""The longest message, in UTF-16 units after parsing."""
SOURCE_LIMIT = 32_768
"""And the longest source of one, in bytes."""

_TAG = re.compile(r"<[^>]*>")


def write(document: doc.Document, *, now: float) -> str:
    return "\n\n".join(filter(None, (to_html(runs.block_runs(block, now)) for block in document)))


def split(
    document: doc.Document, room: int, title: Callable[[int, int], doc.Line]
) -> Sequence[str]:
    return [readable(to_html(part)) for part in runs.split(document, room, title)]


def to_html(text: Iterable[Run]) -> str:
    found: list[str] = []
    opened: tuple[str, ...] = ()
    for run in (*text, Run("")):
        tags = tuple(map(_tag, run.tags))
        shared = 0
        while tags[shared : shared + 1] == opened[shared : shared + 1] != ():
            shared += 1
        found += [f"</{tag.partition(' ')[0]}>" for tag in reversed(opened[shared:])]
        found += [f"<{tag}>" for tag in tags[shared:]]
        found.append(escape(run.text))
        opened = tags
    return "".join(found)


def _tag(tag: str) -> str:
    if not tag.startswith("time "):
        return tag
    _, at, form = tag.split(" ")
    return f'tg-time unix="{at}" format="{form}"'


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def readable(source: str) -> str:
    """HTML that a server reads: with more tags than it takes, it goes without them."""
    return source if len(source.encode()) <= SOURCE_LIMIT else escape(plain_text(source))


def plain_text(source: str) -> str:
    """HTML of ours as the text a person reads, for a server that does not know our tags."""
    return html.unescape(_TAG.sub("", source))


def length(source: str) -> int:
    """How much of Telegram's limit some HTML takes."""
    return runs.units(plain_text(source))
