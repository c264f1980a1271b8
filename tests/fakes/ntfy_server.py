"""An ntfy server on loopback, and the phones that subscribe to a topic of it.

    with NtfyServer.running() as ntfy:
        phone = ntfy.phone("agents")
        …  # the program under test gets ntfy.address
        ring = phone.sees("Which database")
        phone.tap(ring, "SQLite")

Limits, codes, and the order of the checks are those of ntfy's own source (2.13: server.go,
actions.go, errors.go). Updating and clearing came with 2.16, and are as its documentation and
clients have them. Not confirmed: whether a server before 2.16 leaves an unknown `sequence_id` out
of its answer (its types say so), how soon phones show anything, and what iOS makes of an update.
"""

from __future__ import annotations

import asyncio
import json
import re
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
TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}", re.ASCII)
DISALLOWED = ("docs", "static", "file", "app", "metrics", "account", "settings", "login", "v1")
MOST_ACTIONS = 3
KEEPALIVE = 45.0
"""Seconds between two signs of life of a stream."""
BURST = 60
"""Requests of one visitor; then one in 5 s. The answer has no Retry-After."""
ERRORS = {
    40007: "invalid priority parameter",
    40008: "invalid since parameter",
    40009: "invalid request: topic invalid",
    40010: "invalid request: topic name is not allowed",
    40017: "invalid request: request body must be message JSON",
    40018: "invalid request: actions invalid",
    40101: "unauthorized",
    40301: "forbidden",
    40401: "page not found",
    41303: "JSON body too large",
    42901: "limit reached: too many requests",
    42908: "limit reached: daily message quota reached",
    50001: "internal server error",
}


class Refused(Exception):
    def __init__(self, code: int, *, after: str | None = None) -> None:
        body = json.dumps({"code": code, "http": code // 100, "error": ERRORS[code]}) + "\n"
        headers = {"Retry-After": after} if after else {}
        self.response = Response(body, code // 100, headers, media_type="application/json")


class NtfyServer:
    """`updates`: it is 2.16 or newer. `rights` are those of a token, or of "" for everybody, by
    topic: any of "rw"; None: there is no access control."""

    def __init__(self, *, updates: bool = True) -> None:
        self.updates = updates
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
            Starlette(routes=routes), log_config=None, ws="none", lifespan="off"
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
            self.requests.append(f"{request.method} {request.url.path}?{request.url.query}")
            try:
                if self.refusals:
                    raise self.refusals.pop(0)
                if self.down:
                    raise Refused(50001)
                # A wrong token is refused everywhere, also where none is needed.
                token = request.headers.get("authorization", "").removeprefix("Bearer ")
                if token and self.rights is not None and token not in self.rights:
                    raise Refused(40101)
                request.state.token = token
                if self.allowed <= 0:
                    raise Refused(42901)
                self.allowed -= 1
                return await work(request)
            except Refused as refused:
                return refused.response

        return respond

    def _check(self, request: Request, topic: str, right: str) -> None:
        if not TOPIC.fullmatch(topic):
            raise Refused(40401 if "topic" in request.path_params else 40009)
        if topic in DISALLOWED:
            raise Refused(40010)
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
            assert isinstance(given, dict)
        except (ValueError, AssertionError):
            raise Refused(40017) from None
        self._check(request, str(given.get("topic")), "w")
        return self._published(given)

    async def _publish_text(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        self._check(request, topic, "w")
        return self._published(
            {"topic": topic, "message": (await request.body()).decode(errors="replace")}
        )

    def _published(self, given: Json) -> Response:
        actions = given.get("actions") or []
        if given.get("priority", 3) not in (1, 2, 3, 4, 5):
            raise Refused(40007)
        if len(actions) > MOST_ACTIONS or any(
            not (a.get("label") and a.get("url")) for a in actions
        ):
            raise Refused(40018)
        known = ("topic", "title", "message", "priority", "click", "actions")
        message = {name: given[name] for name in known if given.get(name)}
        message["message"] = message.get("message", "triggered").strip()
        if len(message["message"].encode()) > MESSAGE_LIMIT:
            message |= {"message": "You received a file: attachment.txt", "attachment": {}}
        if self.updates and given.get("sequence_id"):
            message["sequence_id"] = given["sequence_id"]
        return self._added("message", message)

    async def _clear(self, request: Request) -> Response:
        if not self.updates:
            raise Refused(40401)
        topic = request.path_params["topic"]
        self._check(request, topic, "w")
        sequence = request.path_params["sequence"]
        return self._added("message_clear", {"topic": topic, "sequence_id": sequence})

    def _added(self, event: str, message: Json) -> Response:
        with self._changed:
            name = f"m{next(self._ids):011}"
            self.arrived[name] = time.time()
            message = {"id": name, "time": int(time.time()), "event": event, **message}
            self.messages.append(message)
            self._changed.notify_all()
        self._news.set()
        self._news = asyncio.Event()
        return Response(json.dumps(message) + "\n", media_type="application/json")

    async def _subscribe(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        self._check(request, topic, "r")
        since, poll = request.query_params.get("since", "none"), "poll" in request.query_params
        if not re.fullmatch(r"all|none|latest|[A-Za-z0-9]{12}|[0-9]+[smh]?", since):
            raise Refused(40008)
        # One that the server does not have any more stands for all that it has.
        ids = [message["id"] for message in self.messages]
        start = ids.index(since) + 1 if since in ids else len(ids) if since == "none" else 0

        def said(event: str) -> str:
            return json.dumps({"id": "open00000000", "event": event, "topic": topic}) + "\n"

        async def lines() -> AsyncIterator[str]:
            if not poll:
                yield said("open")
            self.subscribed[topic] += 1
            try:
                sent, alive = start, time.monotonic()
                while not self.down:
                    news, new, sent = self._news, self.messages[sent:], len(self.messages)
                    for message in new:
                        if message["topic"] == topic:
                            yield json.dumps(message) + "\n"
                    if poll:
                        return
                    if time.monotonic() - alive >= KEEPALIVE:
                        alive = time.monotonic()
                        yield said("keepalive")
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.02):  # and see whether it is down
                            await news.wait()
            finally:
                self.subscribed[topic] -= 1

        return StreamingResponse(lines(), media_type="application/x-ndjson; charset=utf-8")


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
        """What came with a sound."""
        mine = (message for message in self._ntfy.messages if message["topic"] == self._topic)
        return [it["title"] for it in mine if it["event"] == "message" and it["priority"] > 2]

    def sees(self, words: str) -> Json:
        def found() -> Json | None:
            return next((it for it in self.shows if words in it["title"] + it["message"]), None)

        shown: Json = self._ntfy.wait(found)
        return shown

    def until_empty(self) -> None:
        self._ntfy.wait(lambda: not self.shows)

    def tap(self, notification: Json, label: str) -> None:
        """As the app does it: the request of the action, with nothing added."""
        (action,) = [it for it in notification["actions"] if it["label"] == label]
        assert action["action"] == "http"
        send(action["url"], action["body"])


def send(url: str, body: str) -> None:
    """What anybody can do who knows a topic."""
    request = urllib.request.Request(url, data=body.encode("utf-8", "surrogatepass"), method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE):
        pass
