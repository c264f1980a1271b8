"""Files between us and a homeserver's content repository: what comes out of what it says, and of
what people put into events."""

from __future__ import annotations

import asyncio
import itertools
import os
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.matrix.client import content, media
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent
from chatbridge.channels.matrix.client.media import DAMAGED, ContentRepository, Media, media_in
from chatbridge.channels.matrix.inbound.files import caption_of, files_in
from chatbridge.core.errors import AttachmentError, RetryLater

CURRENT, OLD = "/_matrix/client/v1/media", "/_matrix/media/v3"
CONFIG, UPLOAD, DOWNLOAD = f"{CURRENT}/config", f"{OLD}/upload", f"{CURRENT}/download/a.example/x"
UNKNOWN = 404, {"errcode": "M_UNRECOGNIZED", "error": "Unrecognized request"}
URL = "mxc://a.example/x"
LARGE = 20 * 2**20
PICTURE = bytes(range(256)) * 4_000

Answer = tuple[int, Any] | Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """A content repository that answers as it is told."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self.got = b""
        self.headers: dict[str, str] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.raw_path)
        found = self.answers.get(request.path, UNKNOWN)
        if not isinstance(found, tuple):
            return await found(request)
        if request.method == "POST":
            self.headers = dict(request.headers)
            self.got = await request.read()
        status, body = found
        if isinstance(body, bytes):
            return web.Response(status=status, body=body)
        if isinstance(body, str):
            return web.Response(status=status, text=body)
        return web.json_response(body, status=status)


@asynccontextmanager
async def talking(**answers: Answer) -> AsyncIterator[tuple[Server, ContentRepository]]:
    server = Server()
    application = web.Application(client_max_size=2**30)
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        async with Api(f"http://{host}:{port}", "@bot:a.example", hint="config.toml") as api:
            yield server, api.media
    finally:
        await runner.cleanup()


async def fetched(repository: ContentRepository, where: Media) -> bytes:
    return b"".join([chunk async for chunk in repository.read(where)])


def plain() -> Media:
    found = media_in({"url": URL})
    assert found is not None
    return found


# ── sending ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def picture(tmp_path: Path) -> File:
    (tmp_path / "picture").write_bytes(PICTURE)
    return File(name="a&b ü.png", path=str(tmp_path / "picture"), type="image/png", size=(16, 9))


async def test_a_file_is_uploaded_as_it_is_with_its_name_and_type(picture: File) -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: (200, {"content_uri": URL})}
        uploaded = await repository.upload(picture, encrypted=False)
    assert server.got == PICTURE
    assert server.headers["Content-Type"] == "image/png"
    assert server.headers["Content-Length"] == str(len(PICTURE))
    assert server.requests[-1] == f"{UPLOAD}?filename=a%26b%20%C3%BC.png"
    assert content.file_message(picture, uploaded) == {
        "msgtype": "m.image",
        "body": "a&b ü.png",
        "filename": "a&b ü.png",
        "url": URL,
        "info": {"mimetype": "image/png", "size": len(PICTURE), "w": 16, "h": 9},
        "m.mentions": {},
    }


async def test_a_server_of_an_encrypted_room_learns_neither_content_nor_name(picture: File) -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: (200, {"content_uri": URL})}
        uploaded = await repository.upload(picture, encrypted=True)
        first = server.got
        again = await repository.upload(picture, encrypted=True)
    lock = uploaded.where["file"]
    assert server.headers["Content-Type"] == "application/octet-stream"
    assert server.requests[-1] == UPLOAD
    assert len(first) == len(PICTURE)
    assert PICTURE[:1_000] not in first
    assert lock["url"] == URL
    plain = decrypt_attachment(first, lock["key"]["k"], lock["hashes"]["sha256"], lock["iv"])
    assert plain == PICTURE
    assert again.where["file"]["key"]["k"] != lock["key"]["k"], "a key is for one file"


async def test_an_empty_file_is_encrypted_too() -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: (200, {"content_uri": URL})}
        uploaded = await repository.upload(File(name="empty"), encrypted=True)
        server.answers = {DOWNLOAD: (200, server.got)}
        where = media_in(uploaded.where)
        assert where is not None
        assert await fetched(repository, where) == b""


def test_a_file_that_is_no_picture_is_offered_under_its_name_and_its_caption() -> None:
    file = File(name="build.log", content=b"x", caption="The end of it")
    made = content.file_message(file, media.Uploaded(where={"url": URL}, size=1))
    assert made["msgtype"] == "m.file"
    assert (made["body"], made["filename"]) == ("The end of it", "build.log")
    assert made["info"] == {"mimetype": "text/plain", "size": 1}


@pytest.mark.parametrize("old", [False, True])
async def test_what_is_larger_than_the_server_takes_is_not_tried(picture: File, old: bool) -> None:
    config = f"{OLD}/config" if old else CONFIG
    async with talking() as (server, repository):
        server.answers[config] = 200, {"m.upload.size": len(PICTURE) - 1}
        for _ in range(2):
            with pytest.raises(MessageRejected, match=r"takes files of up to 1 MB"):
                await repository.upload(picture, encrypted=False)
    assert server.requests == [CONFIG, config][: 1 + old], "it is asked once"


@pytest.mark.parametrize("limit", [None, "1", -1.5, True])
async def test_a_limit_that_is_not_said_clearly_is_none(picture: File, limit: object) -> None:
    async with talking() as (server, repository):
        server.answers = {
            CONFIG: (200, {"m.upload.size": limit}),
            UPLOAD: (200, {"content_uri": URL}),
        }
        assert (await repository.upload(picture, encrypted=False)).where == {"url": URL}


@pytest.mark.parametrize("answer", [(404, "<html>Not found</html>"), (200, "<html/>"), (502, "")])
async def test_a_proxy_that_knows_no_limit_keeps_no_file_back(
    picture: File, answer: Answer
) -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: answer, f"{OLD}/config": answer}
        server.answers[UPLOAD] = 200, {"content_uri": URL}
        assert (await repository.upload(picture, encrypted=False)).where == {"url": URL}


@pytest.mark.parametrize(
    "refusal",
    [
        (413, {"errcode": "M_TOO_LARGE", "error": "Upload request body is too large"}),
        (413, "<html>Request Entity Too Large</html>"),
        (403, {"errcode": "M_FORBIDDEN", "error": "Not allowed"}),
        (403, {"errcode": "M_USER_LIMIT_EXCEEDED", "error": "Media upload limit exceeded"}),
        (400, {"errcode": "M_RESOURCE_LIMIT_EXCEEDED", "error": "No room"}),
    ],
)
async def test_a_file_that_the_server_refuses_is_refused_for_good(
    picture: File, refusal: Answer
) -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: refusal}
        with pytest.raises(MessageRejected):
            await repository.upload(picture, encrypted=False)


@pytest.mark.parametrize(
    "answer",
    [
        (429, {"errcode": "M_LIMIT_EXCEEDED", "error": "Slow down", "retry_after_ms": 2000}),
        (502, "<html>Bad gateway</html>"),
        (500, {"errcode": "M_UNKNOWN", "error": "Internal server error"}),
        (200, {"content_uri": None}),
        (200, "not JSON"),
    ],
)
async def test_a_server_that_is_away_gets_the_file_later(picture: File, answer: Answer) -> None:
    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: answer}
        with pytest.raises(RetryLater):
            await repository.upload(picture, encrypted=True)


async def test_an_upload_that_takes_too_long_can_be_given_up(picture: File) -> None:
    came, over = asyncio.Event(), asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        came.set()
        await over.wait()
        return web.Response()

    async with talking() as (server, repository), asyncio.timeout(20):
        server.answers = {CONFIG: (200, {}), UPLOAD: silent}
        uploading = asyncio.ensure_future(repository.upload(picture, encrypted=True))
        await came.wait()
        uploading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await uploading
        over.set()
        server.answers[UPLOAD] = 200, {"content_uri": URL}
        assert (await repository.upload(picture, encrypted=False)).where == {"url": URL}


# ── receiving ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_is_fetched_from_a_server_of_today_and_from_one_before() -> None:
    async with talking() as (server, repository):
        server.answers = {DOWNLOAD: (200, PICTURE)}
        assert await fetched(repository, plain()) == PICTURE
        for unknown in (UNKNOWN, (404, "<html>Not found</html>"), (400, UNKNOWN[1])):
            server.requests.clear()
            server.answers = {DOWNLOAD: unknown, f"{OLD}/download/a.example/x": (200, PICTURE)}
            assert await fetched(repository, plain()) == PICTURE
            assert server.requests == [DOWNLOAD, f"{OLD}/download/a.example/x"]


@pytest.mark.parametrize(
    "refusal",
    [
        (404, {"errcode": "M_NOT_FOUND", "error": "Not found"}),
        (403, {"errcode": "M_FORBIDDEN", "error": "Quarantined"}),
        (502, {"errcode": "M_TOO_LARGE", "error": "Remote media is too large"}),
        (502, {"errcode": "M_UNKNOWN", "error": "Failed to fetch remote media"}),
        (504, {"errcode": "M_NOT_YET_UPLOADED", "error": "Not yet"}),
    ],
)
async def test_a_file_that_nobody_hands_out_is_a_sentence_for_who_sent_it(refusal: Answer) -> None:
    async with talking() as (server, repository):
        server.answers = {DOWNLOAD: refusal}
        with pytest.raises(AttachmentError, match=r"Send it again, or through the inbox\.$"):
            await fetched(repository, plain())
    assert server.requests == [DOWNLOAD]


async def test_a_file_that_ends_too_soon_is_fetched_again_later() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(PICTURE))})
        await response.prepare(request)
        await response.write(PICTURE[:5_000])
        assert request.transport is not None
        request.transport.close()
        return response

    async with talking() as (server, repository):
        server.answers = {DOWNLOAD: cut}
        with pytest.raises(RetryLater):
            await fetched(repository, plain())


async def test_who_stops_reading_ends_the_download() -> None:
    """A limit is the reader's: what is not read any more is not sent, either."""
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            for _ in itertools.count():
                await response.write(PICTURE)
        finally:
            ended.set()
        return response

    async with talking() as (server, repository):
        server.answers = {DOWNLOAD: endless}
        reading = repository.read(plain())
        async with asyncio.timeout(20):
            assert await anext(reading)
            await reading.aclose()  # type: ignore[attr-defined]
            await ended.wait()


