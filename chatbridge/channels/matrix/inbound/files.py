"""The file of a message: a picture, a recording, a film or any other. Nothing is fetched here."""

from __future__ import annotations

from functools import partial

from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.matrix.client.events import RoomEvent
from chatbridge.channels.matrix.client.media import ContentRepository, media_in
from chatbridge.safe_json import value_at

KINDS = ("m.image", "m.file", "m.audio", "m.video")
VOICE = ("m.voice", "org.matrix.msc3245.voice", "org.matrix.msc3245.voice.v2")


def has_file(event: RoomEvent) -> bool:
    return event.content.get("msgtype") in KINDS


def caption_of(event: RoomEvent) -> str | None:
    """Beside the name since Matrix 1.10. Until then the body was the name, and is so without."""
    body, name = (event.content.get(key) for key in ("body", "filename"))
    is_caption = isinstance(body, str) and isinstance(name, str) and body != name
    return body if is_caption and body else None


def files_in(event: RoomEvent, media: ContentRepository) -> tuple[IncomingFile, ...]:
    if not has_file(event):
        return ()
    found, size = media_in(event.content), value_at(event.content, "info", "size")
    names = (event.content.get(key) for key in ("filename", "body"))
    is_voice = event.content.get("msgtype") == "m.audio" and any(
        key in event.content for key in VOICE
    )
    return (
        IncomingFile(
            read=partial(media.read, found),
            name=next((name for name in names if isinstance(name, str) and name), None),
            size=size if type(size) is int and size >= 0 else None,
            voice=is_voice,
        ),
    )
