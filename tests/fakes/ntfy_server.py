"""An ntfy server on loopback, and the phones that subscribe to a topic of it.

    with NtfyServer.running() as ntfy:
        phone = ntfy.phone("agents")
        …  # the program under test gets ntfy.address
        ring = phone.sees("Which database")
        phone.tap(ring, "SQLite")

Limits, codes, the order of the checks, what is decoded and what a stream carries are those of
ntfy's own source (2.13: server.go, server_middleware.go, util.go, actions.go, errors.go and
message_cache.go); that a phone makes no sound for a notification that is still there, of its
Android app. Updating and clearing came with 2.16, and are as its documentation and clients say.

Not confirmed: the code for a wrong `sequence_id` (40049), whether a server before 2.16 leaves one
out of its answer (its types say so), how soon phones show anything, and what iOS makes of an
update. ntfy itself sends no Retry-After; a proxy before it may. No ntfy server could be had here
to compare with.
"""

from __future__ import annotations

import asyncio
import base64
import json
import quopri
import re
import secrets
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]

PATIENCE = 20.0
MESSAGE_LIMIT = 4096
"""Bytes. A longer message becomes a file; the JSON around it may have twice as many."""
NAME = re.compile(r"[-_A-Za-z0-9]{1,64}", re.ASCII)
DISALLOWED = frozenset(
    ("docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1")
)
MOST_ACTIONS = 3
BURST, AUTH_FAILURES, SUBSCRIPTIONS = 60, 30, 30
"""Of one visitor; then one request in 5 s, one failure in a minute."""
HEADERS_LIMIT = 1024 * 1024
ENCODED = re.compile(r"=\?(utf-8|iso-8859-1|us-ascii)\?([bq])\?([^?]*)\?=", re.IGNORECASE)
ERRORS = {
    40007: "invalid priority parameter",
    40008: "invalid since parameter",
    40009: "invalid request: topic invalid",
    40010: "invalid request: topic name is not allowed",
    40014: "invalid request: attachments not allowed",
    40018: "invalid request: actions invalid",
    40024: "invalid request: request body must be valid JSON",
    40049: "invalid request: sequence ID invalid",
    40101: "unauthorized",
    40301: "forbidden",
    40401: "page not found",
    41303: "JSON body too large",
    42901: "limit reached: too many requests",
    42903: "limit reached: too many active subscriptions",
    42908: "limit reached: daily message quota reached",
    42909: "limit reached: too many auth failures",
    50001: "internal server error",
}


