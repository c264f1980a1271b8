"""Pictures by their first bytes, and what can be fetched: how the service hands files out."""

from __future__ import annotations

import struct
from dataclasses import replace

from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import CHANCE, Document, Json
from tests.fakes.telegram.replies import Outcome, Refusal, Reply, bad_request
from tests.fakes.telegram.service import Service

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG's markers that are followed by the picture's size."""


class Media:
    def __init__(self, service: Service) -> None:
        self._service = service

    def get_file(self, params: Json, files: dict[str, Document]) -> Json:
        service = self._service
        document = service.files.get(str(params.get("file_id")))
        if document is None:
            raise bad_request("invalid file_id")
        size = len(document.content)
        if size > limits.FETCHED_BYTES:
            raise bad_request("file is too big")
        path = service.local_folder + f"{document.type}s/file_{CHANCE.randrange(10**6)}"
        service.paths[path] = (document, service.clock.time() + limits.FETCHED_SECONDS)
        return {
            "file_id": document.id,
            "file_unique_id": document.id[-12:],
            "file_size": size,
            "file_path": path,
        }

    def fetch(self, params: Json, files: dict[str, Document]) -> Outcome:
        """What a GET of a file's path gets."""
        document, until = self._service.paths.get(params["path"], (None, 0.0))
        if document is None or self._service.clock.time() > until:
            raise Refusal(404, "Not Found")
        return Reply(body=document.content, kind="application/octet-stream")


def checked_photo(document: Document) -> Document:
    """:raises Refusal: the service does not show this as a photo."""
    size = len(document.content)
    if size > limits.PHOTO_BYTES:
        raise bad_request(
            f"file of size {size} bytes is too big for a photo; "
            f"the maximum size is {limits.PHOTO_BYTES} bytes"
        )
    sides = sides_of(document.content)
    if sides is None:
        raise bad_request("IMAGE_PROCESS_FAILED")
    least, most = sorted(sides)
    if not least or sum(sides) > limits.PHOTO_SIDES or most > limits.PHOTO_RATIO * least:
        raise bad_request("PHOTO_INVALID_DIMENSIONS")
    return replace(document, type="photo", sides=sides)


def sides_of(content: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, a JPEG or a GIF."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    if content.startswith((b"GIF87a", b"GIF89a")) and len(content) >= 10:
        width, height = struct.unpack("<HH", content[6:10])
        return width, height
    return _jpeg_sides(content) if content.startswith(b"\xff\xd8") else None


def _jpeg_sides(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        if content[at + 1] in _FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None
