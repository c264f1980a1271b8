"""The bytes of attachments in the state directory.

    attachments/<digest>: what agents sent, stored once for each content
    received/<id>/<digest>.<extension>: what a person sent for the ask, or the message, of this id

Names from outside are never part of a path. Files are read and written as streams, in threads.
Where several hubs have one database there are copies in it, by the same paths.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import sys
from collections.abc import AsyncIterable, Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from chatbridge.attachments.content_type import extension_of
from chatbridge.attachments.pictures import Pictures
from chatbridge.attachments.quota_folder import (
    GRACE_SECONDS,
    Empty,
    NoRoom,
    QuotaFolder,
    TooLarge,
    walk,
)
from chatbridge.attachments.received_copies import copy_into_project
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.errors import AttachmentError, StoreError
from chatbridge.core.model import Attachment, AttachmentKind, Project
from chatbridge.core.ports import Clock, FileCopies, Preview, Recipient
from chatbridge.core.store_port import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

SENT, RECEIVED = "attachments", "received"
CHUNK_BYTES = 256 * 1024
SHORT_DIGEST = 12
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ASK_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_COPY = re.compile(
    rf"{SENT}/([0-9a-f]{{64}})|{RECEIVED}/{_ASK_ID.pattern}/([0-9a-f]{{12}})\.[0-9a-z]+"
)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class AttachmentFiles:
    """Implements `core.ports.AttachmentStore`."""

    def __init__(
        self,
        state_dir: str | Path,
        limits: AttachmentLimits,
        clock: Clock,
        copies: FileCopies | None = None,
    ) -> None:
        self._limits, self._clock, self._copies = limits, clock, copies
        self._state = Path(state_dir)
        self._sent = QuotaFolder(Path(state_dir, SENT), limits.quota, clock)
        self._received = QuotaFolder(Path(state_dir, RECEIVED), limits.quota, clock)
        self._pictures = Pictures(clock=clock)
        self._opening: asyncio.Task[None] | None = None

    @property
    def most(self) -> int:
        return self._limits.most

    @property
    def largest(self) -> int:
        return self._limits.largest

    async def add(
        self,
        content: BinaryIO,
        *,
        name: str,
        caption: str | None = None,
        at_most: int | None = None,
    ) -> Attachment:
        """Store what an agent sends. Reads `content` in a thread.
        :raises AttachmentError: as a sentence for the agent."""

        def store() -> Attachment:
            with _as_attachment_errors(_ToAgent), self._sent.new(limit) as new:
                while piece := _read(content):
                    new.write(piece)
                found = new.described(name, caption=caption)
                new.keep(self._sent.path / found.digest)
                return found

        limit = self.largest if at_most is None else min(at_most, self.largest)
        await self._open()
        found = await asyncio.to_thread(store)
        await self._copy(self._sent.path / found.digest, _ToAgent)
        return found

    async def receive(
        self, content: AsyncIterable[bytes], *, name: str | None, to: Recipient
    ) -> Attachment:
        if not _ASK_ID.fullmatch(to.id):
            raise AttachmentError("This question takes no files. Answer in words.")
        folder = self._received.path / to.id

        async def work(do: Callable[..., T], *given: Any, **named: Any) -> T:
            with _as_attachment_errors(_ToPerson):
                return await asyncio.to_thread(do, *given, **named)

        await self._open()
        new = await work(self._received.new, self.largest)
        try:
            async for piece in content:
                for at in range(0, len(piece), CHUNK_BYTES):
                    await work(new.write, piece[at : at + CHUNK_BYTES])
            found = await work(new.described, name, ask_id=to.id)
            target = folder / _received_name(found)
            await work(new.keep, target)
        finally:
            await asyncio.to_thread(new.close)
        await self._copy(target, _ToPerson)
        where = await asyncio.to_thread(self._place_for_agent, target, to.project)
        return replace(found, path=where)

    def path(self, attachment: Attachment) -> str | None:
        if not _DIGEST.fullmatch(attachment.digest):
            return None
        if attachment.ask_id is None:
            path = self._sent.path / attachment.digest
        elif _ASK_ID.fullmatch(attachment.ask_id):
            path = self._received.path / attachment.ask_id / _received_name(attachment)
        else:
            return None
        return str(path) if path.is_file() else None

    async def preview(self, attachment: Attachment) -> Preview | None:
        path = self.path(attachment)
        if attachment.kind is not AttachmentKind.PICTURE or path is None:
            return None
        folder = self._sent if attachment.ask_id is None else self._received
        await self._open()  # which would count it again, or remove it half made
        return await self._pictures.preview(path, made=folder.room.count)

    async def bring(self, *, of_open: bool = False) -> None:
        """Fetch what other hubs have stored. `of_open`: only what people wait for."""
        if self._copies is None:
            return
        await self._open()
        try:
            for name in await self._copies.names(of_open=of_open):
                await self._fetch(self._copies, name)
        except (StoreError, OSError) as error:
            log.warning("files of other hubs are not there yet: %s", error)

    async def _fetch(self, copies: FileCopies, name: str) -> None:
        """Written like any other file. Counts, even where there is no room: it is known already."""
        found = _COPY.fullmatch(name)
        target = self._state / name
        if found is None or await asyncio.to_thread(target.is_file):
            return
        folder = self._sent if target.parent == self._sent.path else self._received
        new = await asyncio.to_thread(folder.new, sys.maxsize)
        try:
            async for piece in copies.read(name):
                await asyncio.to_thread(new.write, piece)
            if (await asyncio.to_thread(new.synced)).startswith(found[1] or found[2]):
                await asyncio.to_thread(new.keep, target, known=True)
            else:
                log.warning("the copy of %s in the database is another file", name)
        finally:
            await asyncio.to_thread(new.close)

    async def _copy(self, path: Path, words: type[_ToAgent | _ToPerson]) -> None:
        if self._copies is not None:
            name, now = str(path.relative_to(self._state)), self._clock.time()
            with _as_attachment_errors(words):
                await self._copies.save(name, path, now=now)

    async def _copy_missing(self, copies: FileCopies, known: Set[str]) -> None:
        """What was stored before there was a database for it."""
        there = set(await copies.names())
        for path in await asyncio.to_thread(self._paths):
            name = str(path.relative_to(self._state))
            if (
                name not in there
                and _COPY.fullmatch(name)
                and known & {path.name, path.parent.name}
            ):
                await copies.save(name, path, now=self._clock.time())

    def _paths(self) -> list[Path]:
        return [Path(each) for one in (self._sent, self._received) for each in walk(one.path)]

    async def sweep(self, store: Store) -> None:
        await self._open()
        try:
            if self._copies is not None:
                await self._copies.sweep(before=self._clock.time() - GRACE_SECONDS)
                await self.bring()
            digests = await store.attachment_digests()
            names = await asyncio.to_thread(self._received.names)
            known = await store.stored_ids(names)
            count = await asyncio.to_thread(self._sent.sweep, digests)
            for name in sorted(set(names) - known):
                count += await asyncio.to_thread(self._received.sweep, (), name)
            if self._copies is not None:
                await self._copy_missing(self._copies, digests | known)
        except (StoreError, OSError) as error:
            log.warning("files are not swept: %s", error)
            return
        if count:
            log.info("removed %d files whose asks and notices are gone", count)

    async def close(self) -> None:
        await self._pictures.close()

    async def _open(self) -> None:
        """Count what is there, once."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(asyncio.to_thread(self._count))
        await asyncio.shield(self._opening)

    def _count(self) -> None:
        for folder in (self._sent, self._received):
            try:
                folder.open()
            except OSError as error:
                log.warning("%s cannot be read: %s", folder.path, error)

    def _place_for_agent(self, stored: Path, project: Project) -> str | None:
        if project.outsider:
            return None
        if self._limits.received == "project" and project.key.startswith("/"):
            try:
                return copy_into_project(stored, root=project.key, now=self._clock.time())
            except OSError as error:
                log.warning("%s stays in %s: %s", stored.name, stored.parent, error)
        return str(stored)


