"""How an operation ended, as a chat shows it: alone, among others, and its whole output as a file.

Only chatbridge writes these: they share no message with what an agent says.
"""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.chat.callback_data import Output, encode
from chatbridge.channels.chat.document import Key, Rows
from chatbridge.channels.chat.keyboard import PRIVATE, beside_ours, fitted, in_rows
from chatbridge.channels.chat.notices import COMMAND_LENGTH, HOW_LENGTH, operation_heading
from chatbridge.channels.chat.outcome import PROJECT_LENGTH
from chatbridge.channels.telegram.render.card import Drawing
from chatbridge.channels.telegram.render.html import (
    Run,
    code,
    ends_of,
    joined,
    readable,
    to_html,
    units,
    write_block,
)
from chatbridge.channels.telegram.render.long_questions import File
from chatbridge.core.cards.operation_summary import output_name, summarize_operation
from chatbridge.core.model import Notice, OperationEnd
from chatbridge.core.text import clipped, isolated, one_line, shortened

TAIL = 3_500
MOST_BUTTONS = 10
"""A list with more of them is no longer one to read: the next one begins."""
WHOLE_OUTPUT = "Whole output"
FILE = 20 * 1024 * 1024
"""Telegram takes 50 MB, and not every connection does."""


def draw_end(notice: Notice, end: OperationEnd) -> Drawing:
    said = summarize_operation(end)
    heading = write_block(operation_heading(notice, said), now=0.0)
    html = to_html(joined((heading, code(_last(said.tail))), apart="\n"))
    return Drawing(html=readable(html), rows=((_key(end, WHOLE_OUTPUT),),) if end.whole else ())


def draw_ends(notices: Sequence[tuple[Notice, OperationEnd]]) -> Drawing | None:
    """Several that ended well, a line each; None if they are too many for one message."""
    project = _project(notices[0][0])
    first = f"✅ <b>{len(notices)} commands finished</b> · {to_html((Run(project),))}"
    lines = [_line(end) for _, end in notices]
    with_output = [end for _, end in notices if end.whole]
    if len(with_output) > MOST_BUTTONS or len(lines) > 2 * MOST_BUTTONS:
        return None
    html = to_html(joined(((Run(line),) for line in lines), apart="\n"))
    return Drawing(html=f"{first}\n\n{html}", rows=_output_rows(with_output))


def output_file(operation_id: str, content: bytes) -> File:
    """All of it or, if that is too much for a phone, both ends."""
    return File(name=output_name(operation_id), content=bounded(content, FILE))


def bounded(content: bytes, most: int) -> bytes:
    if len(content) <= most:
        return content
    head, tail = content[: most // 2], content[-most // 2 :]
    head = head[: head.rfind(b"\n") + 1] or head
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = len(content) - len(head) - len(tail)
    return head + f"\n… {left_out:,} bytes are left out here …\n\n".encode() + tail


def _project(notice: Notice) -> str:
    return isolated(shortened(one_line(notice.project.name), PROJECT_LENGTH))


def _last(text: str) -> str:
    """As much of its end as fits: an emoji takes two."""
    if units(text) <= TAIL:
        return text
    return "…" + ends_of(text, head=0, tail=TAIL - 1)[1].lstrip("\n")


def _line(end: OperationEnd) -> str:
    said = summarize_operation(end)
    return f"• {isolated(clipped(said.title, COMMAND_LENGTH))} · {clipped(said.how, HOW_LENGTH)}"


def _output_rows(ends: Sequence[OperationEnd]) -> Rows:
    """Each says which one's it is, with a number where two would read the same."""
    labels = [fitted(f"Output: {summarize_operation(end).title}", PRIVATE.one) for end in ends]
    if len(set(labels)) < len(labels):
        labels = [
            fitted(f"Output {i}: {summarize_operation(end).title}", PRIVATE.one)
            for i, end in enumerate(ends, 1)
        ]
    keys = [_key(end, beside_ours(label)) for end, label in zip(ends, labels, strict=True)]
    return tuple(in_rows(keys, 1))


def _key(end: OperationEnd, label: str) -> Key:
    return Key(text=label, data=encode(Output(operation_id=end.id)))
