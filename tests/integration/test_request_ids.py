"""Every request is answered under its own id, or told that its id is none: on every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from chatbridge.link import unavailable
from chatbridge.link.relay import Relay
from tests.fakes.core_env import world
from tests.fakes.fault_watch import tried
from tests.fakes.link_server import Link, door
from tests.fakes.remote import ERAS, open_door

good = (
    st.integers(-(2**64) + 1, 2**64 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from([0, 2**64 - 1, -(2**64) + 1, "", "x" * 1000, "1"])
)
bad = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
    | st.sampled_from([1.5, 1.0, 2**64, -(2**64), 10**400, "\ud800", "a\udfff", "x" * 1001])
)
ids = good.map(lambda value: (value, True)) | bad.map(lambda value: (value, False))
UNKNOWN = {"name": "ask_user", "arguments": {"question": ""}}
"""A call that is answered at once, with an error of the tool's."""


def request(id: object, params: dict[str, Any] = UNKNOWN) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def check(answer: dict[str, Any], id: object, *, fits: bool) -> None:
    if fits:
        assert (answer["id"], type(answer["id"])) == (id, type(id))
        assert answer["result"]["isError"]
    else:
        assert answer["id"] is None
        assert answer["error"]["code"] == -32600
        assert "an id is" in answer["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
async def test_over_http(tmp_path: Path, era: str) -> None:
    async with open_door(tmp_path) as here, here.agent(era) as agent:

        async def each(given: tuple[Any, bool]) -> None:
            named, fits = given
            params = agent.call(1, question="")["params"]
            answer = await agent.post(request(named, params))
            assert answer.status_code == (200 if fits else 400)
            data = [x for x in answer.text.splitlines() if x.startswith("data: {")]
            said = data[-1].removeprefix("data: ") if data else answer.text
            check(json.loads(said), named, fits=fits)

        await tried(ids, each, examples=40)
        assert not await here.hub.store.open_asks()


async def test_over_the_hubs_socket(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        initialize = {
            "protocolVersion": ERAS[0],
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        link.say({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": initialize})
        await link.hear()

        async def each(given: tuple[Any, bool]) -> None:
            named, fits = given
            link.say(request(named))
            check(await link.hear(), named, fits=fits)

        await tried(ids, each, examples=60)
        link.close()


async def test_at_the_link_itself() -> None:
    async def each(given: tuple[Any, bool]) -> None:
        named, fits = given
        relay = Relay({})
        relay.hub_found()
        relay.to_hub.clear()
        relay.from_client(json.dumps(request(named)).encode())
        if fits:
            assert json.loads(relay.to_hub) == request(named)
        else:
            check(json.loads(relay.to_client.chunk()), named, fits=False)

    await tried(ids, each, examples=60)


async def test_where_there_is_no_hub() -> None:
    async def each(given: tuple[Any, bool]) -> None:
        named, fits = given
        check(unavailable.answer(request(named), "no hub"), named, fits=fits)

    await tried(ids, each, examples=60)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"1", b'{"a"', b'{"id": %s}' % (b"9" * 5000)])
async def test_a_body_that_is_no_message_is_refused_over_http(tmp_path: Path, body: bytes) -> None:
    async with open_door(tmp_path) as here, here.agent(ERAS[0]) as agent, here.visitor() as http:
        answer = await http.post("/mcp", content=body, headers=agent.headers())
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32600
