"""A push service on loopback, and the browsers that have an address there.

    with PushService.running() as service:
        browser = service.browser(key)  # with the hub's applicationServerKey
        …  # the program under test gets browser.subscription
        ring = browser.sees("Which database")

It refuses what the services of Chrome, Firefox and Safari refuse: no or a wrong signature, of
another key than the browser asked for, for another service or for more than a day; no TTL; more
than 4,096 bytes; another encoding; a topic that is too long; an address that is unknown (404) or
given up (410). What it takes it decrypts with the browser's private key, as only that can, and
does with it what the inbox's worker does.

Not confirmed against the services themselves: which status each of them answers to which fault.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import http_ece
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Json = dict[str, Any]

PATIENCE = 20.0
LARGEST = 4096
LONGEST_TOKEN = 24 * 3600
URGENCIES = ("very-low", "low", "normal", "high")
TOPIC = re.compile("[A-Za-z0-9_-]{1,32}")
CONTACT = re.compile(r"mailto:[^@\s]+@[^@\s]+\.[^@\s]+|https://[^\s/]+\.[^\s]+")


class Refused(Exception):
    def __init__(self, status: int, why: str, **headers: str) -> None:
        self.response = Response(why, status, {k.replace("_", "-"): v for k, v in headers.items()})


class Browser:
    """Asked for notifications with the public key of a hub."""

    def __init__(self, service: PushService, key: str) -> None:
        self._service = service
        self.hub_key = key
        self._private = ec.generate_private_key(ec.SECP256R1())
        self._auth = secrets.token_bytes(16)
        self.token = secrets.token_urlsafe(24)
        self.received: list[Json] = []
        """What was decrypted, in the order in which it came."""
        self.headers: list[dict[str, str]] = []
        self.shows: dict[str, Json] = {}
        """The notifications that are there, by their tags."""
        self.rang: list[Json] = []

    @property
    def endpoint(self) -> str:
        return f"{self._service.address}/push/{self.token}"

    @property
    def subscription(self) -> Json:
        """As `PushSubscription.toJSON()` has it."""
        point = self._private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        keys = {"p256dh": encoded(point), "auth": encoded(self._auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def decrypt(self, body: bytes) -> bytes:
        found: bytes = http_ece.decrypt(
            body, private_key=self._private, auth_secret=self._auth, version="aes128gcm"
        )
        return found

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        message = json.loads(self.decrypt(body))
        self.received.append(message)
        self.headers.append(headers)
        shown = message["notification"]
        if message.get("ended"):  # gone after a moment
            self.shows.pop(shown["tag"], None)
            return
        self.shows[shown["tag"]] = shown
        if not shown["silent"]:
            self.rang.append(shown)

    def sees(self, words: str) -> Json:
        """The notification with these words, once it is there."""

        def found() -> Json | None:
            texts = [(it, f"{it['title']} {it['body']}") for it in self.shows.values()]
            return next((it for it, text in texts if words in text), None)

        shown: Json = self._service.wait(found)
        return shown

    def until(self, fits: Callable[[], bool]) -> None:
        self._service.wait(fits)

    def until_empty(self) -> None:
        self.until(lambda: not self.shows)


class PushService:
    """Without `running` it only checks what it is given."""

    def __init__(self, address: str = "https://push.example.org") -> None:
        self.address = address
        self.now: Callable[[], float] = time.time
        self.browsers: dict[str, Browser] = {}
        self.over: set[str] = set()
        """Addresses that were given up."""
        self.refusals: list[Refused] = []
        """Of the next requests."""
        self.requests: list[str] = []
        """The addresses that something was sent to."""
        self.faults: list[str] = []
        """Why requests were refused that a service would not refuse."""
        self._changed = threading.Condition()

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        listener = socket.create_server(("127.0.0.1", 0))
        service = cls(f"http://127.0.0.1:{listener.getsockname()[1]}")
        app = Starlette(routes=[Route("/push/{token}", service._push, methods=["POST"])])
        config = uvicorn.Config(app, log_config=None, ws="none", lifespan="off", http="h11")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            server.should_exit = server.force_exit = True
            thread.join(PATIENCE)
            listener.close()

    def browser(self, key: str) -> Browser:
        browser = Browser(self, key)
        self.browsers[browser.token] = browser
        return browser

    def give_up(self, token: str) -> None:
        with self._changed:
            self.over.add(token)
            self._changed.notify_all()

    def wait(self, found: Callable[[], Any]) -> Any:
        """What it returns, once that is something."""
        with self._changed:
            assert self._changed.wait_for(found, PATIENCE), (self.requests, self.faults)
            return found()

    async def _push(self, request: Request) -> Response:
        body, token = await request.body(), request.path_params["token"]
        with self._changed:
            self.requests.append(token)
            try:
                if self.refusals:
                    raise self.refusals.pop(0)
                self._check(request, body, token)
                self.browsers[token].take(body, dict(request.headers))
            except Refused as refused:
                return refused.response
            finally:
                self._changed.notify_all()
        return Response(status_code=201, headers={"Location": f"{self.address}/message/1"})

    def _check(self, request: Request, body: bytes, token: str) -> None:
        if token in self.over:
            raise Refused(410, "push subscription has unsubscribed or expired")
        if token not in self.browsers:
            raise Refused(404, "unknown subscription")
        try:
            self.check_signature(request.headers.get("authorization", ""), self.browsers[token])
            if not request.headers.get("ttl", "").isdecimal():
                raise Refused(400, "TTL missing or invalid")
            if len(body) > LARGEST:
                raise Refused(413, "payload too large")
            if request.headers.get("content-encoding") != "aes128gcm":
                raise Refused(400, "unknown Content-Encoding")
            if not TOPIC.fullmatch(request.headers.get("topic", "none")):
                raise Refused(400, "BadTopic")
            if request.headers.get("urgency", "normal") not in URGENCIES:
                raise Refused(400, "BadUrgency")
        except Refused as refused:
            self.faults.append(bytes(refused.response.body).decode())
            raise

    def check_signature(self, given: str, browser: Browser) -> None:
        scheme, _, rest = given.partition(" ")
        parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
        if scheme.lower() != "vapid" or set(parts) != {"t", "k"}:
            raise Refused(401, "missing VAPID authorization")
        if parts["k"].rstrip("=") != browser.hub_key.rstrip("="):
            raise Refused(403, "VapidPkHashMismatch")
        point = urlsafe_b64decode(parts["k"] + "=" * (-len(parts["k"]) % 4))
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        try:
            claims = jwt.decode(
                parts["t"],
                key,
                algorithms=["ES256"],
                audience=self.address,
                options={"verify_exp": False, "require": ["exp", "aud", "sub"]},
            )
        except jwt.InvalidTokenError as error:
            raise Refused(403, f"BadJwtToken: {error}") from None
        if not 0 < claims["exp"] - self.now() <= LONGEST_TOKEN:
            raise Refused(403, "ExpiredJwtToken")
        if not CONTACT.fullmatch(claims["sub"]):
            raise Refused(403, "BadJwtToken: sub")


def encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
