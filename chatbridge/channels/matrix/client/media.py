"""Files in the homeserver's content repository, encrypted where the room is. They are streamed both
ways, so that memory does not grow with them."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO
from urllib.parse import quote

from aiohttp import ClientResponse
from Crypto.Cipher import AES
from nio.responses import ErrorResponse
from unpaddedbase64 import decode_base64, encode_base64

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.writer import MessageRejected, open_content, size_of
from chatbridge.channels.matrix.client.errors import Refusal, Rejected
from chatbridge.channels.matrix.settings import SERVER
from chatbridge.core.cards.attached import format_size
from chatbridge.core.errors import AttachmentError, RetryLater
from chatbridge.safe_json import value_at

Open = Callable[..., AbstractAsyncContextManager[ClientResponse]]
"""Makes a request, with a method, a path, headers and a stream."""

CHUNK = 256 * 1024
MXC = re.compile(rf"mxc://(?P<server>(?![.-]){SERVER})/(?P<id>[A-Za-z0-9_-]{{1,255}})")
"""People put it into events, and it becomes a path."""
LONGEST_SERVER = 230
CURRENT, BEFORE_1_11 = "/_matrix/client/v1/media", "/_matrix/media/v3"
OPAQUE = "application/octet-stream"
DAMAGED = "That file arrived damaged. Send it again."
UNKNOWN_PLACE = "Your app did not say where that file is. Send it again, or through the inbox."
NOT_HANDED_OUT = (
    "The homeserver does not hand that file out ({why}). Send it again, or through the inbox."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """How a file is encrypted."""

    key: bytes
    counter: bytes
    sha256: bytes
    """Of the encrypted content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """Where a file is."""

    server: str
    id: str
    lock: Lock | None = None


def media_in(content: Mapping[str, Any]) -> Media | None:
    """Of a message with a file; None: it does not say where that is, or how it can be read."""
    encrypted = content.get("file")
    address = content.get("url") if encrypted is None else value_at(encrypted, "url")
    found = MXC.fullmatch(address) if isinstance(address, str) else None
    if found is None or len(found["server"]) > LONGEST_SERVER:
        return None
    lock = None if encrypted is None else _lock(encrypted)
    if encrypted is not None and lock is None:
        return None
    return Media(server=found["server"], id=found["id"], lock=lock)


def _lock(encrypted: object) -> Lock | None:
    kind = [value_at(encrypted, "v"), *(value_at(encrypted, "key", n) for n in ("kty", "alg"))]
    key, counter, sha256 = (
        _decoded(value_at(encrypted, *path), length)
        for path, length in ((("key", "k"), 32), (("iv",), 16), (("hashes", "sha256"), 32))
    )
    if kind != ["v2", "oct", "A256CTR"] or not key or not counter or not sha256:
        return None
    return Lock(key=key, counter=counter, sha256=sha256)


def _decoded(value: object, length: int) -> bytes | None:
    try:
        found = decode_base64(value) if isinstance(value, str) else b""
    except ValueError:
        return None
    return found if len(found) == length else None


