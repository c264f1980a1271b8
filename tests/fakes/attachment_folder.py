"""Attachments in a folder, for tests of what shows and takes them: no limits of decoding, and no
worker. Pictures are PNG and JPEG."""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterable
from pathlib import Path

from PIL import Image

from chatbridge.core.errors import AttachmentError
from chatbridge.core.model import Ask, Attachment, AttachmentKind
from chatbridge.core.ports import Preview
from chatbridge.core.store_port import Store

FULL = "There is no room left for this file on your computer."


class AttachmentFolder:
    most = 5

    def __init__(self, folder: Path, *, largest: int = 2_000_000) -> None:
        self.folder = folder
        self.largest = largest
        self.full = False
        self.decodes = True
        folder.mkdir(exist_ok=True)

    def add(self, content: bytes, *, name: str, caption: str | None = None) -> Attachment:
        digest = hashlib.sha256(content).hexdigest()
        (self.folder / digest).write_bytes(content)
        kind, media, width, height, excerpt = _looked_at(content)
        return Attachment(
            digest=digest,
            name=name,
            type=media,
            size=len(content),
            kind=kind,
            caption=caption,
            width=width,
            height=height,
            excerpt=excerpt,
        )

    def path(self, attachment: Attachment) -> str | None:
        path = self.folder / attachment.digest
        return str(path) if path.exists() else None

    async def preview(self, attachment: Attachment) -> Preview | None:
        if attachment.kind is not AttachmentKind.PICTURE or not self.decodes:
            return None
        path = self.folder / f"{attachment.digest}.preview"
        with Image.open(self.folder / attachment.digest) as picture:
            picture.thumbnail((1568, 1568))
            picture.convert("RGB").save(path, "JPEG")
            width, height = picture.size
        size = path.stat().st_size
        return Preview(path=str(path), type="image/jpeg", size=size, width=width, height=height)

    async def receive(
        self, content: AsyncIterable[bytes], *, name: str | None, ask: Ask
    ) -> Attachment:
        if self.full:
            raise AttachmentError(FULL)
        whole = b"".join([chunk async for chunk in content])
        return self.add(whole, name=name or "file")

    async def sweep(self, store: Store) -> None:
        raise NotImplementedError


def _looked_at(
    content: bytes,
) -> tuple[AttachmentKind, str, int | None, int | None, str | None]:
    if content.startswith((b"\x89PNG", b"\xff\xd8")):
        with Image.open(io.BytesIO(content)) as picture:
            media = f"image/{(picture.format or '').lower()}"
            return AttachmentKind.PICTURE, media, *picture.size, None
    if content.startswith(b"\x1aE\xdf\xa3"):
        return AttachmentKind.AUDIO, "audio/webm", None, None, None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return AttachmentKind.FILE, "application/octet-stream", None, None, None
    if text.startswith("<"):
        media = "image/svg+xml" if "<svg" in text else "text/html"
        return AttachmentKind.FILE, media, None, None, None
    return AttachmentKind.TEXT, "text/plain", None, None, text[:400]


def picture(
    *, size: tuple[int, int] = (640, 400), colour: str = "teal", kind: str = "PNG"
) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, kind)
    return written.getvalue()
