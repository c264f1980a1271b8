"""The hub's door: who may connect, and what others get."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from chatbridge.core.errors import StoreError
from chatbridge.core.model import Status
from chatbridge.hub.wiring.serving import digests
from chatbridge.link.preface import build_preface
from chatbridge.settings import load
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.call import ToolCall
from tests.fakes.core_env import BLUE, OWNER, world
from tests.fakes.link_server import Link, call_of, door

STRANGER = 65534
STRANGERS_VISIT = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(20)
sock.connect(sys.argv[1])
sock.sendall(b'{"chatbridge":"link","protocol":1,"link":"x"}\\n')
sys.stdout.buffer.write(sock.recv(4096))
"""


async def full_disk(_: object) -> None:
    raise StoreError("the disk is full")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
async def test_a_process_of_another_user_is_turned_away_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = Path("/tmp") / f"cb-{os.getpid()}.sock"  # where a stranger can reach it
    try:
        async with world(tmp_path) as hub, door(hub, path):
            visit = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", STRANGERS_VISIT, str(path), str(STRANGER)],
                capture_output=True,
            )
            assert visit.stdout == b"", visit.stderr
            assert f"uid {STRANGER}" in caplog.text
    finally:
        path.unlink()


async def test_a_link_of_another_protocol_is_told_what_to_do(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s", protocol=2, version="9.0")
        refusal = await link.hear()
        assert refusal["chatbridge"] == "refused"
        assert "chatbridge restart" in refusal["message"]
        link.close()


async def test_a_link_with_more_to_say_than_this_hub_knows_is_served(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s", colour="green", settings={})
        assert (await link.hear())["chatbridge"] == "hub"
        link.say({"chatbridge": "from the future"})
        await link.ask(1)
        await hub.until(lambda ask: ask.open)
        link.close()


async def test_a_client_whose_entry_names_its_limit_gets_a_ticket_before_it(tmp_path: Path) -> None:
    """Whatever is known of that client: its owner has changed it."""
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s", limit=100)
        await link.hear()
        await link.ask(1)
        await asyncio.wait_for(hub.clock.until_asleep(85.0), 20)
        hub.clock.advance(85)
        ticket = await link.hear()
        assert "still open" in ticket["result"]["content"][0]["text"]
        link.close()


@pytest.mark.parametrize("limit", [0, -1, True, "60", 1.5, [60], 10**12, 10**400])
async def test_a_limit_that_is_no_number_of_seconds_is_refused(
    tmp_path: Path, limit: object
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s", limit=limit)
        assert "limit" in (await link.hear())["message"]
        link.close()


async def test_a_link_started_with_other_settings_is_named_to_the_owner_without_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    settings = {"CHATBRIDGE_STORE": "same"}
    async with (
        world(tmp_path) as hub,
        door(hub, tmp_path / "s", told=told, settings=settings) as links,
    ):
        theirs = {"CHATBRIDGE_STORE": "same", "CHATBRIDGE_TELEGRAM__TOKEN": "0123456789abcdef"}
        link = await Link.connect(tmp_path / "s", settings=theirs)
        await link.hear()
        await link.ask(1)
        await hub.until(lambda ask: ask.open)
        (remark,) = links.remarks()
        assert remark.startswith("The agent in \u2068/\u2069 was started with settings")
        assert told == [remark]
        link.close()
    assert "settings that this hub does not use: CHATBRIDGE_TELEGRAM__TOKEN." in caplog.text
    assert "0123456789abcdef" not in caplog.text


async def test_an_agent_cannot_speak_in_chatbridges_name_through_settings_that_it_makes_up(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    async with world(tmp_path) as hub, door(hub, tmp_path / "s", told=told) as links:
        forged = {"nothing.\nYour token has expired: send it to @evil_bot": "1"}
        for theirs in (forged, {**forged, "CHATBRIDGE_STORE": "other"}):
            link = await Link.connect(tmp_path / "s", settings=theirs)
            await link.hear()
            await link.ask(1)
            await hub.until(lambda ask: ask.open)
            heard = links.remarks()
            link.close()
        assert [("evil" in remark, "STORE" in remark) for remark in told] == [(False, True)]
        assert heard == told


@pytest.mark.parametrize("spelt", ["987654321", "[987654321]", "1, 2", "[1, 2, 2]"])
def test_an_agent_that_started_its_hub_is_not_said_to_have_other_settings(
    monkeypatch: pytest.MonkeyPatch, spelt: str
) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__CHAT_ID", spelt)
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", " 123456:abcdefghijkl ")
    theirs = build_preface(None)["settings"]
    assert digests(load(Path("/nowhere/config.toml"))) == theirs


async def test_a_call_cancelled_while_no_hub_was_there_has_no_caller_after_the_return(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        await links.close()  # as a hub that dies does: nothing is said of the calls
        link.close()
    async with world(tmp_path, hub.clock) as after, door(after, tmp_path / "t"):
        link = await Link.connect(tmp_path / "t")
        await link.hear()
        link.say({"chatbridge": "resumed"})
        orphaned = await after.until(lambda seen: seen.id == ask.id)
        assert orphaned.orphaned_since is not None
        kept = await after.inbox.answer(ask.id, BLUE, person=OWNER)
        assert kept.status is Status.ANSWERED
        assert kept.kept
        link.close()


async def test_a_confirmation_that_cannot_be_stored_is_taken_at_the_links_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        answered = await hub.until(lambda ask: ask.open)
        link.say(call_of(2, question="And why?"))
        waiting = await hub.until(lambda ask: ask.open and ask.id != answered.id)
        await hub.inbox.answer(answered.id, BLUE, person=OWNER)
        assert (await link.hear())["id"] == 1
        with monkeypatch.context() as broken:
            broken.setattr(hub.store, "write", full_disk)
            link.say({"chatbridge": "delivered", "request": 1})
            assert await link.hear() == {}, "the other call was answered"
        link.close()
        again = await Link.connect(tmp_path / "s")
        await again.hear()
        again.say({"chatbridge": "delivered", "request": 1})
        assert await again.hear() == {"chatbridge": "acknowledged", "request": 1}
        assert (await hub.now(answered)).delivered_at is not None
        assert (await hub.now(waiting)).open
        again.close()


async def test_a_link_that_never_reads_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    async with world(tmp_path, withdraw_on_cancel=True) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        suspended = await Link.connect(tmp_path / "s", link="b" * 32)
        await suspended.hear()
        await suspended.ask(1)
        unread = {"jsonrpc": "2.0", "method": "tools/list", "params": {}}
        suspended.say(*({**unread, "id": i} for i in range(2, 200)), call_of(200, question="Why?"))
        await hub.until(lambda seen: seen.questions[0].text == "Why?")
        async with asyncio.timeout(20):
            await links.close()
        assert await link.hear() == {"chatbridge": "stopping"}
        assert (await hub.now(ask)).open, "a stop withdrew the question"
        while await suspended.hear():
            pass  # it reads on at last, so that the hub's end of it can close
        link.close()
        suspended.close()


async def test_a_stopping_hub_says_so_and_answers_no_open_call(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        await links.close()
        assert await link.hear() == {"chatbridge": "stopping"}
        assert await link.hear() == {}
        assert (await hub.now(ask)).orphaned_since is None
        link.close()


async def test_an_answer_that_its_failing_tool_did_not_tell_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(AskUser):
        async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
            await super().run(arguments, call)
            raise RuntimeError("a mistake of ours")

    async with world(tmp_path) as hub, door(hub, tmp_path / "s", tool=Broken):
        link = await Link.connect(tmp_path / "s")
        await link.ask(1)
        ask = await hub.until(lambda ask: ask.open)
        await hub.inbox.answer(ask.id, BLUE, person=OWNER)
        while (response := await link.hear()).get("id") != 1:
            pass
        assert response["result"]["isError"]
        link.say({"chatbridge": "delivered", "request": 1})
        kept = await hub.until(lambda ask: ask.kept)
        assert kept.delivered_at is None
        link.close()
    assert "a mistake of ours" in caplog.text
