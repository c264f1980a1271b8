"""Standalone: one process that ends when it should, shares nothing, and keeps its output clean."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.acceptance.bridge import PATIENCE, Home, Json, new_home, until
from tests.fakes.link_client import LinkClient
from tests.fakes.program import bare
from tests.fakes.warm_processes import warm_chatbridge

HANDSHAKE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "acceptance", "version": "1"},
}
QUESTION: Json = {"name": "ask_user", "arguments": {"question": "Still there?"}}


@contextmanager
def standalone(home: Home, name: str = "alone") -> Iterator[LinkClient]:
    with LinkClient(
        home.environment, "--standalone", cwd=home.project(name), program=warm_chatbridge()
    ) as client:
        client.request(0, "initialize", HANDSHAKE)
        assert client.receive()["id"] == 0
        client.notify("notifications/initialized")
        yield client


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home(cold=True) as found:
        yield found


@contextmanager
def event_stream(home: Home) -> Iterator[None]:
    """A browser that watches, and does not go away by itself."""
    address = urlsplit(home.person.address())
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {home.person.token}"}
    connection.request("GET", "/api/events", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    assert response.readline()
    try:
        yield
    finally:
        response.close()
        connection.close()


def test_it_ends_though_an_ask_is_open_and_a_browser_watches_and_the_next_one_has_the_ask(
    home: Home,
) -> None:
    seen = []
    for way in ("SIGTERM", "end of input"):
        with standalone(home) as client:
            client.request(1, "tools/call", QUESTION)
            seen.append(home.person.sees("Still there?", project="alone"))
            with event_stream(home):
                if way == "SIGTERM":
                    client.process.terminate()
                else:
                    client.close_input()
                assert client.exit_code() == 0
            with pytest.raises(EOFError):
                client.receive()  # not even an error for the open call: its ask stays open
        assert home.lock_holder() is None
    with standalone(home) as again:
        again.request(1, "tools/call", QUESTION)
        ask = home.person.sees("Still there?", project="alone")
        assert [ask["id"]] * 2 == [each["id"] for each in seen]
        home.person.answer(ask, {"values": ["yes"]})
        assert again.receive()["result"]["content"][0]["text"] == "User answered: yes"


def test_it_ends_if_the_input_ends_before_a_word_was_said(home: Home) -> None:
    with LinkClient(
        home.environment, "--standalone", cwd=home.project("alone"), program=warm_chatbridge()
    ) as client:
        client.close_input()
        assert client.exit_code() == 0
        with pytest.raises(EOFError):
            client.receive()


def test_a_second_one_or_a_hub_is_refused_by_name_and_the_first_goes_on(home: Home) -> None:
    with standalone(home) as client:
        client.request(1, "tools/call", QUESTION)
        ask = home.person.sees("Still there?", project="alone")
        first = f"pid {home.lock_holder()}"
        with standalone(home, "second") as second:
            second.write(b"[" * 5_000 + b"]" * 5_000 + b"\n")  # no request, and passed over
            refused = call(second, QUESTION)
            assert first in refused
            assert "CHATBRIDGE_STATE_DIR" in refused
            second.close_input()
            assert second.exit_code() == 0
        hub = subprocess.run(
            [*warm_chatbridge(), "hub"],
            capture_output=True,
            text=True,
            env=home.environment,
            cwd=home.folder,
            timeout=PATIENCE,
        )
        assert hub.returncode == 1
        assert first in hub.stderr
        home.person.answer(ask, {"values": ["yes"]})
        assert client.receive()["result"]["content"][0]["text"] == "User answered: yes"


def test_a_client_that_does_not_wait_is_told_what_is_wrong_with_the_configuration(
    home: Home, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("bogus = 1\n")
    words = ("--standalone", "--config", str(config))
    with LinkClient(home.environment, *words, program=warm_chatbridge()) as client:
        client.request(0, "initialize", HANDSHAKE)
        client.request(1, "tools/call", QUESTION)
        assert client.receive()["result"]["serverInfo"]["name"] == "chatbridge"
        assert "bogus is not a setting" in client.receive()["result"]["content"][0]["text"]


def test_one_beside_a_hub_is_refused_by_name_and_the_hub_goes_on() -> None:
    with new_home() as home, LinkClient(home.environment, cwd=home.project("linked")) as link:
        link.request(0, "initialize", HANDSHAKE)
        assert link.receive()["id"] == 0
        link.request(1, "tools/call", QUESTION)
        ask = home.person.sees("Still there?", project="linked")
        hub = home.lock_holder()
        with standalone(home) as second:
            refused = call(second, QUESTION)
            assert f"pid {hub}" in refused
        home.person.answer(ask, {"values": ["yes"]})
        assert link.receive()["result"]["content"][0]["text"] == "User answered: yes"
        assert home.lock_holder() == hub


def test_its_output_is_mcp_and_nothing_else_while_its_log_goes_to_standard_error(
    home: Home, tmp_path: Path
) -> None:
    """Its output is a plain file here, so that nothing of it can be missed."""
    asked = {"name": "ask_user", "arguments": {"question": "Later?", "wait": False}}
    messages: list[Json] = [
        {"id": 0, "method": "initialize", "params": HANDSHAKE},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list", "params": {}},
        {"id": 2, "method": "tools/call", "params": asked},
        {"id": 3, "method": "no/such/method", "params": {}},
        {"id": 4, "method": "tools/call", "params": {"name": "ask_user", "arguments": {}}},
    ]
    with standalone_process(home, tmp_path / "output") as process:
        assert process.stdin
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
        until(lambda: (tmp_path / "output").read_bytes().count(b"\n") >= 5 or None, "the answers")
        process.stdin.write(b"no message\n")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    lines = [json.loads(line) for line in (tmp_path / "output").read_bytes().splitlines()]
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert sorted(line["id"] for line in lines if line["id"] is not None) == [0, 1, 2, 3, 4]
    assert "WARNING" in (tmp_path / "errors").read_text()


@contextmanager
def standalone_process(home: Home, output: Path) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as out, (output.parent / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*warm_chatbridge(), "mcp", "--standalone"],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            env=home.environment,
            cwd=home.project("alone"),
        )
    try:
        yield process
    finally:
        assert process.stdin
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.kill()
        process.wait(PATIENCE)


def call(client: LinkClient, params: Json) -> str:
    """The text of a call that is answered with a tool error."""
    client.request(9, "tools/call", params)
    answer = client.receive()
    assert answer["id"] == 9
    assert answer["result"]["isError"]
    text = answer["result"]["content"][0]["text"]
    assert isinstance(text, str)
    return text


def test_it_ends_at_once_when_its_input_is_the_null_device(home: Home) -> None:
    ended = subprocess.run(
        [*warm_chatbridge(), "mcp", "--standalone"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=home.project("alone"),
        env=bare(home.environment),
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stdout) == (0, b""), ended.stderr


def test_a_client_whose_working_directory_has_been_removed_is_served_also_in_its_window(
    home: Home,
) -> None:
    folder = home.project("gone")
    with LinkClient(home.environment, "--standalone", cwd=folder) as client:
        shutil.rmtree(folder)
        client.request(0, "initialize", {**HANDSHAKE, "capabilities": {"elicitation": {}}})
        assert client.receive()["id"] == 0
        client.notify("notifications/initialized")
        asked = {"name": "question_ask", "arguments": {"question": "Which way?"}}
        client.request(1, "tools/call", asked)
        form = client.receive()
        assert form["method"] == "elicitation/create"
        assert form.keys() == {"jsonrpc", "id", "method", "params"}
        filled_in = {"action": "accept", "content": {"answer": "left"}}
        client.send({"jsonrpc": "2.0", "id": form["id"], "result": filled_in})
        assert client.receive()["result"]["structuredContent"]["answer"] == "left"
