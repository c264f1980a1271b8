"""What a file is, by its content and never by its name; and names that are safe to show.

Reads headers only, except of a text, which has to be one from its beginning to its end. Markup
that a browser would run or draw, as HTML and SVG, is a text like any other. Decodes no picture.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from chatbridge.core.cards.attached import DIFF
from chatbridge.core.model import AttachmentKind
from chatbridge.core.text import HIDDEN, visible

HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 256 * 1024
MAX_SEGMENTS = 2_000
"""Of a JPEG before its size. Cameras write a few dozen."""
ORIENTATION = 0x0112
EXCERPT_LINES, EXCERPT_CHARACTERS = 20, 1_000
MAX_NAME = 100
MAX_EXTENSION = 12
BINARY, TEXT = "application/octet-stream", "text/plain"
EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/heic": "heic",
    "image/avif": "avif",
    TEXT: "txt",
    DIFF: "diff",
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/wav": "wav",
    "audio/webm": "webm",
    "audio/flac": "flac",
    "audio/amr": "amr",
    "video/ogg": "ogv",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz",
}
_CONTROLS = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]")
"""What no text has. Logs have colours (ESC) and progress bars (BS)."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DIFF = re.compile(r"\Adiff --git .|^--- .*\n\+\+\+ .*\n@@ -\d", re.MULTILINE)
_VIDEO_CODEC = re.compile(rb"V_(?:VP8|VP9|AV1|MPEG|THEORA|MJPEG|UNCOMPRESSED|QUICKTIME)")
_NO_FRAMES = frozenset((0xC4, 0xC8, 0xCC))
_NOT_SHOWN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What `inspect` finds."""

    type: str = BINARY
    kind: AttachmentKind = AttachmentKind.FILE
    width: int | None = None
    height: int | None = None
    excerpt: str | None = None


def inspect(file: BinaryIO) -> Content:
    """Say what is in a file that can be read from its beginning, and that is not changed."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if picture := _picture(head, file):
        return picture
    if known := _audio(head) or _container(head) or _other(head):
        audio = known.startswith("audio/")
        return Content(type=known, kind=AttachmentKind.AUDIO if audio else AttachmentKind.FILE)
    return _text(head, file) or Content()


def extension_of(type: str) -> str:
    return EXTENSIONS.get(type, "bin")


def safe_name(name: str | None, *, type: str) -> str:
    """The last part of a name, without what could deceive whoever reads it; else one by type."""
    last = re.split(r"[/\\]", name or "")[-1]
    kept = "".join(
        " " if char.isspace() else char
        for char in unicodedata.normalize("NFC", last)
        if char.isspace() or (char not in HIDDEN and unicodedata.category(char) not in _NOT_SHOWN)
    )
    found = " ".join(kept.split())
    if not found.strip(". "):
        return f"file.{extension_of(type)}"
    if len(found) <= MAX_NAME:
        return found
    stem, dot, extension = found.rpartition(".")
    if not stem or len(extension) > MAX_EXTENSION:
        return found[: MAX_NAME - 1].rstrip() + "…"
    return stem[: MAX_NAME - len(extension) - 2].rstrip() + f"…{dot}{extension}"


def excerpt(text: str) -> str:
    """The first lines, as a card can show them."""
    lines = _COLOURS.sub("", text).replace("\r\n", "\n").split("\n", EXCERPT_LINES)[:EXCERPT_LINES]
    return visible("\n".join(lines)[:EXCERPT_CHARACTERS])[:EXCERPT_CHARACTERS].rstrip()


# ── pictures ──────────────────────────────────────────────────────────────────────────────────────


def _picture(head: bytes, file: BinaryIO) -> Content | None:
    """Only with a size: what has none is no picture, whatever it begins with."""
    for known, size in (
        ("image/png", _png_size(head)),
        ("image/gif", _gif_size(head)),
        ("image/webp", _webp_size(head)),
        ("image/jpeg", _jpeg_size(head, file)),
    ):
        if size and all(size):
            return Content(type=known, kind=AttachmentKind.PICTURE, width=size[0], height=size[1])
    return None


