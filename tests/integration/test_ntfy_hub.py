"""ntfy in a hub's process: its name where people read it, and its secrets nowhere."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.fakes.machine import House, house
from tests.fakes.ntfy_server import NtfyServer

TOKEN, TOPIC, ANSWERS = "tk_0123456789abcdef", "agents-x7Kq2mPz", "replies-9wTz4hLc"


@pytest.fixture
def server() -> Iterator[NtfyServer]:
    with NtfyServer.running() as found:
        found.rights = {TOKEN: {TOPIC: "w", ANSWERS: "r"}, "": {ANSWERS: "w"}}
        yield found


@pytest.fixture
def home(server: NtfyServer) -> Iterator[House]:
    with house(
        CHATBRIDGE_NTFY__SERVER=server.address,
        CHATBRIDGE_NTFY__TOPIC=TOPIC,
        CHATBRIDGE_NTFY__TOKEN=TOKEN,
        CHATBRIDGE_NTFY__ANSWERS="true",
        CHATBRIDGE_NTFY__ANSWER_TOPIC=ANSWERS,
        CHATBRIDGE_LOG_LEVEL="debug",
    ) as found:
        yield found


def test_a_tap_answers_an_agent_and_no_secret_is_left_anywhere(
    home: House, server: NtfyServer
) -> None:
    phone = server.phone(TOPIC)
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        ring = phone.sees("Which colour?")
        phone.tap(ring, "blue")
        assert agent.result()["answers"][0]["values"] == ["blue"]
        phone.until_empty()
        said = [home.run("doctor", "--json").stdout, home.run("status").stdout]
        assert "takes answers, never approvals" in said[0]
        (told,) = [it for it in json.loads(said[0])["checks"] if it["name"] == "ntfy"]
        assert told["result"] == "ok"
        assert "ntfy" in said[1]
        server.rights, before = {"": {}}, len(server.requests)
        agent.ask(2, {"questions": [{"question": "And now?", "type": "text"}]})
        server.wait(lambda: any(it.startswith("POST /?") for it in server.requests[before:]))
        said += [home.run(*words).stdout for words in (("doctor",), ("status",))]
        assert "does not accept the token" in said[2]
        home.until_gone(home.kill_hub(signal.SIGTERM))
    (body,) = {action["body"] for action in ring["actions"] if action["label"] == "blue"}
    files = [it for it in home.state.rglob("*") if it.is_file() and ".db" not in it.name]
    kept = [it.read_bytes().decode(errors="replace") for it in files]
    assert any("does not accept the token" in text for text in kept), "the log"
    for secret in (TOKEN, TOPIC, ANSWERS, body.partition(" ")[2]):
        assert not [text for text in (*said, *kept) if secret in text]
    assert "Ntfy" not in "".join((*said, *kept))
