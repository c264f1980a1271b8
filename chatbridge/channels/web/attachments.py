"""Files of asks and notices: download them, look at pictures, and send some with an answer.

Owns which files a page can have, and the headers that keep a browser from running one. The bytes go
from the disk to the socket and back in pieces: a file is never in memory as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.guard import PERSON
from chatbridge.channels.web.render import too_large
from chatbridge.channels.web.request_parsing import Refusal, whole_number
from chatbridge.core.asks import transitions
from chatbridge.core.cards.attached import shown_name
from chatbridge.core.forms import form
from chatbridge.core.forms.form import Attach, Refused, Speak
from chatbridge.core.model import Ask, Attachment, AttachmentKind, Person
from chatbridge.core.ports import AttachmentStore
from chatbridge.core.text import encodable, one_line

if TYPE_CHECKING:
    from chatbridge.channels.web.channel import WebChannel
    from chatbridge.channels.web.pages import Pages

NO_SCRIPTS = {"content-security-policy": "default-src 'none'; sandbox"}
DOWNLOAD = {**NO_SCRIPTS, "cache-control": "private, no-store"}
PREVIEW = {
    **NO_SCRIPTS,
    # The address has the digest: what is there never changes, and a redrawn card loads nothing.
    "cache-control": "private, max-age=86400, immutable",
    "content-disposition": "inline",
}
SHOWN_TYPES = frozenset({"image/jpeg", "image/png"})
"""Of previews, which the hub makes itself."""
OWN_TYPES = frozenset({AttachmentKind.PICTURE, AttachmentKind.AUDIO})
"""Kinds that are downloaded under their own type. A page or a drawing could be more than a file."""
MAX_NAME = 4_000
"""Characters of a name's header that are looked at. The store makes a name of them."""
TRIES = 3
AS_RECORDING = (
    "Attached as a recording. To have speech turned into text, set [voice] in config.toml."
)
EMPTY = "This file is empty."
OTHER_QUESTION = Refused(why="You went on to another question. Attach the file again to have it.")


