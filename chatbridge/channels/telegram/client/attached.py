"""Files in people's messages, as Telegram describes them. Nothing is fetched here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from telegram import (
    Animation,
    Audio,
    Document,
    LivePhoto,
    Message,
    PhotoSize,
    Sticker,
    Video,
    VideoNote,
    Voice,
)

FETCHED = 20 << 20
"""The largest that a bot can fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A file in a person's message."""

    id: str
    name: str | None
    size: int | None
    voice: bool = False


def attached(message: Message) -> Attached | None:
    """The message's file, if it has one. :raises TypeError: its form is another."""
    match message.effective_attachment:
        case [PhotoSize(), *_] as sizes:
            return _photo(sizes)
        case LivePhoto(photo=[PhotoSize(), *_] as sizes):
            return _photo(sizes)
        case Voice() as it:
            return _attached(it, "voice.ogg", voice=True)
        case VideoNote() as it:
            return _attached(it, "video.mp4")
        case Sticker(is_animated=animated, is_video=video) as it:
            ending = "tgs" if animated else "webm" if video else "webp"
            return _attached(it, f"sticker.{ending}")
        case Animation() | Audio() | Document() | Video() as it:
            return _attached(it, it.file_name)
    return None


def _photo(sizes: Sequence[PhotoSize]) -> Attached:
    """The largest that can be fetched."""
    fitting = [size for size in sizes if (size.file_size or 0) <= FETCHED]
    return _attached(max(fitting or sizes, key=lambda it: it.width * it.height), "photo.jpg")


def _attached(
    it: PhotoSize | Voice | VideoNote | Sticker | Animation | Audio | Document | Video,
    name: str | None,
    *,
    voice: bool = False,
) -> Attached:
    check_types(str, it.file_id, name)
    check_types(int, it.file_size)
    return Attached(id=it.file_id, name=name, size=it.file_size, voice=voice)


def check_types(wanted: type, *given: object) -> None:
    """:raises TypeError:"""
    if any(type(each) not in (wanted, type(None)) for each in given):
        raise TypeError(f"what should be {wanted.__name__} is something else")