class Encryption:
    """Of one file, chunk by chunk."""

    def __init__(self) -> None:
        self._key, self._nonce = secrets.token_bytes(32), secrets.token_bytes(8)
        self._cipher = AES.new(self._key, AES.MODE_CTR, nonce=self._nonce)
        self._sha256 = hashlib.sha256()

    def encrypt(self, chunk: bytes) -> bytes:
        encrypted = self._cipher.encrypt(chunk)
        self._sha256.update(encrypted)
        return encrypted

    def lock(self) -> dict[str, Any]:
        """What a person's app needs to read all that was encrypted until now."""
        key = {"k": encode_base64(self._key, urlsafe=True), "ext": True}
        key |= {"kty": "oct", "alg": "A256CTR", "key_ops": ["encrypt", "decrypt"]}
        counter = encode_base64(self._nonce + bytes(8))
        return {
            "v": "v2",
            "key": key,
            "iv": counter,
            "hashes": {"sha256": encode_base64(self._sha256.digest())},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    where: dict[str, Any]
    """The part of a message's content that says where the file is, and how it can be read."""
    size: int


class ContentRepository:
    def __init__(self, open: Open) -> None:
        self._open = open
        self._asked = False
        self._largest: int | None = None

    # ── to the server ─────────────────────────────────────────────────────────────────────────────

    async def upload(self, file: File, *, encrypted: bool) -> Uploaded:
        """:raises MessageRejected: it is too large, or there is no room for it.
        :raises RetryLater:"""
        with await asyncio.to_thread(open_content, file) as source:
            size = size_of(source)
            largest = await self._largest_taken()
            if largest is not None and size > largest:
                most = format_size(largest)
                raise MessageRejected(f"matrix: the homeserver takes files of up to {most}")
            return await self._upload(source, file, size, encrypted=encrypted)

    async def _upload(
        self, source: BinaryIO, file: File, size: int, *, encrypted: bool
    ) -> Uploaded:
        path, kind, encryption = f"{BEFORE_1_11}/upload", OPAQUE, Encryption()
        chunks: Iterator[bytes] = iter(partial(source.read, CHUNK), b"")
        if encrypted:
            chunks = map(encryption.encrypt, chunks)
        else:
            path, kind = f"{path}?filename={quote(file.name, safe='')}", file.type
        headers = {"Content-Type": kind, "Content-Length": str(size)}
        async with self._open("POST", path, data=_off_loop(chunks), headers=headers) as answer:
            if refused := await _refusal(answer):
                raise refused
            address = value_at(await answer.json(content_type=None), "content_uri")
        if not isinstance(address, str):
            raise RetryLater("matrix: the homeserver does not say where a file is")
        where: dict[str, Any] = {"url": address}
        if encrypted:
            where = {"file": encryption.lock() | where}
        return Uploaded(where=where, size=size)

    async def _largest_taken(self) -> int | None:
        """By what the server says, which is asked once. A server that does not say it, or a proxy
        before it, may take the file all the same."""
        if not self._asked:
            try:
                async with self._get("/config") as answer:
                    found = value_at(await answer.json(content_type=None), "m.upload.size")
            except Rejected:
                found = None
            except RetryLater:
                return None
            self._largest = found if type(found) is int else None
            self._asked = True
        return self._largest

    # ── from the server ───────────────────────────────────────────────────────────────────────────

    async def read(self, media: Media | None) -> AsyncIterator[bytes]:
        """What is encrypted counts only at the end: then it is known that nobody changed it.
        :raises AttachmentError: as a sentence for who sent it. :raises RetryLater:"""
        if media is None:
            raise AttachmentError(UNKNOWN_PLACE)
        lock, digest = media.lock, hashlib.sha256()
        cipher = lock and AES.new(
            lock.key,
            AES.MODE_CTR,
            nonce=lock.counter[:8],
            initial_value=int.from_bytes(lock.counter[8:], "big"),
        )
        try:
            async with self._get(f"/download/{quote(media.server, safe='')}/{media.id}") as answer:
                async for chunk in answer.content.iter_chunked(CHUNK):
                    digest.update(chunk)
                    yield cipher.decrypt(chunk) if cipher else chunk
        except Rejected as error:
            raise AttachmentError(NOT_HANDED_OUT.format(why=error.code)) from None
        if lock and digest.digest() != lock.sha256:
            raise AttachmentError(DAMAGED)

    @asynccontextmanager
    async def _get(self, path: str) -> AsyncIterator[ClientResponse]:
        async with self._open("GET", CURRENT + path) as answer:
            refused = await _refusal(answer)
            if refused is None:
                yield answer
                return
            if not _is_unknown(refused):
                raise _final(refused)
        async with self._open("GET", BEFORE_1_11 + path) as answer:
            if refused := await _refusal(answer):
                raise _final(refused)
            yield answer


def _is_unknown(refused: Refusal) -> bool:
    """Whether the server has no such path."""
    own = refused.code.startswith("M_")
    return refused.code == "M_UNRECOGNIZED" or (refused.status == 404 and not own)


def _final(refused: Refusal) -> Exception:
    """Another server that cannot be reached, or whose file is too large, is this server's 502: it
    would be asked for ever."""
    if refused.status in (502, 504) and refused.code.startswith("M_"):
        return Rejected(refused.code, refused.said)
    return refused


async def _refusal(answer: ClientResponse) -> Refusal | None:
    if answer.status == 200:
        return None
    try:
        said = await answer.json(content_type=None)
    except ValueError:  # a proxy's page
        said = None
    refused = ErrorResponse.from_dict(said if isinstance(said, dict) else {})
    transport: Any = answer  # nio has another type for it
    refused.transport_response = transport
    return Refusal(refused)


async def _off_loop(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk
