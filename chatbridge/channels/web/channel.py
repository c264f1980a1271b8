"""The web inbox as a channel: listens, announces its address, and tells open pages of changes.

Owns what the routes share, and how errors become responses.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from chatbridge import bounded_read, runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.channels.spec import ChannelContext
from chatbridge.channels.web.agents import AgentsPage
from chatbridge.channels.web.api import Api
from chatbridge.channels.web.attachments import Attachments
from chatbridge.channels.web.certificate import Certificate
from chatbridge.channels.web.events import (
    HEARTBEAT_SECONDS,
    SURFACE,
    AgentsChanged,
    AskChange,
    Events,
    PageBell,
)
from chatbridge.channels.web.guard import Guard, Hosts
from chatbridge.channels.web.pages import Pages
from chatbridge.channels.web.push.doctor import TROUBLE
from chatbridge.channels.web.push.routes import PushRoutes
from chatbridge.channels.web.push.settings import Push
from chatbridge.channels.web.push.subscriptions import Subscriptions
from chatbridge.channels.web.render import Assets, Templates, json_response
from chatbridge.channels.web.request_parsing import BODY_SECONDS, Refusal, wants_json
from chatbridge.channels.web.server import listen, serving
from chatbridge.channels.web.sessions import Sessions
from chatbridge.channels.web.settings import Web
from chatbridge.channels.web.shell import Shell
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import (
    ChatbridgeError,
    InvalidAnswer,
    NotHere,
    RoleMissing,
    SettingsError,
    UnknownAsk,
)
from chatbridge.core.login_codes import PROOF_HEADER, LoginCodes
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Notice
from chatbridge.core.nights.summary import Summary
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock, Health, Remark, Shown, Surface
from chatbridge.core.text import one_line, shortened
from chatbridge.redaction import hide

if TYPE_CHECKING:
    from chatbridge.channels.web.push.surface import Browsers

QUIET, PAUSE = 5.0, 0.1
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - a setting of the owner's
MOST_NOTICES = 20
SURFACE_MODULE = "chatbridge.channels.web.push.surface"
"""Loaded in the quiet after a start, or when something rings before: it takes a while."""
NO_PAGES = ("/api/", "/healthz", "/static/")
TITLES = {404: "Page not found", 405: "That does not work here"}


@cache
def look() -> tuple[Assets, Templates]:
    """Built once in a process, so that a channel that is brought up again finds it compiled."""
    assets = Assets()
    return assets, Templates(assets)


@dataclass(slots=True, kw_only=True, eq=False)
class WebChannel:
    name = SURFACE
    persistent = False
    pace = RateLimit()
    idempotent = True
    trouble = None

    host: str
    port: int | None
    token: str
    announce_address: Callable[[str], None]
    url: str | None = None
    """Where it is seen from elsewhere."""
    certificate: Certificate | None = None
    """Its own, if no proxy has one."""
    clock: Clock
    health: Health
    codes: LoginCodes
    """Log browsers in."""
    push: Push = field(default_factory=Push)
    tell_owner: Callable[..., None] = lambda text, *, told: None
    """Says something to the owner everywhere but on the surfaces `told`."""
    body_seconds: float = BODY_SECONDS
    heartbeat: float = HEARTBEAT_SECONDS
    events: Events = field(default_factory=Events, init=False)
    templates: Templates = field(default_factory=lambda: look()[1], init=False)
    inbox: AskActions = field(init=False)
    bell: PageBell = field(init=False)
    sessions: Sessions = field(init=False)
    subscriptions: Subscriptions = field(init=False)
    browsers: Browsers | None = field(default=None, init=False)
    _ringing: ModuleType | None = field(default=None, init=False)
    hosts: Hosts = field(init=False)
    cookie: str = field(init=False)

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        self.inbox = inbox
        self.bell = PageBell(nights=inbox.nights, clock=self.clock, since=self.clock.time())
        self.sessions = Sessions(self.token, inbox, clock=self.clock)
        await self.sessions.load()
        self.subscriptions = Subscriptions(
            inbox, self.sessions, clock=self.clock, tell_owner=self.tell_owner
        )
        await self.subscriptions.load()
        if self.subscriptions.listed():
            await self.load_browsers()
        changed = partial(self.events.publish_to_pages, AgentsChanged())
        watched = inbox.messages.agents.watched(changed)
        with listen(self.host, self.port) as listener, watched:
            port: int = listener.getsockname()[1]
            scheme = "https" if self.certificate else "http"
            # Browsers share cookies between the ports of a host: two hubs need two names.
            self.cookie = f"chatbridge-{port}"
            self.hosts = Hosts(self.host, port, url=self.url, scheme=scheme)
            pages = Pages(self)
            files = Attachments(self, pages)
            routes = (
                *Api(self).routes(),
                *pages.routes(),
                *files.routes(),
                *AgentsPage(self, pages, files).routes(),
                *Shell(*look()).routes(),
                *PushRoutes(self, pages).routes(),
                *look()[0].routes(),
            )
            app = Guard(
                app=build_app(routes, self.templates, self.codes),
                hosts=self.hosts,
                token=self.token,
                sessions=self.sessions,
                cookie=self.cookie,
            )
            async with serving(app, listener, certificate=self.certificate):
                try:
                    self.announce_address(f"{scheme}://{_netloc(self.host, port)}")
                    self.subscriptions.changed = ready
                    ready()
                    # In the quiet after a start; a page that is asked for before does it itself.
                    await self.clock.sleep(QUIET)
                    await self.templates.get_ready(lambda: self.clock.sleep(PAUSE))
                    await self._loaded()
                    await asyncio.Event().wait()
                finally:
                    self.subscriptions.changed = lambda: None
                    self.events.close()
                    if self.browsers is not None:
                        await self.browsers.close()

    async def recent_notices(self, *, dismissed: bool = False) -> Sequence[Notice]:
        """Those of the last day, the newest first; with the dismissed ones on demand."""
        since = self.clock.time() - DAY
        return await self.inbox.notices(since=since, limit=MOST_NOTICES, dismissed=dismissed)

    async def tell(self, remark: Remark) -> None:
        """To the browsers that ring."""
        if self.browsers is not None:
            await self.browsers.tell(remark)

    async def drain(self) -> None:
        """Nothing to wait for: pages hold nothing back."""

    async def load_browsers(self) -> Browsers:
        """What rings them."""
        made: type[Browsers] = (await self._loaded()).Browsers
        if self.browsers is None:
            self.browsers = made(self.push, self.subscriptions, self.inbox, clock=self.clock)
        return self.browsers

    async def _loaded(self) -> ModuleType:
        if self._ringing is None:
            self._ringing = await asyncio.to_thread(import_module, SURFACE_MODULE)
        return self._ringing

    def origin_of(self, request: Request) -> str:
        """Where this browser has the inbox open. The guard has checked it."""
        return self.hosts.origin_of(request.headers["host"])

    @property
    def surfaces(self) -> Sequence[Surface]:
        """The pages, and each browser that rings."""
        return (self, *(self.browsers.surfaces if self.browsers else ()))

    @property
    def remarks(self) -> Sequence[str]:
        problem = self.certificate.problem if self.certificate else None
        troubles = self.browsers.troubles if self.browsers else ()
        found = [problem] if problem else []
        return [*found, *(f"{TROUBLE} {trouble}." for trouble in troubles)]

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        rings = self.bell.rings(ask) and self.events.watched
        self.events.publish(AskChange(ask, rings=await self._words(ask) if rings else None))
        return Shown(place=ask.id, seen=self.events.watched)

    async def missed(self, away: float | None) -> list[AskChange]:
        """What rings on a page that heard nothing for so many seconds. None: it is new."""
        asks = () if away is None else await self.inbox.open_asks()
        missed = [ask for ask in asks if self.bell.missed(ask, away=away or 0.0)]
        return [AskChange(ask, rings=await self._words(ask)) for ask in missed]

    async def _words(self, ask: Ask) -> dict[str, str]:
        """What a page says that rings: the same as a browser's notification."""
        words = (await self._loaded()).words
        card = await off_loop(lambda: build_card(ask, channel=SURFACE), weight=weight_of(ask))
        title, body = words(card, self.push.detail)
        return {"title": title, "body": body}

    def wants(self, ask: Ask) -> bool:
        """Nothing is held back here."""
        return False

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        """A page of its own has it."""
        return Shown(place="")

    async def report(self, message: OwnerMessage) -> Shown:
        """The page of the agents has it."""
        return Shown(place="")

    async def announce(self, notice: Notice) -> bool:
        self.events.publish(notice)
        return self.events.watched


