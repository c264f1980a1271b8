"""Files of a service as streams: what is fetched from where, what is sent, and what goes wrong."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.writer import MessageRejected, open_content
from chatbridge.channels.sockets.files import CHUNK, FileClient, captions, incoming
from chatbridge.core.errors import AttachmentError, RetryLater
from tests.fakes.kept_files import FetchFault, KeptFiles

CONTENT = bytes(range(256)) * 600
TOKEN = {"Authorization": "Bearer secret"}
LARGE, LITTLE = 32 * 1024 * 1024, 4 * 1024 * 1024


class Client(FileClient):
    service, called = "example", "Example"
    elsewhere = "It is elsewhere."

    def __init__(self, base: URL, *, patience: float = 10.0) -> None:
        super().__init__(patience=patience)
        self.file_origins = frozenset((base.origin(), URL("https://files.example.com")))


class Service:
    def __init__(self) -> None:
        self.kept = KeptFiles()
        self.kept.keep("1", CONTENT, "image/png")
        self.digest, self.length = sha256(), 0
        self.headers: dict[str, str] = {}
        self.status = 200
        self.base = URL()

    async def give(self, request: web.Request) -> web.StreamResponse:
        self.kept.asked(request, "1")
        return await self.kept.serve(request, "1")

    async def lead_away(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/files/1")

    async def give_much(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = LARGE
        await response.prepare(request)
        for _ in range(LARGE // CHUNK):
            await response.write(bytes(CHUNK))
        return response

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.headers = dict(request.headers)
        async for chunk in request.content.iter_chunked(CHUNK):
            self.digest.update(chunk)
            self.length += len(chunk)
        return web.Response(status=self.status, headers={"Retry-After": "7"})


@asynccontextmanager
async def serving(*, patience: float = 10.0) -> AsyncIterator[tuple[Service, Client]]:
    service, app = Service(), web.Application(client_max_size=2 * LARGE)
    app.router.add_get("/files/1", service.give)
    app.router.add_get("/away", service.lead_away)
    app.router.add_get("/much", service.give_much)
    app.router.add_post("/upload", service.take)
    async with TestServer(app) as server:
        service.base = server.make_url("")
        async with Client(service.base, patience=patience) as client:
            yield service, client


async def fetched(client: Client, url: object, *, size: object = len(CONTENT)) -> bytes:
    async with asyncio.timeout(20):
        found = client.download(url, size=size, headers=TOKEN)
        return b"".join([chunk async for chunk in found])


@contextmanager
def little_memory() -> Iterator[None]:
    """Of this process, in which the service is, too."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LITTLE


# ── fetching ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_is_fetched_with_the_token_and_only_once_it_is_read() -> None:
    async with serving() as (service, client):
        found = client.download(str(service.base / "files/1"), size=len(CONTENT), headers=TOKEN)
        assert not service.kept.fetches
        assert b"".join([chunk async for chunk in found]) == CONTENT
        assert service.kept.tokens == ["Bearer secret"]


@pytest.mark.parametrize(
    "address",
    [
        "http://files.example.com/1",
        "https://files.example.com:8443/1",
        "https://files.example.com.evil.example/1",
        "https://evil.example/files.example.com",
        "https://me@files.example.com/1",
        "https://files.example.com@evil.example/1",
        "https://files.example.com\\@evil.example/1",
        "https://[evil/1",
        "file:///etc/passwd",
        "/files/1",
        "",
        None,
        7,
    ],
)
async def test_nothing_is_fetched_from_elsewhere(address: object) -> None:
    async with serving() as (_, client):
        with pytest.raises(AttachmentError, match="It is elsewhere"):
            await fetched(client, address)


async def test_the_token_does_not_follow_a_redirect() -> None:
    async with serving() as (service, client):
        with pytest.raises(AttachmentError, match="no longer has that file"):
            await fetched(client, str(service.base / "away"))
        assert not service.kept.fetches


