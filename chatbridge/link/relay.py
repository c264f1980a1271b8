"""The state of requests between one client and successive hubs. Pure: no I/O.

Tracks open requests, what to repeat to the next hub, and the ids and progress of each hub. `loop`
has the connections. docs/link-protocol.md has the rules.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable

from chatbridge import safe_json
from chatbridge.framing import MAX_LINE, Overlong
from chatbridge.safe_json import is_request_id

Json = dict[str, object]

MAX_CHUNK_BYTES = 4096  # A writable pipe takes at least this much, so that no write blocks
_SUBSCRIPTION = "subscriptions/listen"
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"  # In the era without a handshake
_MIN_AGE_SECONDS = 1.0  # The next hub is told the age of calls that waited longer
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_TOO_LONG = (
    f"the message is longer than {MAX_LINE // 1024 // 1024} MiB, which chatbridge takes at most"
)


class Request:
    """A request of the client without a response."""

    __slots__ = ("id", "key", "line", "message", "method", "received_at", "token")

    def __init__(self, message: Json, line: bytes, *, received_at: float) -> None:
        self.message, self.line, self.received_at = message, line, received_at
        self.method = message["method"]
        self.id = message["id"]
        self.key = _key(self.id)
        self.token = _key(member(message.get("params"), "_meta", "progressToken"))


class Outbox:
    """A queue of lines for the client, each with the request that it answers if its delivery is
    confirmed."""

    def __init__(self) -> None:
        self._lines: deque[tuple[bytes, Request | None]] = deque()
        self._sent = 0
        self.size = 0

    def put(self, line: bytes, *, confirmed: Request | None = None) -> None:
        self._lines.append((line + b"\n", confirmed))
        self.size += len(line) + 1

    def chunk(self) -> bytes:
        """The next bytes to write: at most MAX_CHUNK_BYTES, and of one line only."""
        line = self._lines[0][0] if self._lines else b""
        return line[self._sent : self._sent + MAX_CHUNK_BYTES]

    def written(self, count: int) -> Request | None:
        """Remove written bytes. Return the request whose answer this completed, if any."""
        self._sent += count
        self.size -= count
        data, request = self._lines[0]
        if self._sent < len(data):
            return None
        self._lines.popleft()
        self._sent = 0
        return request

    def answered(self) -> list[object]:
        """The ids of the requests whose answers are not completely written."""
        return [request.id for _, request in self._lines if request is not None]

    def withdraw(self, key: str) -> None:
        """Remove an answer that nobody waits for. A half-written one is completed without
        confirmation."""
        for i, (data, request) in enumerate(self._lines):
            if request is None or request.key != key:
                continue
            if i == 0 and self._sent:
                self._lines[0] = data, None
            else:
                del self._lines[i]
                self.size -= len(data)
            return


class Relay:
    """`from_client` and `from_hub` take lines; `to_client` and `to_hub` hold the output. `shared`:
    other links use the same name, so this one does not report which of its calls have ended."""

    def __init__(
        self,
        preface: Json,
        *,
        shared: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared, self._monotonic = shared, monotonic
        self.to_client = Outbox()
        self.to_hub = bytearray()
        self.connected = False
        self.generation = 0
        self.requests: dict[str, Request] = {}  # Open requests of the client, in order of arrival
        self._preface = preface
        self.client: object = None  # The client's name, once it has said it
        self._initialize: Request | None = None
        self._initialized: bytes | None = None
        self._log_level: object = None  # Minimum level of log messages that the client wants
        self._ignored_response: str | None = None
        self._progress: dict[str, float] = {}
        self._unacknowledged: dict[str, tuple[object, float]] = {}
        """Requests by their key, and how long each had waited when it had its response."""
        self._hub_requests: dict[str, tuple[object, object, int]] = {}
        """Requests of hubs that are open at the client: id, call and generation."""
        self._replies: list[tuple[str, bytes]] = []  # For open calls, or while there is no hub

    @property
    def has_waiting_requests(self) -> bool:
        """Whether the client waits for a response. Subscriptions do not count: they have none and
        need no hub."""
        return any(each.method != _SUBSCRIPTION for each in self.requests.values())

    def hub_found(self) -> None:
        """Start a new connection: repeat what the hub has to know."""
        self.generation += 1
        self.connected = True
        known = {} if self.client is None else {"client": self.client}
        self._send({**self._preface, **known})
        self._ignored_response = None
        if self._log_level is not None:
            self._send({"chatbridge": "level", "level": self._log_level})
        if self._initialize is not None:
            self._ignored_response = self._initialize.key
            self._send_line(self._initialize.line)
            if self._initialized is not None:
                self._send_line(self._initialized)
        for request_id, waited in self._unacknowledged.values():
            self._send({"chatbridge": "delivered", "request": request_id, "waited": waited})
        for request in self.requests.values():
            age = self._monotonic() - request.received_at
            if request.method == "tools/call" and age >= _MIN_AGE_SECONDS:
                self._send({"chatbridge": "age", "request": request.id, "seconds": age})
            self._send_line(request.line)
        for _, line in self._replies:
            self._send_line(line)
        self._replies = [reply for reply in self._replies if reply[0] in self.requests]
        if self.generation > 1 and not self._shared:
            pending = self.to_client.answered()
            self._send({"chatbridge": "resumed", **({"pending": pending} if pending else {})})

    def hub_lost(self) -> None:
        """End the connection and drop what was not sent."""
        self.connected = False
        self.to_hub.clear()
        reason = "chatbridge restarts; the question stays open in the chat"
        for name, (_, _, generation) in self._hub_requests.items():
            if generation == self.generation:
                params: Json = {"requestId": name, "reason": reason}
                self._notify_client("notifications/cancelled", params)

    def from_client(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            request_id = line.request_id()
            if request_id in self._hub_requests:
                error = {"code": _INVALID_REQUEST, "message": _TOO_LONG}
                self._response_from_client({"jsonrpc": "2.0", "id": request_id, "error": error})
            else:
                self._reject(request_id, _INVALID_REQUEST, _TOO_LONG)
            return
        try:
            message = safe_json.loads(line.decode())
        except ValueError as error:
            # The client may wait for an answer, and the id can often be read nevertheless.
            found = Overlong(line, line).request_id()
            known = None if _key(found) in self.requests else found
            self._reject(known, _PARSE_ERROR, f"this line is not JSON in UTF-8: {error}")
            return
        problem = _find_problem(message)
        if problem is not None:
            found = message.get("id") if isinstance(message, dict) else None
            self._reject(found if is_request_id(found) else None, _INVALID_REQUEST, problem)
        elif "method" not in message:
            self._response_from_client(message)
        elif "id" in message:
            line = _replace_surrogates(message, line)
            self._request_from_client(Request(message, line, received_at=self._monotonic()))
        else:
            self._notification_from_client(message, line)

    def _request_from_client(self, request: Request) -> None:
        if request.key in self.requests:
            # Not under its own id, which would end the first request.
            problem = f"a request with the id {request.key} is still open"
            self._reject(None, _INVALID_REQUEST, problem)
            return
        self.requests[request.key] = request
        params = request.message.get("params")
        if request.method == "initialize":
            self.client = member(params, "clientInfo", "name")
        elif self.client is None:
            self.client = member(params, "_meta", _CLIENT_INFO, "name")
        self._send_line(request.line)

    def _notification_from_client(self, message: Json, line: bytes) -> None:
        if message["method"] == "notifications/initialized":
            self._initialized = line
        elif message["method"] == "notifications/cancelled":
            key = _key(member(message.get("params"), "requestId"))
            self._remove_request(key)
            self.to_client.withdraw(key)
        self._send_line(line)

    def _response_from_client(self, message: Json) -> None:
        request = self._hub_requests.pop(str(message.get("id")), None)
        if request is None:
            return
        message["id"], call, generation = request
        key, reply = _key(call), _dump({"chatbridge": "reply", "call": call, "response": message})
        if generation == self.generation and self.connected:
            self._send(message)
        elif call is not None:
            self._send_line(reply)
        # The hub may crash before it has stored the reply, so keep it. A reply that is too long for
        # a line would make every hub close the connection.
        keep = key in self.requests or not self.connected
        if keep and call is not None and len(reply) <= MAX_LINE:
            self._replies.append((key, reply))

    def from_hub(self, line: bytes | Overlong) -> Json | None:
        """Handle one line. Return a message about the connection itself."""
        if isinstance(line, Overlong):
            request = self._remove_request(_key(line.request_id()))
            if request is not None:
                self._reject(request.id, _INVALID_REQUEST, f"the answer was lost: {_TOO_LONG}")
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict):
            return None
        if "chatbridge" in message:
            if message["chatbridge"] == "acknowledged":
                self._unacknowledged.pop(_key(message.get("request")), None)
                return None
            return message
        if "method" not in message:
            self._response_from_hub(message, line)
        elif "id" in message:
            self._request_from_hub(message)
        else:
            self._notification_from_hub(message, line)
        return None

    def _response_from_hub(self, message: Json, line: bytes) -> None:
        key = _key(message.get("id"))
        if key == self._ignored_response:
            self._ignored_response = None
            return
        request = self._remove_request(key)
        if request is not None:
            self._replies = [reply for reply in self._replies if reply[0] != key]
            self._send_response(request, message, line, confirm=request.method == "tools/call")

    def _request_from_hub(self, message: Json) -> None:
        call = message.pop("chatbridgeCall", None)
        name = f"{self.generation}.{message['id']}"
        self._hub_requests[name] = message["id"], call, self.generation
        message["id"] = name
        self.to_client.put(_dump(message))

    def _notification_from_hub(self, message: Json, line: bytes) -> None:
        params = message.get("params")
        if message["method"] == "notifications/progress" and isinstance(params, dict):
            token = _key(params.get("progressToken"))
            if all(request.token != token for request in self.requests.values()):
                return
            value, last = params.get("progress"), self._progress.get(token)
            if not isinstance(value, int | float) or (last is not None and value <= last):
                params["progress"] = value = (last or 0) + 1
                line = _dump(message)
            self._progress[token] = value
        elif message["method"] == "notifications/cancelled" and isinstance(params, dict):
            name = f"{self.generation}.{params.get('requestId')}"
            if self._hub_requests.pop(name, None) is None:
                return
            params["requestId"] = name
            line = _dump(message)
        self.to_client.put(line)

    def answer(self, request: Request, response: Json) -> None:
        """Answer a request without the hub. Its delivery is not reported to the hub."""
        self._remove_request(request.key)
        self._send_response(request, response, _dump(response), confirm=False)

    def tools_changed(self) -> None:
        """Tell an initialized client to list the tools again."""
        if self._initialize is not None:
            self._notify_client("notifications/tools/list_changed", None)

    def written(self, count: int) -> None:
        """Record that `count` bytes of `to_client` reached the client."""
        request = self.to_client.written(count)
        if request is not None:
            waited = round(self._monotonic() - request.received_at, 3)
            self._unacknowledged[request.key] = request.id, waited
            self._send({"chatbridge": "delivered", "request": request.id})

    def _send_response(
        self, request: Request, message: Json, line: bytes, *, confirm: bool
    ) -> None:
        if request.method == "initialize" and "result" in message:
            self._initialize = request
        elif request.method == "logging/setLevel" and "result" in message:
            self._log_level = member(request.message.get("params"), "level")
        self.to_client.put(line, confirmed=request if confirm else None)

    def _remove_request(self, key: str) -> Request | None:
        request = self.requests.pop(key, None)
        if request is not None:
            self._progress.pop(request.token, None)
        return request

    def _reject(self, request_id: object, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self.to_client.put(_dump({"jsonrpc": "2.0", "id": request_id, "error": error}))

    def _notify_client(self, method: str, params: Json | None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method}
        self.to_client.put(_dump(message if params is None else {**message, "params": params}))

    def _send(self, message: Json) -> None:
        self._send_line(_dump(message))

    def _send_line(self, line: bytes) -> None:
        if self.connected:
            self.to_hub += line
            self.to_hub += b"\n"


def _find_problem(message: object) -> str | None:
    """Return why a message is invalid. The hub would ignore some, and a call would hang."""
    if not isinstance(message, dict):
        return "a message is one JSON object; batches are not taken"
    if "chatbridge" in message:
        return "the member chatbridge is not for clients"
    if message.get("jsonrpc") != "2.0":
        return 'a message has the member "jsonrpc": "2.0"'
    if "id" in message and not is_request_id(message["id"]):
        return safe_json.PROBLEM
    if "method" not in message:
        return None if "result" in message or "error" in message else "there is no method"
    if not isinstance(message["method"], str):
        return "method is a string"
    if not isinstance(message.get("params"), dict | None):
        return "params is an object"
    return None


def _replace_surrogates(message: Json, line: bytes) -> bytes:
    """Return the line without lone surrogates, which the hub's parser refuses."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    again = _dump(message)
    return line if json.loads(again) == message else again


def _key(value: object) -> str:
    """Return an id as a dictionary key. 1, "1" and true are different ids."""
    return json.dumps(value)


def member(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _dump(message: Json) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
