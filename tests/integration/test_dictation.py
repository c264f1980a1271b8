"""A voice message becomes a text that the person sends, on a real store, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.asks.dictation import FAILED, GONE, Dictation
from chatbridge.core.errors import TranscriptionFailed
from chatbridge.core.forms import form
from chatbridge.core.model import (
    Ask,
    Attachment,
    AttachmentKind,
    Question,
    QuestionType,
    Status,
    View,
    VoiceMessage,
)
from chatbridge.core.tasks import STORE_RETRY_SECONDS
from tests.fakes.core_env import COLOUR, OWNER, PATIENCE, World, world
from tests.fakes.disk import failing

RECORDING = Attachment(
    digest="a" * 64, name="voice.ogg", type="audio/ogg", size=640, kind=AttachmentKind.AUDIO
)
TEXT = Question(id="why", text="Why?")
SURE = Question(id="sure", text="Sure?", type=QuestionType.CONFIRM)


class Recordings:
    """Only says where recordings are."""

    def __init__(self, *, there: bool = True) -> None:
        self._there = there

    def path(self, attachment: Attachment) -> str | None:
        return f"/recordings/{attachment.digest}" if self._there else None


class Listener:
    """Understands a text once it is told so."""

    def __init__(self, text: str | Exception = "") -> None:
        self.heard: list[str] = []
        self.may_end = asyncio.Event()
        self._text = text

    async def transcribe(self, path: str, *, type: str, name: str) -> str:
        self.heard.append(f"{path} {type} {name}")
        await self.may_end.wait()
        if isinstance(self._text, Exception):
            raise self._text
        return self._text


@asynccontextmanager
async def dictating(
    here: World, listener: Listener, *, there: bool = True
) -> AsyncIterator[Dictation]:
    """As in a hub: it hears of every change, until the hub is killed."""
    tasks: set[asyncio.Task[object]] = set()

    def spawn(work: Coroutine[Any, Any, object]) -> None:
        tasks.add(asyncio.ensure_future(work))

    recordings: Any = Recordings(there=there)
    dictation = Dictation(listener, recordings, spawn, here.inbox, here.clock)
    try:
        yield dictation
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def spoken(here: World, question: Question = TEXT) -> Ask:
    ask = await here.ask(question)
    await here.inbox.put(ask.id, form.Speak(recording=RECORDING), person=OWNER)
    return await here.now(ask)


async def understood(here: World, ask: Ask, dictation: Dictation) -> Ask:
    """How the ask is once the transcription has ended."""
    dictation.changed(ask)
    return await here.until(lambda it: bool(it.draft.voice and it.draft.voice != _waiting()))


def _waiting() -> VoiceMessage:
    return VoiceMessage(recording=RECORDING)


async def test_only_send_answers_with_what_was_understood(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        ask, listener = await spoken(here), Listener(" Take PostgreSQL. ")
        listener.may_end.set()
        async with dictating(here, listener) as dictation:
            heard = await understood(here, ask, dictation)
        assert heard.draft.view is View.HEARD
        assert heard.draft.voice == replace(_waiting(), text="Take PostgreSQL.")
        assert heard.status is Status.OPEN
        assert listener.heard == [f"/recordings/{'a' * 64} audio/ogg voice.ogg"]
        await here.inbox.put(ask.id, form.SendHeard(step=heard.draft.step), person=OWNER)
        ended = await here.ended(ask)
        assert ended.outcome
        assert ended.outcome.answers[0].values == ("Take PostgreSQL.",)
        assert ended.outcome.answers[0].attachments == ()


@pytest.mark.parametrize(
    ("listener", "there", "problem"),
    [
        (lambda: Listener(TranscriptionFailed("It took too long.")), True, "It took too long."),
        (lambda: Listener(" \n "), True, form.NOTHING_HEARD),
        (lambda: Listener("never asked"), False, GONE),
        (lambda: Listener(UnicodeEncodeError("ascii", "\xfc", 0, 1, "a key")), True, FAILED),
    ],
)
async def test_what_cannot_be_understood_is_said_and_can_go_as_a_recording(
    tmp_path: Path, listener: Any, there: bool, problem: str
) -> None:
    async with world(tmp_path) as here:
        ask, ears = await spoken(here), listener()
        ears.may_end.set()
        async with dictating(here, ears, there=there) as dictation:
            heard = await understood(here, ask, dictation)
        assert heard.draft.voice == replace(_waiting(), problem=problem)
        await here.inbox.put(ask.id, form.SendHeard(step=heard.draft.step), person=OWNER)
        answer = (await here.ended(ask)).outcome
        assert answer
        assert answer.answers[0].attachments == (RECORDING,)


async def test_a_killed_hub_loses_no_voice_message_and_the_next_one_transcribes_it(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        ask, first = await spoken(here), Listener("too early")
        async with dictating(here, first) as dictation:
            dictation.changed(ask)
    async with world(tmp_path) as here:
        second = Listener("Blue.")
        second.may_end.set()
        async with dictating(here, second) as dictation:
            dictation.resume(await here.inbox.open_asks())
            heard = await here.until(lambda it: bool(it.draft.voice and it.draft.voice.text))
        assert heard.draft.voice == replace(_waiting(), text="Blue.")


async def test_what_was_understood_while_the_store_fails_is_there_once_it_works(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        ask, listener = await spoken(here), Listener("Blue.")
        async with dictating(here, listener) as dictation:
            async with failing(tmp_path, "asks"):
                listener.may_end.set()
                dictation.changed(ask)
                async with asyncio.timeout(PATIENCE):
                    await here.clock.until_asleep(STORE_RETRY_SECONDS)
            here.clock.advance(STORE_RETRY_SECONDS)
            heard = await here.until(lambda it: bool(it.draft.voice and it.draft.voice.text))
        assert heard.draft.voice == replace(_waiting(), text="Blue.")
        assert len(listener.heard) == 1


async def test_one_voice_message_is_transcribed_once_however_often_its_ask_changes(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        ask, listener = await spoken(here), Listener("Blue.")
        async with dictating(here, listener) as dictation:
            dictation.changed(ask)
            dictation.changed(replace(ask, revision=ask.revision + 1))
            listener.may_end.set()
            heard = await here.until(lambda it: bool(it.draft.voice and it.draft.voice.text))
            dictation.changed(heard)
        assert len(listener.heard) == 1


async def test_what_is_understood_after_the_answer_or_a_discard_changes_nothing(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        ask, listener = await spoken(here, COLOUR), Listener("too late")
        async with dictating(here, listener) as dictation:
            dictation.changed(ask)
            await here.inbox.put(ask.id, form.Back(step=ask.draft.step), person=OWNER)
            asked = await here.now(ask)
            await here.inbox.put(ask.id, form.Choose(step=asked.draft.step, option=1), person=OWNER)
            listener.may_end.set()
            ended = await asyncio.wait_for(here.ended(ask), PATIENCE)
        assert ended.outcome
        assert ended.outcome.answers[0].values == ("blue",)
        assert asked.draft.voice is None


async def test_beside_yes_and_no_the_words_are_a_remark_that_waits_for_the_tap(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        ask, listener = await spoken(here, SURE), Listener("But only on staging.")
        listener.may_end.set()
        async with dictating(here, listener) as dictation:
            heard = await understood(here, ask, dictation)
        await here.inbox.put(ask.id, form.SendHeard(step=heard.draft.step), person=OWNER)
        asked = await here.now(ask)
        assert asked.status is Status.OPEN
        await here.inbox.put(ask.id, form.Choose(step=asked.draft.step, option=0), person=OWNER)
        outcome = (await here.ended(ask)).outcome
        assert outcome
        assert outcome.answers[0].values == ("yes",)
        assert outcome.answers[0].custom_text == "But only on staging."
