"""When a hub sweeps: at its start, and after a tool has run if the last time was long ago."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.model import Project
from chatbridge.core.policy import Policy
from chatbridge.hub.links.session import Session
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.wiring import hub as wiring
from tests.fakes.clock import StillClock

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2"},
}


class Client:
    """The other end of a session, without a socket in between."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader()
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(self, line: bytes) -> None:
        """For the session to write to."""
        self._heard.put_nowait(line)

    async def request(self, id: int, method: str, **params: Any) -> dict[str, Any]:
        line = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.reader.feed_data(json.dumps(line).encode() + b"\n")
        heard: dict[str, Any] = json.loads(await asyncio.wait_for(self._heard.get(), 20))
        assert heard["id"] == id
        return heard


@asynccontextmanager
async def running_hub(folder: Path) -> AsyncIterator[Client]:
    settings = wiring.settings_in_force(None)
    with Lock(str(folder), started_by="person") as lock:
        async with wiring.open_hub(lock, settings, config=None, agents=list) as hub:
            client = Client()
            session = Session(
                link="link",
                project=Project(key="/src/shop", name="shop"),
                reader=client.reader,
                send=client.send,
                waiting_calls=hub.waiting_calls,
                confirms=False,
            )
            serving = asyncio.ensure_future(session.serve(hub.server))
            await client.request(0, "initialize", **INITIALIZE)
            yield client
            client.reader.feed_eof()
            await serving


class Sweeps(logging.Handler):
    """The sweeps that were logged."""

    def __init__(self, begins: str = "swept ") -> None:
        super().__init__()
        self._begins = begins
        self._said: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(self._begins):
            self._said.put_nowait(record.getMessage())

    async def next(self) -> str:
        return await asyncio.wait_for(self._said.get(), 20)

    def none(self) -> bool:
        return self._said.empty()


async def test_what_ended_long_ago_is_swept_after_a_tool_has_run_and_the_count_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, sweeps = StillClock(), Sweeps()
    monkeypatch.setattr(wiring, "SystemClock", lambda: clock)
    monkeypatch.setenv("CHATBRIDGE_WEB__ENABLED", "false")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "none.toml"))
    caplog.set_level(logging.INFO)
    logging.getLogger("chatbridge").addHandler(sweeps)
    try:
        async with running_hub(tmp_path) as client:
            assert await sweeps.next() == "swept 0 ended asks"  # at the start
            arguments = {"question": "Which?", "wait": False, "timeout": 10_000}
            reply = await client.request(1, "tools/call", name="ask_user", arguments=arguments)
            assert "still open" in reply["result"]["content"][0]["text"]
            assert sweeps.none()
            clock.advance(60)
            unknown: dict[str, Any] = {"name": "wait_for_answer", "arguments": {"askId": "none"}}
            await client.request(2, "tools/call", **unknown)
            clock.advance(Policy().retention + 1)
            await client.request(3, "tools/call", **unknown)
            assert await sweeps.next() == "swept 1 ended asks"
            assert sweeps.none()
    finally:
        logging.getLogger("chatbridge").removeHandler(sweeps)


async def test_files_of_asks_that_are_gone_are_removed_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, removed = StillClock(), Sweeps("removed ")
    monkeypatch.setattr(wiring, "SystemClock", lambda: clock)
    monkeypatch.setenv("CHATBRIDGE_WEB__ENABLED", "false")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "none.toml"))
    caplog.set_level(logging.INFO)
    for name in (f"attachments/{'a' * 64}", "received/gone/abc.txt", "attachments/.new-crashed"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (clock.time() - 7200, clock.time() - 7200))
    logging.getLogger("chatbridge").addHandler(removed)
    try:
        async with running_hub(tmp_path):
            assert await removed.next() == "removed 2 files whose asks and notices are gone"
    finally:
        logging.getLogger("chatbridge").removeHandler(removed)
    assert list((tmp_path / "attachments").iterdir()) == []
    assert list((tmp_path / "received").iterdir()) == []
