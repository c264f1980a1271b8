"""The inbox as one ASGI application: what its routes share, and how errors become responses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from chatbridge.channels.web.events import HEARTBEAT_SECONDS, Events
from chatbridge.channels.web.render import Assets, Templates, json_response
from chatbridge.channels.web.request_parsing import BODY_SECONDS, Refusal
from chatbridge.channels.web.sessions import Sessions
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import ChatbridgeError, InvalidAnswer, NotHere, UnknownAsk
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Notice
from chatbridge.core.policy import DAY
from chatbridge.core.ports import Clock, Health
from chatbridge.core.text import one_line, shortened

MOST_NOTICES = 20
NO_PAGES = ("/api/", "/healthz", "/static/")
TITLES = {404: "There is no such page", 405: "That does not work here"}


@cache
def look() -> tuple[Assets, Templates]:
    """Built once in a process, so that a channel that is brought up again finds it compiled."""
    assets = Assets()
    return assets, Templates(assets)


@dataclass(slots=True, kw_only=True, eq=False)
class Site:
    clock: Clock
    health: Health
    codes: LoginCodes
    """Log browsers in."""
    body_seconds: float = BODY_SECONDS
    heartbeat: float = HEARTBEAT_SECONDS
    events: Events = field(default_factory=Events, init=False)
    templates: Templates = field(default_factory=lambda: look()[1], init=False)
    inbox: AskActions = field(init=False)
    sessions: Sessions = field(init=False)
    cookie: str = field(init=False)

    async def recent_notices(self) -> Sequence[Notice]:
        """Those of the last day, the newest first."""
        return await self.inbox.notices(since=self.clock.time() - DAY, limit=MOST_NOTICES)


def build_app(routes: Iterable[Route], templates: Templates) -> ASGIApp:
    """The routes behind `/healthz`; errors become JSON for the API and a page for a browser."""

    async def respond(request: Request, error: Exception) -> Response:
        refusal = _refusal(error)
        status = refusal.status
        if request.scope["path"].startswith("/api/"):
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
        routes=[Route("/healthz", healthz), *routes],
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


def _refusal(error: Exception) -> Refusal:
    """The error in words for a visitor; never a stack trace."""
    match error:
        case Refusal():
            return error
        case HTTPException():
            return Refusal(error.status_code, f"{error.detail}.")
        case InvalidAnswer(path=path):
            return Refusal(422, str(error), more={"path": path})
        case UnknownAsk():
            asked = shortened(one_line(error.ask_id), 40)
            title = "There is no such question"
            return Refusal(404, f"No question has the id {asked!r}.", title=title)
        case ChatbridgeError():
            return Refusal(403 if isinstance(error, NotHere) else 503, str(error))
    return Refusal(500, "The inbox failed. The hub's log says why.")