async def test_more_than_was_said_is_not_read() -> None:
    async with serving() as (service, client):
        url = str(service.base / "files/1")
        service.kept.faults.append(FetchFault(longer=1))
        with pytest.raises(AttachmentError, match="larger than Example says"):
            await fetched(client, url)
        service.kept.faults.append(FetchFault(longer=1))
        assert len(await fetched(client, url, size=None)) == len(CONTENT) + 1  # nothing was said


@pytest.mark.parametrize(
    ("fault", "after"),
    [
        (FetchFault(cut=True), None),
        (FetchFault(status=503), None),
        (FetchFault(status=429, headers={"Retry-After": "7"}), 7.0),
    ],
)
async def test_what_passes_is_tried_later(fault: FetchFault, after: float | None) -> None:
    async with serving() as (service, client):
        service.kept.faults.append(fault)
        with pytest.raises(RetryLater, match="example") as raised:
            await fetched(client, str(service.base / "files/1"))
        assert raised.value.after == after
        assert raised.value.__cause__ is None  # it may have an address with a token


async def test_a_file_that_stops_coming_is_given_up() -> None:
    async with serving(patience=0.2) as (service, client):
        hold = asyncio.Event()
        service.kept.faults.append(FetchFault(hold=hold))
        with pytest.raises(RetryLater, match="did not answer in time"):
            await fetched(client, str(service.base / "files/1"))
        hold.set()


async def test_memory_does_not_grow_with_what_is_fetched() -> None:
    async with serving() as (service, client):
        read = 0
        with little_memory():
            async for chunk in client.download(str(service.base / "much"), size=LARGE):
                read += len(chunk)
        assert read == LARGE


def test_what_a_service_tells_of_files_may_be_anything() -> None:
    never: Callable[[object], AsyncIterator[bytes]] = lambda _: pytest.fail("it was fetched")  # noqa: E731
    nothing: tuple[object, ...] = (None, {}, "files", 7)
    for listed in nothing:
        assert incoming(listed, never, name="name", is_voice=lambda _: False) == ()
    odd = [None, 7, {"name": None, "size": "1"}, {"name": "a.png", "size": 3}, {"size": -1}]
    found = incoming(odd, never, name="name", is_voice=lambda _: False)
    assert [(each.name, each.size) for each in found] == [
        (None, None),
        (None, None),
        (None, None),
        ("a.png", 3),
        (None, None),
    ]


# ── sending ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_is_sent_from_where_it_is_without_growing_memory(tmp_path: Path) -> None:
    path = tmp_path / "0a1b2c"
    with path.open("wb") as file:
        file.truncate(LARGE)
    async with serving() as (service, client):
        with little_memory(), open_content(File(name="a.bin", path=str(path))) as content:
            assert await client.put(str(service.base / "upload"), content) == 200
        assert service.length == LARGE
        assert service.headers["Content-Length"] == str(LARGE)
        assert not {"Authorization", "Content-Disposition"} & {*service.headers}


@pytest.mark.parametrize(("status", "after"), [(429, 7.0), (500, None)])
async def test_an_upload_that_is_not_taken_now_is_tried_later(
    status: int, after: float | None
) -> None:
    async with serving() as (service, client):
        service.status = status
        content = open_content(File(name="a.txt", content=CONTENT))
        with pytest.raises(RetryLater) as raised:
            await client.put(str(service.base / "upload"), content)
        assert raised.value.after == after
        assert service.digest.digest() == sha256(CONTENT).digest()


def test_a_file_that_was_swept_is_not_sent(tmp_path: Path) -> None:
    with pytest.raises(MessageRejected, match=r"build\.log cannot be read"):
        open_content(File(name="build.log", path=str(tmp_path / "gone")))


def test_a_caption_is_one_line_whatever_is_in_it() -> None:
    files = [
        File(name="a", caption="1 · Wide\n2 · Forged"),
        File(name="b"),
        File(name="c", caption="x"),
    ]
    assert captions(files) == "1 · Wide 2 · Forged\nx"
