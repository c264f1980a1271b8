"""The inbox as one ASGI application: its routes, and where an error becomes a response."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from chatbridge.channels.web.api import Api
from chatbridge.channels.web.assets import Assets
from chatbridge.channels.web.errors import Refusal
from chatbridge.channels.web.events import Events
from chatbridge.channels.web.guard import Guard, Hosts
from chatbridge.channels.web.login import Login
from chatbridge.channels.web.notices import Outputs
from chatbridge.channels.web.pages import Pages
from chatbridge.channels.web.render import Templates, json_response
from chatbridge.channels.web.sessions import Sessions
from chatbridge.core.errors import ChatbridgeError, NotHere, UnknownAsk
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.ports import AskActions, Clock, Health
from chatbridge.core.text import one_line, shortened

NO_PAGES = ("/api/", "/healthz", "/static/")
TITLES = {404: "There is no such page", 405: "That does not work here"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a request may take to arrive, and a stream be silent."""

    body_seconds: float
    heartbeat: float


def build_app(
    inbox: AskActions,
    *,
    assets: Assets,
    templates: Templates,
    hosts: Hosts,
    cookie: str,
    token: str,
    sessions: Sessions,
    codes: LoginCodes,
    events: Events,
    clock: Clock,
    health: Health,
    limits: Limits,
) -> ASGIApp:
    body_seconds = limits.body_seconds
    api = Api(
        inbox,
        events=events,
        codes=codes,
        clock=clock,
        health=health,
        body_seconds=body_seconds,
        heartbeat=limits.heartbeat,
    )
    pages = Pages(
        inbox,
        templates=templates,
        clock=clock,
        health=health,
        body_seconds=body_seconds,
    )
    login = Login(
        templates=templates,
        sessions=sessions,
        events=events,
        codes=codes,
        cookie=cookie,
        body_seconds=body_seconds,
    )
    errors = Errors(templates)
    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            *api.routes(),
            *pages.routes(),
            *Outputs(inbox).routes(),
            *login.routes(),
            *assets.routes(),
        ],
        exception_handlers={
            Refusal: errors.refused,
            HTTPException: errors.not_routed,
            ChatbridgeError: errors.failed,
            Exception: errors.crashed,
        },
    )
    app.router.redirect_slashes = False
    drawing = _with_templates(app, templates)
    return Guard(drawing, hosts=hosts, token=token, sessions=sessions, cookie=cookie)


def _with_templates(app: ASGIApp, templates: Templates) -> ASGIApp:
    async def drawing(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(NO_PAGES):
            await templates.ready()
        await app(scope, receive, send)

    return drawing


async def healthz(_request: Request) -> Response:
    return Response(b"", media_type="text/plain")


class Errors:
    """Errors as JSON for the API, as a page for a browser; never a stack trace."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    async def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return self._response(request, error)

    async def not_routed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = self._response(request, Refusal(error.status_code, f"{error.detail}."))
        response.headers.update(error.headers or {})
        return response

    async def failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, UnknownAsk):
            title = "There is no such question"
            return self._response(request, Refusal(404, _no_such(error), title=title))
        status = 403 if isinstance(error, NotHere) else 503
        return self._response(request, Refusal(status, str(error)))

    async def crashed(self, request: Request, _error: Exception) -> Response:
        return self._response(request, Refusal(500, "The inbox failed. The hub's log says why."))

    def _response(self, request: Request, refusal: Refusal) -> Response:
        status = refusal.status
        if request.scope["path"].startswith("/api/"):
            return json_response({"error": refusal.sentence, **refusal.more}, status=status)
        title = refusal.title or TITLES.get(status, "That did not work")
        return self._templates.page("error.html", status=status, title=title, text=refusal.sentence)


def _no_such(error: UnknownAsk) -> str:
    return f"No question has the id {shortened(one_line(error.ask_id), 40)!r}."
