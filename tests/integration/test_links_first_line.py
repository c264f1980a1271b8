"""What a link says of itself: no more than a line can hold, and nothing that forges another."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from chatbridge.hub.links import entrance
from tests.fakes.core_env import BLUE, OWNER, PATIENCE, world
from tests.fakes.link_server import Link, door

FORGED = "x\n2026-11-15 12:00:00 ERROR chatbridge: forged"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("link", FORGED),
        ("link", "a" * 65),
        ("link", "\ud800"),
        ("cwd", "/" * 5000),
        ("root", "/\ud800"),
        ("root", "/" * 5000),
        ("label", "x" * 5000),
        ("file", "#" * 5000),
        ("protocol", FORGED),
    ],
)
async def test_a_first_line_that_would_fill_or_forge_the_log_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as here:
        link = await Link.connect(tmp_path / "s", **{name: value})
        refusal = await link.hear()
        link.close()
        assert refusal["chatbridge"] == "refused"
        assert here.connected() == []
    assert all(len(line) < 300 and "\n" not in line for line in caplog.messages)


HOSTILE = [0, -1, True, 1.5, 10**400, -(10**400), float("nan"), "\udc80", "\0", "x" * 4096, [], {}]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize(
    "name",
    ["limit", "pid", "parent", "label", "cwd", "root", "file", "version", "settings", "client"],
)
async def test_a_link_that_is_let_in_can_ask(tmp_path: Path, name: str, value: object) -> None:
    """Whatever its first line says: it is refused before anything happens, or its calls work."""
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as here:
        link = await Link.connect(tmp_path / "s", **{name: value})
        if (await link.hear())["chatbridge"] == "hub":
            await link.ask(1)
            ask = await hub.until(lambda ask: ask.open)
            (connected,) = here.connected()
            assert connected["pid"] is None or 0 < connected["pid"] < 2**31
            await hub.inbox.answer(ask.id, BLUE, person=OWNER)
            assert "blue" in (await link.hear())["result"]["content"][0]["text"]
        link.close()


@pytest.mark.parametrize("seconds", [10**400, -(10**400), float("inf"), float("nan")])
async def test_no_age_of_a_call_ends_its_link(tmp_path: Path, seconds: float) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        link = await Link.connect(tmp_path / "s")
        await link.hear()
        link.say({"chatbridge": "age", "request": 1, "seconds": seconds})
        link.say({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert (await link.hear())["id"] == 2
        link.close()


async def test_what_a_link_says_of_itself_is_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "chatbridge")
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as here:
        given = {"cwd": f"/{FORGED}", "pid": FORGED, "version": FORGED * 9}
        link = await Link.connect(tmp_path / "s", **given)
        assert (await link.hear())["chatbridge"] == "hub"
        link.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await link.hear()
        (connected,) = here.connected()
        link.close()
    assert len(connected["version"]) <= 40
    assert connected["pid"] is None
    assert [line for line in caplog.messages if "opened" in line]
    assert not [line for line in caplog.messages if "\n" in line]


async def test_who_does_not_end_the_first_line_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrance, "PREFACE_WITHIN", 0.05)
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as here:
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
        writer.write(b'{"chatbridge": "link", ')
        refusal = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
        assert refusal["chatbridge"] == "refused"
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
        assert here.connected() == []


async def test_an_agent_that_comes_back_is_listed_before_it_calls(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        agents, came = hub.inbox.messages.agents, asyncio.Event()
        with agents.watched(came.set):
            link = await Link.connect(tmp_path / "s", client="codex")
            await asyncio.wait_for(came.wait(), PATIENCE)
        assert [each.agent.name for each in agents.listed()] == ["Codex"]
        link.close()
