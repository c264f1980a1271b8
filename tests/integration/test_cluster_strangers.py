"""The port where hubs pass agents on: nobody but a hub of the database gets a byte of an answer."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chatbridge.hub.cluster import port as hub_port
from chatbridge.hub.cluster.certificates import HubCertificate
from chatbridge.hub.cluster.port import ClusterPort, PassedOn
from chatbridge.hub.links.entrance import Json, Reader, Writer, encoded
from chatbridge.hub.links.peers import Origin
from chatbridge.store.postgres.election import Candidate, Election, KnownHub

PATIENCE = 10.0
FIRST = {"chatbridge": "terminal", "protocol": 1, "version": "1", "hub": "b"}


@dataclass
class Door:
    """The port of the hub that leads, and what has come through it."""

    port: int
    election: Election
    certificate: HubCertificate
    folder: Path
    came: list[tuple[Json, Origin]] = field(default_factory=list)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    """Until it is set, who came through stays."""

    def let_in(self, **certificates: HubCertificate) -> None:
        self.election.hubs = {
            name: KnownHub(name, each.pem, "[]") for name, each in certificates.items()
        }
        for tell in self.election.on_change:
            tell()

    def context(self, own: HubCertificate | None) -> ssl.SSLContext:
        """A stranger's: it trusts whoever answers."""
        if own is not None:
            return own.for_following(self.certificate.pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    async def connected(self, own: HubCertificate | None) -> tuple[Reader, Writer]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context(own), server_hostname=""
        )
        writer.write(encoded(FIRST))
        return reader, writer

    async def hears(self, own: HubCertificate | None) -> bytes:
        """All that a connection with this certificate hears."""
        try:
            reader, writer = await self.connected(own)
            async with asyncio.timeout(PATIENCE):
                heard = await reader.readline()
            writer.close()
        except (OSError, ssl.SSLError):
            return b""
        return heard


async def unused(*_: Any) -> Any:
    raise AssertionError("nothing is read from a database")


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path) as found:
        yield found


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Door]:
    certificate = HubCertificate.made("a", folder)
    candidate = Candidate(id="a", name="a", release="1", address="127.0.0.1:1")
    election = Election(unused, candidate, unused)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    port = ClusterPort(certificate, election)
    door = Door(listener.getsockname()[1], election, certificate, folder)

    async def link(preface: Json, reader: Reader, writer: Writer, origin: Origin) -> None:
        door.came.append((preface, origin))
        await door.leave.wait()

    async def http(reader: Reader, writer: Writer) -> None:
        raise AssertionError("nobody came over HTTP")

    port.taken = PassedOn(link, http)
    async with port.listening(listener):
        yield door


async def test_a_hub_of_the_database_is_known_by_its_certificate_and_not_by_what_it_says(
    door: Door, tmp_path: Path
) -> None:
    own = HubCertificate.made("b", tmp_path)
    door.let_in(**{"the real name": own})
    assert json.loads(await door.hears(own))["chatbridge"] == "leader"
    ((preface, origin),) = door.came
    assert preface == FIRST
    assert (origin.hub, origin.pid, origin.local) == ("the real name", 0, False)


async def test_a_stranger_hears_nothing(door: Door, tmp_path: Path) -> None:
    known, own = HubCertificate.made("b", tmp_path), HubCertificate.made("b", tmp_path)
    door.let_in(b=known)
    assert await door.hears(None) == b""
    assert await door.hears(own) == b""
    assert not door.came


async def test_a_certificate_that_was_replaced_opens_nothing_any_more(
    door: Door, tmp_path: Path
) -> None:
    old, new = HubCertificate.made("b", tmp_path), HubCertificate.made("b", tmp_path)
    door.let_in(b=old)
    assert await door.hears(old)
    door.let_in(b=new)
    assert await door.hears(old) == b""
    assert await door.hears(new)
    door.let_in()
    assert await door.hears(new) == b""
    assert len(door.came) == 2


async def test_what_a_hub_has_passed_on_ends_when_its_certificate_has_gone(
    door: Door, tmp_path: Path
) -> None:
    gone, stays = HubCertificate.made("b", tmp_path), HubCertificate.made("c", tmp_path)
    door.let_in(b=gone, c=stays)
    ended, goes_on = await door.connected(gone), await door.connected(stays)
    async with asyncio.timeout(PATIENCE):
        for reader, _ in (ended, goes_on):
            assert await reader.readline()
        door.let_in(c=stays)
        assert await ended[0].read() == b""
        door.leave.set()
        assert await goes_on[0].read() == b""
    for _, writer in (ended, goes_on):
        writer.close()


async def test_what_is_no_certificate_in_the_database_keeps_no_hub_out(
    door: Door, tmp_path: Path
) -> None:
    own = HubCertificate.made("b", tmp_path)
    door.election.hubs = {
        "b": KnownHub("b", own.pem, "[]"),
        "c": KnownHub("c", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
        "d": KnownHub("d", "", ""),
    }
    for tell in door.election.on_change:
        tell()
    assert await door.hears(own)


async def test_strangers_who_say_nothing_keep_no_hub_out(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_port, "MOST_STRANGERS", 3)
    own = HubCertificate.made("b", tmp_path)
    door.let_in(b=own)
    silent = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(5)]
    assert await door.hears(own)
    async with asyncio.timeout(PATIENCE):
        assert await silent[0][0].read() == b""  # the oldest had to make room
    for _, writer in silent:
        writer.close()


def test_no_key_is_left_in_a_file(tmp_path: Path) -> None:
    own = HubCertificate.made("b", tmp_path)
    own.for_leading([own.pem])
    own.for_following(own.pem)
    assert list(tmp_path.iterdir()) == []
