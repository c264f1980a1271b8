"""Tool calls of a command to a hub on another machine: MCP over HTTP, with a token.

Owns to which addresses a token may go, and how long a hub that cannot be reached is waited for.
Each call is a request without a session, so that any hub with the same questions can answer the
next one. Redirects are not followed: the token is for one address.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import time
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from chatbridge import __version__
from chatbridge.cli.hub.tool_client import NoAnswer, content_of
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.text import one_line
from chatbridge.setting_rules import is_host, is_loopback
from chatbridge.tool_names import ASK_USER

Json = dict[str, Any]

TOKEN = "CHATBRIDGE_TOKEN"  # noqa: S105 - the variable's name
PROTOCOL = "2026-07-28"
PATH = "/mcp"
CONNECT_SECONDS = 15.0
SILENT_SECONDS = 60.0
"""The hub writes something into an open response every 15 seconds."""
WAIT_SECONDS = 240
"""How long one request waits for an answer: less than what a proxy may allow for a request."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 15.0
UNREACHED_SECONDS = 5.0
"""How long to try to reach a hub that has not been reached yet."""
REACHED_SECONDS = 3600.0
"""The same for one that has the question: its computer may sleep, or restart."""
MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""Of a response. The pictures of an answer are in it."""
UNSURE = frozenset({500, 502, 504})
LATER = UNSURE | {408, 429, 503}
"""What a hub that is being restarted, or a proxy before it, answers; to some, a call may have come
through before."""
WAIT_FOR_ANSWER = "wait_for_answer"
REPEATED = (ASK_USER, WAIT_FOR_ANSWER)
"""The tools for which a second call continues the first."""
UNREADABLE = "what the hub says cannot be read"

_HOST, _PATH = re.compile(r"[0-9A-Za-z_.:-]+"), re.compile(r"/[!-~]*")


class HubAddress(NamedTuple):
    host: str
    port: int | None
    path: str
    encrypted: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host


def parse_address(url: str, *, plain_http: bool = False) -> HubAddress:
    """:raises WrongUsage: a token must not go there."""
    if any(character in url for character in "@?#"):  # and do not repeat what follows
        raise WrongUsage(f"--hub takes an address alone. Put the token into {TOKEN}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongUsage(f"--hub {url!r}: this is no address") from None
    host = parts.hostname or ""
    path = parts.path if parts.path not in ("", "/") else PATH
    usable = _HOST.fullmatch(host) and is_host(host) and _PATH.fullmatch(path)
    if parts.scheme not in ("https", "http") or not usable:
        raise WrongUsage(f"--hub {url!r}: give an address, as in https://agents.example.org{PATH}")
    if parts.scheme == "http" and not (plain_http or is_loopback(host)):
        raise WrongUsage(
            f"--hub {url!r}: HTTP is not encrypted, and whoever reads the token can use it. Use\n"
            "https://, or add --plain-http if the network itself is encrypted (a tailnet, a VPN)"
        )
    return HubAddress(host, port, path, encrypted=parts.scheme == "https")


def given_token() -> str:
    """:raises WrongUsage: there is none that could be sent."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise WrongUsage(
            f"--hub needs a token in the variable {TOKEN}. The owner of the hub makes one with:\n"
            "chatbridge token add NAME"
        )
    if not (token.isascii() and token.isprintable()):
        raise WrongUsage(f"{TOKEN} is not a token")
    return token


class _TryLater(Exception):
    """The hub cannot be reached now. `sent`: it may have got the request; `served`: it has begun
    to answer."""

    def __init__(self, why: str, *, sent: bool = False, served: bool = False) -> None:
        super().__init__(why)
        self.sent, self.served = sent or served, served


