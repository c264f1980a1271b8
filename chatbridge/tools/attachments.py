"""Files in the arguments and in the results of tools.

From the agent: `attachments`, and an option's `image`, stored when the question is asked. To the
agent: what a person sent with an answer, named in a text, and pictures as a model can see them.
"""

from __future__ import annotations

import asyncio
import binascii
import codecs
import io
import math
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Protocol

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BeforeValidator, Field

from chatbridge.core.bounds import bound_text
from chatbridge.core.cards.attached import format_size, shown_name
from chatbridge.core.errors import AttachmentError, ToolInputError
from chatbridge.core.model import Ask, AskRequest, Attachment, AttachmentKind, Project
from chatbridge.core.ports import AttachmentStore
from chatbridge.core.text import size_as_json
from chatbridge.tools.call import Peer, ToolCall
from chatbridge.tools.clients import COMMAND
from chatbridge.tools.definition import (
    Shape,
    array_field,
    object_schema,
    present,
    refused,
    text_field,
)

MAX_PATH, MAX_NAME, MAX_CAPTION = 4_096, 255, 1_000
MAX_IMAGE_CHARACTERS = 3_000_000
"""Of all pictures in one result, as base64: a link takes lines of 4 MiB."""
MAX_TEXT_BYTES = 100_000
"""Of a text that is given to an agent which cannot read the file."""
MAX_TEXTS_BYTES = 600_000
"""Of all such texts in one result, as JSON."""


class FileShape(Shape):
    """A file in a tool's arguments."""

    path: str | None = Field(default=None, min_length=1, max_length=MAX_PATH)
    data: str | None = None
    name: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)
    caption: str | None = Field(default=None, max_length=MAX_CAPTION)


