"""Logging in and out: a code from the computer's terminal becomes this browser's cookie.

A link with a code only fills in the form: a preview of the link cannot use it up.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.connection_limits import note_credential
from chatbridge.channels.web.events import Events
from chatbridge.channels.web.guard import BROWSER, SESSION
from chatbridge.channels.web.render import Templates
from chatbridge.channels.web.request_parsing import read_form
from chatbridge.channels.web.sessions import SESSION_SECONDS, Sessions
from chatbridge.core.login_codes import ACCEPTED, CodeUse, LoginCodes

PROBLEMS = {
    CodeUse.USED_BEFORE: "This link was used already. Run chatbridge inbox for a new one.",
    CodeUse.UNKNOWN: "This code is wrong or too old. Run chatbridge inbox for a new one.",
    CodeUse.TOO_MANY_TRIES: "Too many wrong codes. Try again in a minute.",
}
MAX_CODE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    templates: Templates
    sessions: Sessions
    events: Events
    codes: LoginCodes
    cookie: str
    body_seconds: float

    def routes(self) -> list[Route]:
        return [
            Route("/login", self._show),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/login/{code}", self._show),
            Route("/logout", self._log_out, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        return self._page(code=request.path_params.get("code", ""))

    async def _log_in(self, request: Request) -> Response:
        code = (await read_form(request, seconds=self.body_seconds)).get("code", "")
        address = request.client.host if request.client else ""
        use = self.codes.use(code, address=address)
        if use not in ACCEPTED:
            status = 429 if use is CodeUse.TOO_MANY_TRIES else 401
            return self._page(status=status, code="", problem=PROBLEMS[use])
        # The code is used up: nobody may push its cookie out on the way.
        note_credential(request.scope, BROWSER)
        cookie = await self.sessions.open(by_token=use is CodeUse.ACCEPTED_BY_TOKEN)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            self.cookie,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.headers.get("origin", "").startswith("https://"),
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.body_seconds)
        session = None if "everywhere" in fields else request.scope[SESSION]
        self.events.close(of=session)
        if session is None:
            await self.sessions.revoke_all()
        else:
            await self.sessions.revoke(session)
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(self.cookie, httponly=True, samesite="strict")
        return response

    def _page(self, *, code: str, problem: str | None = None, status: int = 200) -> Response:
        return self.templates.page(
            "login.html", status=status, code=code[:MAX_CODE], problem=problem
        )
