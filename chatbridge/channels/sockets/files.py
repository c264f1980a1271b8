"""Files to and from a service, as streams, so that memory does not grow with them.

Owns which addresses a file is fetched from. No redirect is followed: a token would go along.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import BinaryIO

import aiohttp
from aiohttp.payload import PAYLOAD_REGISTRY
from yarl import URL

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.writer import size_of
from chatbridge.channels.errors import asks_for_pause, pause
from chatbridge.channels.sockets.errors import unreachable
from chatbridge.channels.sockets.session import SessionClient
from chatbridge.core.errors import AttachmentError, RetryLater
from chatbridge.core.text import one_line
from chatbridge.safe_json import value_at

CHUNK = 64 * 1024
SLOWEST = 64 * 1024
"""Bytes a second. A slower upload is given up."""
GONE = "{} no longer has that file. Send it again."
LARGER = "That file is larger than {} says. Send it again, or through the inbox."


def captions(files: Iterable[File]) -> str:
    """One in a line."""
    return "\n".join(filter(None, (one_line(file.caption) for file in files)))


def incoming(
    listed: object,
    fetch: Callable[[object], AsyncIterator[bytes]],
    *,
    name: str,
    is_voice: Callable[[object], bool],
) -> tuple[IncomingFile, ...]:
    """Files as a service tells of them. `name` is where it has theirs."""
    return tuple(
        IncomingFile(
            read=partial(fetch, each),
            name=str(value_at(each, name) or "") or None,
            size=_size(value_at(each, "size")),
            voice=is_voice(each),
        )
        for each in (listed if isinstance(listed, list) else ())
    )


def _size(said: object) -> int | None:
    return said if type(said) is int and said > 0 else None


class FileClient(SessionClient):
    service: str
    """The channel's name."""
    called: str
    """What people call the service."""
    elsewhere: str
    """What a person is told who sends something that the service does not keep."""
    file_origins: frozenset[URL]
    """Where the service keeps people's files."""

    def time_for(self, size: int) -> aiohttp.ClientTimeout:
        """How long a request with so many bytes may take."""
        return aiohttp.ClientTimeout(total=self.patience + size / SLOWEST)

    async def put(self, url: str, content: BinaryIO) -> int:
        """Send it there without a token. Return the status. :raises RetryLater:"""
        body = PAYLOAD_REGISTRY.get(content, disposition=None)
        timeout = self.time_for(size_of(content))
        try:
            async with self.session.post(
                url, data=body, timeout=timeout, allow_redirects=False
            ) as response:
                self.check_passing(response)
                return response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(error, self.service) from None

    def is_file(self, response: aiohttp.ClientResponse) -> bool:
        """Whether it is what was asked for. :raises AttachmentError: and what to do if not."""
        return response.status == HTTPStatus.OK

    async def download(
        self, address: object, *, size: object, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[bytes]:
        """`size` is what the service has said, if it has.
        :raises AttachmentError: for who sent it. :raises RetryLater:"""
        url = self._file_at(address)
        limit, read = _size(size), 0
        timeout = aiohttp.ClientTimeout(connect=self.patience, sock_read=self.patience)
        as_it_is = {"Accept-Encoding": "identity", **(headers or {})}
        try:
            async with self.session.get(
                url, headers=as_it_is, timeout=timeout, allow_redirects=False
            ) as response:
                self.check_passing(response)
                if not self.is_file(response):
                    raise AttachmentError(GONE.format(self.called))
                async for chunk in response.content.iter_chunked(CHUNK):
                    read += len(chunk)
                    if limit is not None and read > limit:
                        raise AttachmentError(LARGER.format(self.called))
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(error, self.service) from None

    def is_kept_at(self, url: URL) -> bool:
        """Whether the service keeps files there. :raises ValueError: it is no whole address."""
        return url.origin() in self.file_origins and url.raw_user is None

    def _file_at(self, address: object) -> URL:
        try:
            url = URL(address) if isinstance(address, str) else URL()
            if self.is_kept_at(url):
                return url
        except ValueError:
            pass
        raise AttachmentError(self.elsewhere)

    def check_passing(self, response: aiohttp.ClientResponse) -> None:
        """:raises RetryLater: it is an answer for now only."""
        status = response.status
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise asks_for_pause(
                self.service, pause(response.headers.get("Retry-After"), least=1.0)
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise RetryLater(f"{self.service} cannot be reached (status {status})")
