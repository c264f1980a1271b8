"""Files for the tests of channels: real ones in a folder, with previews that are made at once."""

from __future__ import annotations

import asyncio
import hashlib
import struct
import zlib
from collections.abc import AsyncIterable
from dataclasses import replace
from pathlib import Path

from chatbridge.core.errors import AttachmentError
from chatbridge.core.model import Ask, Attachment, AttachmentKind
from chatbridge.core.ports import Preview
from chatbridge.core.store_port import Store

LARGEST_SIDE = 100
"""Of a preview, in pixels."""


def png(width: int, height: int, color: int = 0) -> bytes:
    """A picture of one color."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows = (b"\0" + bytes((color, color, 200)) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


class FilesInFolder:
    """An `AttachmentStore`."""

    most, largest = 5, 20_000_000

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.received = 0
        """How many files people have sent."""
        self.ready, self.asked = asyncio.Event(), asyncio.Event()
        """Previews, and that somebody wants one."""
        self.ready.set()

    def stall(self) -> None:
        """No preview gets ready until `ready` is set."""
        self.ready.clear()
        self.asked.clear()

    def text(self, name: str, content: str, *, caption: str | None = None) -> Attachment:
        made = self._kept(name, content.encode(), "text/plain", AttachmentKind.TEXT)
        return replace(made, caption=caption, excerpt="\n".join(content.splitlines()[:20]))

    def picture(
        self, name: str, *, size: tuple[int, int] = (40, 30), caption: str | None = None
    ) -> Attachment:
        color = int(hashlib.sha256(name.encode()).hexdigest()[:2], 16)
        made = self._kept(name, png(*size, color), "image/png", AttachmentKind.PICTURE)
        return replace(made, caption=caption, width=size[0], height=size[1])

    def path(self, attachment: Attachment) -> str | None:
        found = self._folder / attachment.digest
        return str(found) if found.exists() else None

    async def preview(self, attachment: Attachment) -> Preview | None:
        self.asked.set()
        await self.ready.wait()
        if attachment.kind is not AttachmentKind.PICTURE or self.path(attachment) is None:
            return None
        assert attachment.width
        assert attachment.height
        width, height = (min(LARGEST_SIDE, side) for side in (attachment.width, attachment.height))
        shown = self._folder / f"{attachment.digest}.preview"
        shown.write_bytes(png(width, height))
        size = shown.stat().st_size
        return Preview(path=str(shown), type="image/png", size=size, width=width, height=height)

    async def receive(
        self, content: AsyncIterable[bytes], *, name: str | None, ask: Ask
    ) -> Attachment:
        found = b"".join([part async for part in content])
        if len(found) > self.largest:
            raise AttachmentError("That is too large.")
        self.received += 1
        made = self._kept(name or "file", found, "application/octet-stream", AttachmentKind.FILE)
        return replace(made, ask_id=ask.id)

    async def sweep(self, store: Store) -> None:
        """Nothing is removed."""

    def remove(self, attachment: Attachment) -> None:
        (self._folder / attachment.digest).unlink()

    def _kept(self, name: str, content: bytes, type: str, kind: AttachmentKind) -> Attachment:
        digest = hashlib.sha256(content).hexdigest()
        (self._folder / digest).write_bytes(content)
        return Attachment(digest=digest, name=name, type=type, size=len(content), kind=kind)
