"""What an agent tells without asking, as a message. Pure."""

from __future__ import annotations

from chatbridge.channels.matrix.drawing import Drawing, drawn
from chatbridge.channels.matrix.ending import PROJECT
from chatbridge.channels.matrix.html import (
    NOTHING,
    Words,
    begun,
    clipped,
    lines,
    name,
    ours,
    paragraph,
    paragraphs,
    strong,
    theirs,
)
from chatbridge.core.notice import GLYPHS, Level, Notice
from chatbridge.core.text import one_line, shortened, visible

AGENT = 14
TITLE = 200
MESSAGE = 23_000
"""In bytes."""
LEFT_OUT = paragraph(ours("… The whole message is in the web inbox."))


def draw_notice(notice: Notice) -> Drawing:
    message = visible(notice.message).strip("\n")
    shown = begun(message, MESSAGE)
    return drawn(
        paragraphs(
            (
                paragraph(lines((_head(notice), _title(notice)))),
                paragraph(theirs(shown)),
                NOTHING if shown == message else LEFT_OUT,
            )
        )
    )


def _head(notice: Notice) -> Words:
    project = name(shortened(one_line(notice.project.name), PROJECT))
    agent = name(shortened(one_line(notice.agent.name), AGENT))
    first = strong(project)
    if notice.level is not Level.INFO:
        first = strong(ours(notice.level.value.capitalize())) + ours(" · ") + project
    return ours(f"{GLYPHS[notice.level]} ") + first + ours(" · ") + agent


def _title(notice: Notice) -> Words:
    return strong(theirs(clipped(one_line(notice.title), TITLE)))