@dataclass(frozen=True, slots=True)
class Attachments:
    site: WebChannel
    pages: Pages

    def routes(self) -> list[Route]:
        found = [Route("/asks/{ask_id}/files", self._upload, methods=["POST"])]
        for owner in ("/asks/{ask_id}", "/notices/{notice_id}"):
            found.append(Route(f"{owner}/files/{{digest}}", self._download))
            found.append(Route(f"{owner}/files/{{digest}}/preview", self._preview))
        return found

    # ── out ───────────────────────────────────────────────────────────────────────────────────────

    async def _download(self, request: Request) -> Response:
        attachment, path = await self._found(request)
        own = attachment.kind in OWN_TYPES
        text = attachment.kind is AttachmentKind.TEXT
        kind = attachment.type if own else "text/plain" if text else "application/octet-stream"
        name = file_name(attachment)
        return FileResponse(path, headers=DOWNLOAD, media_type=kind, filename=name)

    async def _preview(self, request: Request) -> Response:
        attachment, _ = await self._found(request)
        store, preview = self.site.inbox.attachments, None
        if store is not None and attachment.kind is AttachmentKind.PICTURE:
            preview = await store.preview(attachment)
        if preview is None or preview.type not in SHOWN_TYPES:
            raise Refusal(404, f"{shown_name(attachment)} cannot be shown here. Download it.")
        return FileResponse(preview.path, headers=PREVIEW, media_type=preview.type)

    async def _found(self, request: Request) -> tuple[Attachment, str]:
        """The file of this very ask or notice, and where it is."""
        digest = request.path_params["digest"]
        known = [each for each in await self._of_page(request) if each.digest == digest]
        if not known:
            raise Refusal(404, "No such file belongs to this.", title="File not found")
        store = self.site.inbox.attachments
        for attachment in known if store else ():
            if store is not None and (path := store.path(attachment)):
                return attachment, path
        sentence = f"{shown_name(known[0])} has been removed. Files are only kept for a while."
        raise Refusal(410, sentence, title="This file is gone")

    async def _of_page(self, request: Request) -> Sequence[Attachment]:
        if "ask_id" in request.path_params:
            return all_files(await self.site.inbox.ask(request.path_params["ask_id"]))
        notice = await self.site.inbox.notice(request.path_params["notice_id"])
        return notice.attachments if notice else ()

    # ── in ────────────────────────────────────────────────────────────────────────────────────────

    async def _upload(self, request: Request) -> Response:
        """One file of the page: its bytes are the body, its name is in a header."""
        ask = await self.site.inbox.ask(request.path_params["ask_id"])
        voice = "voice" in request.query_params
        response = await self.pages.after(request, self._take(request, ask, voice=voice))
        if voice and response.status_code == 200 and not self.site.inbox.transcribes:
            response.headers["x-chatbridge-toast"] = quote(AS_RECORDING)
        return response

    async def _take(self, request: Request, ask: Ask, *, voice: bool) -> Refused | None:
        question = whole_number(request.query_params.get("question"))
        store, person = self.site.inbox.attachments, request.scope[PERSON]
        try:
            if store is None:
                return form.NO_FILE_HERE
            if refused := _refusal(ask, question, store):
                return refused
            attachment = await self._receive(request, ask, store)
        finally:
            # A browser that is still sending would take a closed connection for a dead one.
            await self.read_rest(request, store)
        for _ in range(TRIES):
            ask = await self.site.inbox.ask(ask.id)
            if refused := _refusal(ask, question, store):
                return refused
            if attachment.size > _room(ask, store):  # another came at the same time
                raise Refusal(413, too_large(store.largest))
            refused = await self._put(ask, attachment, person, voice=voice)
            if refused is not form.STALE:
                break
        return refused

    async def _receive(self, request: Request, ask: Ask, store: AttachmentStore) -> Attachment:
        name = unquote(request.headers.get("x-file-name", "")[:MAX_NAME])
        why, room = too_large(store.largest), _room(ask, store)
        async with aclosing(self.content(request, room=room, why=why)) as content:
            return await store.receive(content, name=encodable(name) or None, to=ask)

    async def content(self, request: Request, *, room: int, why: str) -> AsyncGenerator[bytes]:
        """The body in pieces, which is refused with this sentence if there is no room for it."""
        size, stream = 0, request.stream()
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or len(declared) > 20 or int(declared) > room:
            raise Refusal(413, why)
        while chunk := await self._chunk(stream):
            size += len(chunk)
            if size > room:
                raise Refusal(413, why)
            yield chunk
        if not size:
            raise Refusal(422, EMPTY)

    async def _chunk(self, stream: AsyncIterator[bytes]) -> bytes:
        seconds = self.site.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await anext(stream, b"")
        except TimeoutError:
            raise Refusal(408, f"Nothing of the file came for {seconds:g} s.") from None

    async def read_rest(self, request: Request, store: AttachmentStore | None) -> None:
        left, stream = store.largest if store else 0, request.stream()
        with suppress(Refusal, RuntimeError):  # it stands still, or there is nothing left
            while left > 0 and (chunk := await self._chunk(stream)):
                left -= len(chunk)

    async def _put(
        self, ask: Ask, attachment: Attachment, person: Person, *, voice: bool
    ) -> Refused | None:
        step = ask.draft.step
        event: Attach | Speak = Attach(attachments=(attachment,), keep=True, step=step)
        if voice and self.site.inbox.transcribes:
            event = Speak(recording=attachment, step=step)
        step_taken = await self.site.inbox.put(ask.id, event, person=person)
        return step_taken if isinstance(step_taken, Refused) else None


def _refusal(ask: Ask, question: int | None, store: AttachmentStore) -> Refused | None:
    """Why no file is taken for this question, whichever of its screens is shown by now. :raises
    AskEnded:"""
    taken = transitions.apply_event(ask, Attach(attachments=(form.ANY_FILE,), keep=True))
    if not ask.approval and question != ask.draft.at:
        return OTHER_QUESTION
    if isinstance(taken, Refused):
        return taken
    if len(ask.draft.entries[ask.draft.at].attachments) >= store.most:
        return form.too_many_files(store.most)
    return None


def _room(ask: Ask, store: AttachmentStore) -> int:
    """Bytes that the answer to this question can still have."""
    before = ask.draft.entries[ask.draft.at].attachments
    return store.largest - sum(each.size for each in before)


def all_files(ask: Ask) -> Sequence[Attachment]:
    """What the agent shows with an ask, and what people have sent for it."""
    sent = [each for entry in ask.draft.entries for each in entry.attachments]
    if ask.draft.voice:
        sent.append(ask.draft.voice.recording)
    for outcome in filter(None, (ask.outcome, ask.late)):
        sent += [each for answer in outcome.answers or () for each in answer.attachments]
    return (*ask.files, *sent)


def file_name(attachment: Attachment) -> str:
    """For a header, and for a folder of downloads."""
    name = one_line(encodable(attachment.name))
    return name.replace("/", "_").replace("\\", "_") or "file"
