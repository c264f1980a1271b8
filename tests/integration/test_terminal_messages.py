"""Messages to agents at the hub's socket: a person's commands, and what clients' hooks collect."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.errors import ChatbridgeError, MessageRefused, NoSuchAgent
from chatbridge.core.messages.message import MessageState
from chatbridge.hub.control.messages import CONFIRM_WITHIN_SECONDS, NOT_A_PERSON, SWITCHED_OFF
from chatbridge.projects import project_of_user
from tests.fakes.core_env import OWNER, PATIENCE
from tests.fakes.message_desk import CLAUDE, LARGEST, Json, desk

ALICE, BOB = 61001, 61002


# ── a person's commands ───────────────────────────────────────────────────────────────────────────


async def test_a_message_is_stored_for_the_agent_and_listed_until_it_is_taken_back(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        told = await here.tell("Use tabs")
        assert told["said"] == "shop gets it with its next step."
        found = await here.action("agents")
        assert [agent["name"] for agent in found["agents"]] == ["shop"]
        assert found["agents"][0]["waitingMessages"] == 1
        assert [each["text"] for each in found["messages"]] == ["Use tabs"]
        back = await here.action("take-back", id=told["short"])
        assert back["message"]["said"] == "Taken back. shop does not get it."
        assert (await here.action("agents"))["messages"] == []
        (stored,) = await here.stored()
        assert (stored.by.channel, stored.link) == ("terminal", "link-1")
        assert stored.state is MessageState.TAKEN_BACK


async def test_nobody_there_an_unknown_name_and_several_are_said(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        with pytest.raises(NoSuchAgent, match="No agent is connected"):
            await here.tell("Use tabs")
        here.connect()
        here.connect("link-2")
        with pytest.raises(NoSuchAgent, match="There are: shop, shop-2"):
            await here.tell("Use tabs", agent="bank")
        await here.tell("Use tabs", agent="shop-2")
        assert [each.link for each in await here.stored()] == ["link-2"]


@pytest.mark.parametrize("writes", ["person", "nobody"])
async def test_a_process_that_is_no_persons_can_neither_write_nor_take_back(
    tmp_path: Path, writes: str
) -> None:
    async with desk(tmp_path, writes=writes) as here:
        here.connect()
        agent = here.world.inbox.messages.agents.listed()[0]
        kept = await here.world.inbox.messages.tell(agent, "Stop after this", by=OWNER)
        for attempt in (here.tell("Delete it all"), here.action("take-back", id=kept.id)):
            with pytest.raises(MessageRefused) as refused:
                await attempt
            assert str(refused.value) == (SWITCHED_OFF if writes == "nobody" else NOT_A_PERSON)
        assert [each.text for each in await here.stored()] == ["Stop after this"]
        assert (await here.stored())[0].state is MessageState.WAITING
        assert len((await here.action("agents"))["agents"]) == 1


async def test_a_message_that_was_delivered_meanwhile_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        told = await here.tell("Use tabs")
        got = await here.action("collect", **here.hooked)
        with pytest.raises(MessageRefused, match="on its way"):
            await here.action("take-back", id=told["id"])
        await here.action("collected", call=got["call"])
        with pytest.raises(MessageRefused, match="Delivered to Claude Code in shop"):
            await here.action("take-back", id=told["short"])


@pytest.mark.parametrize("id", ["", " ", "zzzzzz", None, 7, ["a"]])
async def test_an_id_that_no_message_has_is_refused(tmp_path: Path, id: object) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        await here.tell("Use tabs")
        with pytest.raises(MessageRefused, match="chatbridge agents"):
            await here.action("take-back", id=id)


# ── several users ─────────────────────────────────────────────────────────────────────────────────


async def test_on_a_machines_hub_each_user_sees_and_writes_to_their_own_agents_only(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path, system=True) as here:
        hers = project_of_user(ALICE, root="/src/shop", folder="/src/shop", link="a")
        his = project_of_user(BOB, root="/src/bank", folder="/src/bank", link="b")
        here.connect(f"{ALICE}:a", hers)
        here.connect(f"{BOB}:b", his)
        (of_alice,) = (await here.action("agents", uid=ALICE))["agents"]
        (of_bob,) = (await here.action("agents", uid=BOB))["agents"]
        assert (of_alice["project"], of_bob["project"]) == (hers.name, his.name)
        told = await here.tell("Use tabs", agent=of_bob["name"], uid=BOB)
        for attempt in (
            here.tell("Use tabs", agent=of_bob["name"], uid=ALICE),
            here.action("take-back", id=told["id"], uid=ALICE),
        ):
            with pytest.raises(ChatbridgeError) as refused:
                await attempt
            assert "bank" not in str(refused.value).replace(of_bob["name"], "")
        assert (await here.action("agents", uid=ALICE))["messages"] == []
        # Whatever a hook says of its folder, its project is its own user's.
        stolen = await here.action(
            "collect", uid=ALICE, link="b", root="/src/bank", cwd="/src/bank"
        )
        assert stolen["texts"] == []
        got = await here.action("collect", uid=BOB, link="b", root="/src/bank", cwd="/src/bank")
        with pytest.raises(MessageRefused):
            await here.action("collected", uid=ALICE, call=got["call"])
        assert (await here.stored())[0].state is MessageState.HANDED_OVER


async def test_a_user_of_a_machines_hub_brings_files_along_and_names_none(tmp_path: Path) -> None:
    async with desk(tmp_path, system=True) as here:
        here.connect(f"{BOB}:b", project_of_user(BOB, root="/src/b", folder="/src/b", link="b"))
        (agent,) = (await here.action("agents", uid=BOB))["agents"]
        secret = tmp_path / "hosts"
        secret.write_text("secret")
        for attachment in ({"path": str(secret)}, {"path": "/etc/passwd", "name": "a"}):
            with pytest.raises(MessageRefused, match="it needs data and a name"):
                await here.tell("Look", agent=agent["name"], uid=BOB, attachments=[attachment])
        data = {"data": b64encode(b"plan").decode(), "name": "plan.md"}
        await here.tell("Look", agent=agent["name"], uid=BOB, attachments=[data])
        ((file,),) = [each.attachments for each in await here.stored()]
        assert (file.name, file.size) == ("plan.md", 4)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


async def test_files_travel_with_the_message_and_are_stored_under_its_id(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        path = tmp_path / "plan.md"
        path.write_text("first the tests")
        told = await here.tell("", attachments=[{"path": str(path)}])
        ((file,),) = [each.attachments for each in await here.stored()]
        assert file.path is not None
        assert told["id"] in file.path
        assert await asyncio.to_thread(Path(file.path).read_text) == "first the tests"
        got = await here.action("collect", **here.hooked)
        assert got["texts"][0].endswith(f"Attached: plan.md (text/plain, 15 bytes): {file.path}")


@pytest.mark.parametrize(
    ("attachments", "problem"),
    [
        ("plan.md", "No files can be sent here."),
        ([{"path": "/x"}] * 6, "At most 5 files fit into one message."),
        ([{"path": "/no/such/file"}], "There is no such file"),
        ([{"path": "/dev/null"}], "It is not a regular file"),
        ([{"path": "a\0b"}], "There is no such file"),
        ([{"path": "{folder}/secrets/token"}], "It is one of chatbridge's own files"),
        ([{"path": "{folder}/large"}], "too large"),
        ([{"path": "{folder}/half"}, {"path": "{folder}/half"}], "too large together"),
        ([{"data": "%%%", "name": "a"}], "its data is not base64"),
        ([{"data": "\ud800", "name": "a"}], "its data is not base64"),
        ([7], "it needs a path"),
        ([{"path": 7}], "it needs a path"),
    ],
)
async def test_files_that_cannot_be_sent_are_refused_and_nothing_is_told(
    tmp_path: Path, attachments: Any, problem: str
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "token").write_text("x")
    (tmp_path / "large").write_bytes(b"x" * (LARGEST + 1))
    (tmp_path / "half").write_bytes(b"x" * (LARGEST // 2 + 1))
    if isinstance(attachments, list):
        attachments = [
            {"path": each["path"].replace("{folder}", str(tmp_path))}
            if isinstance(each, dict) and isinstance(each.get("path"), str)
            else each
            for each in attachments
        ]
    async with desk(tmp_path) as here:
        here.connect()
        with pytest.raises(MessageRefused, match=problem):
            await here.tell("Look", attachments=attachments)
        assert await here.stored() == []


# ── hooks ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_hook_gets_what_waits_once_and_what_it_confirms_is_delivered(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        await here.tell("Use tabs")
        got = await here.action("collect", **here.hooked)
        (text,) = got["texts"]
        assert text.startswith("Message from the owner of this computer, sent ")
        assert text.endswith(": Use tabs")
        assert (await here.action("collect", **here.hooked))["texts"] == []
        await here.action("collected", call=got["call"])
        (stored,) = await here.stored()
        assert stored.state is MessageState.DELIVERED
        assert (await here.action("agents"))["messages"] == []
        here.world.clock.advance(CONFIRM_WITHIN_SECONDS)
        await asyncio.wait_for(asyncio.gather(*here.tasks), PATIENCE)
        assert (await here.stored())[0].state is MessageState.DELIVERED


async def test_what_a_hook_does_not_confirm_in_time_waits_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        await here.tell("Use tabs")
        lost = await here.action("collect", **here.hooked)
        here.world.clock.advance(CONFIRM_WITHIN_SECONDS - 1)
        assert (await here.action("collect", **here.hooked))["texts"] == []
        here.world.clock.advance(1)
        await asyncio.wait_for(asyncio.gather(*here.tasks), PATIENCE)
        assert (await here.stored())[0].state is MessageState.WAITING
        assert len((await here.action("collect", **here.hooked))["texts"]) == 1
        await here.action("collected", call=lost["call"])  # it was handed to another call since
        assert (await here.stored())[0].state is MessageState.HANDED_OVER


async def test_what_a_hook_confirms_late_is_not_handed_over_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        await here.tell("Use tabs")
        slow = await here.action("collect", **here.hooked)
        here.world.clock.advance(CONFIRM_WITHIN_SECONDS)
        await asyncio.wait_for(asyncio.gather(*here.tasks), PATIENCE)
        await here.action("collected", call=slow["call"])
        assert (await here.stored())[0].state is MessageState.DELIVERED
        assert (await here.action("collect", **here.hooked))["texts"] == []


async def test_a_hook_of_another_project_gets_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        here.connect()
        await here.tell("Use tabs")
        other = await here.action("collect", **{**here.hooked, "cwd": "/src/bank"})
        assert other["texts"] == []
        assert (await here.stored())[0].state is MessageState.WAITING


async def test_an_agent_that_is_known_by_its_hooks_alone_can_be_written_to(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        assert (await here.action("collect", **here.hooked))["texts"] == []
        ((name, client),) = [
            (each["name"], each["client"]) for each in (await here.action("agents"))["agents"]
        ]
        assert client == "Claude Code"
        await here.tell("Use tabs", agent=name)
        assert len((await here.action("collect", **here.hooked, stops=True))["texts"]) == 1


async def test_a_hook_that_names_a_links_id_does_not_take_its_place(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    async with desk(tmp_path) as here:
        here.connect("link-1")
        await here.action("collect", link="link-1", cwd=str(tmp_path), client="other")
        agents = here.world.inbox.messages.agents
        found = agents.of_link("link-1")
        assert found is not None
        assert (found.project, found.agent) == (here.shop, CLAUDE)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"link": None},
        {"link": ""},
        {"link": 7},
        {"link": ["a"]},
        {"link": "a b"},
        {"link": "a" * 65},
        {"link": "a", "cwd": 7},
        {"link": "a", "cwd": "x" * 5_000},
        {"link": "a", "cwd": "\ud800"},
        {"link": "a", "label": {}},
    ],
)
async def test_a_hook_that_does_not_say_who_it_is_is_refused_in_words(
    tmp_path: Path, given: Json
) -> None:
    async with desk(tmp_path) as here:
        with pytest.raises(MessageRefused, match=r"^this request (names no link id|has a )"):
            await here.action("collect", **given)
        assert (await here.action("agents"))["agents"] == []


@pytest.mark.parametrize(
    "call", [None, "x", [], ["hook-a"], ["hook-a", 7], ["link-1", "1"], {"hook-a": "b"}]
)
async def test_a_confirmation_of_nothing_that_was_collected_is_refused(
    tmp_path: Path, call: object
) -> None:
    async with desk(tmp_path) as here:
        with pytest.raises(MessageRefused, match=r"^call: "):
            await here.action("collected", call=call)
