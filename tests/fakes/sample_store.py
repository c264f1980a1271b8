"""The store of attachments, to which tests add files as agents do."""

from __future__ import annotations

import asyncio
import io
import zlib
from pathlib import Path

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.model import Attachment
from chatbridge.core.ports import Clock, Preview
from tests.fakes.sample_files import png


class SampleStore(AttachmentFiles):
    """Its previews can be late: real ones take as long as the machine needs."""

    def __init__(
        self, state: Path, *, clock: Clock, largest: int = 2_000_000, quota: int = 50_000_000
    ) -> None:
        super().__init__(state, AttachmentLimits(largest=largest, quota=quota), clock)
        self.state = state
        self.ready, self.wanted = asyncio.Event(), asyncio.Event()
        """Previews, and that somebody has asked for one."""
        self.ready.set()

    async def sample(
        self, content: bytes, *, name: str = "a.png", caption: str | None = None
    ) -> Attachment:
        """As an agent attaches it."""
        return await self.add(io.BytesIO(content), name=name, caption=caption)

    async def text(self, name: str, content: str, *, caption: str | None = None) -> Attachment:
        return await self.sample(content.encode(), name=name, caption=caption)

    async def picture(
        self, name: str, *, size: tuple[int, int] = (40, 30), caption: str | None = None
    ) -> Attachment:
        """Another one for each name. Its preview is there already, so that no time that a test
        lets pass is too short for it."""
        content = png(*size, shade=zlib.crc32(name.encode()) % 256)
        made = await self.sample(content, name=name, caption=caption)
        assert await super().preview(made)
        return made

    async def preview(self, attachment: Attachment) -> Preview | None:
        self.wanted.set()
        await self.ready.wait()
        return await super().preview(attachment)

    def remove(self, attachment: Attachment) -> None:
        path = self.path(attachment)
        assert path is not None
        Path(path).unlink()

    @property
    def received(self) -> list[str]:
        """What people have sent, by the names of the files."""
        found = (self.state / "received").rglob("*")
        return sorted(path.name for path in found if path.is_file())
