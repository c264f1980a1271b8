"""The page of the agents that are connected: who they are, and messages to them.

Owns how a message is read from the page, with its files. It works without scripts: the files come
in the same form as the text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.attachments import EMPTY, MAX_NAME, Attachments
from chatbridge.channels.web.guard import PERSON
from chatbridge.channels.web.render import short_times, too_large
from chatbridge.channels.web.request_parsing import MAX_BODY, Refusal, check_media_type
from chatbridge.core.errors import AttachmentError, MessageRefused
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import NewMessage, OwnerMessage, format_state
from chatbridge.core.model import Attachment
from chatbridge.core.ports import AttachmentStore
from chatbridge.core.text import encodable

if TYPE_CHECKING:
    from chatbridge.channels.web.channel import WebChannel
    from chatbridge.channels.web.pages import Pages

HERE = "/agents"
FORM = "multipart/form-data"
MAX_FIELDS = 8
CHUNK_BYTES = 64 * 1024
LAST = 10  # Messages that are listed with what became of them
GONE = "This agent is no longer connected. Nothing was sent."
NO_FILES = "No files can be sent from here."
UNREADABLE = "The form could not be read. Perhaps the text is too long."


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An agent as the page shows it."""

    agent: ConnectedAgent
    open_asks: int
    messages: Sequence[OwnerMessage]  # That are not delivered yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """What was refused: the page still has it."""

    key: str = ""
    text: str = ""


NOTHING = Unsent()


@dataclass(frozen=True, slots=True)
class AgentsPage:
    site: WebChannel
    pages: Pages
    files: Attachments

    def routes(self) -> list[Route]:
        return [
            Route(HERE, self._show),
            Route(f"{HERE}/{{key}}", self._tell, methods=["POST"]),
            Route("/messages/{message_id}/take-back", self._take_back, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        return await self._drawn(request)

    async def _tell(self, request: Request) -> Response:
        key, store, text = request.path_params["key"], self.site.inbox.attachments, ""
        try:
            async with self._form(request, store) as form:
                given = form.get("text")
                text = given.replace("\r\n", "\n") if isinstance(given, str) else ""
                agent = self.site.inbox.messages.agents.with_key(key)
                if agent is None:
                    raise Refusal(409, GONE)
                new = NewMessage(project=agent.project)
                attachments = await self._receive(form, new, store)
            await self.site.inbox.messages.tell(
                agent, text, by=request.scope[PERSON], attachments=attachments, id=new.id
            )
        except (Refusal, MessageRefused, AttachmentError) as error:
            return await self._refused(request, error, 422, Unsent(key=key, text=text))
        return await self._done(request)

    async def _take_back(self, request: Request) -> Response:
        try:
            await self.site.inbox.messages.take_back(
                request.path_params["message_id"], by=request.scope[PERSON]
            )
        except MessageRefused as error:
            return await self._refused(request, error, 409)
        return await self._done(request)

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def _form(
        self, request: Request, store: AttachmentStore | None
    ) -> AsyncIterator[FormData]:
        """The form with its files, which lie beside the memory if they are large, until the end.
        :raises Refusal:"""
        check_media_type(request, FORM)
        largest = store.largest if store else 0
        room, why = largest + MAX_BODY, too_large(largest, of="a message")
        most = store.most if store else 1  # a browser sends an empty one
        limits = {"max_fields": MAX_FIELDS, "max_part_size": MAX_BODY}
        try:
            async with aclosing(self.files.content(request, room=room, why=why)) as content:
                parser = MultiPartParser(request.headers, content, max_files=most, **limits)
                form = await parser.parse()
        except MultiPartException as error:
            many = store is not None and error.message.startswith("Too many files")
            why = f"A message can have {most} files at most. Send fewer." if many else UNREADABLE
            raise Refusal(422, why) from None
        except OSError as error:
            raise Refusal(507, f"The files could not be kept: {error.strerror}.") from None
        finally:
            await self.files.read_rest(request, store)
        try:
            yield form
        finally:
            await form.close()

    async def _receive(
        self, form: FormData, new: NewMessage, store: AttachmentStore | None
    ) -> tuple[Attachment, ...]:
        """:raises Refusal: :raises AttachmentError:"""
        sent = [each for _, each in form.multi_items() if isinstance(each, UploadFile)]
        sent = [each for each in sent if each.filename or each.size]
        if not sent:
            return ()
        if store is None:
            raise Refusal(422, NO_FILES)
        if not all(each.size for each in sent):
            raise Refusal(422, EMPTY)
        if sum(each.size or 0 for each in sent) > store.largest:
            raise Refusal(413, too_large(store.largest, of="a message"))
        received = []
        for each in sent:
            name = encodable((each.filename or "")[:MAX_NAME]) or None
            received.append(await store.receive(_pieces(each), name=name, to=new))
        return tuple(received)

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────

    async def _done(self, request: Request) -> Response:
        if "x-chatbridge" in request.headers:
            return await self._drawn(request)
        return RedirectResponse(HERE, status_code=303)

    async def _refused(
        self, request: Request, error: Exception, status: int, unsent: Unsent = NOTHING
    ) -> Response:
        toast = short_times(str(error))
        if isinstance(error, Refusal):
            status, toast = error.status, error.sentence
        elif isinstance(error, AttachmentError):
            status = 507
        response = await self._drawn(request, status=status, toast=toast, unsent=unsent)
        response.headers["x-chatbridge-toast"] = quote(toast)
        return response

    async def _drawn(
        self,
        request: Request,
        *,
        status: int = 200,
        toast: str | None = None,
        unsent: Unsent = NOTHING,
    ) -> Response:
        """The page, or for its script only what is on it."""
        inbox, now = self.site.inbox, self.site.clock.time()
        agents, waiting = inbox.messages.agents.listed(), inbox.messages.waiting()
        asks = await inbox.open_asks_by_link()
        settled = await inbox.sent_messages(limit=LAST + len(waiting))
        takers = {each.id: _taker(each, agents) for each in waiting}
        listed = [
            Listed(
                agent=agent,
                open_asks=asks.get(agent.link, 0),
                messages=[each for each in waiting if takers[each.id] is agent],
            )
            for agent in agents
        ]
        nobodys = [each for each in waiting if takers[each.id] is None]
        last = [*nobodys, *[each for each in settled if not each.open][:LAST]]
        store = inbox.attachments
        return await self.pages.page(
            "_agents.html" if "x-chatbridge" in request.headers else "agents.html",
            status=status,
            toast=toast,
            there=listed,
            last=last,
            unsent=unsent,
            lost=bool(unsent.text) and not any(each.key == unsent.key for each in agents),
            largest=store.largest if store else 0,
            state_of=lambda message: short_times(format_state(message, now=now)),
        )


def _taker(message: OwnerMessage, agents: Sequence[ConnectedAgent]) -> ConnectedAgent | None:
    """Who gets it: its agent, or once that has gone the next one of the same project."""
    fits = [each for each in agents if each.project.key == message.project.key]
    return next((each for each in fits if each.link == message.link), next(iter(fits), None))


async def _pieces(upload: UploadFile) -> AsyncIterator[bytes]:
    while piece := await upload.read(CHUNK_BYTES):
        yield piece
