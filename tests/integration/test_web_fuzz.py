"""Whatever is asked of the inbox, at every path and with every method: an answer that is no fault,
no effect of what was refused, and nothing at all for a stranger."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import pytest
from hypothesis import strategies as st

from chatbridge.channels.web.request_parsing import EVENTS
from chatbridge.channels.web.sessions import IN_A_BROWSER
from chatbridge.core.errors import AskEnded
from chatbridge.core.policy import Policy
from tests.fakes.fault_watch import faults, tried
from tests.fakes.inbox import COMMAND, MULTI, SELECT, TEXT
from tests.fakes.web import Web, running_web

Json = dict[str, Any]
SECRET = "the question that nobody else may read"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"]
PATHS = [
    "/",
    "/rows",
    "/notices",
    "/history",
    "/summary",
    "/agents",
    "/agents/{id}",
    "/messages/{id}/take-back",
    "/asks/{id}",
    "/asks/{id}/card",
    "/asks/{id}/form",
    "/asks/{id}/files",
    "/asks/{id}/files/{id}",
    "/asks/{id}/files/{id}/preview",
    "/notices/{id}/files/{id}",
    "/operations/{id}/output",
    "/login",
    "/login/{id}",
    "/logout",
    "/healthz",
    "/sw.js",
    "/offline",
    "/static/{id}",
    "/api/asks",
    "/api/asks/{id}",
    "/api/asks/{id}/answer",
    "/api/asks/{id}/cancel",
    "/api/operations/{id}/output",
    "/api/notices",
    "/api/status",
    "/api/{id}",
    "/{id}",
]
EFFECTS = ("/answer", "/cancel", "/form")

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["\ud800", "a\0b", "SQLite", "yes", "x" * 5_000, 10**400, TEXT.id, SELECT.id])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
answer = st.fixed_dictionaries(
    {"questionId": st.sampled_from([TEXT.id, SELECT.id, MULTI.id]) | anything},
    optional={"values": st.lists(scalars, max_size=3) | anything, "customText": anything},
)
objects = st.fixed_dictionaries(
    {}, optional={"answers": st.lists(answer, max_size=3) | anything, "reason": anything}
)
whole = st.text(max_size=10)
forms = st.fixed_dictionaries(
    {"do": st.sampled_from([*EVENTS, "discard", "x"])},
    optional={
        "step": st.sampled_from(["0", "1", "-1", "٣", "0x1", "9" * 30]) | whole,
        "option": st.sampled_from(["0", "1", "999999999"]) | whole,
        "question": st.sampled_from(["0", "7"]) | whole,
        "minutes": st.sampled_from(["0", "15", "999999999"]) | whole,
        "until": st.sampled_from(["0", "29900000", "999999999"]) | whole,
        "on": st.sampled_from(["0", "1", "2"]),
        "text": st.sampled_from(["typed", "\0", "y" * 30_000]) | whole,
        "reason": st.sampled_from(["z" * 30_000]) | whole,
        "code": whole,
    },
)
bodies = (
    objects.map(lambda value: ("application/json", json.dumps(value).encode()))
    | anything.map(lambda value: ("application/json", json.dumps(value).encode()))
    | forms.map(lambda value: ("application/x-www-form-urlencoded", urlencode(value).encode()))
    | st.tuples(st.sampled_from(["text/plain", "multipart/form-data", ""]), st.binary(max_size=40))
)
characters = st.characters(exclude_categories=["Cs"])
requests = st.tuples(
    st.sampled_from(METHODS),
    st.sampled_from(PATHS),
    st.just("ID") | st.text(characters, min_size=1, max_size=12) | st.sampled_from(["..", "\0"]),
    st.dictionaries(
        st.sampled_from(["q", "before", "status", "current", "v"]),
        st.text(characters, max_size=10) | st.sampled_from(["nan", "-inf", "1e999", "open"]),
        max_size=2,
    ),
    bodies,
)
Asked = tuple[str, str, str, dict[str, str], tuple[str, bytes]]


async def asked(client: httpx2.AsyncClient, given: Asked, ask: str) -> tuple[str, httpx2.Response]:
    method, path, named, query, (kind, body) = given
    address = path.format(id=ask if named == "ID" else quote(named, safe=""))
    response = await client.request(
        method, address, params=query, content=body, headers={"Content-Type": kind}
    )
    return address, response


async def everything(web: Web) -> object:
    inbox = web.desk.inbox
    return (await inbox.open_asks(), await inbox.history(limit=3))


async def test_no_request_of_the_owner_is_a_fault_and_a_refused_one_has_no_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_web(tmp_path, body_seconds=0.2, policy=Policy(max_open_asks=10_000)) as web:
        questions = itertools.cycle((SELECT, TEXT, MULTI, COMMAND))
        clients = itertools.cycle((web.browser, web.browser, web.script))
        cookies = dict(web.browser.cookies)

        async def check(request: Asked) -> None:
            ask = await web.desk.ask(next(questions))
            before = await everything(web)
            address, response = await asked(next(clients), request, ask.id)
            web.browser.cookies.update(cookies)  # it may have logged itself out
            assert response.status_code < 500
            if response.status_code >= 400 or not address.endswith(EFFECTS):
                assert await everything(web) == before
            with suppress(AskEnded):
                await web.desk.inbox.cancel(ask.id, reason=None, person=IN_A_BROWSER)

        await tried(requests, check, examples=60)
    assert faults(caplog) == []


async def test_a_stranger_is_told_the_same_whatever_there_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_web(tmp_path, body_seconds=0.2) as web:
        ask = await web.desk.ask(SELECT, title=SECRET)
        before = await everything(web)

        async def check(request: Asked) -> None:
            _, response = await asked(web.stranger, request, ask.id)
            if request[1] not in ("/login", "/login/{id}"):  # which repeats what it was given
                _, other = await asked(web.stranger, request, "nothing-like-it")
                assert response.status_code == other.status_code < 500
                assert response.content == other.content
                assert ask.id not in response.text
            assert SECRET not in response.text
            assert "set-cookie" not in response.headers

        await tried(requests, check, examples=60)
        assert await everything(web) == before
    assert faults(caplog) == []
