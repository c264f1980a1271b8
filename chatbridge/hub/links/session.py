"""One MCP session: lines of a link's socket, or of standard input and output, to and from the SDK.

Owns framing and the private lines of docs/link-protocol.md. The server knows what a request means;
`listener` reads the first lines of a connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from pydantic import ValidationError

from chatbridge import safe_json
from chatbridge.commands.tools.notifications import LEVELS, Pushes
from chatbridge.core.asks.waiting_calls import WaitingCalls
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import CallName, Project
from chatbridge.framing import MAX_LINE, LineReader, Overlong
from chatbridge.link import unavailable
from chatbridge.safe_json import has_bad_id, is_request_id
from chatbridge.tools.late_server import FirstAnswers, LateServer

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

log = logging.getLogger(__name__)

MOST_AGES, LONGEST_AGE = 1000, 1e9
CHUNK_BYTES = 65536
_OUT_OF_TIME = re.compile(r"time[ds]?[ -]?out|deadline", re.IGNORECASE)
Send = Callable[[bytes], Awaitable[None]]
Delivered = Callable[[CallName], Awaitable[None]]


class PendingElicitations:
    """The forms that one connection has open at its client, and replies to those of an earlier hub.
    A reply that the link passes on belongs to a call, which was repeated, and not to a request of
    this hub. It is given to the SDK as the response to the request that the call makes now."""

    def __init__(self) -> None:
        self.replies: asyncio.Queue[types.JSONRPCMessage] = asyncio.Queue()
        """For the SDK, as if they had come on the wire."""
        self._open: dict[str, types.RequestId] = {}
        """Our request that is open at the client, by the call it is made for."""
        self._early: dict[str, dict[str, Any]] = {}
        """By call: what the client said before the call asked again."""

    def reply(self, call: str, result: dict[str, Any]) -> types.RequestId | None:
        """The client's reply for this call. The request that it answers, if that is open."""
        form = self._open.pop(call, None)
        if form is None:
            self._early[call] = result
        else:
            self._respond(form, result)
        return form

    def answered(self, call: str, form: types.RequestId) -> bool:
        """Whether this request, which is about to be sent, has its answer already."""
        early = self._early.pop(call, None)
        if early is None:
            self._open[call] = form
            return False
        self._respond(form, early)
        return True

    def closed(self, form: types.RequestId | None) -> None:
        self._open = {call: other for call, other in self._open.items() if other != form}

    def forget(self, call: str) -> None:
        self._open.pop(call, None)
        self._early.pop(call, None)

    def _respond(self, form: types.RequestId, result: dict[str, Any]) -> None:
        response = types.JSONRPCResponse(jsonrpc="2.0", id=form, result=result)
        self.replies.put_nowait(response)