def _as_object(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


GivenFileShape = Annotated[FileShape, BeforeValidator(_as_object)]
"""A path alone will do."""


class _Option(Protocol):
    @property
    def image(self) -> FileShape | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file of a call, as it was given. In a list of them options' pictures come first."""

    place: str  # Path of its field
    file: FileShape
    option: tuple[int, int] | None = None  # The question and the option that it is the picture of


def given_attachments(files: Iterable[FileShape] | None) -> Iterator[GivenFile]:
    for i, file in enumerate(files or ()):
        yield GivenFile(place=f"attachments[{i}]", file=file)


def given_images(
    options: Iterable[_Option] | None, *, question: int, path: str
) -> Iterator[GivenFile]:
    """`path` is that of the question's options."""
    for i, option in enumerate(options or ()):
        if option.image is not None:
            place = f"{path}[{i}].image"
            yield GivenFile(place=place, file=option.image, option=(question, i))


IMAGE = "A picture to choose by (PNG, JPEG, GIF or WebP)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFields:
    """Pieces of a tool's schema, as its agent can use them."""

    attachments: dict[str, Any]
    image: dict[str, Any]  # Of an option


class StoredFiles(AttachmentStore, Protocol):
    async def add(
        self,
        content: BinaryIO,
        *,
        name: str,
        caption: str | None = None,
        at_most: int | None = None,
    ) -> Attachment:
        """Copy a file of an agent. :raises AttachmentError: as a sentence for the agent."""


class OpenInProject(Protocol):
    def __call__(self, path: str, *, folder: str, root: str, own: Sequence[str]) -> BinaryIO:
        """Open a file below `root` and not below `own`. A relative path begins in `folder`.
        :raises AttachmentError: as a sentence for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFiles:
    """The files of all tools' calls."""

    store: StoredFiles
    open: OpenInProject
    most_data: int  # Bytes that a call may bring along as base64
    own: tuple[str, ...]  # chatbridge's own folders, which no agent reads

    # ── from the agent ────────────────────────────────────────────────────────────────────────────

    def fields(self, project: Project, peer: Peer) -> FileFields:
        local = peer.local and not project.outsider
        size = format_size(self.store.largest if local else self.most_data)
        path = text_field("Path in the project", maxLength=MAX_PATH)
        caption = text_field("Shown with it", maxLength=MAX_CAPTION)
        file = object_schema("path", path=path, caption=caption)
        image: dict[str, Any] = {"description": IMAGE, "anyOf": [{"type": "string"}, file]}
        if not local:
            file = object_schema(
                *("data", "name"),
                data=text_field("The content as base64"),
                name=text_field("File name", maxLength=MAX_NAME),
                caption=caption,
            )
            image = {**file, "description": IMAGE}
        what = f"Files to show with it: pictures, logs, diffs; {size} together"
        attachments = array_field(what, file, maxItems=self.store.most)
        return FileFields(attachments=attachments, image=image)

    async def attach(
        self, request: AskRequest, given: Sequence[GivenFile], call: ToolCall, earlier: Ask | None
    ) -> AskRequest:
        """The request with its files. A repeated call has the files of its `earlier` ask: those on
        the disk may have changed since. :raises ToolInputError:"""
        if earlier is not None and len(earlier.files) == len(given):
            again = _with_files(request, given, earlier.files)
            if again.fingerprint == earlier.fingerprint:
                return again
        return _with_files(request, given, await self.add(given, call))

    async def add(self, given: Sequence[GivenFile], call: ToolCall) -> tuple[Attachment, ...]:
        """Store them; what belongs to no question or notice in the end is swept.
        :raises ToolInputError:"""
        for number, each in enumerate(given, start=1):
            if number > self.store.most:
                problem = f"at most {self.store.most} files fit into one call"
                accepted = f"{self.store.most} files in one call, options' images included"
                raise refused(problem, each.place, f"{len(given)} files", accepted)
            _check(each, paths=reads_paths(call))
        added: list[Attachment] = []
        data_left = self.most_data
        for each in given:
            left = self.store.largest - sum(file.size for file in added)
            if each.file.data is not None:
                left = min(left, data_left)
            attachment = await self._add(each, call, left)
            if each.file.data is not None:
                data_left -= attachment.size
            added.append(attachment)
        return tuple(added)

    async def _add(self, given: GivenFile, call: ToolCall, left: int) -> Attachment:
        file, caption = given.file, (given.file.caption or "").strip()
        try:
            content = await asyncio.to_thread(self._opened, given, call, left)
            with content:
                attachment = await self.store.add(
                    content,
                    name=file.name or os.path.basename(file.path or ""),
                    caption=bound_text(caption) or None,
                    at_most=left,
                )
        except AttachmentError as error:
            raise self._refused(given, str(error), call) from None
        if given.option is not None and attachment.kind is not AttachmentKind.PICTURE:
            raise self._refused(given, f"it is not a picture but {attachment.type}", call)
        return attachment

    def _opened(self, given: GivenFile, call: ToolCall, left: int) -> BinaryIO:
        file = given.file
        if file.data is not None:
            return io.BytesIO(_decoded(file.data, given.place, left))
        assert file.path is not None
        assert call.folder is not None
        root = call.project.key if call.project.key.startswith("/") else call.folder
        if call.agent.client == COMMAND:
            root = "/"  # who can run a command can read the file, too
        elif _holds_home(root) and root != call.project.key:
            raise AttachmentError(
                "there is no project here, so no file can be attached by its path"
            )
        return self.open(file.path, folder=call.folder, root=root, own=self.own)

    def _refused(self, given: GivenFile, problem: str, call: ToolCall) -> ToolInputError:
        file, what = given.file, "a file" if given.option is None else "a PNG, JPEG, GIF or WebP"
        if file.data is not None:
            field, shown, most = "data", file.name, self.most_data
        else:
            field, shown, most = "path", file.path, self.store.largest
            what += "" if call.agent.client == COMMAND else " in the project"
        accepted = f"{what}, {format_size(most)} together at most"
        return refused(problem.rstrip("."), f"{given.place}.{field}", shown, accepted)

    # ── to the agent ──────────────────────────────────────────────────────────────────────────────

    async def show(self, result: CallToolResult, ask: Ask) -> CallToolResult:
        """The result, with what the person sent with the answer. One with a picture has no
        structured content: some clients would drop the picture, or all the rest."""
        answers = ask.answer.answers if ask.answer else ()
        sent = [(i, each) for i, answer in enumerate(answers, 1) for each in answer.attachments]
        if not sent:
            return result
        several = len(answers) > 1
        told, *rest = await self.shown(
            (each, f" to question {number}" if several else "") for number, each in sent
        )
        pictures = any(isinstance(each, ImageContent) for each in rest)
        structured = None if pictures else result.structured_content
        content = [told, *result.content, *rest]
        return result.model_copy(update={"content": content, "structured_content": structured})

    async def shown(
        self, sent: Iterable[tuple[Attachment, str]], *, left: float = math.inf
    ) -> list[ContentBlock]:
        """What an agent gets of a person's files, each with the words behind its name: a text about
        them, then texts and pictures. `left`: bytes for these in the result."""
        lines: list[str] = []
        texts: list[TextContent] = []
        pictures: list[ImageContent] = []
        room, text_room = MAX_IMAGE_CHARACTERS, MAX_TEXTS_BYTES
        for attachment, where in sent:
            line = f"The user attached {described(attachment)}{where}"
            picture = await self._picture(attachment, min(room, left))
            if picture is not None:
                room, left = room - len(picture.data), left - len(picture.data)
                pictures.append(picture)
            if self.store.path(attachment) is None:
                lines.append(f"{line}; it has been removed since.")
            elif attachment.path is not None:
                lines.append(f"{line}: {attachment.path}")
            elif picture is not None:
                lines.append(f"{line}; the picture follows.")
            elif (text := await self._text(attachment, min(text_room, left))) is not None:
                lines.append(f"{line}; its text follows.")
                size = size_as_json(text)
                text_room, left = text_room - size, left - size
                texts.append(TextContent(type="text", text=text))
            else:
                lines.append(f"{line}, which cannot be sent to you. Ask for what you need of it.")
        return [TextContent(type="text", text="\n".join(lines)), *texts, *pictures]

    async def _picture(self, attachment: Attachment, room: float) -> ImageContent | None:
        preview = await self.store.preview(attachment)
        if preview is None or preview.size * 4 / 3 > room:
            return None
        try:
            data = await asyncio.to_thread(Path(preview.path).read_bytes)
        except OSError:
            return None
        encoded = (await asyncio.to_thread(b64encode, data)).decode()
        return ImageContent(type="image", data=encoded, mime_type=preview.type)

    async def _text(self, attachment: Attachment, room: float) -> str | None:
        path = self.store.path(attachment)
        if path is None or attachment.kind is not AttachmentKind.TEXT:
            return None
        if attachment.size > MAX_TEXT_BYTES:
            return None
        try:
            data = await asyncio.to_thread(Path(path).read_bytes)
        except OSError:
            return None
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if wide else "utf-8-sig", errors="replace")
        return text if size_as_json(text) <= room else None


