"""Transcription by an endpoint with OpenAI's interface, such as a local whisper server."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx

from chatbridge import safe_json
from chatbridge.core.errors import TranscriptionFailed
from chatbridge.core.text import one_line, shortened
from chatbridge.voice.settings import Voice

log = logging.getLogger(__name__)

MAX_RESPONSE = 1_000_000  # Bytes
UNREACHABLE = "The transcription service cannot be reached."
TOO_SLOW = "The transcription service took too long."
REFUSED_KEY = "The transcription service does not accept the key. Check voice.key."
NO_TEXT = "The transcription service sent something other than text."


class Endpoint:
    def __init__(self, table: Voice) -> None:
        self._url = table.url
        self._fields = {"model": table.model, "response_format": "json"}
        if table.language:
            self._fields["language"] = table.language
        self._key = table.key.get_secret_value() if table.key else ""
        self._timeout = table.timeout

    async def transcribe(self, path: str, *, type: str, name: str) -> str:
        """:raises TranscriptionFailed:"""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx.AsyncClient(timeout=self._timeout) as client,
            ):
                with open(path, "rb") as recording:  # noqa: ASYNC230 - a local file, read in parts
                    async with client.stream(
                        "POST",
                        self._url,
                        headers=headers,
                        data=self._fields,
                        files={"file": (name, recording, type)},
                    ) as response:
                        content = await _bounded(response)
        except (TimeoutError, httpx.TimeoutException):
            raise TranscriptionFailed(TOO_SLOW) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            log.warning("voice: %s: %s", error.__class__.__name__, one_line(str(error)))
            raise TranscriptionFailed(UNREACHABLE) from None
        return _text(response.status_code, content)


async def _bounded(response: httpx.Response) -> bytes:
    """:raises TranscriptionFailed: it is larger than any transcript."""
    found = b""
    async for part in response.aiter_bytes():
        found += part
        if len(found) > MAX_RESPONSE:
            raise TranscriptionFailed(NO_TEXT)
    return found


def _text(status: int, content: bytes) -> str:
    if status in (401, 403):
        raise TranscriptionFailed(REFUSED_KEY)
    if status != 200:
        said = shortened(one_line(content.decode(errors="replace")), 200)
        log.warning("voice: the endpoint answered %d: %s", status, said)
        raise TranscriptionFailed(
            f"The transcription service answered with an error ({status}). See the hub's log."
        )
    try:
        found: Any = safe_json.loads(content)
    except ValueError:
        raise TranscriptionFailed(NO_TEXT) from None
    text = found.get("text") if isinstance(found, dict) else None
    if not isinstance(text, str):
        raise TranscriptionFailed(NO_TEXT)
    return text
