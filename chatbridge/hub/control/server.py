"""Serve a person's commands over the links' socket: one request at a time, its reply or its events.

Owns the lines after the first one of a connection that says it is a terminal, see
docs/link-protocol.md, pairing, logging in and the status. What a request about asks does is in
`asks`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any

from chatbridge import __version__, safe_json
from chatbridge.core.bounds import sliced
from chatbridge.core.errors import ChatbridgeError, NotPaired
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Person
from chatbridge.core.pairing import Bot, Pairing
from chatbridge.core.ports import Clock, Health
from chatbridge.core.store_port import Store
from chatbridge.core.tasks import race
from chatbridge.core.text import title_of
from chatbridge.hub.links.peers import may_request, may_see, owns
from chatbridge.hub.process.lock import Lock
from chatbridge.projects import user_name

log = logging.getLogger(__name__)

Json = dict[str, Any]

CHANNEL = "terminal"
UP_WITHIN_SECONDS = 20.0  # A hub that has just started takes a moment to reach its bot
FOR_ROOT = "this is for root alone, as the hub serves the whole machine. Run it with sudo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`given` is what the command wrote, unchecked; `uid` and `pid` who runs it, and in which
    process, as the kernel knows it. `hub` is the one it came to, where there are several; the
    process of a request that another hub has passed on is not known (0)."""

    do: str
    given: Json
    uid: int
    pid: int = 0
    hub: str | None = None

    @property
    def person(self) -> Person:
        """By the name that this computer has for them; another one's users have none here."""
        passed_on = self.hub is not None and not self.pid
        return Person(name="" if passed_on else user_name(self.uid), channel=CHANNEL)


Answering = Callable[[Request], Awaitable[Json]]
Streaming = Callable[[Request], AsyncGenerator[Json, None]]


