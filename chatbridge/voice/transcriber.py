"""Who turns voice messages into text, by the settings. Imports only what they need."""

from __future__ import annotations

from chatbridge.core.ports import Transcriber
from chatbridge.voice.settings import Voice


def transcriber_of(table: Voice) -> Transcriber | None:
    if table.url:
        from chatbridge.voice.endpoint import Endpoint

        return Endpoint(table)
    if table.command:
        from chatbridge.voice.command import Command

        return Command(table.command, timeout=table.timeout)
    return None
