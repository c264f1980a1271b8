"""A store of attachments to which tests add files as bytes."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.model import Attachment
from chatbridge.core.ports import Clock
from tests.fakes.sample_files import png

BROKEN = png(640, 400, rows=b"")
"""A picture by its header, which cannot be decoded."""


class SampleStore(AttachmentFiles):
    def __init__(
        self, state: Path, *, clock: Clock, largest: int = 2_000_000, quota: int = 50_000_000
    ) -> None:
        super().__init__(state, AttachmentLimits(largest=largest, quota=quota), clock)
        self.state = state

    async def sample(
        self, content: bytes, *, name: str = "a.png", caption: str | None = None
    ) -> Attachment:
        """As an agent attaches it."""
        return await self.add(io.BytesIO(content), name=name, caption=caption)

    @property
    def received(self) -> list[str]:
        """What people have sent, by the names of the files."""
        found = (self.state / "received").rglob("*")
        return sorted(path.name for path in found if path.is_file())


def picture(
    *, size: tuple[int, int] = (640, 400), colour: str = "teal", kind: str = "PNG"
) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, kind)
    return written.getvalue()