class RemoteToolClient:
    """As `tool_client.ToolClient`, for a hub at an address. `client` is who it says that it is."""

    def __init__(self, address: HubAddress, token: str, client: str) -> None:
        self.address = address
        self._token = token
        self._client = {"name": client, "version": __version__}
        self._reached = False

    def content(self, name: str, arguments: Json, *, within: float | None = None) -> Json:
        """The JSON of the result. `within`: how long to try at most if the hub cannot be reached.
        :raises NoAnswer: also if the tool refuses."""
        if name == WAIT_FOR_ANSWER:
            arguments = {**arguments, "waitSeconds": WAIT_SECONDS}
        patience = REACHED_SECONDS if self._reached else UNREACHED_SECONDS
        patience = patience if within is None else min(patience, within)
        since, pause = time.monotonic(), FIRST_PAUSE
        while True:
            began = time.monotonic()
            try:
                result = self._result(name, arguments)
                self._reached = True
                return _content(result)
            except _TryLater as error:
                if error.sent and name not in REPEATED:
                    raise NoAnswer(f"{self.address} may have got it, or not: {error}") from None
                if error.served and time.monotonic() - began > LONGEST_PAUSE:
                    since, pause = time.monotonic(), FIRST_PAUSE
                if time.monotonic() - since + pause > patience:
                    raise NoAnswer(f"{self.address} cannot be reached: {error}") from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _result(self, name: str, arguments: Json) -> Json:
        """:raises NoAnswer: :raises _TryLater:"""
        connection = self._connection()
        sent = served = False
        try:
            connection.connect()
            connection.sock.settimeout(SILENT_SECONDS)
            sent = True
            connection.request("POST", self.address.path, *self._request(name, arguments))
            with connection.getresponse() as response:
                if response.status != 200:
                    self._refused(response)
                served = True
                message = _message(response)
        except ssl.SSLCertVerificationError as error:
            raise NoAnswer(
                f"the certificate of {self.address} is not trusted ({error.verify_message}). "
                "Check this computer's clock and the address; where a proxy reads along, set "
                "SSL_CERT_FILE to its certificates"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise _TryLater(one_line(said), sent=sent, served=served) from None
        finally:
            connection.close()
        if isinstance(result := message.get("result"), dict):
            return result
        problem = message.get("error")
        said = problem.get("message") if isinstance(problem, dict) else problem
        raise NoAnswer(f"the hub answered with an error: {one_line(str(said))}")

    def _connection(self) -> http.client.HTTPConnection:
        host, port, _, encrypted = self.address
        if not encrypted:
            return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=context)

    def _request(self, name: str, arguments: Json) -> tuple[bytes, dict[str, str]]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientInfo": self._client,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": PROTOCOL,
            "MCP-Method": "tools/call",
            "MCP-Name": name,
        }
        return json.dumps(message).encode(), headers

    def _refused(self, response: http.client.HTTPResponse) -> NoReturn:
        status, where = response.status, str(self.address)
        if status in LATER:
            raise _TryLater(f"it answers {status} {response.reason}", sent=status in UNSURE)
        if status in (401, 403):
            raise NoAnswer(f"{where} refuses: {_reason(response)}", refused=True)
        if 300 <= status < 400:
            raise NoAnswer(
                f"{where} redirects to another address, and the token is not sent there. Give the "
                "address of the hub itself"
            )
        raise NoAnswer(
            f"no hub answers at {where}{self.address.path} ({status} {response.reason}). "
            "Check the address"
        )


def _reason(response: http.client.HTTPResponse) -> str:
    try:
        return one_line(str(json.loads(response.read(65536))["error"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"{response.status} {response.reason}"


def _message(response: http.client.HTTPResponse) -> Json:
    """The message with the result, from JSON or from a stream of events.
    :raises _TryLater: it ends before that. :raises NoAnswer: it is something else."""
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        left = MAX_RESPONSE_BYTES
        while line := response.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise NoAnswer("the hub's answer is too long")
            if line.startswith(b"data:") and (found := _parsed(line[5:])).get("id") == 1:
                return found
        raise _TryLater("it has closed the connection", served=True)
    body = response.read(MAX_RESPONSE_BYTES + 1)
    if kind != "application/json" or len(body) > MAX_RESPONSE_BYTES:
        raise NoAnswer("what answers there is no hub. Check the address")
    return _parsed(body)


def _parsed(data: bytes) -> Json:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NoAnswer(UNREADABLE)
    return found


def _content(result: Json) -> Json:
    """:raises NoAnswer: also if no hub has said this."""
    try:
        found = content_of(result)
    except (ValueError, TypeError, RecursionError):
        raise NoAnswer(UNREADABLE) from None
    if not _is_outcome(found):
        raise NoAnswer(UNREADABLE)
    return found


def _is_outcome(found: Json) -> bool:
    """Whether a hub may have said this of a question or a notice: all that is read of it fits."""
    if not _are_texts(found.get(name) or "" for name in ("note", "delivery", "reason")):
        return False
    match found:
        case {"pending": True, "askId": str()} | {"answered": False, "cancelled": bool()}:
            return True
        case {"answered": True, "answers": [{"values": [*values], **more}, *_]}:
            files = more.get("attachments", [])
            known = isinstance(files, list) and all(_is_file(each) for each in files)
            return known and _are_texts([*values, more.get("customText") or ""])
        case {"sent": [*sent], "waiting": [*waiting]}:
            return _are_texts([*sent, *waiting])
    return False


def _is_file(found: object) -> bool:
    match found:
        case {"name": str(), "type": str(), "size": int(), **more}:
            return _are_texts([more.get("path") or ""])
    return False


def _are_texts(found: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in found)