class Refused(Exception):
    def __init__(self, code: int, *, after: str | None = None) -> None:
        body = json.dumps({"code": code, "http": code // 100, "error": ERRORS[code]}) + "\n"
        headers = {"Retry-After": after} if after else {}
        self.response = Response(body, code // 100, headers, media_type="application/json")


class NtfyServer:
    """`updates`: it is 2.16 or newer. `rights` are those of a token, or of "" for everybody, by
    topic: any of "rw"; None: there is no access control. `files`: it keeps attachments."""

    def __init__(self, *, updates: bool = True) -> None:
        self.updates = updates
        self.files = True
        self.rights: dict[str, dict[str, str]] | None = None
        self.messages: list[Json] = []
        self.arrived: dict[str, float] = {}
        """When, by their ids."""
        self.subscribed: Counter[str] = Counter()
        """How many read a topic now."""
        self.requests: list[str] = []
        self.refusals: list[Refused] = []
        """Of the next requests."""
        self.allowed = BURST
        self.failures = AUTH_FAILURES
        self.keepalive = 45.0
        self.signs_of_life = 0
        self.down = False
        """It ends streams at once, and lets nobody in."""
        self._ids = count(1)
        self._changed = threading.Condition()
        self._news = asyncio.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @classmethod
    @contextmanager
    def running(cls, *, updates: bool = True) -> Iterator[Self]:
        ntfy = cls(updates=updates)
        routes = [
            Route("/", ntfy._route(ntfy._publish_json), methods=["POST", "PUT"]),
            Route("/v1/health", ntfy._route(ntfy._health)),
            Route("/{topic}", ntfy._route(ntfy._publish_text), methods=["POST", "PUT"]),
            Route("/{topic}/json", ntfy._route(ntfy._subscribe)),
            Route("/{topic}/auth", ntfy._route(ntfy._auth)),
            Route("/{topic}/{sequence}/clear", ntfy._route(ntfy._clear), methods=["PUT"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            ws="none",
            lifespan="off",
            http="h11",
            h11_max_incomplete_event_size=HEADERS_LIMIT,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([ntfy._socket],), daemon=True)
        thread.start()
        try:
            yield ntfy
        finally:
            ntfy.down = server.should_exit = server.force_exit = True
            thread.join(PATIENCE)
            ntfy._socket.close()

    def lose_cache(self) -> None:
        """It was restarted, and had its messages only in memory."""
        with self._changed:
            self.messages.clear()

    def phone(self, topic: str) -> Phone:
        return Phone(self, topic)

    def wait(self, found: Callable[[], Any]) -> Any:
        """What it returns, once that is something."""
        with self._changed:
            assert self._changed.wait_for(found, PATIENCE), self.messages
            return found()

    # ── requests ──────────────────────────────────────────────────────────────────────────────────

    def _route(
        self, work: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            with self._changed:
                self.requests.append(f"{request.method} {request.url.path}?{request.url.query}")
                self._changed.notify_all()
            try:
                if self.refusals:
                    raise self.refusals.pop(0)
                if self.down:
                    raise Refused(50001)
                self._authenticate(request)
                return await work(request)
            except Refused as refused:
                return refused.response

        return respond

    def _authenticate(self, request: Request) -> None:
        """A wrong token is refused everywhere, also where none is needed."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token and self.rights is not None:
            if self.failures <= 0:
                raise Refused(42909)
            if token not in self.rights:
                self.failures -= 1
                raise Refused(40101)
        request.state.token = token

    def _count(self) -> None:
        if self.allowed <= 0:
            raise Refused(42901)
        self.allowed -= 1

    def _check(self, request: Request, topic: str, right: str) -> None:
        """A name, room for a request, and rights, in this order."""
        if not NAME.fullmatch(topic):
            raise Refused(40401 if "topic" in request.path_params else 40009)
        if topic in DISALLOWED:
            raise Refused(40010)
        self._count()
        if self.rights is not None:
            everybody = self.rights.get("", {})
            mine = self.rights.get(request.state.token, everybody)
            if right not in mine.get(topic, everybody.get(topic, "")):
                raise Refused(40301)

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"healthy": True})

    async def _auth(self, request: Request) -> Response:
        self._check(request, request.path_params["topic"], "r")
        return JSONResponse({"success": True})

    async def _publish_json(self, request: Request) -> Response:
        body = await request.body()
        if len(body) > 2 * MESSAGE_LIMIT:
            raise Refused(41303)
        try:
            given = json.loads(body)
            _expect_types(given)
        except (ValueError, TypeError):
            raise Refused(40024) from None
        self._check(request, given.get("topic") or "", "w")
        if actions := given.get("actions"):
            given["actions"] = json.dumps(actions, ensure_ascii=False)
        return self._published(given)

    async def _publish_text(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        self._check(request, topic, "w")
        given: Json = {"topic": topic, "message": await request.body()}
        for name in ("title", "click", "actions", "sequence-id"):
            raw = request.headers.get(name, request.headers.get(f"x-{name}"))
            if raw is not None:
                given[name.replace("-", "_")] = raw.encode("latin-1").decode(errors="replace")
        if priority := request.headers.get("priority"):
            given["priority"] = int(priority) if priority.isdecimal() else -1
        return self._published(given)

    def _published(self, given: Json) -> Response:
        """What stands in JSON becomes headers first, and those are decoded as headers are."""
        if given.get("priority") not in (None, 0, 1, 2, 3, 4, 5):
            raise Refused(40007)
        message = {name: given[name] for name in ("topic", "priority") if given.get(name)}
        for name in ("title", "click", "sequence_id"):
            if found := _decoded(given.get(name) or "").strip():
                message[name] = found
        if actions := _decoded(given.get("actions") or "").strip():
            message["actions"] = _actions(actions)
        if not self.updates:
            message.pop("sequence_id", None)
        elif not NAME.fullmatch(message.get("sequence_id", "none")):
            raise Refused(40049)
        said = given.get("message") or b""
        raw = said if isinstance(said, bytes) else said.encode(errors="replace")
        try:
            if len(raw) > MESSAGE_LIMIT:
                raise ValueError
            message["message"] = raw.decode().strip() or "triggered"
        except ValueError:
            if not self.files:
                raise Refused(40014) from None
            message |= {"message": "You received a file: attachment.bin", "attachment": {}}
        return self._added("message", message)

    async def _clear(self, request: Request) -> Response:
        topic, sequence = request.path_params["topic"], request.path_params["sequence"]
        if not self.updates or not NAME.fullmatch(sequence):
            raise Refused(40401)
        self._check(request, topic, "w")
        return self._added("message_clear", {"topic": topic, "sequence_id": sequence})

    def _added(self, event: str, message: Json) -> Response:
        with self._changed:
            message = self._event(event, **message)
            self.arrived[message["id"]] = time.time()
            self.messages.append(message)
            self._changed.notify_all()
        self._news.set()
        self._news = asyncio.Event()
        return Response(json.dumps(message) + "\n", media_type="application/json")

    def _event(self, event: str, **more: Any) -> Json:
        return {"id": f"m{next(self._ids):011}", "time": int(time.time()), "event": event, **more}

    async def _subscribe(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        self._check(request, topic, "r")
        if self.subscribed.total() >= SUBSCRIPTIONS:
            raise Refused(42903)
        poll = request.query_params.get("poll") in ("1", "yes", "true")
        since = request.query_params.get("since", "all" if poll else "none")
        if not re.fullmatch(r"all|none|latest|[A-Za-z0-9]{12}|[0-9]+[smh]?", since):
            raise Refused(40008)
        # One that the server does not have any more stands for all that it has.
        ids = [message["id"] for message in self.messages]
        start = ids.index(since) + 1 if since in ids else len(ids) if since == "none" else 0
        sent = set(ids[:start])

        async def lines() -> AsyncIterator[str]:
            if not poll:
                yield json.dumps(self._event("open", topic=topic)) + "\n"
            alive = time.monotonic()
            while not self.down:
                news = self._news
                for message in [it for it in self.messages if it["id"] not in sent]:
                    sent.add(message["id"])
                    if message["topic"] == topic:
                        yield json.dumps(message, ensure_ascii=False) + "\n"
                if poll:
                    return
                if time.monotonic() - alive >= self.keepalive:
                    alive = time.monotonic()
                    yield json.dumps(self._event("keepalive", topic=topic)) + "\n"
                    with self._changed:
                        self.signs_of_life += 1
                        self._changed.notify_all()
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):  # and see whether it is down
                        await news.wait()

        async def counted() -> AsyncIterator[str]:
            self._stream(topic, +1)
            try:
                async for line in lines():
                    yield line
            finally:
                self._stream(topic, -1)

        return StreamingResponse(counted(), media_type="application/x-ndjson; charset=utf-8")

    def _stream(self, topic: str, change: int) -> None:
        with self._changed:
            self.subscribed[topic] += change
            self._changed.notify_all()


def _expect_types(given: object) -> None:
    """:raises TypeError: as Go does, which reads JSON into fields of a type. It skips nulls."""
    texts = ("topic", "title", "message", "click", "sequence_id")
    if not isinstance(given, dict):
        raise TypeError
    for name, kind in (*((name, str) for name in texts), ("priority", int), ("actions", list)):
        if given.get(name) is not None and not isinstance(given[name], kind):
            raise TypeError
    for action in given.get("actions") or ():
        if not isinstance(action, dict) or any(
            type(it) not in (str, bool) for it in action.values()
        ):
            raise TypeError


def _decoded(header: str) -> str:
    """With the words of RFC 2047 in it decoded, wherever they stand."""

    def word(found: re.Match[str]) -> str:
        charset, kind, text = found.groups()
        if kind in "bB":
            return base64.b64decode(text).decode(charset, "replace")
        return quopri.decodestring(text.encode(), header=True).decode(charset, "replace")

    return ENCODED.sub(word, header)


def _actions(header: str) -> list[Json]:
    """The JSON of them; their short form is not used here."""
    try:
        found = json.loads(header)
    except ValueError:
        raise Refused(40018) from None
    for each in found:
        needs_url = each.get("action") in ("view", "http")
        known = needs_url or each.get("action") == "broadcast"
        if not known or not each.get("label") or (needs_url and not each.get("url")):
            raise Refused(40018)
    if len(found) > MOST_ACTIONS:
        raise Refused(40018)
    return [{"id": secrets.token_hex(5), "clear": False, **each} for each in found]


class Phone:
    """The app with a subscription. It has no token of its own."""

    def __init__(self, ntfy: NtfyServer, topic: str) -> None:
        self._ntfy, self._topic = ntfy, topic

    @property
    def shows(self) -> list[Json]:
        """The notifications that are there, the oldest first."""
        found: dict[str, Json] = {}
        for message in self._ntfy.messages:
            if message["topic"] == self._topic:
                name = str(message.get("sequence_id", message["id"]))
                found.pop(name, None)
                if message["event"] == "message":
                    found[name] = message
        return [*found.values()]

    @property
    def rang(self) -> list[str]:
        """What came with a sound. One that takes the place of another that is there makes none."""
        there: set[str] = set()
        titles = []
        for it in self._ntfy.messages:
            if it["topic"] == self._topic:
                name, new = str(it.get("sequence_id", it["id"])), it["event"] == "message"
                if new and name not in there and it.get("priority", 3) > 2:
                    titles.append(it["title"])
                there = there | {name} if new else there - {name}
        return titles

    def sees(self, words: str) -> Json:
        def found() -> Json | None:
            return next((it for it in self.shows if words in it["title"] + it["message"]), None)

        shown: Json = self._ntfy.wait(found)
        return shown

    def until_empty(self) -> None:
        self._ntfy.wait(lambda: not self.shows)

    def tap(self, notification: Json, label: str) -> None:
        """As the app does it: the request of the action, with nothing added. A label may have a
        number before it."""
        labels = (label, f"1 · {label}", f"2 · {label}", f"3 · {label}")
        (action,) = [it for it in notification["actions"] if it["label"] in labels]
        assert action["action"] == "http"
        send(action["url"], action["body"])


def send(url: str, body: str | bytes, **headers: str) -> None:
    """What anybody can do who knows a topic."""
    data = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    request = urllib.request.Request(url, data=data, headers=headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE):
        pass
