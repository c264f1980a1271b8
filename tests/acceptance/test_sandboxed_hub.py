"""A hub that an agent has started inside its sandbox: no chat can be reached for anybody, and who
could mend it is told so. Real network namespaces."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.hub.process.confinement import ANOTHER, SANDBOXED
from tests.acceptance.bridge import until
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import COLOURS, Agent, House, house
from tests.fakes.network import no_namespaces
from tests.fakes.warm_processes import warm_chatbridge

pytestmark = pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces() or "")

TELEGRAM = {
    "CHATBRIDGE_TELEGRAM__TOKEN": f"{os.getpid()}:not-a-real-token-not-a-real-token-00",
    "CHATBRIDGE_TELEGRAM__ALLOWED_USERS": "7",
    "CHATBRIDGE_TELEGRAM__API_BASE": "http://192.0.2.1",
    "CHATBRIDGE_MAX_BLOCK": "1s",
}


@pytest.fixture
def here() -> Iterator[House]:
    """Its hubs are where their agents are; commands may be forks."""
    with house(cold=True, **TELEGRAM) as found:
        found.chatbridge = warm_chatbridge()
        yield found


def delivery(agent: Agent, ask_id: str) -> str:
    """What a ticket says of where the question was seen, once the hub knows."""
    deadline = time.monotonic() + PATIENCE
    number = 0
    while time.monotonic() < deadline:
        number += 1
        call = {"name": "wait_for_answer", "arguments": {"askId": ask_id}}
        agent.request(f"wait-{number}", "tools/call", call)
        if found := agent.result().get("delivery"):
            return str(found)
    raise AssertionError("nothing was said of its delivery")


def test_the_result_the_log_and_doctor_say_that_the_hub_is_in_a_sandbox(here: House) -> None:
    with here.agent(within=["unshare", "--net"]) as agent:
        agent.initialize()
        agent.ask(1, {**COLOURS, "wait": False})
        said = delivery(agent, agent.result()["askId"])
        assert said.startswith("Nobody could be reached. ")
        assert f"{SANDBOXED}: it has no network but loopback" in said
        assert "chatbridge service install" in said
        log = Path(here.state / "hub.log").read_text(encoding="utf-8")
        assert SANDBOXED in log
        checks = json.loads(here.run("doctor", "--json").stdout)["checks"]
        found = [check for check in checks if check["what"].startswith(SANDBOXED)]
        assert [(check["name"], check["result"]) for check in found] == [("hub", "problem")]
        assert "chatbridge service install" in found[0]["fix"][0]


@pytest.mark.skipif(shutil.which("ip") is None, reason="there is no program ip")
def test_doctor_sees_from_outside_that_the_hub_has_another_network(here: House) -> None:
    """The hub itself may not be able to tell: it has more than loopback there."""
    wired = 'ip link add v0 type veth peer name v1 && exec "$@"'
    with here.agent(within=["unshare", "--net", "sh", "-c", wired, "sh"]) as agent:
        agent.initialize()
        until(lambda: troubled(here) or None, "Telegram to be tried", every=0.2)
        checks = json.loads(here.run("doctor", "--json").stdout)["checks"]
    found = [check for check in checks if check["what"].startswith(SANDBOXED)]
    assert [(check["name"], check["result"]) for check in found] == [("hub", "problem")]
    assert found[0]["what"].endswith(ANOTHER)


def troubled(here: House) -> bool:
    channels = json.loads(here.run("status", "--json").stdout)["channels"]
    return any(each["trouble"] for each in channels if each["name"] == "telegram")
