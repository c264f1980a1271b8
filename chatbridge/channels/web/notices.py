"""Notices in the inbox: which of them a page shows, and how a script gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.core.as_json import agent_object, iso
from chatbridge.core.notice import GLYPHS, Level, Notice
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Inbox
from chatbridge.core.text import one_line, visible

MOST = 20
WORDS = {Level.INFO: "Info", Level.WARNING: "Warning", Level.ERROR: "Error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNotice:
    """A notice as a person sees it: `message` is markdown, the rest is plain."""

    id: str
    level: str
    word: str
    glyph: str
    project: str
    label: str | None
    agent: str
    title: str
    message: str
    at: float


async def recent(inbox: Inbox, *, now: float) -> Sequence[Notice]:
    """Those of the last day, the newest first."""
    return await inbox.notices(since=now - DAY, limit=MOST)


def shown(notice: Notice) -> ShownNotice:
    label = notice.project.label
    return ShownNotice(
        id=notice.id,
        level=notice.level.value,
        word=WORDS[notice.level],
        glyph=GLYPHS[notice.level],
        project=one_line(notice.project.name),
        label=one_line(label) if label else None,
        agent=one_line(notice.agent.name),
        title=one_line(notice.title),
        message=visible(notice.message),
        at=notice.at,
    )


def notice_object(notice: Notice) -> dict[str, Any]:
    """A notice as the API and the event stream show it."""
    return {
        "id": notice.id,
        "level": notice.level,
        "title": notice.title or None,
        "message": notice.message,
        "at": iso(notice.at),
        "agent": agent_object(notice.agent, notice.project),
    }
