"""What a hub that follows holds ends at once when it is elected itself."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from chatbridge.core.tasks import end_tasks
from chatbridge.hub.cluster.certificates import HubCertificate
from chatbridge.hub.cluster.member import _Member
from chatbridge.hub.cluster.passing import Passing
from chatbridge.hub.links.peers import Origin
from chatbridge.hub.process.lock import Lock
from chatbridge.hub.process.systemd import Systemd
from chatbridge.settings import settings_type
from chatbridge.store.postgres.connection import Address
from chatbridge.store.postgres.election import Candidate, Election
from chatbridge.store.postgres.lease import Look, Row

PATIENCE = 10.0


async def nowhere() -> asyncpg.Connection[Any]:
    raise OSError


async def fine(_: object) -> None: ...


async def status(uid: int) -> dict[str, Any]:
    return {}


class Heard:
    """The other end of a connection, which only listens."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.lines += [json.loads(line) for line in data.splitlines()]

    async def drain(self) -> None: ...

    def get_extra_info(self, name: str) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("turns", range(5))
async def test_a_held_connection_ends_though_news_come_in_the_same_turn(turns: int) -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    reader = asyncio.StreamReader()
    held = asyncio.ensure_future(passing._pass_on(b"", reader, None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for tell in election.on_change:
        tell()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await end_tasks([held])
    assert held.cancelled()


async def test_a_hub_whose_name_another_one_has_passes_nothing_on_and_says_why() -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    origin, ended, heard = Origin(pid=1, uid=1), asyncio.StreamReader(), Heard()
    held = asyncio.ensure_future(
        passing.serve({"chatbridge": "link"}, asyncio.StreamReader(), heard, origin)  # type: ignore[arg-type]
    )
    await asyncio.sleep(0)
    election.namesake = "set cluster.name"
    for tell in election.on_change:
        tell()
    async with asyncio.timeout(1):
        await held
    await passing.serve({"chatbridge": "link"}, ended, heard, origin)  # type: ignore[arg-type]
    ended.feed_data(b'{"do": "pending"}\n')
    ended.feed_eof()
    await passing.serve({"chatbridge": "terminal"}, ended, heard, origin)  # type: ignore[arg-type]
    refused = {"chatbridge": "refused", "message": "set cluster.name"}
    assert heard.lines == [refused, refused, {"error": "set cluster.name", "kind": "HubFollows"}]


async def test_what_is_held_is_told_when_a_hub_leads_to_which_nothing_can_be_passed_on() -> None:
    candidate = Candidate(id="a", name="hub-a", release="1")
    election = Election(nowhere, candidate, fine, now=lambda: 0.0)
    passing = Passing(election, HubCertificate.made("hub-a"), status)
    command, link, origin = asyncio.StreamReader(), Heard(), Origin(pid=1, uid=1)
    command.feed_data(b'{"do": "pending"}\n')
    asked = Heard()
    held = [
        asyncio.ensure_future(passing.serve({"chatbridge": kind}, reader, heard, origin))  # type: ignore[arg-type]
        for kind, reader, heard in (
            ("link", asyncio.StreamReader(), link),
            ("terminal", command, asked),
        )
    ]
    await asyncio.sleep(0)
    for beat in (1, 2):
        assert not held[0].done()
        row = Row(holder="b", epoch=1, beat=beat, name="hub-b")
        election._lease.answered(Look(), row, began=0.0, now=0.0)
        for tell in election.on_change:
            tell()
        for _ in range(10):
            await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await held[0]
        command.feed_eof()
        await held[1]
    assert "hub-b has no cluster.listen" in link.lines[0]["message"]
    assert "hub-b has no cluster.listen" in asked.lines[0]["error"]


@pytest.mark.parametrize("has_lasted", [False, True])
async def test_a_leader_that_cannot_be_reached_is_told_of_once_that_has_lasted(
    has_lasted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not know this hub yet will within a second."""
    module = "chatbridge.hub.cluster.passing"
    monkeypatch.setattr(f"{module}.TELL_AFTER_SECONDS", 0.0 if has_lasted else 60.0)
    monkeypatch.setattr(f"{module}.AGAIN_SECONDS", 0.01)
    tried = asyncio.Semaphore(0)

    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        tried.release()

    async with (
        await asyncio.start_server(refuse, "127.0.0.1", 0) as server,
        asyncio.timeout(PATIENCE),
    ):
        place = "{}:{}".format(*server.sockets[0].getsockname())
        candidate = Candidate(id="a", name="hub-a", release="1")
        election = Election(nowhere, candidate, fine, now=lambda: 0.0)
        theirs = HubCertificate.made("hub-b").pem
        election._lease.row = Row(
            holder="b", epoch=1, beat=1, name="b", address=place, certificate=theirs
        )
        passing = Passing(election, HubCertificate.made("hub-a"), status)
        held = asyncio.ensure_future(passing._pass_on(b"", asyncio.StreamReader(), None))  # type: ignore[arg-type]
        for _ in range(3):
            await tried.acquire()
        assert (passing.trouble is not None) is has_lasted
        await end_tasks([held])


async def test_who_goes_while_nobody_leads_is_held_no_more() -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    reader, origin = asyncio.StreamReader(), Origin(pid=1, uid=1)
    held = asyncio.ensure_future(
        passing.serve({"chatbridge": "link"}, reader, Heard(), origin)  # type: ignore[arg-type]
    )
    await asyncio.sleep(0)
    reader.feed_data(b'{"jsonrpc": "2.0"}\n')
    reader.feed_eof()
    async with an_http_port() as port, asyncio.timeout(PATIENCE):
        await held
        answers, agent = await asyncio.open_connection("127.0.0.1", port)
        agent.write(b"POST /mcp HTTP/1.1\r\n\r\n")
        agent.write_eof()
        assert await answers.read() == b""
        agent.close()
    assert passing.links() == []


@asynccontextmanager
async def an_http_port() -> AsyncIterator[int]:
    """Of a hub that follows, while nobody leads."""
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    passing = Passing(election, None, status)
    server = await asyncio.start_server(passing.http, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await passing.close()


async def test_who_says_nothing_makes_way_for_an_agent_and_not_the_other_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatbridge.hub.cluster.passing.MAX_CONNECTIONS", 3)
    monkeypatch.setattr("chatbridge.hub.cluster.passing.MAX_KNOWN", 2)
    async with an_http_port() as port, asyncio.timeout(PATIENCE):
        first, said = await asyncio.open_connection("127.0.0.1", port)
        said.write(b"POST /mcp HTTP/1.1\r\n")
        others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
        for reader, _ in others[:4]:
            assert await reader.read() == b""
        for reader in (first, *(reader for reader, _ in others[4:])):
            assert not reader.at_eof()
        for writer in (said, *(writer for _, writer in others)):
            writer.close()


async def test_who_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatbridge.hub.cluster.passing.REQUEST_SECONDS", 0.05)
    async with an_http_port() as port, asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()


async def test_a_user_sees_of_a_machines_hub_that_follows_only_their_own(tmp_path: Path) -> None:
    election = Election(nowhere, Candidate(id="a", name="hub-a", release="1"), fine)
    election.trouble = "the database on db.internal: the server cannot be reached"
    with socket.socket() as entrance:
        member = _Member(
            lock=Lock(str(tmp_path), started_by="service"),
            settings=settings_type()(),
            config=None,
            election=election,
            certificate=None,
            port=None,
            entrance=entrance,
            served_at=None,
            agents=None,
            address=Address("postgresql://db.internal/chatbridge"),
            path=str(tmp_path),
            system=True,
            http=None,
            systemd=Systemd(),
            since=0.0,
        )
    passing = member._passing = Passing(election, None, member._status)
    ada, ben, owner = os.getuid() + 1, os.getuid() + 2, os.getuid()
    link = {"chatbridge": "link", "root": "/home/ada/merger"}
    held = asyncio.ensure_future(
        passing.serve(link, asyncio.StreamReader(), Heard(), Origin(pid=1, uid=ada))  # type: ignore[arg-type]
    )
    await asyncio.sleep(0)
    for uid, sees, told in ((ada, 1, 0), (ben, 0, 0), (owner, 1, 1)):
        command, heard = asyncio.StreamReader(), Heard()
        command.feed_data(b'{"do": "status"}\n')
        command.feed_eof()
        origin = Origin(pid=2, uid=uid)
        await passing.serve({"chatbridge": "terminal"}, command, heard, origin)  # type: ignore[arg-type]
        said = heard.lines[0]["result"]
        assert (len(said["links"]), len(said["remarks"])) == (sees, told), uid
    await end_tasks([held])