@dataclass(slots=True)
class First:
    """What a client has said before the SDK was there, which reads it all the same."""

    answered: list[types.JSONRPCMessage] = field(default_factory=list)
    unanswered: types.JSONRPCMessage | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """A link's connection; also the `Caller` that its tool calls belong to."""

    link: str
    project: Project
    reader: asyncio.StreamReader
    send: Send
    waiting_calls: WaitingCalls
    confirms: bool
    """The other side says when a response has reached the client. Where there is no link between us
    and the client, writing it is all there is."""
    limit: float | None = None
    folder: str | None = None
    pid: int | None = None
    pushes: Pushes = field(default_factory=Pushes)  # Has what nobody asked for
    delivered: Delivered | None = None  # Told of delivered responses, beside the `waiting_calls`
    passed_on: bool = False  # By another hub
    present: bool = True
    level: types.LoggingLevel = "debug"
    _left: bool = False
    _gone: bool = False  # The hub that passes it on has said so
    _greeted: bool = False  # The client has begun to shake hands
    _ready: bool = False  # It has shaken hands
    _requests: set[str] = field(default_factory=set)  # Those that have no response yet
    _ages: dict[str, float] = field(default_factory=dict)  # Of requests that are about to come
    _held: float = 0.0  # For so long another hub has had what comes now
    _unconfirmed: set[str] = field(default_factory=set)
    """Its calls of which the link has not said that the client has the response."""
    forms: PendingElicitations = field(default_factory=PendingElicitations)
    _splitter: LineReader = field(default_factory=LineReader)
    _lines: deque[bytes | Overlong] = field(default_factory=deque)  # Read, and not yet looked at

    async def serve(self, server: LateServer) -> None:
        async with self.pushes.to(self):
            first = await self._answer_first(server)
            if first is None:
                return
            try:
                sdk = await self._late(server, first)
            except ChatbridgeError as error:
                if self.confirms:
                    raise  # the link is told by who refuses it
                await self._unavailable(first.unanswered, str(error))
                return
            from chatbridge.hub.links.streams import Streams

            await Streams(self, first).serve(sdk)

    async def _late(self, server: LateServer, first: First) -> Server[Any]:
        """The SDK's server. A call counts from when it came."""
        now = asyncio.get_running_loop().time
        came, sdk = now(), await server.get()
        if isinstance(first.unanswered, types.JSONRPCRequest):
            self._older(first.unanswered.id, now() - came)
        return sdk

    async def _answer_first(self, server: LateServer) -> First | None:
        """Answer what can be answered before the SDK is there. None at the end."""
        first, answers = First(), FirstAnswers(server.offer, self)
        while not server.made.done():
            message = await self.next_message()
            if message is None:
                return None
            match message:
                case types.JSONRPCRequest(method=method, params=params, id=request) if (
                    result := answers.result(method, params)
                ) is not None:
                    self._requests.discard(json.dumps(request))
                    await self._say({"jsonrpc": "2.0", "id": request, "result": result})
                case types.JSONRPCNotification(method="notifications/initialized"):
                    pass
                case _:
                    first.unanswered = message
                    break
            first.answered.append(message)
        return first

    async def _unavailable(self, message: types.JSONRPCMessage | None, problem: str) -> None:
        """Answer this and all that follows with what is wrong."""
        message = message or await self.next_message()
        while message is not None:
            if isinstance(message, types.JSONRPCRequest):
                request = message.model_dump(by_alias=True, exclude_none=True)
                await self._say(unavailable.answer(request, problem))
            message = await self.next_message()

    def age(self, request: object) -> float | None:
        return self._ages.pop(json.dumps(request), None)

    def _older(self, request: object, seconds: float) -> None:
        named = json.dumps(request)
        if named in self._ages or len(self._ages) < MOST_AGES:
            self._ages[named] = self._ages.get(named, 0.0) + _bounded(seconds)

    @property
    def may_return(self) -> bool:
        """Whether only the way to the link has gone, as far as is known: the hub between."""
        return self.passed_on and not self._gone

    def mute(self) -> None:
        """From now on nothing is sent and nobody counts as cancelled: the SDK would answer every
        open call with an error, but the call goes on with the next hub."""
        if not self._left and not self.may_return:
            self.waiting_calls.link_left(self.link)
        self.present, self._left = False, True

    # ── in ────────────────────────────────────────────────────────────────────────────────────────

    async def next_message(self) -> types.JSONRPCMessage | None:
        """The next message of the client; None at the end."""
        while True:
            while not self._lines:
                try:
                    data = await self.reader.read(CHUNK_BYTES)
                except ConnectionError:
                    data = b""
                if not data:
                    self.mute()  # an unfinished line is a cut connection: nothing was asked
                    return None
                self._lines.extend(self._splitter.feed(data))
            line = self._lines.popleft()
            if isinstance(line, Overlong):
                problem = f"a line is over {MAX_LINE:,} bytes"
                await self._refuse(types.INVALID_REQUEST, problem, line.request_id())
                continue
            try:
                message = await self._parsed(line)
            except ChatbridgeError as error:
                # What it said is not acknowledged: it will say it again when it comes back.
                log.warning("link %s is cut off: %s", self.link, error)
                self.mute()
                return None
            if message is not None:
                return message

    async def _parsed(self, line: bytes) -> types.JSONRPCMessage | None:
        if b'"chatbridge"' in line and await self._took_private(line):
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            repaired = await self._repaired(line)
            if repaired is None:
                return None
            message = repaired
        if isinstance(message, types.JSONRPCRequest):
            bad_id = not is_request_id(message.id)
        else:  # the SDK's parser takes a request with an id of another type for a notification
            bad_id = isinstance(message, types.JSONRPCNotification) and has_bad_id(json.loads(line))
        if bad_id:
            await self._refuse(types.INVALID_REQUEST, safe_json.PROBLEM)
            return None
        if isinstance(message, types.JSONRPCRequest):
            self._requests.add(json.dumps(message.id))
            if self.confirms and message.method == "tools/call":
                self._unconfirmed.add(json.dumps(message.id))
                if self._held:
                    self._older(message.id, self._held)
            self.waiting_calls.clear_cancelled(self._name(message.id))
            self._greeted = self._greeted or message.method == "initialize"
        if isinstance(message, types.JSONRPCNotification):
            if message.method == "notifications/initialized" and self._greeted and not self._ready:
                self._ready = True
                self.pushes.ready(self)
            await self._note_cancelled(message)
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self.forms.closed(message.id)
        return message

    async def _repaired(self, line: bytes) -> types.JSONRPCMessage | None:
        """Half a surrogate pair becomes a question mark. Everything else that the SDK's parser does
        not take is refused, under its own id if it has one: its caller waits for an answer."""
        found: Any = None
        try:
            found = json.loads(line)
            if has_bad_id(found):
                await self._refuse(types.INVALID_REQUEST, safe_json.PROBLEM)
                return None
            text = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
            return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        except (ValueError, RecursionError):
            request = found.get("id") if isinstance(found, dict) and "method" in found else None
            if not is_request_id(request):
                request = Overlong(line, line).request_id()
            code = types.PARSE_ERROR if found is None else types.INVALID_REQUEST
            await self._refuse(code, "this line is no JSON-RPC message", request)
            return None

    async def _note_cancelled(self, message: types.JSONRPCNotification) -> None:
        """The SDK tells a tool of this only while it runs; a response that was on its way when the
        client cancelled has reached nobody.
        :raises ChatbridgeError: it cannot be stored; a link that returns without the call says
        so."""
        params = message.params or {}
        if message.method != "notifications/cancelled" or "requestId" not in params:
            return
        requested = params["requestId"]
        self._unconfirmed.discard(json.dumps(requested))
        self._requests.discard(json.dumps(requested))  # it gets no response
        self.forms.forget(json.dumps(requested))
        try:
            timed_out = speaks_of_time(params)
            await self.waiting_calls.cancel(self._name(requested), timed_out=timed_out)
        except ChatbridgeError as error:
            if self.confirms:
                raise
            log.warning("link %s: the cancelled call %r stays: %s", self.link, requested, error)

    async def _took_private(self, line: bytes) -> bool:
        try:
            private = safe_json.loads(line)
        except ValueError:
            return False
        match private:
            case {"chatbridge": "delivered", "request": request}:
                self._unconfirmed.discard(json.dumps(request))
                said = private.get("waited")
                waited = _bounded(said) if isinstance(said, int | float) else None
                await self._told_of(self._name(request), waited)
                await self._say({"chatbridge": "acknowledged", "request": request})
            case {"chatbridge": "reply", "call": call, "response": {"result": dict(result)}}:
                await self._take_reply(json.dumps(call), result)
            case {"chatbridge": "age", "request": request, "seconds": int() | float() as seconds}:
                self._ages.pop(json.dumps(request), None)
                self._older(request, seconds)
            case {"chatbridge": "held", "seconds": int() | float() as seconds}:
                self._held = _bounded(seconds)
            case {"chatbridge": "left"}:
                self._gone = True
            case {"chatbridge": "level", "level": level} if level in LEVELS:
                self.level = cast("types.LoggingLevel", level)
            case {"chatbridge": "resumed"}:
                given = private.get("pending")
                pending = map(json.dumps, given) if isinstance(given, list) else ()
                repeated = self._requests | self._unconfirmed | {*pending}
                await self.waiting_calls.resumed(self.link, repeated=repeated)
                self.pushes.resumed(self)
            case {"chatbridge": what}:
                log.debug("link %s: private line %r is not known", self.link, what)
            case _:
                return False
        return True

    async def _take_reply(self, call: str, result: dict[str, Any]) -> None:
        """The client has filled in a form of an earlier hub. The call was repeated just before;
        its tool may have shown the form anew, or be about to."""
        if call not in self._requests or result.get("action") != "accept":
            return  # to decline a form that is taken away says nothing: it is shown anew
        if (form := self.forms.reply(call, result)) is not None:
            gone = {"requestId": form, "reason": "already answered"}
            method = "notifications/cancelled"
            await self._say({"jsonrpc": "2.0", "method": method, "params": gone})

    def _name(self, request: object) -> CallName:
        return CallName(link=self.link, request=json.dumps(request))

    async def _refuse(self, code: int, problem: str, request: object = None) -> None:
        log.warning("link %s: %s", self.link, problem)
        if json.dumps(request) in self._requests:
            request = None  # it was of a reply to a form, whose ids are ours: no call ends by that
        error = {"code": code, "message": problem}
        await self._say({"jsonrpc": "2.0", "id": request, "error": error})

    # ── out ───────────────────────────────────────────────────────────────────────────────────────

    async def send_message(self, message: types.JSONRPCMessage, call: object = None) -> None:
        """`call`: that a request of ours is made for; the link routes a late reply by it."""
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        if isinstance(message, types.JSONRPCRequest):
            if self.forms.answered(json.dumps(call), message.id):
                return
            if self.confirms:  # a link takes it out again; clients may refuse it
                line = json.dumps({**json.loads(line), "chatbridgeCall": call}).encode()
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._requests.discard(json.dumps(message.id))
            self.forms.forget(json.dumps(message.id))
        await self._write(line)
        if isinstance(message, types.JSONRPCResponse) and self.present and not self.confirms:
            name = self._name(message.id)
            try:
                await self._told_of(name)
            except ChatbridgeError as error:
                log.warning("the answer to call %s counts as kept: %s", name.request, error)

    async def _told_of(self, name: CallName, waited: float | None = None) -> None:
        told: list[Awaitable[None]] = [self.waiting_calls.delivered(name, waited=waited)]
        if self.delivered is not None:
            told.append(self.delivered(name))
        await asyncio.gather(*told)  # together: they share one commit

    async def push(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Say what nobody asked for; not before the client has shaken hands, and never to one of
        the era in which there is nothing to say it on."""
        if self._ready:
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
            await self._say(message if params is None else {**message, "params": params})

    async def _say(self, line: dict[str, Any]) -> None:
        await self._write(json.dumps(line).encode())

    async def _write(self, line: bytes) -> None:
        if not self.present:
            return
        try:
            await self.send(line + b"\n")
        except ConnectionError:
            self.present = False


def _bounded(seconds: float) -> float:
    return float(min(max(0.0, seconds), LONGEST_AGE))


def speaks_of_time(cancelled: Mapping[str, Any]) -> bool | None:
    """Whether a call was cancelled because its time was over, and not because somebody stopped the
    agent; None if there is no reason."""
    reason = cancelled.get("reason")
    return None if reason is None else bool(_OUT_OF_TIME.search(str(reason)))
