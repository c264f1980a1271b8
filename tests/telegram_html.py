"""A document as Telegram's HTML, in one step."""

from __future__ import annotations

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import runs
from chatbridge.channels.telegram.render.html import to_html


def write(document: doc.Document, *, now: float) -> str:
    return to_html(runs.write(document, now=now))
