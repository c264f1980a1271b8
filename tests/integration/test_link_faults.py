"""A link lives through whatever its client or its hub throws at it, and says what was wrong."""

from __future__ import annotations

import os
import socket
import time

import pytest

from chatbridge import runtime_paths
from chatbridge.core.errors import SocketUnusable
from chatbridge.system import sockets
from tests.fakes.link_client import LinkClient
from tests.fakes.scripted_hub import Connection, ScriptedHub, scripted_hub


def assert_alive(client: LinkClient, connection: Connection) -> None:
    client.request("alive?", "ping")
    connection.respond(connection.receive(), {})
    assert client.receive()["id"] == "alive?"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"meth\n', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\x28"}\n', -32700),
        (b"\x00\x01\x02\n", -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
        (b'{"chatbridge":"delivered","request":1}\n', -32600),
    ],
)
def test_garbage_gets_a_clear_error_and_the_link_goes_on(
    client: LinkClient, hub: ScriptedHub, line: bytes, code: int
) -> None:
    connection, _ = hub.accept()
    client.write(b"\n\r\n" + line)
    assert client.receive()["error"]["code"] == code
    assert_alive(client, connection)


def test_a_line_of_50_megabytes_is_refused_by_its_id_and_not_held_in_memory(
    client: LinkClient, hub: ScriptedHub
) -> None:
    connection, _ = hub.accept()
    client.write(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"x":"')
    for _ in range(50):
        client.write(b"x" * 1_000_000)
    client.write(b'"}}\n')
    refused = client.receive()
    assert (refused["id"], refused["error"]["code"]) == (77, -32600)
    assert "4 MiB" in refused["error"]["message"]
    assert_alive(client, connection)
    with open(f"/proc/{client.process.pid}/status", encoding="ascii") as file:
        peak = next(line for line in file if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 40_000


def test_a_hub_that_cuts_the_link_off_at_once_is_not_called_without_a_pause(
    client: LinkClient, hub: ScriptedHub
) -> None:
    began = time.monotonic()
    for _ in range(4):
        connection, _ = hub.accept()
        connection.close()
    hub.accept()
    assert time.monotonic() - began > 4 * 0.2


def test_garbage_of_the_hub_does_not_reach_the_client(client: LinkClient, hub: ScriptedHub) -> None:
    connection, _ = hub.accept()
    connection.send({"chatbridge": "something new"}, {"jsonrpc": "2.0", "id": 9, "result": {}})
    connection._socket.sendall(b"no json\n[1]\n")
    assert_alive(client, connection)


def test_a_refusal_becomes_the_answer_to_every_request(
    client: LinkClient, hub: ScriptedHub
) -> None:
    client.request(0, "initialize", {"protocolVersion": "2025-06-18"})
    connection, _ = hub.accept(greet=False)
    connection.send({"chatbridge": "refused", "message": "this link is too old: restart the agent"})
    connection.close()
    assert client.receive()["result"]["protocolVersion"] == "2025-06-18"
    client.call(1)
    connection, _ = hub.accept(greet=False)
    connection.send({"chatbridge": "refused", "message": "this link is too old: restart the agent"})
    result = client.receive()["result"]
    assert result["isError"]
    assert result["content"][0]["text"] == "this link is too old: restart the agent"


def test_after_a_refusal_a_working_hub_is_told_everything_and_the_client_lists_again(
    client: LinkClient, hub: ScriptedHub
) -> None:
    initialize = client.request(0, "initialize")
    client.request(1, "tools/list")
    connection, _ = hub.accept(greet=False)
    connection.send({"chatbridge": "refused", "message": "not now"})
    connection.close()
    assert client.receive()["id"] == 0
    assert [tool["name"] for tool in client.receive()["result"]["tools"]] == ["ask_user"]
    call = client.call(2)
    connection, _ = hub.accept()
    assert client.receive()["method"] == "notifications/tools/list_changed"
    assert [connection.receive(), connection.receive()] == [initialize, call]


def test_a_connection_that_closes_before_the_greeting_is_tried_again(
    client: LinkClient, hub: ScriptedHub
) -> None:
    call = client.call(1)
    for _ in range(3):
        connection, _ = hub.accept(greet=False)
        connection.close()
    connection, _ = hub.accept()
    assert connection.receive() == call


def test_a_hub_of_a_newer_version_is_served_if_it_greets(
    client: LinkClient, hub: ScriptedHub
) -> None:
    connection, _ = hub.accept(greet=False)
    connection.send({"chatbridge": "hub", "protocol": 2, "version": "9.0", "pid": 1, "new": True})
    assert_alive(client, connection)


def test_answers_that_a_dying_hub_still_wrote_are_not_asked_for_again(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    connection, _ = hub.accept()
    client.call(1)
    connection.respond(connection.receive(), {"last": "words"})
    hub.die()
    assert client.receive()["result"] == {"last": "words"}
    with scripted_hub(state) as successor:
        connection, _ = successor.accept()
        delivered = connection.receive()
        assert 0 <= delivered.pop("waited") < 60
        assert delivered == {"chatbridge": "delivered", "request": 1}
        assert connection.receive() == {"chatbridge": "resumed"}


@pytest.mark.parametrize("subscribed", [False, True])
def test_a_hub_that_was_told_to_stop_is_not_brought_back_for_nobody(
    client: LinkClient, hub: ScriptedHub, state: str, subscribed: bool
) -> None:
    connection, _ = hub.accept()
    if subscribed:
        client.request(1, "subscriptions/listen")
        connection.receive()
    connection.send({"chatbridge": "stopping"})
    hub.die()
    assert client.hears_nothing(1.5)
    assert not os.path.exists(runtime_paths.log_path(state)), "a hub was started"
    with scripted_hub(state) as successor:
        successor.accept()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can listen as another user")
def test_nothing_is_said_to_a_socket_of_another_user(state: str) -> None:
    path = f"{state}/foreign.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)  # the peer that a client sees is the process that called listen()
        listener.listen()
        os.write(writing, b".")
        connection, _ = listener.accept()
        os.write(writing, connection.recv(100) + b"!")
        os._exit(0)
    os.read(reading, 1)
    with pytest.raises(SocketUnusable, match="belongs to another user"):
        sockets.connect(path)
    assert os.read(reading, 100) == b"!"
    os.waitpid(child, 0)
    listener.close()
