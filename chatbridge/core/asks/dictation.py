"""Turns voice messages into text in the background, and puts the text into the form.

A voice message is stored with the draft before it is transcribed. After a crash it is begun again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol

from chatbridge.core.errors import AskEnded, ChatbridgeError, TranscriptionFailed, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Attachment, Person
from chatbridge.core.ports import AttachmentStore, Clock, Transcriber
from chatbridge.core.tasks import until_stored

log = logging.getLogger(__name__)

AT_ONCE = 2
GONE = "The recording is no longer there."
FAILED = "The transcription failed."


class _Form(Protocol):
    """Where the text goes."""

    async def put(self, ask_id: str, *events: form.Event, person: Person) -> form.Step: ...


class Dictation:
    def __init__(
        self,
        transcriber: Transcriber,
        recordings: AttachmentStore,
        spawn: Callable[[Coroutine[Any, Any, object]], None],
        actions: _Form,
        clock: Clock,
    ) -> None:
        self._transcriber = transcriber
        self._recordings = recordings
        self._spawn = spawn
        self._actions = actions
        self._clock = clock
        self._under_way: set[tuple[str, str]] = set()
        self._places = asyncio.Semaphore(AT_ONCE)

    def resume(self, asks: Iterable[Ask]) -> None:
        """Begin again what an earlier hub has left."""
        for ask in asks:
            self.changed(ask)

    def changed(self, ask: Ask) -> None:
        """Begin to transcribe the voice message of this ask, if it has one that waits for it."""
        voice, person = ask.draft.voice, ask.draft.by
        if voice is None or voice.text or voice.problem or person is None:
            return
        key = ask.id, voice.recording.digest
        if key not in self._under_way:
            self._under_way.add(key)
            self._spawn(self._transcribe(ask.id, voice.recording, person))

    async def _transcribe(self, ask_id: str, recording: Attachment, person: Person) -> None:
        text, problem = "", None
        try:
            try:
                async with self._places:
                    text = await self._text_of(recording)
            except TranscriptionFailed as error:
                problem = str(error)
            except Exception:
                log.exception("a voice message was not transcribed")
                problem = FAILED
            event = form.Transcribed(digest=recording.digest, text=text, problem=problem)
            put = partial(self._actions.put, ask_id, event, person=person)
            await until_stored(put, clock=self._clock, what="the text of a voice message")
        except (AskEnded, UnknownAsk):
            pass  # it was answered otherwise meanwhile
        except ChatbridgeError as error:
            log.warning("the text of a voice message was not taken: %s", error)
        finally:
            self._under_way.discard((ask_id, recording.digest))

    async def _text_of(self, recording: Attachment) -> str:
        """:raises TranscriptionFailed:"""
        path = self._recordings.path(recording)
        if path is None:
            raise TranscriptionFailed(GONE)
        return await self._transcriber.transcribe(path, type=recording.type, name=recording.name)
