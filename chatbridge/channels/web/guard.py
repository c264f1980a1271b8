"""Check every request before a page or a call of the API sees it.

Owns which hosts, origins and credentials are let in, and the headers that every response carries.
Nothing behind it asks again who somebody is.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chatbridge.channels.web.render import json_response
from chatbridge.channels.web.server import note_credential
from chatbridge.channels.web.sessions import Session, Sessions
from chatbridge.core.model import Person

log = logging.getLogger(__name__)

SCRIPT = Person(name="a script", channel="terminal")
"""Who has the token and no cookie: a script of the owner's, or an agent that found the token."""
BROWSER = "a browser"
"""Credential under which the connections of all sessions are counted."""

PERSON, SESSION = "chatbridge.person", "chatbridge.session"
"""Where the scope says who makes the request, and in which session, if it is in one."""

DEFAULT_PORTS = {"http": 80, "https": 443}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
OPEN_PATHS = frozenset(
    {"/healthz", "/login", "/sw.js", "/offline", "/favicon.ico", "/apple-touch-icon.png"}
)
"""The last two are not there: browsers ask for them, and need not be sent to the log-in."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
NO_PAGE = "This request did not come from one of the inbox's own pages."
TWO_ENDS = "This request states its length twice."
LOGGED_OUT = "You are logged out. Run chatbridge inbox on your computer."
PAGE = '<!doctype html><html lang="en"><title>chatbridge</title><main><p>{}</p></main></html>'
"""Of sentences of ours: nothing of the request is in it."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; worker-src 'self'; font-src 'none'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Not "no-referrer": with it browsers send "Origin: null" with a form's POST.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
}
_OF_EACH = [
    (name.encode(), value.encode())
    for name, value in {**HEADERS, "cache-control": "no-store"}.items()
]
"""Of responses that do not say otherwise."""


class Hosts:
    """The names under which a port may be addressed. A page of another name that resolves to this
    computer (DNS rebinding) is not one of them."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        url: str | None = None,
        also: Iterable[str] = (),
        scheme: str = "http",
    ) -> None:
        """`url` is where a proxy before the inbox serves it. `also` are other names: `name` goes
        with every port, `name:port` with this one. `scheme` is what the port itself speaks."""
        self._url = url
        self._also = frozenset(name.lower() for name in also)
        name = f"[{host}]" if ":" in host else host.lower()
        # Bound to every address: any address will do, a name still not.
        self._any_address = name in ("0.0.0.0", "[::]")  # noqa: S104
        self._names = LOOPBACK | {name}
        self._scheme = scheme
        self._ports = {str(port), ""} if port == DEFAULT_PORTS[scheme] else {str(port)}

    def origin_of(self, host: str) -> str:
        own = f"{self._scheme}://{host.lower()}"
        return own if not self._is_proxied(host) else str(self._url)

    def _is_proxied(self, host: str) -> bool:
        return self._url is not None and host.lower() == self._url.partition("://")[2]

    def knows(self, host: str) -> bool:
        if self._is_proxied(host):
            return True
        given = host.lower()
        name, colon, port = given.rpartition(":")
        if given in self._also or (port.isdecimal() and name in self._also):
            return True
        if not colon or port.endswith("]"):
            name, port = given, ""
        if port not in self._ports:
            return False
        try:
            return name in self._names or (self._any_address and bool(ip_address(name.strip("[]"))))
        except ValueError:
            return False


def has_two_ends(headers: Headers) -> bool:
    """Whether two headers say how long it is. A proxy may use the other one, and take what lies
    between for somebody else's request."""
    return "content-length" in headers and "transfer-encoding" in headers


def fits_token(token: str, given: str) -> bool:
    # An empty token would let everybody in.
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A pure ASGI wrapper: it adds microseconds to a request, and streams pass through."""

    app: ASGIApp
    hosts: Hosts
    token: str
    sessions: Sessions
    cookie: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers

        async def guarded_receive() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = {name for name, _ in message["headers"]}
                ours = [header for header in _OF_EACH if header[0] not in sent]
                if unread:
                    # Otherwise the connection would go on swallowing a body that nobody wants.
                    ours.append((b"connection", b"close"))
                message["headers"] = [*message["headers"], *ours]
            await send(message)

        try:
            session = self._session(headers)
            refusal = self._refusal(scope, headers, session)
            who = SCRIPT.name if scope.get(PERSON) is SCRIPT else BROWSER if session else None
            note_credential(scope, None if refusal else who)
            await (refusal or self.app)(scope, guarded_receive, guarded_send)
        except ClientDisconnect:
            return
        except Exception:
            # The visitor has got a bare 500. Of the path only the first part is logged: a log-in
            # code can be in the rest.
            log.exception("%s /%s failed", scope["method"], scope["path"].split("/")[1][:20])

    def _refusal(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        """The response to a request that is not let in; None lets it in."""
        path, method, origins = scope["path"], scope["method"], headers.getlist("origin")
        host = headers.get("host", "")
        if has_two_ends(headers):
            return _refused(path, TWO_ENDS, status=400)
        if not self.hosts.knows(host):
            return _refused(path, "The inbox is not available at this address.", status=403)
        if any(origin.lower() != self.hosts.origin_of(host) for origin in origins):
            return _refused(path, "This request came from another site.", status=403)
        ours = bool(origins) or headers.get("sec-fetch-site") == "same-origin"
        foreign = method not in SAFE_METHODS and not ours
        if path in OPEN_PATHS or path.startswith(("/static/", "/login/")):
            return _refused(path, NO_PAGE, status=403) if foreign else None
        if "authorization" in headers:
            # The token opens the API alone: what only a person may do is done on the pages.
            scope[PERSON] = SCRIPT
            scheme, _, token = headers["authorization"].partition(" ")
            fits = scheme.lower() == "bearer" and fits_token(self.token, token.strip())
            return None if fits and path.startswith("/api/") else _stranger(path)
        if session is None:
            page = method in SAFE_METHODS and "x-chatbridge" not in headers
            return _stranger(path, page=page)
        if foreign:
            return _refused(path, NO_PAGE, status=403)
        scope[PERSON], scope[SESSION] = session.person, session
        return None

    def _session(self, headers: Headers) -> Session | None:
        for line in headers.getlist("cookie"):
            value = cookie_parser(line).get(self.cookie)
            if value is not None and (session := self.sessions.of(value)):
                return session
        return None


def _stranger(path: str, *, page: bool = False) -> Response:
    if page and not path.startswith("/api/"):
        return RedirectResponse("/login", status_code=303)
    response = _refused(path, LOGGED_OUT, status=401)
    response.headers["www-authenticate"] = "Bearer"
    response.headers["x-chatbridge-toast"] = quote(LOGGED_OUT)
    return response


def _refused(path: str, sentence: str, *, status: int) -> Response:
    if path.startswith("/api/"):
        return json_response({"error": sentence}, status=status)
    return HTMLResponse(PAGE.format(sentence), status_code=status)
