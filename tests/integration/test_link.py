"""A real link process between a client and a scripted hub: the rules of docs/link-protocol.md."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.fakes.link_client import LinkClient
from tests.fakes.scripted_hub import ScriptedHub, scripted_hub


def test_the_preface_says_who_the_link_is_and_keeps_secrets(
    state: str, hub: ScriptedHub, tmp_path: Path
) -> None:
    environment = {"CHATBRIDGE_STATE_DIR": state, "CHATBRIDGE_TELEGRAM__TOKEN": "123:secret"}
    words = ("--label", "night run", "--limit=3600")
    with LinkClient(environment, *words, cwd=tmp_path) as client:
        _, preface = hub.accept()
        assert preface["cwd"] == str(tmp_path)
        assert (preface["label"], preface["protocol"]) == ("night run", 1)
        assert preface["limit"] == 3600
        assert (preface["pid"], preface["parent"]) == (client.process.pid, os.getpid())
        assert preface["settings"] == {"CHATBRIDGE_TELEGRAM__TOKEN": "2c12cc3f273462db"}
        assert len(preface["link"]) == 32


@pytest.mark.parametrize(
    "words",
    [("--label=", "--limit", "60"), ("--limit=60", "--label", ""), ("--label=", "--limit=60")],
)
def test_an_empty_label_is_no_label(
    state: str, hub: ScriptedHub, tmp_path: Path, words: tuple[str, ...]
) -> None:
    environment = {"CHATBRIDGE_STATE_DIR": state, "CHATBRIDGE_LABEL": "of the environment"}
    with LinkClient(environment, *words, cwd=tmp_path):
        _, preface = hub.accept()
    assert (preface["label"], preface["limit"]) == (None, 60)


def test_a_bare_environment_is_enough_to_find_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="cb-") as home:
        monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", home)
        with (
            scripted_hub(os.path.realpath(f"{home}/.local/state/chatbridge")) as hub,
            LinkClient({"HOME": home}),
        ):
            assert hub.accept()[1]["chatbridge"] == "link"


def test_requests_and_responses_pass_in_both_directions(
    client: LinkClient, hub: ScriptedHub
) -> None:
    connection, _ = hub.accept()
    sent = client.request("a", "initialize", {"protocolVersion": "2025-11-25", "x": "ä\u2028"})
    received = connection.receive()
    assert received == sent
    connection.respond(received, {"serverInfo": {"name": "hub"}})
    assert client.receive()["result"] == {"serverInfo": {"name": "hub"}}


def test_a_large_answer_arrives_whole_at_a_slow_client(
    client: LinkClient, hub: ScriptedHub
) -> None:
    connection, _ = hub.accept()
    client.call(1)
    text = "x" * 3_000_000
    connection.respond(connection.receive(), {"text": text})
    assert client.receive()["result"]["text"] == text
    assert connection.receive() == {"chatbridge": "delivered", "request": 1}


def test_a_dead_hubs_open_calls_are_repeated_to_the_next_under_the_same_ids(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    connection, preface = hub.accept()
    initialize = client.request(0, "initialize")
    connection.respond(connection.receive(), {})
    client.receive()
    client.notify("notifications/initialized")
    connection.receive()
    calls = [client.call(1), client.call(2), client.call(3)]
    assert [connection.receive() for _ in calls] == calls
    client.cancel(2)
    connection.receive()
    hub.die()
    with scripted_hub(state) as successor:
        connection, again = successor.accept()
        assert again == preface
        assert connection.receive() == initialize
        connection.respond(initialize, {"second": True})
        assert connection.receive()["method"] == "notifications/initialized"
        assert [connection.receive(), connection.receive()] == [calls[0], calls[2]]
        assert connection.receive() == {"chatbridge": "resumed"}
        for call in calls:
            connection.respond(call, {"answer": call["id"]})
        assert [client.receive()["id"], client.receive()["id"]] == [1, 3]
        assert client.hears_nothing()


def test_what_the_client_says_while_no_hub_is_there_reaches_the_next(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    hub.accept()
    hub.die()
    calls = [client.call(1), client.call(2)]
    client.cancel(1)
    client.request(3, "ping")
    with scripted_hub(state) as successor:
        connection, _ = successor.accept()
        heard = [connection.receive()]
        while heard[-1].get("method") != "ping":  # part of it may come after the reconnect
            heard.append(connection.receive())
        assert calls[1] in heard


def test_two_identical_calls_are_two_calls(client: LinkClient, hub: ScriptedHub) -> None:
    connection, _ = hub.accept()
    client.call(1)
    client.call("1")
    first, second = connection.receive(), connection.receive()
    assert (first["id"], second["id"]) == (1, "1")
    connection.respond(second, {"to": "second"})
    connection.respond(first, {"to": "first"})
    assert [client.receive()["id"], client.receive()["id"]] == ["1", 1]


def test_delivered_is_repeated_until_a_hub_acknowledges_it(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    delivered = {"chatbridge": "delivered", "request": 1}
    connection, _ = hub.accept()
    client.call(1)
    connection.respond(connection.receive(), {})
    client.receive()
    assert connection.receive() == delivered
    hub.die()
    with scripted_hub(state) as second:
        connection, _ = second.accept()
        again = connection.receive()
        assert 0 <= again.pop("waited") < 60
        assert again == delivered
        connection.send({"chatbridge": "acknowledged", "request": 1})
        assert connection.receive() == {"chatbridge": "resumed"}
    with scripted_hub(state) as third:
        connection, _ = third.accept()
        assert connection.receive() == {"chatbridge": "resumed"}


def test_progress_rises_across_a_hub_restart(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    params = {"progressToken": "t", "progress": 3}
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    connection, _ = hub.accept()
    client.call(1, token="t")
    connection.receive()
    connection.send(progress)
    assert client.receive()["params"]["progress"] == 3
    hub.die()
    with scripted_hub(state) as successor:
        connection, _ = successor.accept()
        connection.send({**progress, "params": {**params, "progress": 1}})
        assert client.receive()["params"]["progress"] == 4


def test_an_elicitation_of_a_lost_hub_is_cancelled_and_answered_by_its_call(
    client: LinkClient, hub: ScriptedHub, state: str
) -> None:
    connection, _ = hub.accept()
    client.call(9)
    connection.receive()
    elicit = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "chatbridgeCall": 9}
    connection.send(elicit)
    first = client.receive()
    assert "chatbridgeCall" not in first
    hub.die()
    assert client.receive()["params"]["requestId"] == first["id"]
    with scripted_hub(state) as successor:
        connection, _ = successor.accept()
        assert connection.receive()["id"] == 9
        assert connection.receive() == {"chatbridge": "resumed"}
        connection.send(elicit)
        second = client.receive()
        assert second["id"] != first["id"]
        client.send({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "accept"}})
        reply = connection.receive()
        assert (reply["chatbridge"], reply["call"]) == ("reply", 9)
        assert reply["response"]["result"] == {"action": "accept"}
        client.send({"jsonrpc": "2.0", "id": second["id"], "result": {"action": "decline"}})
        assert connection.receive()["id"] == 1


def test_the_link_ends_with_its_client_and_says_its_last_words_first(
    client: LinkClient, hub: ScriptedHub
) -> None:
    connection, _ = hub.accept()
    client.call(1)
    client.close_input()
    assert client.exit_code() == 0
    assert connection.receive()["id"] == 1
    assert connection.is_closed()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_link_in_order(
    client: LinkClient, hub: ScriptedHub, number: signal.Signals
) -> None:
    connection, _ = hub.accept()
    client.process.send_signal(number)
    assert client.exit_code() == 0
    assert connection.is_closed()


def test_the_link_ends_when_nobody_reads_its_output(client: LinkClient, hub: ScriptedHub) -> None:
    connection, _ = hub.accept()
    assert client.process.stdout is not None
    client.process.stdout.close()
    assert client.exit_code() == 0
    assert connection.is_closed()
