"""What an agent tells without asking, and how an operation ended, as a message. Pure."""

from __future__ import annotations

from chatbridge.channels.chat.document import Code, Lines, Strong, Untrusted, paragraph
from chatbridge.channels.chat.notices import notice_heading, operation_heading
from chatbridge.channels.matrix.render.html import Words, begun, code_block, size, write
from chatbridge.core.cards.operation_summary import summarize_operation
from chatbridge.core.model import Notice, OperationEnd
from chatbridge.core.text import clipped, one_line, prose

TITLE = 200
MESSAGE = 23_000
"""In bytes."""
LEFT_OUT = "… The whole message is in the web inbox."
TAIL = 20_000
"""In bytes."""
WHOLE_OUTPUT = "The whole output is in the web inbox."


def draw_notice(notice: Notice) -> Words:
    if notice.operation is not None:
        return _draw_end(notice, notice.operation)
    message = prose(notice.message).strip("\n")
    shown = begun(message, MESSAGE)
    title = (Strong(Untrusted(clipped(one_line(notice.title), TITLE))),) if notice.title else ()
    document = (Lines((notice_heading(notice), title)), Lines(((Untrusted(shown),),)))
    left_out = () if shown == message else paragraph(LEFT_OUT)
    return write((*document, *left_out), now=0.0)


def _draw_end(notice: Notice, end: OperationEnd) -> Words:
    said = summarize_operation(end)
    whole = paragraph(WHOLE_OUTPUT) if end.whole else ()
    document = (operation_heading(notice, said), Code(_last(said.tail)), *whole)
    return write(document, now=0.0)


def _last(text: str) -> str:
    """As much of its end as fits."""
    length = len(text)
    while length > 1 and size(code_block(text[-length:], None)) > TAIL:
        length = length * 3 // 4
    return text if length == len(text) else "…" + text[-length:].lstrip("\n")
