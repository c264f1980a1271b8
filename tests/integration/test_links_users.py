"""One hub for several users: whatever a link says of itself, it stays with its own user's asks."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.reach import Reach
from chatbridge.hub.links import Links
from chatbridge.hub.peers import Peers, may_see
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.clients import Clients
from chatbridge.tools.server import build_server
from chatbridge.tools.waiting import Waiting
from tests.fakes.world import BLUE, OWNER, World, world

pytestmark = pytest.mark.root

GROUP = 54321
ALICE, BOB, EVE = 61001, 61002, 61003
PATIENCE = 20.0
CONNECT = """
import os, socket, sys
path, back, uid, groups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
os.setgroups([int(it) for it in groups])
os.setgid(uid)
os.setuid(uid)
sock = socket.socket(socket.AF_UNIX)
sock.connect(path)
socket.send_fds(socket.socket(fileno=back), [b"x"], [sock.fileno()])
"""


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cb-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "s"


def connection_of(uid: int, path: Path, *groups: int) -> socket.socket:
    """One that a process of this user has made."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = [sys.executable, "-c", CONNECT, str(path), str(theirs.fileno()), str(uid)]
        subprocess.run([*words, *map(str, groups)], pass_fds=[theirs.fileno()], check=True)
        _, (descriptor,), _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptor)


def listener_at(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    path.chmod(0o666)  # so that it is the hub that decides here, and not the kernel
    return listener


async def nobody(_ask_id: str) -> Reach:
    return Reach()


@asynccontextmanager
async def door(hub: World, path: Path) -> AsyncIterator[Links]:
    server = build_server(
        [AskUser(Waiting(hub.broker, nobody))],
        callers=hub.broker.callers,
        clients=Clients(),
        clock=hub.clock,
        after_call=lambda: None,
        spawn=asyncio.ensure_future,
    )
    links = Links(
        server,
        hub.broker.callers,
        settings={},
        tell=lambda text: None,
        peers=Peers(group=GROUP),
    )
    await links.listen(listener_at(path))
    try:
        yield links
    finally:
        await links.close()


class Agent:
    """A link whose words are all its own choice: here always the same."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def of(cls, uid: int, path: Path, *groups: int) -> Agent:
        sock = await asyncio.to_thread(connection_of, uid, path, *groups)
        agent = cls(*await asyncio.open_unix_connection(sock=sock))
        agent.say({"chatbridge": "link", "protocol": 1, "link": "a" * 32, "cwd": "/", "root": "/s"})
        return agent

    def say(self, line: dict[str, Any]) -> None:
        self._writer.write(json.dumps(line).encode() + b"\n")

    async def hear(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self._reader.readline(), PATIENCE)
        heard: dict[str, Any] = json.loads(line) if line else {}
        return heard

    async def ask(self) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        params["clientInfo"] = {"name": "claude-code", "version": "1"}
        self.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert "result" in await self.hear()
        call = {"name": "ask_user", "arguments": {"question": "Which?", "options": ["blue"]}}
        self.say({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call})

    def close(self) -> None:
        self._writer.close()


async def test_a_link_with_the_id_of_another_users_link_finds_nothing_of_its_calls(
    tmp_path: Path, path: Path
) -> None:
    async with world(tmp_path) as hub, door(hub, path) as links:
        hers = await Agent.of(ALICE, path, GROUP)
        assert "chatbridge" in await hers.hear()
        await hers.ask()
        first = await hub.until(lambda ask: True)
        his = await Agent.of(BOB, path, GROUP)
        assert "chatbridge" in await his.hear()
        await his.ask()
        second = await hub.until(lambda ask: ask.id != first.id)

        assert first.project.key != second.project.key
        assert first.project.name == second.project.name == "s"
        assert may_see(first, ALICE)
        assert not may_see(first, BOB)
        assert may_see(first, os.getuid())
        assert len(links.connected(ALICE)) == 1
        assert len(links.connected()) == 2

        await hub.inbox.answer(second.id, BLUE, person=OWNER)
        answered = await his.hear()
        assert answered["id"] == 5
        assert "blue" in json.dumps(answered)
        assert [ask.id for ask in await hub.inbox.open_asks()] == [first.id]
        for agent in (hers, his):
            agent.close()


async def test_who_is_not_in_the_group_is_turned_away_without_a_word(
    tmp_path: Path, path: Path
) -> None:
    async with world(tmp_path) as hub, door(hub, path) as links:
        with await asyncio.to_thread(connection_of, EVE, path, GROUP + 1) as stranger:
            stranger.settimeout(PATIENCE)
            assert await asyncio.to_thread(stranger.recv, 4096) == b""
        assert links.connected() == []
