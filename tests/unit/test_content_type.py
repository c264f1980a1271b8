"""What a file is, by its content; and names that are safe to show."""

from __future__ import annotations

import io
import struct
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from chatbridge.attachments.content_type import (
    BINARY,
    EXCERPT_CHARACTERS,
    EXCERPT_LINES,
    EXTENSIONS,
    MAX_NAME,
    Content,
    extension_of,
    inspect,
    safe_name,
)
from chatbridge.core.model import AttachmentKind
from chatbridge.core.text import visible
from tests.fakes.sample_files import GIF, PNG, png

PICTURE, TEXT, AUDIO, FILE = AttachmentKind


def found_in(content: bytes) -> Content:
    return inspect(io.BytesIO(content))


def saved(format: str, size: tuple[int, int] = (40, 30), **how: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, format, **how)
    return file.getvalue()


# ── pictures ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "type"),
    [
        (saved("PNG"), "image/png"),
        (saved("JPEG"), "image/jpeg"),
        (saved("JPEG", progressive=True), "image/jpeg"),
        (saved("GIF"), "image/gif"),
        (saved("WEBP"), "image/webp"),
        (saved("WEBP", lossless=True), "image/webp"),
        (saved("WEBP", save_all=True, append_images=[Image.new("RGB", (40, 30))]), "image/webp"),
    ],
    ids=["png", "jpeg", "progressive", "gif", "webp", "webp-lossless", "webp-animated"],
)
def test_a_picture_is_known_by_its_header_with_its_size(content: bytes, type: str) -> None:
    assert found_in(content) == Content(type=type, kind=PICTURE, width=40, height=30)


def test_the_size_of_a_jpeg_is_found_behind_megabytes_of_a_cameras_own() -> None:
    plain = saved("JPEG")
    depth_map = (b"\xff\xe1" + struct.pack(">H", 65_535) + b"x" * 65_533) * 40
    assert found_in(plain[:2] + depth_map + plain[2:]).width == 40


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_photo_that_is_stored_on_its_side_has_the_size_that_is_seen(
    orientation: int, order: str
) -> None:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    tags = struct.pack(f"{order}HHIHH", 0x0100, 3, 1, 6, 0)
    tags += struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    exif = b"Exif\0\0" + mark + struct.pack(f"{order}IH", 8, 2) + tags + b"\0\0\0\0"
    found = found_in(saved("JPEG", exif=exif))
    with Image.open(io.BytesIO(saved("JPEG", exif=exif))) as image:
        assert (found.width, found.height) == ImageOps.exif_transpose(image).size


@given(exif=st.binary(max_size=60), order=st.sampled_from([b"II*\0", b"MM\0*", b""]))
def test_broken_tags_leave_a_photo_one(exif: bytes, order: bytes) -> None:
    found = found_in(saved("JPEG", exif=b"Exif\0\0" + order + exif))
    assert {found.width, found.height} == {40, 30}


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n" + b"<html>" * 9,
        png(0, 5, b""),
        PNG[:20],
        b"GIF89a\0\0\0\0",
        b"\xff\xd8\xff\xd9" + b"\x80" * 40,
        b"\xff\xd8\xff\xe0" + b"\x00\x02\xff\xe0" * 5_000,
        b"\xff\xd8" + b"\xff" * 50_000,
        b"RIFF\x10\0\0\0WEBPVP8 ",
        b"RIFF\x10\0\0\0WEBPXXXX" + b"\0" * 40,
    ],
)
def test_what_only_begins_like_a_picture_is_a_file(content: bytes) -> None:
    assert found_in(content) == Content()


def test_a_picture_that_is_also_an_archive_is_a_picture_and_no_text() -> None:
    assert found_in(GIF + b"PK\x03\x04" + b"\0" * 30).type == "image/gif"
    assert found_in(saved("JPEG", comment=b"<script>alert(1)</script>")).type == "image/jpeg"


