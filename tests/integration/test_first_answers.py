"""What a client is told before the SDK is there is what the SDK would have said, and nothing that
it says meanwhile is lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server

from chatbridge import runtime_paths
from chatbridge.core.errors import InstallationBroken
from chatbridge.core.model import Project
from chatbridge.hub.links.session import Session
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.systemd import Systemd
from chatbridge.hub.wiring import hub as wiring
from chatbridge.hub.wiring.serving import attended, serving
from chatbridge.tools.late_server import LateServer
from tests.fakes.link_server import Link

Json = dict[str, Any]

PATIENCE = 20
VERSION = "io.modelcontextprotocol/protocolVersion"
INFO, CAPABILITIES = (f"io.modelcontextprotocol/client{it}" for it in ("Info", "Capabilities"))
CODEX = {"name": "codex", "version": "1"}
GEMINI = {"name": "gemini-cli", "title": "Gemini CLI", "version": "1"}
META = {VERSION: "2026-07-28", INFO: CODEX, CAPABILITIES: {}}
INITIALIZE: Json = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CODEX}
INITIALIZED: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = ("tools/call", {"name": "nothing", "arguments": {}})
IDS = count(1)


def request(method: str, params: Any = None, **changes: Any) -> Json:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": next(IDS), "method": method, **given, **changes}


def initialize(**changes: Any) -> Json:
    return request("initialize", {**INITIALIZE, **changes})


def stateless(method: str, **meta: Any) -> Json:
    return request(method, {"_meta": {**META, **meta}})


class Noting(Session):
    """Notes how old each call is said to be."""

    ages: list[float | None]

    def age(self, request: object) -> float | None:
        self.ages.append(found := super().age(request))
        return found


class Client:
    def __init__(self, hub: wiring.Hub, server: LateServer, *, linked: bool = True) -> None:
        self._reader = asyncio.StreamReader()
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()
        session = Noting(
            link="a" * 32,
            project=Project(key="/src/shop", name="shop"),
            reader=self._reader,
            send=self._send,
            waiting_calls=hub.waiting_calls,
            confirms=linked,
            folder="/src/shop",
        )
        self.ages: list[float | None] = []
        session.ages = self.ages
        self._serving = asyncio.ensure_future(session.serve(server))

    async def _send(self, line: bytes) -> None:
        self._heard.put_nowait(line)

    def say(self, *messages: Json | bytes) -> None:
        for it in messages:
            line = it if isinstance(it, bytes) else json.dumps(it).encode()
            self._reader.feed_data(line + b"\n")

    async def hear(self, number: int) -> list[Json]:
        return [
            json.loads(await asyncio.wait_for(self._heard.get(), PATIENCE)) for _ in range(number)
        ]

    async def end(self) -> list[bytes]:
        """What was said beyond what was heard."""
        self._reader.feed_eof()
        await asyncio.wait_for(self._serving, PATIENCE)
        return [self._heard.get_nowait() for _ in range(self._heard.qsize())]


@asynccontextmanager
async def running_hub(folder: Path) -> AsyncIterator[wiring.Hub]:
    with Lock(str(folder), started_by="person") as lock:
        settings = wiring.settings_in_force(None)
        async with wiring.open_hub(lock, settings, config=None, agents=list) as hub:
            yield hub


@asynccontextmanager
async def early_client(folder: Path) -> AsyncIterator[tuple[Client, Callable[[], Awaitable[None]]]]:
    """A client of a hub that has no SDK, until the second of these is called."""
    async with running_hub(folder) as hub:
        made: asyncio.Future[Server[Any]] = asyncio.get_running_loop().create_future()
        client = Client(hub, LateServer(hub.server.offer, made))

        async def import_it() -> None:
            made.set_result(await hub.server.get())

        yield client, import_it


def responses(script: list[Json | bytes]) -> int:
    """How many are due: one for each request, and for each line that is none."""
    return sum(isinstance(it, bytes) or "id" in it for it in script)


async def compare(hub: wiring.Hub, script: list[Json | bytes], *, before: int) -> None:
    """`before`: how many responses come before the SDK is there."""
    sdk = await hub.server.get()
    usual = Client(hub, hub.server)
    usual.say(*script)
    said = await usual.hear(responses(script))
    made: asyncio.Future[Server[Any]] = asyncio.get_running_loop().create_future()
    early = Client(hub, LateServer(hub.server.offer, made))
    early.say(*script)
    first = await early.hear(before)
    made.set_result(sdk)
    rest = await early.hear(responses(script) - before)
    assert sorted([*first, *rest], key=json.dumps) == sorted(said, key=json.dumps)
    assert (await early.end(), await usual.end()) == ([], [])


CLIENTS: list[tuple[Json, int]] = [
    *(({"protocolVersion": it}, 2) for it in ("2024-11-05", "2025-03-26", "2025-06-18")),
    *(({"protocolVersion": it}, 2) for it in ("2026-07-28", "1999-01-01", "", "garbage")),
    ({"protocolVersion": 7}, 0),
    ({"protocolVersion": None}, 0),
    ({"clientInfo": GEMINI}, 2),
    ({"clientInfo": {"name": "claude-code", "version": "2", "websiteUrl": "https://x", "y": 1}}, 2),
    ({"clientInfo": {"name": "", "version": ""}}, 2),
    ({"clientInfo": {"name": "x"}}, 0),
    ({"clientInfo": {"name": 1, "version": "1"}}, 0),
    ({"clientInfo": None}, 0),
    ({"clientInfo": "codex"}, 0),
    ({"capabilities": {"elicitation": {}, "roots": {"listChanged": True}, "sampling": {}}}, 2),
    ({"capabilities": {"elicitation": {"form": {}, "url": {}}, "experimental": {"x": {}}}}, 2),
    ({"capabilities": {"unknown": 1, "extensions": {"io.example/ui": {}}}}, 2),
    ({"capabilities": {"tasks": {"list": {}, "cancel": {}}}}, 2),
    ({"capabilities": {"roots": "yes"}}, 0),
    ({"capabilities": {"elicitation": {"form": 1}}}, 0),
    ({"capabilities": None}, 0),
    ({"capabilities": []}, 0),
    ({"_meta": {"progressToken": 1}}, 0),
    ({"_meta": META}, 0),
    ({"more": 1}, 0),
]


async def test_every_handshake_is_answered_as_by_the_sdk(tmp_path: Path) -> None:
    async with running_hub(tmp_path) as hub:
        for changes, before in CLIENTS:
            script = [initialize(**changes), INITIALIZED, request("tools/list"), request(*CALL)]
            await compare(hub, [*script, request("ping")], before=before)


SCRIPTS: dict[str, tuple[list[Json | bytes], int]] = {
    "the list without notification": ([initialize(), request("tools/list", {})], 2),
    "the list twice": ([initialize(), request("tools/list"), request("tools/list", {})], 3),
    "an id again": ([initialize(), request("tools/list", id=5), request("ping", id=5)], 2),
    "ids of both kinds": (
        [request("initialize", INITIALIZE, id="1"), request("tools/list", id=1)],
        2,
    ),
    "a cursor": ([initialize(), request("tools/list", {"cursor": "garbage"})], 1),
    "a cursor that is none": ([initialize(), request("tools/list", {"cursor": 7})], 1),
    "progress": ([initialize(), request("tools/list", {"_meta": {"progressToken": 1}})], 1),
    "a list and a call": ([initialize(), request(*CALL), request("tools/list")], 1),
    "no handshake": ([request("tools/list"), initialize(), request("tools/list")], 0),
    "a ping first": ([request("ping"), initialize(), request("tools/list")], 0),
    "a call first": ([request(*CALL), initialize()], 0),
    "the notification first": ([INITIALIZED, initialize(), request("tools/list")], 2),
    "two handshakes": ([initialize(), initialize(clientInfo=GEMINI), request("tools/list")], 1),
    "no parameters": ([request("initialize"), request("tools/list")], 0),
    "unknown": ([initialize(), request("tools/nothing"), request("tools/list")], 1),
    "a level": ([initialize(), request("logging/setLevel", {"level": "error"})], 1),
    "garbage": ([initialize(), b"garbage", b"[]", request("tools/list")], 4),
    "a batch": ([b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', initialize()], 2),
    "a response to nothing": (
        [initialize(), {"jsonrpc": "2.0", "method": "response"}, request("tools/list")],
        1,
    ),
    "discover in a handshake": ([initialize(), request("server/discover")], 1),
    "discover without an envelope": ([request("server/discover"), initialize()], 0),
    "both eras": ([initialize(), stateless("tools/list"), request("tools/list")], 1),
    "stateless": ([stateless("server/discover"), stateless("tools/list")], 2),
    "stateless, the list alone": ([stateless("tools/list"), stateless("tools/call")], 1),
    "stateless and a handshake": ([stateless("tools/list"), initialize()], 1),
    "stateless of another version": (
        [stateless("server/discover", **{VERSION: "1999-01-01"}), stateless("server/discover")],
        0,
    ),
    "stateless of an odd client": ([stateless("tools/list", **{INFO: {"name": 1}})], 0),
    "stateless with odd capabilities": (
        [stateless("tools/list", **{CAPABILITIES: {"roots": 1}})],
        0,
    ),
    "stateless with more": ([stateless("tools/list", progressToken=1)], 0),
    "stateless, half an envelope": ([request("tools/list", {"_meta": {VERSION: "2026-07-28"}})], 0),
    "stateless with a cursor": ([request("tools/list", {"_meta": META, "cursor": "x"})], 0),
    "stateless ping": ([stateless("server/discover"), stateless("ping")], 1),
}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_what_comes_in_another_way_is_answered_as_by_the_sdk(
    tmp_path: Path, name: str
) -> None:
    script, before = SCRIPTS[name]
    async with running_hub(tmp_path) as hub:
        await compare(hub, script, before=before)


async def test_what_is_said_after_the_first_answers_is_for_the_sdk(tmp_path: Path) -> None:
    async with early_client(tmp_path) as (client, import_it):
        client.say(initialize(), INITIALIZED, request("tools/list"))
        _, listed = await client.hear(2)
        await import_it()
        client.say(request("tools/list"), request(*CALL))
        again, called = await client.hear(2)
        assert again["result"] == listed["result"]
        assert "Unknown tool: 'nothing'" in called["error"]["message"]
        assert await client.end() == []


async def test_a_client_that_has_one_id_for_everything_gets_each_answer_once(
    tmp_path: Path,
) -> None:
    async with early_client(tmp_path) as (client, import_it):
        for early in (
            request("initialize", INITIALIZE, id=1),
            request("tools/list", id=1),
            request("tools/list", {}, id=1),
        ):
            client.say(early)
            await client.hear(1)
        client.say(request(*CALL, id=1))
        await import_it()
        (called,) = await client.hear(1)
        assert "Unknown tool: 'nothing'" in called["error"]["message"]
        assert await client.end() == []


async def test_a_call_that_waited_for_the_sdk_counts_from_when_it_came(tmp_path: Path) -> None:
    async with early_client(tmp_path) as (client, import_it):
        client.say(initialize(), INITIALIZED, request(*CALL))
        await client.hear(1)
        await import_it()
        await client.hear(1)
        client.say(request(*CALL, id=2))
        await client.hear(1)
        waited, not_waited = client.ages
        assert waited is not None
        assert waited > 0
        assert not_waited is None
        assert await client.end() == []


async def test_a_client_that_leaves_before_the_sdk_is_there_is_not_waited_for(
    tmp_path: Path,
) -> None:
    async with early_client(tmp_path) as (client, _):
        client.say(initialize())
        await client.hear(1)
        assert await client.end() == []


async def test_a_client_without_a_link_is_told_what_cannot_be_imported(tmp_path: Path) -> None:
    async with running_hub(tmp_path) as hub:
        made: asyncio.Future[Server[Any]] = asyncio.get_running_loop().create_future()
        client = Client(hub, LateServer(hub.server.offer, made), linked=False)
        client.say(initialize(), INITIALIZED, request(*CALL), request(*CALL))
        await client.hear(1)
        made.set_exception(InstallationBroken("No module named 'anyio'"))
        for told in await client.hear(2):
            assert "No module named 'anyio'" in told["result"]["content"][0]["text"]
        assert await client.end() == []


async def test_links_are_told_what_cannot_be_imported_and_the_hub_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = threading.Event()

    def cannot(module: str) -> None:
        assert listed.wait(PATIENCE)
        raise ImportError("No module named 'anyio'")

    monkeypatch.setattr("chatbridge.hub.wiring.server.import_heavy", cannot)
    path, settings = tmp_path / "s", wiring.settings_in_force(None)
    bind = partial(runtime_paths.bind_socket, str(path))
    with Lock(str(tmp_path), started_by="link") as lock:
        async with serving(lock, settings, config=None, bind=bind, path=str(path)) as served:
            link = await Link.connect(path)
            await link.hear()
            for said in (initialize(), INITIALIZED, request("tools/list"), request(*CALL)):
                link.say(said)
            assert [set(await link.hear()) for _ in range(2)] == [{"jsonrpc", "id", "result"}] * 2
            listed.set()
            with pytest.raises(InstallationBroken):
                async with attended(Systemd(), served):
                    pass
        refused = await link.hear()
    assert refused["chatbridge"] == "refused"
    assert "No module named 'anyio'" in refused["message"]
    link.close()
