"""Files as Telegram takes them from a bot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from telegram import InputFile

from chatbridge.channels.chat.capabilities import Files
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.writer import open_content
from chatbridge.channels.telegram.client.attached import FETCHED

MB = 1 << 20
FILES = Files(
    largest=50 * MB,
    picture=10 * MB,
    album=10,
    fetched=FETCHED,
    too_large=(
        "Telegram lets bots fetch 20 MB at most. Send it through the inbox, or a smaller one."
    ),
)


@contextmanager
def opened(files: Sequence[File]) -> Iterator[list[InputFile]]:
    """Each is read while it is sent, and not before. :raises MessageRejected:"""
    with ExitStack() as stack:
        parts = []
        for file in files:
            content = stack.enter_context(open_content(file))
            part = InputFile(content, filename=file.name, attach=True, read_file_handle=False)
            part.mimetype = file.type  # the library goes by the name
            parts.append(part)
        yield parts