# ── sound, containers and the rest ────────────────────────────────────────────────────────────────


def mp4(brand: bytes, *tracks: bytes) -> bytes:
    boxes = b"".join(b"\0\0\0\x20hdlr" + b"\0" * 8 + track + b"\0" * 12 for track in tracks)
    return b"\0\0\0\x18ftyp" + brand + b"\0" * 12 + boxes


@pytest.mark.parametrize(
    ("content", "type", "kind"),
    [
        (b"OggS\0\x02" + b"\0" * 22 + b"OpusHead", "audio/ogg", AUDIO),
        (b"OggS\0\x02" + b"\0" * 22 + b"\x80theora", "video/ogg", FILE),
        (b"ID3\x04\0\0\0\0\0\x10" + b"\0" * 9, "audio/mpeg", AUDIO),
        (b"\xff\xfb\x90\x64" + b"\0" * 9, "audio/mpeg", AUDIO),
        (b"\xff\xf1\x50\x80" + b"\0" * 9, "audio/aac", AUDIO),
        (mp4(b"M4A "), "audio/mp4", AUDIO),
        (mp4(b"iso5", b"soun"), "audio/mp4", AUDIO),
        (mp4(b"isom", b"vide", b"soun"), "video/mp4", FILE),
        (mp4(b"isom"), "video/mp4", FILE),
        (mp4(b"heic"), "image/heic", FILE),
        (mp4(b"avif"), "image/avif", FILE),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav", AUDIO),
        (b"\x1a\x45\xdf\xa3\x01\0webm\x86\x86A_OPUS", "audio/webm", AUDIO),
        (b"\x1a\x45\xdf\xa3\x01\0webm\x86\x86A_OPUS\x86\x85V_VP8", "video/webm", FILE),
        (b"fLaC\0\0\0\x22", "audio/flac", AUDIO),
        (b"#!AMR\n", "audio/amr", AUDIO),
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf", FILE),
        (b"PK\x03\x04\x14\0", "application/zip", FILE),
        (b"\x1f\x8b\x08\0", "application/gzip", FILE),
        (b"\x7fELF\x02\x01\x01\0", BINARY, FILE),
        (b"MZ\x90\0", BINARY, FILE),
    ],
)
def test_what_is_no_picture_and_no_text_has_its_type_by_its_first_bytes(
    content: bytes, type: str, kind: AttachmentKind
) -> None:
    assert found_in(content) == Content(type=type, kind=kind)


# ── text ──────────────────────────────────────────────────────────────────────────────────────────

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("content", "type", "excerpt"),
    [
        (b"plain\r\nwords\r\n", "text/plain", "plain\nwords"),
        (b"\xef\xbb\xbfwith a mark", "text/plain", "with a mark"),
        ("größer".encode("utf-16"), "text/plain", "größer"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain", None),
        (b"<!DOCTYPE html><script>alert(1)</script>", "text/plain", None),
        (DIFF.encode(), "text/x-diff", DIFF.rstrip()),
        (b"diff --git a/x b/x\nnew file mode 100644\n", "text/x-diff", None),
        (b"Write 'diff --git a b' to see it", "text/plain", None),
        (b"\x1b[31mFAILED\x1b[0m test", "text/plain", "FAILED test"),
    ],
)
def test_a_text_is_one_by_decoding_it_and_markup_is_a_text(
    content: bytes, type: str, excerpt: str | None
) -> None:
    found = found_in(content)
    assert (found.type, found.kind) == (type, TEXT)
    assert excerpt is None or found.excerpt == excerpt


@pytest.mark.parametrize(
    "content",
    [
        b"words" * 100_000 + b"\0",
        b"words" * 100_000 + b"\xff",
        b"cut \xc3",
        "größer".encode("latin-1"),
        b"\xff\xfea\0\0\0",
        b"\xff\xfea",
        b"\x01\x02\x03",
    ],
    ids=["nul", "late", "cut", "latin-1", "utf-16-nul", "utf-16-cut", "controls"],
)
def test_what_is_no_text_to_its_last_byte_is_a_file(content: bytes) -> None:
    assert found_in(content) == Content()