async def test_memory_does_not_grow_with_a_file(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        os.truncate(file.fileno(), LARGE)
    passed = 0

    async def take(request: web.Request) -> web.StreamResponse:
        nonlocal passed
        async for chunk in request.content.iter_chunked(2**16):
            passed += len(chunk)
        return web.json_response({"content_uri": URL})

    async def give(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(LARGE)})
        await response.prepare(request)
        for _ in range(LARGE // 2**20):
            await response.write(bytes(2**20))
        return response

    async with talking() as (server, repository):
        server.answers = {CONFIG: (200, {}), UPLOAD: take, DOWNLOAD: give}
        tracemalloc.start()
        try:
            await repository.upload(File(name="large", path=str(large)), encrypted=True)
            async for chunk in repository.read(plain()):
                passed += len(chunk)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert passed == 2 * LARGE
    assert peak < LARGE / 4


def locked() -> tuple[bytes, dict[str, Any]]:
    encrypted, lock = encrypt_attachment(PICTURE)
    return encrypted, {"file": lock | {"url": URL}}


async def test_an_encrypted_file_is_decrypted() -> None:
    encrypted, said = locked()
    where = media_in(said)
    assert where is not None
    async with talking() as (server, repository):
        server.answers = {DOWNLOAD: (200, encrypted)}
        assert await fetched(repository, where) == PICTURE


async def test_an_encrypted_file_that_somebody_changed_never_counts_as_received() -> None:
    encrypted, said = locked()
    where = media_in(said)
    assert where is not None
    for changed in (encrypted[:-1] + bytes([encrypted[-1] ^ 1]), encrypted[:-1], b""):
        async with talking() as (server, repository):
            server.answers = {DOWNLOAD: (200, changed)}
            with pytest.raises(AttachmentError) as caught:
                await fetched(repository, where)
            assert str(caught.value) == DAMAGED


# ── what people put into events ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "url",
    [
        "mxc://example.org/AbC_1-2",
        "mxc://matrix.example.org:8448/a",
        "mxc://[2001:db8::1]:8448/a",
        "mxc://127.0.0.1/a",
    ],
)
def test_an_address_of_a_file_is_taken(url: str) -> None:
    found = media_in({"url": url})
    assert found is not None
    assert f"mxc://{found.server}/{found.id}" == url


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        "",
        "https://example.org/a.png",
        "file:///etc/passwd",
        "mxc://",
        "mxc://example.org",
        "mxc://example.org/",
        "mxc:///a",
        "mxc://../a",
        "mxc://./a",
        "mxc://example.org/..",
        "mxc://example.org/../../client/v3/account/whoami",
        "mxc://example.org/a/b",
        "mxc://example.org/a?allow_redirect=true",
        "mxc://example.org/a#b",
        "mxc://example.org/%2e%2e",
        "mxc://exa%2fmple.org/a",
        "mxc://a@example.org/a",
        "mxc://example.org/a\n",
        "mxc://exämple.org/a",
        " mxc://example.org/a",
        f"mxc://{'a' * 300}/a",
        f"mxc://example.org/{'a' * 300}",
    ],
)
def test_an_address_that_could_lead_elsewhere_is_none(url: object) -> None:
    assert media_in({"url": url}) is None
    _, said = locked()
    assert media_in({"file": said["file"] | {"url": url}}) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"v": "v1"},
        {"v": None},
        {"key": None},
        {"key": {"kty": "oct", "alg": "A128CTR", "k": "A" * 43}},
        {"key": {"kty": "oct", "alg": "A256CTR", "k": "A" * 22}},
        {"key": {"kty": "oct", "alg": "A256CTR", "k": "ä" * 43}},
        {"key": {"kty": "oct", "alg": "A256CTR", "k": ["A"]}},
        {"iv": "AAAA"},
        {"iv": "A"},
        {"hashes": {}},
        {"hashes": {"sha256": "AAAA"}},
        {"hashes": "sha256"},
    ],
)
def test_a_file_whose_lock_is_no_lock_is_none(changed: dict[str, Any]) -> None:
    _, said = locked()
    assert media_in({"file": said["file"] | changed, "url": URL}) is None


