"""A command's side of its connection, where the other side is not what it should be."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from chatbridge.cli.hub.hub_client import HubClient
from chatbridge.core.errors import HubRefused, HubUnreachable

UNREADABLE = [b"what?", b"[1]", b"null", b"\xff", b"[" * 100_000]


@pytest.fixture
def ends() -> Iterator[tuple[HubClient, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield HubClient(ours), theirs


@pytest.mark.parametrize("line", UNREADABLE)
def test_a_greeting_that_cannot_be_read_is_a_sentence_with_what_to_do(
    ends: tuple[HubClient, socket.socket], line: bytes
) -> None:
    hub, other = ends
    other.sendall(line + b"\n")
    with pytest.raises(HubUnreachable, match=r"cannot be read. .* chatbridge doctor"):
        hub.greet()


@pytest.mark.parametrize("line", [*UNREADABLE, b"{}", b'{"result": [1]}', b'{"event": {}}'])
def test_a_reply_that_cannot_be_read_is_a_sentence_with_what_to_do(
    ends: tuple[HubClient, socket.socket], line: bytes
) -> None:
    hub, other = ends
    other.sendall(line + b"\n")
    with pytest.raises(HubUnreachable, match="cannot be read"):
        hub.ask("status")


def test_what_the_hub_refuses_is_in_its_own_words(ends: tuple[HubClient, socket.socket]) -> None:
    hub, other = ends
    other.sendall(b'{"error": "not here", "kind": "NotHere"}\n')
    with pytest.raises(HubRefused, match="not here") as refused:
        hub.ask("answer")
    assert refused.value.kind == "NotHere"


def test_a_hub_of_0_1_0_that_knows_less_is_restarted_and_not_stopped(
    ends: tuple[HubClient, socket.socket],
) -> None:
    """Stopped, its service would be off, and links whose Python has gone would give up."""
    hub, other = ends
    other.sendall(
        b'{"error": "this hub does not know \'agents\': it is another version than this command. '
        b'Run: chatbridge stop, and try again", "kind": "ChatbridgeError"}\n'
    )
    with pytest.raises(HubRefused, match="Run: chatbridge restart, and try again"):
        hub.ask("agents")


def test_what_is_longer_than_a_line_may_be_is_not_sent(
    ends: tuple[HubClient, socket.socket],
) -> None:
    hub, other = ends
    with pytest.raises(HubRefused, match="too long"):
        hub.ask("answer", words=["x" * 5_000_000])
    other.setblocking(False)
    with pytest.raises(BlockingIOError):
        other.recv(1)