# ── what is told ──────────────────────────────────────────────────────────────────────────────────


class _ToAgent:
    too_large = "It is too large: there is room for {}. Attach a smaller file, or a part of it."
    no_room = (
        "The space for attached files is full. Go on without this one, and tell the user to raise "
        "quota under [attachments] in config.toml."
    )
    full = "The disk of the user's computer is full. Go on without the file, and tell the user."
    failed = "It cannot be stored ({}). Go on without it, and tell the user."


class _ToPerson:
    too_large = "That is too large: there is room for {}. Send a smaller one."
    no_room = (
        "The space for files is full. Answer in words, or raise quota under [attachments] in "
        "config.toml and restart chatbridge."
    )
    full = "Your computer's disk is full. Make some room and send it again, or answer in words."
    failed = "It cannot be stored on your computer ({}). Answer in words, or try again later."


@contextmanager
def _as_attachment_errors(words: type[_ToAgent | _ToPerson]) -> Iterator[None]:
    try:
        yield
    except TooLarge as error:
        raise AttachmentError(words.too_large.format(error.limit)) from None
    except NoRoom:
        raise AttachmentError(words.no_room) from None
    except Empty:
        raise AttachmentError("The file is empty.") from None
    except StoreError as error:
        log.warning("a file cannot be stored: %s", error)
        raise AttachmentError(words.failed.format(error)) from error
    except OSError as error:
        log.warning("a file cannot be stored: %s", error)
        if error.errno in _FULL:
            raise AttachmentError(words.full) from error
        raise AttachmentError(words.failed.format(error.strerror or error)) from error


def _read(content: BinaryIO) -> bytes:
    try:
        return content.read(CHUNK_BYTES)
    except OSError as error:
        raise AttachmentError(f"It cannot be read ({error.strerror or error}).") from error


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────


def _received_name(attachment: Attachment) -> str:
    return f"{attachment.digest[:SHORT_DIGEST]}.{extension_of(attachment.type)}"