def reads_paths(call: ToolCall) -> bool:
    """Whether its agent works in a folder of this user's."""
    return call.folder is not None and not call.project.outsider


def attachment_objects(attachments: Iterable[Attachment]) -> list[dict[str, Any]]:
    """A person's files in the JSON of a result."""
    return [
        present(path=each.path, name=each.name, type=each.type, size=each.size)
        for each in attachments
    ]


def described(attachment: Attachment) -> str:
    """`photo.jpg (image/jpeg, 1.2 MB)`."""
    return f"{shown_name(attachment)} ({attachment.type}, {format_size(attachment.size)})"


def _check(given: GivenFile, *, paths: bool) -> None:
    """:raises ToolInputError: what cannot be right, whatever is on the disk."""
    file, place = given.file, given.place
    by_data = "data (base64) and name"
    accepted = f"path, or {by_data}" if paths else by_data
    if file.path is not None and file.data is not None:
        raise refused("a file has either a path or data", f"{place}.data", "both", accepted)
    if file.path is None and file.data is None:
        missing = "path" if paths else "data"
        raise refused(f"{place}.{missing} is required", f"{place}.{missing}", None, accepted)
    if file.path is not None and not paths:
        problem = "this agent has no folder on the computer that the files are read on"
        raise refused(problem, f"{place}.path", file.path, by_data)
    if file.data is not None and not (file.name or "").strip():
        raise refused(f"{place}.name is required", f"{place}.name", file.name, "a file name")


def _decoded(data: str, place: str, left: int) -> bytes:
    """:raises ToolInputError: :raises AttachmentError:"""
    data = "".join(data.split())
    if len(data) * 3 // 4 - 2 > left:
        raise AttachmentError("there is too much data")
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        size = f"{len(data):,} characters"
        raise refused("data is not base64", f"{place}.data", size, "base64") from None


def _holds_home(folder: str) -> bool:
    """Whether it is the user's home, or above it."""
    home, folder = os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder)
    return os.path.commonpath((home, folder)) == folder


def _with_files(
    request: AskRequest, given: Sequence[GivenFile], files: Sequence[Attachment]
) -> AskRequest:
    pairs = list(zip(given, files, strict=True))
    images = {each.option: file for each, file in pairs}
    questions = tuple(
        replace(
            question,
            options=tuple(
                replace(option, image=images.get((i, j)))
                for j, option in enumerate(question.options)
            ),
        )
        for i, question in enumerate(request.questions)
    )
    attachments = tuple(file for each, file in pairs if each.option is None)
    return replace(request, questions=questions, attachments=attachments, fingerprint="")
