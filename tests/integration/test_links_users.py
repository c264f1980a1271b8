"""One hub for several users: whatever a link says of itself, it stays with its own user's asks."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from chatbridge.hub.links.listener import Links
from chatbridge.hub.links.peers import Peers, may_see
from tests.fakes.core_env import BLUE, OWNER, World, world
from tests.fakes.link_server import Link
from tests.fakes.link_server import door as one_door

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


def door(hub: World, path: Path) -> AbstractAsyncContextManager[Links]:
    return one_door(hub, path, peers=Peers(group=GROUP))


async def link_of(uid: int, path: Path) -> Link:
    """Of a member of the group. What it says of itself is always the same."""
    sock = await asyncio.to_thread(connection_of, uid, path, GROUP)
    link = Link.over(*await asyncio.open_unix_connection(sock=sock), root="/s")
    assert "chatbridge" in await link.hear()
    return link


async def test_a_link_with_the_id_of_another_users_link_finds_nothing_of_its_calls(
    tmp_path: Path, path: Path
) -> None:
    async with world(tmp_path) as hub, door(hub, path) as links:
        hers = await link_of(ALICE, path)
        await hers.ask(5)
        first = await hub.until(lambda ask: True)
        his = await link_of(BOB, path)
        await his.ask(5)
        second = await hub.until(lambda ask: ask.id != first.id)

        assert first.project.key != second.project.key
        names = (first.project.name, second.project.name)
        assert names == (f"uid {ALICE}/s", f"uid {BOB}/s")
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


async def test_a_user_with_too_many_connections_keeps_nobody_else_out(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.hub.links.entrance.MOST_OF_ONE_USER", 2)
    async with world(tmp_path) as hub, door(hub, path):
        first, second = [await link_of(BOB, path) for _ in range(2)]
        with await asyncio.to_thread(connection_of, BOB, path, GROUP) as third:
            third.settimeout(PATIENCE)
            assert await asyncio.to_thread(third.recv, 4096) == b""
        hers = await link_of(ALICE, path)
        for agent in (first, second, hers):
            agent.close()
