"""What an agent tells without asking, and how an operation ended, as a message. Pure."""

from __future__ import annotations

from chatbridge.channels.matrix.render.drawing import Drawing, drawn
from chatbridge.channels.matrix.render.html import (
    NOTHING,
    Words,
    begun,
    clipped,
    code_block,
    lines,
    name,
    paragraph,
    paragraphs,
    size,
    strong,
    trusted,
    untrusted,
)
from chatbridge.channels.matrix.render.outcome import PROJECT
from chatbridge.core.cards.operation_summary import summarize_operation
from chatbridge.core.model import GLYPHS, Level, Notice, OperationEnd
from chatbridge.core.text import one_line, prose, shortened

AGENT = 14
TITLE = 200
MESSAGE = 23_000
"""In bytes."""
LEFT_OUT = paragraph(trusted("… The whole message is in the web inbox."))
COMMAND, HOW = 60, 200
TAIL = 20_000
"""In bytes."""
WHOLE_OUTPUT = paragraph(trusted("The whole output is in the web inbox."))


def draw_notice(notice: Notice) -> Drawing:
    if notice.operation is not None:
        return _draw_end(notice, notice.operation)
    message = prose(notice.message).strip("\n")
    shown = begun(message, MESSAGE)
    return drawn(
        paragraphs(
            (
                paragraph(lines((_head(notice), _title(notice)))),
                paragraph(untrusted(shown)),
                NOTHING if shown == message else LEFT_OUT,
            )
        )
    )


def _draw_end(notice: Notice, end: OperationEnd) -> Drawing:
    said = summarize_operation(end)
    first = strong(name(clipped(said.title, COMMAND))) + trusted(f" {said.word} · ")
    head = trusted(f"{said.glyph} ") + first + _project(notice)
    return drawn(
        paragraphs(
            (
                paragraph(lines((head, untrusted(clipped(said.how, HOW))))),
                code_block(_last(said.tail), None),
                WHOLE_OUTPUT if end.whole else NOTHING,
            )
        )
    )


def _last(text: str) -> str:
    """As much of its end as fits."""
    length = len(text)
    while length > 1 and size(code_block(text[-length:], None)) > TAIL:
        length = length * 3 // 4
    return text if length == len(text) else "…" + text[-length:].lstrip("\n")


def _project(notice: Notice) -> Words:
    return name(shortened(one_line(notice.project.name), PROJECT))


def _head(notice: Notice) -> Words:
    project = _project(notice)
    agent = name(shortened(one_line(notice.agent.name), AGENT))
    first = strong(project)
    if notice.level is not Level.INFO:
        first = strong(trusted(notice.level.value.capitalize())) + trusted(" · ") + project
    return trusted(f"{GLYPHS[notice.level]} ") + first + trusted(" · ") + agent


def _title(notice: Notice) -> Words:
    return strong(untrusted(clipped(one_line(notice.title), TITLE)))