def _netloc(host: str, port: int) -> str:
    if host in EVERYWHERE:
        host = "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# ── the application ───────────────────────────────────────────────────────────────────────────────


def build_app(routes: Iterable[Route], templates: Templates, codes: LoginCodes) -> ASGIApp:
    """The routes behind `/healthz`; errors become JSON for the API and a page for a browser."""

    async def respond(request: Request, error: Exception) -> Response:
        refusal = _refusal(error)
        status = refusal.status
        if wants_json(request):
            response = json_response({"error": refusal.sentence, **refusal.more}, status=status)
        else:
            title = refusal.title or TITLES.get(status, "That did not work")
            text = refusal.sentence
            response = templates.page("error.html", status=status, title=title, text=text)
        if isinstance(error, HTTPException):
            response.headers.update(error.headers or {})
        return response

    errors = (Refusal, HTTPException, ChatbridgeError, Exception)
    app = Starlette(
        routes=[Route("/healthz", partial(health_or_proof, codes)), *routes],
        exception_handlers=dict.fromkeys(errors, respond),
    )
    app.router.redirect_slashes = False

    async def with_templates(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(NO_PAGES):
            await templates.ready()
        await app(scope, receive, send)

    return with_templates


async def healthz(_request: Request) -> Response:
    return Response(b"", media_type="text/plain")


async def health_or_proof(codes: LoginCodes, request: Request) -> Response:
    """Nothing, except for who has a question from this hub: with its answer they know which hub
    is behind an address."""
    proof = codes.proof_for(request.headers.get(PROOF_HEADER, ""))
    return Response(proof.encode(), media_type="text/plain") if proof else await healthz(request)


def _refusal(error: Exception) -> Refusal:
    """The error in words for a visitor; never a stack trace."""
    match error:
        case Refusal():
            return error
        case HTTPException(status_code=404):
            return Refusal(404, "There is nothing at this address.")
        case HTTPException():
            return Refusal(error.status_code, f"{error.detail}.")
        case InvalidAnswer(path=path):
            return Refusal(422, str(error), more={"path": path})
        case UnknownAsk():
            asked = shortened(one_line(error.ask_id), 40)
            title = "Question not found"
            return Refusal(404, f"No question has the id {asked!r}.", title=title)
        case ChatbridgeError():
            return Refusal(403 if isinstance(error, NotHere | RoleMissing) else 503, str(error))
    return Refusal(500, "Something went wrong. The hub's log says what.")


def build(table: Web, context: ChannelContext) -> WebChannel:
    token = table.token.get_secret_value() if table.token else web_token(context.state)
    hide(token)
    return WebChannel(
        host=table.host,
        port=table.port,
        url=table.url,
        certificate=_certificate(table),
        token=token,
        clock=context.clock,
        announce_address=context.announce,
        health=context.health,
        codes=context.codes,
        push=context.push or Push(),
        tell_owner=context.tell,
    )


def _certificate(table: Web) -> Certificate | None:
    if table.tls_cert is not None:
        return Certificate(table.tls_cert, table.tls_key or table.tls_cert)
    if table.tls_key is not None:  # not without encryption, then
        raise SettingsError("web.tls_key is set, but no certificate. Set web.tls_cert, too")
    return None


def web_token(state: Path) -> str:
    """The inbox's token, made on the first start."""
    path = Path(runtime_paths.token_path(str(state)))
    try:
        if found := bounded_read.read(path, most=4096).decode("ascii").strip():
            return found
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise SettingsError(
            f"the inbox's token cannot be read from {path}: {why}. Remove it: the next hub makes "
            "a new one, and browsers log in again"
        ) from None
    token = secrets.token_urlsafe(32)
    write_atomically(path, f"{token}\n".encode())
    return token