def _png_size(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR") or len(head) < 24:
        return None
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def _gif_size(head: bytes) -> tuple[int, int] | None:
    if not head.startswith((b"GIF87a", b"GIF89a")) or len(head) < 10:
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp_size(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    match head[12:16]:
        case b"VP8X":
            width, height = head[24:27], head[27:30]
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
        case b"VP8L" if head[20] == 0x2F:
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            width, height = head[26:28], head[28:30]
            return (
                int.from_bytes(width, "little") & 0x3FFF,
                int.from_bytes(height, "little") & 0x3FFF,
            )
    return None


def _jpeg_size(head: bytes, file: BinaryIO) -> tuple[int, int] | None:
    """In the first frame's segment, which may follow megabytes of a camera's own. As it is seen:
    phones store a picture that was taken upright on its side, and say so before."""
    if not head.startswith(b"\xff\xd8\xff"):
        return None
    file.seek(2)
    exif = b""
    for _ in range(MAX_SEGMENTS):
        mark = file.read(2)
        if len(mark) < 2 or mark[0] != 0xFF:
            return None
        if mark[1] == 0xFF:  # a fill byte
            file.seek(-1, 1)
            continue
        if mark[1] in (0xD9, 0xDA):  # the end, or the picture itself
            return None
        if mark[1] == 0x01 or 0xD0 <= mark[1] <= 0xD7:  # without a length
            continue
        segment = file.read(7)
        length = int.from_bytes(segment[:2])
        if len(segment) < 7 or length < 2:
            return None
        if 0xC0 <= mark[1] <= 0xCF and mark[1] not in _NO_FRAMES:
            width, height = int.from_bytes(segment[5:7]), int.from_bytes(segment[3:5])
            return (height, width) if _on_its_side(exif) else (width, height)
        left = length - len(segment)
        if mark[1] == 0xE1 and segment[2:] == b"Exif\0" and left > 0 and not exif:
            exif = file.read(left)[1:]
        else:
            file.seek(left, 1)
    return None


def _on_its_side(exif: bytes) -> bool:
    """Whether the first directory of tags has an orientation of 5 to 8."""
    order: Literal["little", "big"] = "little" if exif[:2] == b"II" else "big"
    first = int.from_bytes(exif[4:8], order)
    count = int.from_bytes(exif[first : first + 2], order)
    for place in range(first + 2, min(first + 2 + 12 * count, len(exif)), 12):
        if int.from_bytes(exif[place : place + 2], order) == ORIENTATION:
            return 5 <= int.from_bytes(exif[place + 8 : place + 10], order) <= 8
    return False


# ── sound, and the rest ───────────────────────────────────────────────────────────────────────────


def _audio(head: bytes) -> str | None:
    if head.startswith(b"OggS"):
        return "video/ogg" if b"\x80theora" in head else "audio/ogg"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "audio/wav"
    if head.startswith(b"fLaC"):
        return "audio/flac"
    if head.startswith(b"#!AMR"):
        return "audio/amr"
    if head.startswith(b"ID3") and len(head) > 10 and max(head[6:10]) < 0x80:
        return "audio/mpeg"
    if len(head) < 4 or head[0] != 0xFF:
        return None
    if head[1] & 0xF6 == 0xF0 and head[2] >> 2 & 0xF < 13:
        return "audio/aac"
    layer_3 = head[1] & 0xE6 == 0xE2 and head[1] & 0x18 != 0x08
    bit_rate, sample_rate = head[2] >> 4, head[2] >> 2 & 3
    return "audio/mpeg" if layer_3 and 0 < bit_rate < 15 and sample_rate < 3 else None


def _container(head: bytes) -> str | None:
    """MPEG-4 and Matroska have sound, pictures or both. Their tracks say which."""
    if head[4:8] == b"ftyp" and len(head) >= 12:
        brand = head[8:12]
        if brand in (b"heic", b"heix", b"mif1", b"msf1"):
            return "image/heic"
        if brand in (b"avif", b"avis"):
            return "image/avif"
        tracks = set(re.findall(rb"hdlr.{8}(soun|vide)", head, re.DOTALL))
        sound = brand in (b"M4A ", b"M4B ", b"F4A ") or tracks == {b"soun"}
        return "audio/mp4" if sound else "video/mp4"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        sound = b"A_" in head and not _VIDEO_CODEC.search(head)
        return "audio/webm" if sound else "video/webm"
    return None


def _other(head: bytes) -> str | None:
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "application/zip"
    return "application/gzip" if head.startswith(b"\x1f\x8b\x08") else None


# ── text ──────────────────────────────────────────────────────────────────────────────────────────


def _text(head: bytes, file: BinaryIO) -> Content | None:
    """UTF-8, or UTF-16 that says so, to the last byte."""
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if wide else "utf-8-sig"
    decoder = codecs.getincrementaldecoder(encoding)()
    beginning = ""
    try:
        for piece in _pieces(file):
            if not wide and _CONTROLS.search(piece):
                return None
            text = decoder.decode(piece)
            if wide and "\0" in text:
                return None
            if len(beginning) < HEAD_BYTES:
                beginning += text[:HEAD_BYTES]
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return None
    is_diff = _DIFF.search(beginning.replace("\r\n", "\n")) is not None
    return Content(
        type=DIFF if is_diff else TEXT, kind=AttachmentKind.TEXT, excerpt=excerpt(beginning)
    )


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(CHUNK_BYTES):
        yield piece
