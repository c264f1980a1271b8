"""Requests to a service over REST: what goes out, and what an answer means."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chatbridge.channels.sockets.rest import Answer, RestClient
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater


class Client(RestClient):
    service = "example"

    def route(self, method: str, path: str) -> str:
        return f"{method} {path}"

    def limits(self, answer: Answer, route: str) -> Iterator[tuple[str, object]]:
        if answer.status == 429:
            yield route, answer.headers.get("Retry-After")

    def meaning(self, answer: Answer, place: object) -> ChatbridgeError:
        return ChatRefused(f"{answer.status} {answer.found} at {place}")


@dataclass
class Service:
    client: Client
    answer: web.Response
    asked: list[web.BaseRequest] = field(default_factory=list)
    now: float = 0.0


@asynccontextmanager
async def serving(answer: web.Response) -> AsyncIterator[Service]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        it.asked.append(request)
        return web.Response(status=it.answer.status, body=it.answer.body, headers=it.answer.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        client = Client(
            base=str(server.make_url("")).rstrip("/"),
            authorization="Bot secret",
            agent="tests",
            patience=10.0,
            monotonic=lambda: it.now,
        )
        it = Service(client, answer)
        async with client:
            yield it


async def test_the_token_goes_with_a_request_but_not_with_a_path_that_has_its_own() -> None:
    async with serving(web.json_response({"id": "1"})) as it:
        assert await it.client.call("POST", "/messages", {"text": "hello"}) == {"id": "1"}
        await it.client.call("POST", "/answers/token", authorized=False)
    first, second = (request.headers for request in it.asked)
    assert first["Authorization"] == "Bot secret"
    assert first["User-Agent"] == second["User-Agent"] == "tests"
    assert "Authorization" not in second


async def test_a_redirection_is_not_followed() -> None:
    async with serving(web.Response(status=307, headers={"Location": "/elsewhere"})) as it:
        with pytest.raises(ChatRefused, match="307 None at there"):
            await it.client.call("POST", "/messages", place="there")
    assert [request.path for request in it.asked] == ["/messages"]


@pytest.mark.parametrize("body", [b"<html>", b'{"id":', b"\xff", b"[" * 1000])
async def test_an_answer_that_cannot_be_read_is_asked_for_again_later(body: bytes) -> None:
    async with serving(web.Response(body=body)) as it:
        with pytest.raises(RetryLater, match=r"^example's answer cannot be read$"):
            await it.client.call("GET", "/")
        it.answer = web.Response(status=502, body=body)
        with pytest.raises(ChatRefused, match="502 None"):
            await it.client.call("GET", "/")


@pytest.mark.parametrize("found", [None, [], "text", {"id": 1}, {}])
async def test_an_answer_of_another_kind_is_asked_for_again_later(found: object) -> None:
    async with serving(web.json_response(found)) as it:
        said = await it.client.call("GET", "/")
        with pytest.raises(RetryLater, match="cannot be read"):
            it.client.text(said, "id")


async def test_nothing_is_asked_for_where_the_service_wants_a_pause() -> None:
    async with serving(web.json_response({}, status=429, headers={"Retry-After": "5"})) as it:
        for _ in range(2):
            with pytest.raises(RetryLater) as caught:
                await it.client.call("GET", "/busy")
            assert caught.value.after == 5.0
        it.answer = web.json_response({})
        await it.client.call("GET", "/other")
        await it.client.call("GET", "/busy", authorized=False)
        it.now = 5.0
        await it.client.call("GET", "/busy")
    assert [request.path for request in it.asked] == ["/busy", "/other", "/busy", "/busy"]
