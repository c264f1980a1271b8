"""Small files of each kind, as their formats begin. Pictures are whole."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def png(width: int, height: int, rows: bytes | None = None, *, shade: int = 0x80) -> bytes:
    """A grey picture; its size may lie, if `rows` are given."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = rows if rows is not None else (b"\0" + bytes((shade,)) * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(pixels, 1))
        + chunk(b"IEND", b"")
    )


def picture(
    *, size: tuple[int, int] = (640, 400), colour: str = "teal", kind: str = "PNG"
) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, kind)
    return written.getvalue()


PNG = png(3, 2)
BROKEN = png(640, 400, rows=b"")
"""A picture by its header, which cannot be decoded."""
GIF = bytes.fromhex(
    "47494638396101000100800000ffffff00000021f90400000000002c00000000010001000002024401003b"
)
