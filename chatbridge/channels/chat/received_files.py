"""Files that a person sends in a chat: what they are to an ask, held to the limits before anything
is fetched, then fetched within a minute and stored.

Who has sent them, and for what, is known before: a stranger's file is never fetched.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace

from chatbridge.channels.chat.capabilities import Files
from chatbridge.core.asks.transitions import apply_event
from chatbridge.core.cards.attached import CLIP, format_size
from chatbridge.core.errors import AttachmentError, ChatbridgeError, StoreError, TokenRejected
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import YES_OR_NO, Action, Unclear
from chatbridge.core.model import Ask, Attachment
from chatbridge.core.ports import AttachmentStore, Clock, Recipient
from chatbridge.core.tasks import race

log = logging.getLogger(__name__)

FETCH_SECONDS = 60.0
"""For all files of a message: nothing else is read from the chat meanwhile."""
NOT_FETCHED = "That file could not be fetched. Send it again, or through the inbox."
NOT_ALL_FETCHED = "Not all of these could be fetched. Send them again, or through the inbox."
SENT_AS_RECORDING = (
    "Sent as a recording. To have speech turned into text, set [voice] in config.toml."
)
PICKS = (form.Choose, form.Toggle, form.Select, form.Done)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingFile:
    """A file in a person's message. Nothing is fetched until it is known who sent it, and for
    which ask."""

    read: Callable[[], AsyncIterator[bytes]]
    """Fetch its content. :raises RetryLater: :raises AttachmentError: as a sentence for the
    person."""
    name: str | None = None
    size: int | None = None
    """As the service says, if it does."""
    voice: bool = False
    """It was spoken into the chat, and not chosen as a file."""


def in_words(files: Sequence[IncomingFile]) -> str:
    """What stands for a message without a caption."""
    named = ("voice message" if each.voice else each.name or "file" for each in files)
    return f"{CLIP} {', '.join(named)}"


def is_spoken(files: Sequence[IncomingFile], caption: str | None) -> bool:
    """Whether the message is a voice message, and nothing else."""
    return len(files) == 1 and files[0].voice and not caption


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What files are to an ask, by their caption."""

    opening: tuple[form.Event, ...]
    """What comes before: it opens a late answer."""
    step: int
    words: str | None
    meaning: Sequence[Action] | Unclear
    """What the words would be without the files."""
    _: KW_ONLY
    spoken: bool
    """They are to be turned into text."""

    @property
    def picks(self) -> tuple[form.Event, ...]:
        """Options that the words name: then the files are what is remarked beside them."""
        if isinstance(self.meaning, Unclear):
            return ()
        picks = tuple(each for each in self.meaning if isinstance(each, PICKS))
        return picks if len(picks) == len(self.meaning) else ()

    @property
    def unclear(self) -> Unclear | None:
        """Which option the words name. The files wait meanwhile. Where yes or no is asked for, any
        words are a remark."""
        if not isinstance(self.meaning, Unclear) or self.meaning == YES_OR_NO:
            return None
        return self.meaning

    def events(self, attachments: tuple[Attachment, ...]) -> Sequence[form.Event]:
        if self.spoken:
            return (*self.opening, form.Speak(recording=attachments[0], step=self.step))
        keep = bool(self.picks or self.unclear)
        text = None if keep else self.words
        attach = form.Attach(attachments=attachments, text=text, keep=keep, step=self.step)
        return (*self.opening, attach, *self.picks)

    def refusal(self, ask: Ask, count: int) -> form.Refused | None:
        """Why the form would not take so many files, if so."""
        for event in self.events((form.ANY_FILE,) * count):
            step = apply_event(ask, event)
            if isinstance(step, form.Refused):
                return step
            if isinstance(step, form.Moved):
                ask = replace(ask, draft=step.draft)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIntake:
    store: AttachmentStore
    clock: Clock
    limits: Files | None
    """Of the service."""

    def check(self, files: Sequence[IncomingFile], before: Sequence[Attachment] = ()) -> None:
        """`before`: those that the answer has already.
        :raises AttachmentError: they are too many or, by what the service says, too large."""
        if len(before) + len(files) > self.store.most:
            raise AttachmentError(form.too_many_files(self.store.most).why)
        sizes = [each.size or 0 for each in files]
        self._check_fetched(max(sizes))
        if sum(sizes) > self._room(before):
            raise AttachmentError(self._too_much)

    async def fetch(
        self, files: Sequence[IncomingFile], to: Recipient, before: Sequence[Attachment] = ()
    ) -> tuple[Attachment, ...]:
        """All of them, or none. :raises AttachmentError: as a sentence for the person."""
        try:
            fetched = await race(self._fetch(files, to, before), self.clock.sleep(FETCH_SECONDS))
        except (AttachmentError, StoreError, TokenRejected):
            raise
        except (ChatbridgeError, OSError, ValueError) as error:
            log.warning("a file was not fetched: %s", error)
            fetched = None
        if fetched is None:
            raise AttachmentError(NOT_FETCHED if len(files) == 1 else NOT_ALL_FETCHED)
        return fetched

    async def _fetch(
        self, files: Sequence[IncomingFile], to: Recipient, before: Sequence[Attachment]
    ) -> tuple[Attachment, ...]:
        fetched: list[Attachment] = []
        for file in files:
            bounded = self._bounded(file, self._room((*before, *fetched)))
            async with aclosing(bounded) as content:
                fetched.append(await self.store.receive(content, name=file.name, to=to))
        return tuple(fetched)

    async def _bounded(self, file: IncomingFile, room: int) -> AsyncGenerator[bytes, None]:
        """Whatever the service says of its size, or does not."""
        count, content = 0, file.read()
        try:
            async for chunk in content:
                count += len(chunk)
                self._check_fetched(count)
                if count > room:
                    raise AttachmentError(self._too_much)
                yield chunk
        finally:
            if isinstance(content, AsyncGenerator):
                await content.aclose()  # at once: its connection would stay open

    def _check_fetched(self, size: int) -> None:
        limits = self.limits
        if limits is not None and limits.fetched is not None and size > limits.fetched:
            raise AttachmentError(limits.too_large)

    def _room(self, before: Sequence[Attachment]) -> int:
        return self.store.largest - sum(each.size for each in before)

    @property
    def _too_much(self) -> str:
        most = format_size(self.store.largest)
        return f"The files of an answer can have {most} together. Send less, or smaller ones."
