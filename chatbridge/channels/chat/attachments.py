"""The files of an ask or a notice in a chat: which messages they go into, and sending them in time.

Pictures come together in an album, as previews; everything else comes as files. What could not be
sent is in the inbox, and whoever sent it says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Any

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.callback_data import crc
from chatbridge.channels.chat.capabilities import Files
from chatbridge.channels.chat.card_messages import SentFiles
from chatbridge.channels.chat.writer import ChatWriter, Key, MessageRejected, Outgoing, patiently
from chatbridge.core.cards.attached import CLIP, DIFF, format_attachments, shown_name
from chatbridge.core.cards.card import Card
from chatbridge.core.model import Ask, Attachment, AttachmentKind
from chatbridge.core.ports import AttachmentStore, Clock, Preview
from chatbridge.core.tasks import race
from chatbridge.core.text import clipped, one_line, split_recommended, visible

log = logging.getLogger(__name__)

WITHIN = 10.0
"""Seconds that a card waits for its files, all of them together."""
CAPTION = 500
LISTED, NAMED = 200, 3
"""How much of a list of files a line shows, and how many of those that are missing."""
ANIMATED = "image/gif"
"""A preview shows its first picture."""
EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg"}


# ── in words ──────────────────────────────────────────────────────────────────────────────────────


def listed(attachments: Sequence[Attachment]) -> doc.Line:
    """`📎 2 pictures, 1 file (build.log, 12 KB)`."""
    if not attachments:
        return ()
    return (f"{CLIP} ", doc.Name(format_attachments(attachments), LISTED))


def not_sent(attachments: Sequence[Attachment]) -> doc.Line:
    """That these are in the inbox only."""
    if not attachments:
        return ()
    names: list[doc.Inline] = [doc.Name(shown_name(each)) for each in attachments[:NAMED]]
    if len(attachments) > NAMED:
        names.append(f"{len(attachments) - NAMED} more")
    named = [part for name in names for part in (", ", name)][1:]
    if len(names) > 1:
        named[-2] = " and "
    where = "it is" if len(attachments) == 1 else "they are"
    return (f"{CLIP} ", *named, f" could not be sent here; {where} in the inbox.")


def files_of(card: Card) -> tuple[Attachment, ...]:
    """What goes with this question."""
    return (*(choice.image for choice in card.choices if choice.image), *card.attachments)


def file_lines(card: Card, missing: Sequence[str]) -> doc.Lines:
    """Which files go with this question, and which of them are in the inbox only."""
    files = files_of(card)
    return doc.Lines((listed(files), not_sent([each for each in files if each.digest in missing])))


def excerpts(attachments: Iterable[Attachment], lines: int) -> Iterator[doc.Block]:
    """The first lines of texts, each below its name."""
    for each in attachments:
        first = visible(each.excerpt or "").strip("\n").split("\n")[:lines] if lines else []
        if any(first):
            language = "diff" if each.type == DIFF else None
            heading = doc.line(doc.Name(shown_name(each)), ":")
            code = doc.Code(text="\n".join(first), language=language)
            yield doc.Group((heading, code), tight=True)


# ── what goes into which message ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Captioned:
    attachment: Attachment
    caption: str

    @property
    def key(self) -> str:
        """The same for the same file; one that is shown twice has two captions."""
        return f"{self.attachment.digest[:16]}-{crc(self.caption)}"


def of_ask(ask: Ask) -> list[Captioned]:
    """The pictures of options come first, with the numbers that their buttons have."""
    found = []
    for at, question in enumerate(ask.questions, 1):
        which = f"Question {at}, " if len(ask.questions) > 1 else ""
        for number, option in enumerate(question.options, 1):
            if option.image is not None:
                label, _ = split_recommended(one_line(visible(option.label)))
                caption = f"{which}{number} · {label}"
                found.append(Captioned(option.image, clipped(caption, CAPTION)))
    return [*found, *captioned(ask.attachments)]


def captioned(attachments: Iterable[Attachment]) -> list[Captioned]:
    return [Captioned(each, clipped(visible(each.caption or ""), CAPTION)) for each in attachments]


@dataclass(frozen=True, slots=True)
class Batch:
    """The files of one message, with the attachments that they are of."""

    files: tuple[doc.File, ...]
    sources: tuple[Captioned, ...]

    @property
    def shown(self) -> bool:
        return self.files[0].size is not None


def _batches(found: Sequence[tuple[doc.File, Captioned]], most: int) -> Iterator[Batch]:
    for i in range(0, len(found), most):
        files, sources = zip(*found[i : i + most], strict=True)
        yield Batch(files, sources)


def _as_picture(source: Captioned, preview: Preview) -> doc.File:
    stem = PurePath(source.attachment.name).stem or "picture"
    return doc.File(
        name=stem + EXTENSIONS.get(preview.type, ""),
        path=preview.path,
        type=preview.type,
        caption=source.caption,
        size=(preview.width, preview.height),
    )


def is_shrunk(attachment: Attachment, preview: Preview) -> bool:
    """Whether the original shows more than its preview does."""
    size = {attachment.width, attachment.height}
    return attachment.type == ANIMATED or size != {preview.width, preview.height}


# ── sending them ──────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class Uploads:
    """One attempt to send files; what an earlier one has sent is not sent again."""

    chat: ChatWriter[Any]
    new: Callable[..., Outgoing[Any]]
    """Makes a message of what it is and its key."""
    key: Key
    """What the keys of all of them begin with. The rest is the same for the same files."""
    clock: Clock
    out: dict[str, str]
    """The messages that are out, by the rest of their keys."""
    _arrived: set[str] = field(default_factory=set)
    _shrunk: bool = False

    async def run(self, sources: Sequence[Captioned]) -> SentFiles:
        """Within ten seconds, whatever fails."""
        store, limits = self.chat.stored, self.chat.files
        if store is not None and limits is not None:
            sending = self._send_all(sources, store, limits)
            try:
                await race(sending, self.clock.sleep(WITHIN))
            except Exception:
                log.exception("files were not sent")
        digests = dict.fromkeys(each.attachment.digest for each in sources)
        missing = tuple(each for each in digests if each not in self._arrived)
        return SentFiles(missing=missing, shrunk=self._shrunk)

    async def _send_all(
        self, sources: Sequence[Captioned], store: AttachmentStore, limits: Files
    ) -> None:
        pictures: list[tuple[doc.File, Captioned]] = []
        others: list[Captioned] = []
        shrunk = set[str]()
        for source in sources:
            preview = await _preview(source.attachment, store, limits)
            if preview is None:
                others.append(source)
                continue
            pictures.append((_as_picture(source, preview), source))
            if is_shrunk(source.attachment, preview):
                shrunk.add(source.attachment.digest)
        for batch in _batches(pictures, limits.album):
            digests = {each.attachment.digest for each in batch.sources}
            try:
                await self._send_batch(batch)
                self._shrunk |= bool(shrunk & digests & self._arrived)
            except MessageRejected as error:
                log.warning("a picture was refused, and is sent as a file: %s", error)
                await self._send_originals(batch.sources, store, limits)
        await self._send_originals(others, store, limits)

    async def _send_originals(
        self, sources: Sequence[Captioned], store: AttachmentStore, limits: Files
    ) -> None:
        found = [(file, source) for source in sources if (file := original(source, store, limits))]
        for batch in _batches(found, limits.album):
            try:
                await self._send_batch(batch)
            except MessageRejected as error:
                log.warning("files were refused: %s", error)

    async def _send_batch(self, batch: Batch) -> None:
        """:raises MessageRejected:"""
        kind = "shown" if batch.shown else "file"
        key = " ".join((kind, *(each.key for each in batch.sources)))
        if key not in self.out:
            try:
                new = self.new(what=doc.Upload(batch.files), key=(*self.key, key))
                sent = await patiently(partial(self.chat.send, new), self.clock)
                self.out[key] = sent.id
            except MessageRejected:
                raise
            except Exception as error:  # noqa: BLE001 - no fault of an upload holds up a question
                log.warning("files were not sent: %s", error)
                return
        self._arrived |= {each.attachment.digest for each in batch.sources}


async def _preview(attachment: Attachment, store: AttachmentStore, limits: Files) -> Preview | None:
    if attachment.kind is not AttachmentKind.PICTURE:
        return None
    try:
        preview = await store.preview(attachment)
    except Exception as error:  # noqa: BLE001 - no fault of a picture holds up a question
        log.warning("a picture cannot be shown: %s", error)
        return None
    return preview if preview and preview.size <= (limits.picture or limits.largest) else None


def original(source: Captioned, store: AttachmentStore, limits: Files) -> doc.File | None:
    """The file itself; None if it is too large for the chat, or no longer kept."""
    attachment = source.attachment
    path = store.path(attachment) if attachment.size <= limits.largest else None
    if path is None:
        return None
    return doc.File(name=attachment.name, path=path, type=attachment.type, caption=source.caption)


async def originals_of(
    ask: Ask, store: AttachmentStore | None, limits: Files | None
) -> tuple[list[tuple[doc.File, Attachment]], list[Attachment]]:
    """The pictures of an ask as they are that a chat shows smaller, and those that it cannot
    take."""
    found: list[tuple[doc.File, Attachment]] = []
    left: list[Attachment] = []
    for source in of_ask(ask):
        each = source.attachment
        if store is None or limits is None:
            left.append(each)
        elif (preview := await _preview(each, store, limits)) and is_shrunk(each, preview):
            file = original(source, store, limits)
            if file is not None:
                found.append((file, each))
            else:
                left.append(each)
    return found, left
