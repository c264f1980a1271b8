"""Notices as Telegram shows them."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat import announcer
from chatbridge.channels.chat.document import File
from chatbridge.channels.telegram.render.card import TELEGRAM, Drawing, draw
from chatbridge.core.model import Notice


def draw_notice(notice: Notice) -> Drawing:
    return draw(announcer.draw_notice(notice, TELEGRAM), now=0.0)


def draw_list(notices: Sequence[Notice]) -> Drawing | None:
    message = announcer.draw_list(notices, TELEGRAM)
    return draw(message, now=0.0) if message is not None else None


def file_of(notice: Notice) -> File | None:
    return announcer.file_of(notice, TELEGRAM)
