"""The whole of `ask_user`, from an agent over a real link and hub and a real homeserver to a room
and back: what the person sees and does there, and exactly what the agent gets."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

from tests.acceptance.test_telegram_ask_user import EVERYTHING, EVERYTHING_ANSWERED
from tests.fakes.machine import Json
from tests.fakes.matrix_hub import Scene
from tests.fakes.synapse import Synapse


def colours(title: str) -> Json:
    choice = {"id": "c", "question": title, "type": "select", "options": ["red", "blue"]}
    return {"questions": [choice]}


async def test_both_forms_come_back_exactly_from_reactions_and_replies_to_every_type_of_question(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(synapse, tmp_path) as scene, scene.agent() as agent:
        first = await scene.card(agent, 1, EVERYTHING)
        await scene.tap(first, "⏭️")
        card = await scene.shows("Which database?")
        await scene.ada.reply(scene.room, "CockroachDB", to=card.event_id)
        card = await scene.shows("Which checks?")
        *_, regretted = await scene.tap(card, "3️⃣", "1️⃣", "2️⃣")
        await scene.ada.redact(scene.room, regretted)
        await scene.write(card, "A smoke test")
        await scene.tap(await scene.shows("Which checks?", "Other: \u2068A smoke test"), "✅")
        await scene.tap(await scene.shows("A second database?"), "⏭")  # another keyboard's
        await scene.tap(await scene.shows("Push the tag?"), "👎")
        await scene.tap(await scene.shows("check and send"), "✅")
        reply = await asyncio.to_thread(agent.receive)
        assert reply["result"]["structuredContent"] == EVERYTHING_ANSWERED
        assert json.loads(reply["result"]["content"][0]["text"]) == EVERYTHING_ANSWERED
        ended = await scene.becomes(first, "✅ Answered", "CockroachDB", "delivered")
        assert ended.thread is None
        steps = [it for it in scene.said() if it.thread == first.event_id]
        assert len(steps) == 6, "a text beside the reactions has a message of its own"
        for step in steps:
            await scene.becomes(step)

        single: Json = {"question": "Which region?", "options": ["north", "south"]}
        card = await scene.card(agent, 2, single)
        await scene.tap(card, "2️⃣")
        reply = await asyncio.to_thread(agent.receive)
        text = {"type": "text", "text": "User selected: south"}
        assert reply["id"] == 2
        assert reply["result"]["content"] == [text]
        assert "structuredContent" not in reply["result"]
        await scene.becomes(card, "south", "delivered")
        await scene.nothing_more(agent)


async def test_an_encrypted_room_works_both_ways_before_and_after_the_hub_was_stopped(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(synapse, tmp_path, encrypted=True) as scene, scene.agent() as agent:
        card = await scene.card(agent, 1, colours("Before?"))
        assert card.encrypted
        await scene.write(card, "neither")
        result = await scene.result(agent)
        assert result["answers"] == [{"questionId": "c", "values": [], "customText": "neither"}]
        await scene.becomes(card, "neither", "delivered")

        before = scene.home.hub()
        stopped = await asyncio.to_thread(scene.home.run, "stop")
        assert stopped.returncode == 0, stopped.stderr
        assert scene.home.hubs() == []

        second = await scene.card(agent, 2, colours("After?"))
        assert scene.home.hub() != before
        assert second.encrypted
        await scene.tap(second, "2️⃣")
        assert (await scene.result(agent))["answers"] == [{"questionId": "c", "values": ["blue"]}]
        await scene.becomes(second, "blue", "delivered")
        third = await scene.card(agent, 3, {"question": "In your own words?"})
        await scene.write(third, "still readable")
        reply = await asyncio.to_thread(agent.receive)
        assert reply["result"]["content"][0]["text"] == "User answered: still readable"

        assert all(it.encrypted and it.readable for it in scene.said())
        folder = scene.home.state / "matrix"
        (crypto,) = folder.rglob("crypto.db")
        for private in (folder, crypto.parent):
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert crypto.parent.name == scene.login.device_id
