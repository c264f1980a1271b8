"""Attachments in words: what a card says of the files that go with it, or that a person sent."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.core.model import Attachment, AttachmentKind
from chatbridge.core.text import one_line, shortened

CLIP = "📎"
DIFF = "text/x-diff"
"""The type of a text whose lines were added or removed, by its content."""
MAX_NAME = 60
KINDS = {
    AttachmentKind.PICTURE: ("picture", "pictures"),
    AttachmentKind.AUDIO: ("recording", "recordings"),
}


def format_size(size: int) -> str:
    """As people read it: `640 bytes`, `12 KB`, `1.2 MB`."""
    if size < 1_000:
        return f"{size} bytes"
    if size < 999_500:
        return f"{size / 1_000:.0f} KB"
    return f"{size / 1_000_000:.1f}".removesuffix(".0") + " MB"


def file_label(attachment: Attachment) -> str:
    """`build.log, 12 KB`."""
    return f"{shown_name(attachment)}, {format_size(attachment.size)}"


def shown_name(attachment: Attachment) -> str:
    return shortened(one_line(attachment.name), MAX_NAME)


def format_attachments(attachments: Sequence[Attachment]) -> str:
    """`2 pictures, 1 file (build.log, 12 KB)`: pictures are counted, files are named."""
    counts = []
    for kind, (one, several) in KINDS.items():
        if count := sum(each.kind is kind for each in attachments):
            counts.append(f"{count} {one if count == 1 else several}")
    if files := [each for each in attachments if each.kind not in KINDS]:
        named = "; ".join(map(file_label, files))
        counts.append(f"{len(files)} {'file' if len(files) == 1 else 'files'} ({named})")
    return ", ".join(counts)