def test_a_character_on_the_edge_of_what_is_read_at_once_is_no_mistake() -> None:
    found = found_in(b"x" * (256 * 1024 - 1) + "ß".encode() + b"\n")
    assert found.kind is TEXT


def test_an_excerpt_ends_after_twenty_lines_or_a_thousand_characters() -> None:
    lines = found_in(b"line\n" * 50).excerpt
    assert lines == "\n".join(["line"] * EXCERPT_LINES)
    assert len(found_in(b"x" * 5_000).excerpt or "") == EXCERPT_CHARACTERS
    assert len(found_in("\u202e".encode() * 5_000).excerpt or "") <= EXCERPT_CHARACTERS


def test_an_excerpt_shows_what_would_turn_the_text_around() -> None:
    assert found_in("a\u202eb".encode()).excerpt == "a⟨U+202E⟩b"


BEGINNINGS = (
    *(b"", PNG, GIF, b"\xff\xd8\xff", b"RIFF", b"RIFF0000WEBPVP8X", b"\0\0\0\x18ftyp", b"OggS"),
    *(
        b"\x1a\x45\xdf\xa3",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"ID3",
        b"\xff\xfb",
        b"%PDF-",
    ),
)


@given(st.sampled_from(BEGINNINGS), st.binary(max_size=400), st.integers(0, 60))
@example(b"\xff\xd8\xff", b"\xc0", 0)
def test_any_bytes_have_a_type_and_a_picture_a_size(start: bytes, rest: bytes, cut: int) -> None:
    found = found_in(start[: len(start) - cut or None] + rest)
    assert found.type in (*EXTENSIONS, BINARY)
    assert (found.kind is PICTURE) == bool(found.width and found.height)
    assert (found.kind is TEXT) == (found.excerpt is not None)
    assert found.excerpt is None or visible(found.excerpt) == found.excerpt


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_every_text_of_letters_is_a_text(words: str) -> None:
    assert found_in(b"# " + words.encode()).kind is TEXT


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("photo.jpg", "photo.jpg"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\notes.txt", "notes.txt"),
        (".env", ".env"),
        ("Überblick für Ada.pdf", "Überblick für Ada.pdf"),
        ("写真.png", "写真.png"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\x00b\nc\x1b[31m.txt", "ab c[31m.txt"),
        ("zero\u200bwidth\ufeff.txt", "zerowidth.txt"),
        ("a\u2028b", "a b"),
        (None, "file.png"),
        ("", "file.png"),
        ("..", "file.png"),
        ("a/", "file.png"),
        (" . ", "file.png"),
        ("\u202e\u200b", "file.png"),
    ],
)
def test_a_name_is_its_last_part_without_tricks(given_name: str | None, shown: str) -> None:
    assert safe_name(given_name, type="image/png") == shown


def test_a_long_name_keeps_its_extension() -> None:
    assert safe_name("x" * 300 + ".tar.gz", type=BINARY) == "x" * 96 + "….gz"
    assert len(safe_name("x" * 300 + "." + "y" * 300, type=BINARY)) == MAX_NAME


@given(st.text(max_size=300), st.sampled_from([*EXTENSIONS, BINARY]))
def test_whatever_a_name_is_it_can_be_shown_and_is_no_path(name: str, type: str) -> None:
    shown = safe_name(name, type=type)
    assert 1 <= len(shown) <= MAX_NAME
    assert shown.strip(". ")
    assert not set(shown) & {"/", "\\"}
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")]
    assert shown == safe_name(shown, type=type)


def test_every_type_has_an_extension_of_letters_and_digits() -> None:
    assert all(map(str.isalnum, map(extension_of, (*EXTENSIONS, BINARY, "image/bmp"))))
