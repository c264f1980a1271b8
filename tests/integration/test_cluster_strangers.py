"""The port where hubs pass agents on: nobody but a hub of the database gets a byte of an answer."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import re
import resource
import socket
import ssl
import struct
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from chatbridge.core.tasks import race
from chatbridge.hub.cluster import port as hub_port
from chatbridge.hub.cluster.certificates import HubCertificate
from chatbridge.hub.cluster.passing import LEFT, Passing
from chatbridge.hub.cluster.port import ClusterPort, PassedOn
from chatbridge.hub.links.entrance import Json, Reader, Writer, encoded
from chatbridge.hub.links.peers import Origin
from chatbridge.store.postgres.election import Candidate, Election, KnownHub
from chatbridge.store.postgres.lease import Row

PATIENCE = 10.0
FIRST = {"chatbridge": "terminal", "protocol": 1, "version": "1", "hub": "b"}


@dataclass
class Door:
    """The port of the hub that leads, and what has come through it."""

    number: int
    port: ClusterPort
    election: Election
    certificate: HubCertificate
    came: list[tuple[Json, Origin]] = field(default_factory=list)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    """Until it is set, who came through stays."""
    heard: bytes = b""
    """All that somebody said before they went."""

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
            "127.0.0.1", self.number, ssl=self.context(own), server_hostname=""
        )
        writer.write(encoded(FIRST))
        return reader, writer

    async def hears(self, own: HubCertificate | None) -> bytes:
        """All that a connection with this certificate hears."""
        try:
            reader, writer = await self.connected(own)
        except OSError:
            return b""
        try:
            async with asyncio.timeout(PATIENCE):
                return await reader.readline()
        except OSError:
            return b""
        finally:
            writer.close()
            with suppress(OSError):  # of how it ends
                await writer.wait_closed()


async def unused(*_: Any) -> Any:
    raise AssertionError("nothing is read from a database")


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    """Nothing is left of it: encrypted connections take a while to end."""
    before = open_descriptors()
    certificate = HubCertificate.made("a")
    candidate = Candidate(id="a", name="a", release="1", address="127.0.0.1:1")
    election = Election(unused, candidate, unused)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    port = ClusterPort(certificate, election)
    door = Door(listener.getsockname()[1], port, election, certificate)

    async def link(preface: Json, reader: Reader, writer: Writer, origin: Origin) -> None:
        door.came.append((preface, origin))
        door.entered.set()
        door.heard += await race(reader.read(), door.leave.wait()) or b""

    async def http(reader: Reader, writer: Writer) -> None:
        raise AssertionError("nobody came over HTTP")

    port.taken = PassedOn(link, http)
    async with port.listening(listener):
        yield door
    async with asyncio.timeout(PATIENCE):
        while open_descriptors() > before:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


async def test_a_hub_of_the_database_is_known_by_its_certificate_and_not_by_what_it_says(
    door: Door,
) -> None:
    own = HubCertificate.made("b")
    door.let_in(**{"the real name": own})
    assert json.loads(await door.hears(own))["chatbridge"] == "leader"
    ((preface, origin),) = door.came
    assert preface == FIRST
    assert (origin.hub, origin.pid, origin.local) == ("the real name", 0, False)


async def test_a_stranger_hears_nothing(door: Door) -> None:
    known, own = HubCertificate.made("b"), HubCertificate.made("b")
    door.let_in(b=known)
    assert await door.hears(None) == b""
    assert await door.hears(own) == b""
    assert not door.came


async def test_a_certificate_that_was_replaced_opens_nothing_any_more(door: Door) -> None:
    old, new = HubCertificate.made("b"), HubCertificate.made("b")
    door.let_in(b=old)
    assert await door.hears(old)
    door.let_in(b=new)
    assert await door.hears(old) == b""
    assert await door.hears(new)
    door.let_in()
    assert await door.hears(new) == b""
    assert len(door.came) == 2


async def test_what_a_hub_has_passed_on_ends_when_its_certificate_has_gone(door: Door) -> None:
    gone, stays = HubCertificate.made("b"), HubCertificate.made("c")
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


async def test_what_is_no_certificate_in_the_database_keeps_no_hub_out(door: Door) -> None:
    own = HubCertificate.made("b")
    door.election.hubs = {
        "b": KnownHub("b", own.pem, "[]"),
        "c": KnownHub("c", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
        "d": KnownHub("d", "", ""),
    }
    for tell in door.election.on_change:
        tell()
    assert await door.hears(own)


async def test_strangers_who_say_nothing_keep_no_hub_out(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_port, "MOST_STRANGERS", 3)
    own = HubCertificate.made("b")
    door.let_in(b=own)
    silent = [await asyncio.open_connection("127.0.0.1", door.number) for _ in range(5)]
    assert await door.hears(own)
    async with asyncio.timeout(PATIENCE):
        assert await silent[0][0].read() == b""  # the oldest had to make room
    for _, writer in silent:
        writer.close()


async def test_strangers_who_come_in_the_same_moment_make_room_and_are_hung_up_on(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_port, "MOST_STRANGERS", 1)
    own = HubCertificate.made("b")
    door.let_in(b=own)
    with ExitStack() as stack:
        address = ("127.0.0.1", door.number)
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(9)]
        assert await door.hears(own)
        for each in silent:
            each.settimeout(PATIENCE)
            assert await asyncio.to_thread(each.recv, 1) == b""


@pytest.mark.parametrize(
    ("parts", "passed"),
    [
        ([(0.0, b"first ")], b"first last"),
        (
            [(0.0, b"one\n"), (4.0, b"two\nthr"), (6.0, b"ee\nfour\n"), (14.5, b"five ")],
            b"HELD 16\none\nHELD 12\ntwo\nthree\nfour\nHELD 1.5\nHELD 0\nfive last",
        ),
    ],
)
async def test_what_was_said_while_nobody_led_is_passed_on_before_the_rest_with_its_age(
    door: Door, parts: list[tuple[float, bytes]], passed: bytes
) -> None:
    now = 0.0
    own = HubCertificate.made("b")
    door.let_in(b=own)
    candidate = Candidate(id="b", name="b", release="1")
    follows = Election(unused, candidate, unused, now=lambda: 0.0)
    passing = Passing(follows, own, unused, monotonic=lambda: now)
    link, ours = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    origin = Origin(pid=1, uid=1)
    held = asyncio.ensure_future(passing.serve({"chatbridge": "link"}, reader, writer, origin))
    for at, part in parts:
        now = at
        link.sendall(part)
        for _ in range(100_000):
            if fcntl.ioctl(ours, termios.FIONREAD, bytes(4)) == bytes(4):
                break
            await asyncio.sleep(0)
        for _ in range(10):  # turns of the loop, in which what was read is taken
            await asyncio.sleep(0)
    now = 16.0 if len(parts) > 1 else 0.9
    door.election._lease.epoch = 1
    follows._lease.row = Row(
        holder="a",
        epoch=1,
        beat=1,
        address=f"127.0.0.1:{door.number}",
        certificate=door.certificate.pem,
    )
    for tell in follows.on_change:
        tell()
    async with asyncio.timeout(PATIENCE):
        await door.entered.wait()
        (serving,) = door.port._known
        link.sendall(b"last")
        link.close()
        await held
        await asyncio.wait({serving})
    writer.close()
    assert door.heard.endswith(encoded(LEFT))  # the link, and not the hub that passed it on
    heard = re.sub(
        rb'{"chatbridge": "held", "seconds": ([0-9.]+?)(?:\.0)?}', rb"HELD \1", door.heard
    )
    assert heard.removesuffix(encoded(LEFT)) == passed


@contextmanager
def at_most(of: int, soft: int) -> Iterator[None]:
    before = resource.getrlimit(of)
    resource.setrlimit(of, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(of, before)


@contextmanager
def descriptors_left(number: int) -> Iterator[None]:
    with at_most(resource.RLIMIT_NOFILE, 512), ExitStack() as stack:
        used = []
        with suppress(OSError):
            while True:
                used.append(os.dup(0))
        for each in used[:number]:
            os.close(each)
        for each in used[number:]:
            stack.callback(os.close, each)
        yield


async def test_a_full_disk_keeps_no_hub_out_and_no_key_is_written_to_it(door: Door) -> None:
    own = HubCertificate.made("b")
    with at_most(resource.RLIMIT_FSIZE, 0):
        door.let_in(b=own)
        assert await door.hears(own)


async def test_who_cannot_be_let_in_for_want_of_descriptors_is_let_in_later(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    own = HubCertificate.made("b")
    with descriptors_left(2):  # for both ends of the connection
        door.let_in(b=own)
        with socket.create_connection(("127.0.0.1", door.number)) as line:
            line.setblocking(False)
            async with asyncio.timeout(PATIENCE):
                assert await asyncio.get_running_loop().sock_recv(line, 1) == b""
    assert "Too many open files" in caplog.text
    assert await door.hears(own)


async def test_a_connection_that_breaks_off_is_not_called_refused(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    own = HubCertificate.made("b")
    door.let_in(**{"hub-b": own})
    reader, writer = await door.connected(own)
    async with asyncio.timeout(PATIENCE):
        assert await reader.readline()
        (serving,) = door.port._known
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await asyncio.wait({serving})
    assert "a connection that hub-b passed on ended: " in caplog.text
    assert "refused" not in caplog.text
