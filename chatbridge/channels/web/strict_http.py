"""HTTP/1.1 as httptools reads it, without what two programs could read in two ways.

Owns what is refused beside what the parser refuses itself, and bounds for what has no end. The
parser alone takes any number of hosts and encodings, trailers for headers, and a head of any size.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_UNFINISHED = 16 * 1024
"""Bytes of a head, of a chunk's size or of trailers that may come without an end."""
MAX_DIGITS = 20
"""Of a body's length."""
MAX_QUEUED = 16
"""Requests that may wait on a connection until the one before them is answered."""


class Ambiguous(Exception):
    """A request that somebody else may have read in another way."""


class StrictHttp(HttpToolsProtocol):
    _unfinished = 0
    """Bytes since the parser has last had something whole."""
    _in_head = False
    _refused = False
    """What comes now is not looked at."""

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > MAX_UNFINISHED and not self._refused:
            self.send_400_response("The request is too large.")

    def send_400_response(self, msg: str) -> None:
        self._refused = True
        last: RequestResponseCycle | None = self.cycle
        if last is None or last.response_complete or last.more_body:
            super().send_400_response(msg)
        else:  # nothing is wrong with that one, which is answered before the connection ends
            last.keep_alive = False

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value.strip(b" \t"))  # the parser leaves the end as it came

    def on_headers_complete(self) -> None:
        self._in_head, self._unfinished = False, 0
        self._check_head()
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False  # the parser has dropped what came after it

    def on_body(self, body: bytes) -> None:
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unfinished = 0
        super().on_message_complete()

    def _check_head(self) -> None:
        """:raises Ambiguous: it is refused, as whatever the parser cannot read."""
        version, upgrade = self.parser.get_http_version(), self.parser.should_upgrade()
        hosts = [value for name, value in self.headers if name == b"host"]
        encodings = [value for name, value in self.headers if name == b"transfer-encoding"]
        lengths = [value for name, value in self.headers if name == b"content-length"]
        ambiguous = (
            version not in ("1.0", "1.1")
            or not self.url.startswith(b"/")
            or len(hosts) > 1
            or (not hosts and version == "1.1")
            or any(value.lower() != b"chunked" for value in encodings)
            or any(len(value) > MAX_DIGITS for value in lengths)
            # The parser takes no body of what wants another protocol.
            or (upgrade and (encodings or lengths))
            or len(self.pipeline) >= MAX_QUEUED
        )
        if ambiguous:
            raise Ambiguous