@pytest.mark.parametrize("value", [7, "x", [], True])
def test_a_lock_of_another_form_is_none(value: object) -> None:
    assert media_in({"file": value, "url": URL}) is None


def message(**said: Any) -> RoomEvent:
    return RoomEvent(id="$a", room="!r", sender="@a:b", type="m.room.message", content=said, at=0.0)


@pytest.mark.parametrize(
    ("said", "name", "caption"),
    [
        ({"body": "photo.jpg"}, "photo.jpg", None),
        ({"body": "photo.jpg", "filename": "photo.jpg"}, "photo.jpg", None),
        ({"body": "the error", "filename": "photo.jpg"}, "photo.jpg", "the error"),
        ({"body": "", "filename": "photo.jpg"}, "photo.jpg", None),
        ({"body": ["x"], "filename": 7}, None, None),
        ({}, None, None),
    ],
)
def test_the_body_is_the_caption_where_the_name_is_beside_it(
    said: dict[str, Any], name: str | None, caption: str | None
) -> None:
    event = message(msgtype="m.image", url=URL, **said)
    (file,) = files_in(event, ContentRepository(None))  # type: ignore[arg-type]
    assert (file.name, caption_of(event)) == (name, caption)


@pytest.mark.parametrize(
    ("said", "voice"),
    [
        ({"msgtype": "m.audio", "org.matrix.msc3245.voice": {}}, True),
        ({"msgtype": "m.audio", "m.voice": {}}, True),
        ({"msgtype": "m.audio"}, False),
        ({"msgtype": "m.file", "m.voice": {}}, False),
        ({"msgtype": "m.video"}, False),
    ],
)
def test_only_what_was_spoken_into_the_chat_is_a_voice_message(
    said: dict[str, Any], voice: bool
) -> None:
    event = message(**said, url=URL, info={"size": 17})
    (file,) = files_in(event, ContentRepository(None))  # type: ignore[arg-type]
    assert (file.voice, file.size) == (voice, 17)


@pytest.mark.parametrize("size", [-1, 1.5, "9", True, None])
def test_a_size_that_is_none_is_not_believed(size: object) -> None:
    event = message(msgtype="m.image", url=URL, info={"size": size})
    (file,) = files_in(event, ContentRepository(None))  # type: ignore[arg-type]
    assert file.size is None


@pytest.mark.parametrize(
    "kind", ["m.text", "m.location", "m.notice", "m.sticker", None, ["m.image"]]
)
def test_what_is_no_file_has_none(kind: object) -> None:
    assert files_in(message(msgtype=kind, url=URL), ContentRepository(None)) == ()  # type: ignore[arg-type]


async def test_a_file_without_an_address_is_told_to_who_sent_it() -> None:
    (file,) = files_in(message(msgtype="m.image"), ContentRepository(None))  # type: ignore[arg-type]
    with pytest.raises(AttachmentError, match="did not say where that file is"):
        await anext(file.read())