@dataclass(frozen=True, slots=True)
class Terminals:
    """`answers` have one reply, `streams` go on until the command has heard enough."""

    answers: Mapping[str, Answering] = field(default_factory=dict)
    streams: Mapping[str, Streaming] = field(default_factory=dict)

    async def serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        pid: int,
        uid: int,
        hub: str | None = None,
    ) -> None:
        """Until the command closes its side, or says more at once than a line may hold."""
        while line := await _line(reader, writer):
            request = _request(line, pid=pid, uid=uid, hub=hub)
            if request is None:
                await _say(writer, _refused("", ChatbridgeError("this line is no request")))
            elif request.do in self.streams and may_request(request.do, uid):
                await self._stream(self.streams[request.do](request), reader, writer)
                return
            else:
                await _say(writer, await self._reply(request))

    async def _reply(self, request: Request) -> Json:
        try:
            if not may_request(request.do, request.uid):
                raise ChatbridgeError(FOR_ROOT)
            if (answer := self.answers.get(request.do)) is None:
                raise ChatbridgeError(
                    f"this hub does not know {request.do!r}: it is another version than this "
                    "command. Run: chatbridge restart, and try again"
                )
            return {"result": await answer(request)}
        except Exception as error:  # noqa: BLE001 - the edge: each becomes a sentence
            return _refused(request.do, error)

    async def _stream(
        self,
        events: AsyncGenerator[Json, None],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        async def tell() -> None:
            async with aclosing(events):
                async for event in events:
                    await _say(writer, {"event": event})

        async def leave() -> None:
            while await reader.read(65536):
                pass  # discard what it says meanwhile, so that it takes no memory

        try:
            await race(tell(), leave())
        except ConnectionError:
            pass  # it has gone
        except Exception as error:  # noqa: BLE001 - the edge: each becomes a sentence
            await _say(writer, _refused("a stream", error))


async def _line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The next one; nothing at the end."""
    try:
        return await reader.readline()
    except ValueError:  # the reader's limit
        await _say(writer, _refused("", ChatbridgeError("this request is too long")))
        return b""


def _request(line: bytes, *, pid: int, uid: int, hub: str | None) -> Request | None:
    try:
        found = safe_json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("do"), str):
        return None
    return Request(do=found.pop("do"), given=found, uid=uid, pid=pid, hub=hub)


def _refused(what: str, error: BaseException) -> Json:
    if isinstance(error, ChatbridgeError):
        return {"error": str(error), "kind": type(error).__name__}
    log.error("a terminal's request failed: %s", what, exc_info=error)
    return {"error": "chatbridge failed inside; the hub's log says more", "kind": "failure"}


async def _say(writer: asyncio.StreamWriter, line: Json) -> None:
    writer.write((await _encoded(line)).encode() + b"\n")
    await writer.drain()


async def _encoded(value: object) -> str:
    """As JSON. The items of a list are encoded one by one, so that the hub does not stand still for
    a long one."""
    if isinstance(value, dict):
        pairs = [f"{json.dumps(name)}: {await _encoded(item)}" for name, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if not isinstance(value, list):
        return json.dumps(value)
    return f"[{', '.join([json.dumps(item) async for item in sliced(value)])}]"


async def status(
    request: Request,
    *,
    health: Health,
    store: Store,
    lock: Lock,
    since: float,
    links: Callable[[int | None], list[Json]],
    cluster: Callable[[], Json] | None = None,
    pages_open: Callable[[], Awaitable[None]],
) -> Json:
    """`links` are those that are connected now, of one user or of all. `cluster`: who leads.
    Waits for `pages_open`: a hub that has just started is no hub without an inbox."""
    await pages_open()
    troubles, owner = health.troubles().items(), owns(request.uid)
    among = {} if cluster is None else {"cluster": cluster()}
    return among | {
        "version": __version__,
        "pid": os.getpid(),
        "since": since,
        "startedBy": lock.info.started_by,
        "state": str(lock.state),
        "web": lock.info.web,
        "open": sum(may_see(ask, request.uid) for ask in await store.open_asks()),
        "links": links(None if owner else request.uid),
        "channels": [{"name": name, "trouble": trouble} for name, trouble in troubles],
        "faults": list(health.faults()) if owner else [],
        "remarks": list(health.remarks()) if owner else [],
    }


@dataclass(frozen=True, slots=True)
class TerminalPairing:
    """Requests of `pair` and `setup`: a code, who brought it, and the greeting. Allows nobody
    anything: the command changes the settings once its person has confirmed who it was."""

    pairing: Pairing
    channel: str  # The one whose bot takes the codes, if a request names no other
    clock: Clock
    troubles: Callable[[], Mapping[str, str | None]]
    up_within: float = UP_WITHIN_SECONDS

    async def pair(self, request: Request) -> AsyncGenerator[Json, None]:
        """A code; then who brought it, or that nobody did."""
        bot = await self._bot(request)
        with self.pairing.opened(channel=bot.channel) as code:
            said = {"code": code.text, "link": bot.address(code.payload), "until": code.until}
            yield said | ({"send": code.payload} if bot.typed else {})
            await race(code.claimed.wait(), self.clock.sleep(code.until - self.clock.time()))
            yield {"claimed": asdict(code.claim)} if code.claim else {"over": True}

    async def greet(self, request: Request) -> Json:
        """Says in a chat that it is paired, if it is."""
        chat = request.given.get("chat")
        if type(chat) not in (int, str):
            raise NotPaired("chat: a chat's id is needed")
        await (await self._bot(request)).greet(chat)
        return {}

    async def _bot(self, request: Request) -> Bot:
        channel = request.given.get("channel", self.channel)
        if not isinstance(channel, str) or channel not in self.troubles():
            raise NotPaired(f"{title_of(str(channel))} is not set up. Run: chatbridge setup")
        try:
            async with asyncio.timeout(self.up_within):
                return await self.pairing.bot(channel)
        except TimeoutError:
            why = self.troubles().get(channel) or f"{channel} cannot be reached yet"
            raise NotPaired(why) from None


@dataclass(frozen=True, slots=True)
class TerminalLogIn:
    """Requests of the commands that open the inbox in a browser."""

    codes: LoginCodes

    @property
    def answers(self) -> dict[str, Answering]:
        return {"login-code": self._code, "inbox-proof": self._proof}

    async def _code(self, _request: Request) -> Json:
        return {"code": await self.codes.new(by_token=False)}

    async def _proof(self, _request: Request) -> Json:
        question, answer = self.codes.new_proof()
        return {"question": question, "answer": answer}
