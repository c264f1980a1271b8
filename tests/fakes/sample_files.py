"""Small files of each kind, as their formats begin. Pictures are whole."""

from __future__ import annotations

import struct
import zlib


def png(width: int, height: int, rows: bytes | None = None) -> bytes:
    """A grey picture; its size may lie, if `rows` are given."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = rows if rows is not None else (b"\0" + b"\x80" * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


PNG = png(3, 2)
GIF = bytes.fromhex(
    "47494638396101000100800000ffffff00000021f90400000000002c00000000010001000002024401003b"
)
