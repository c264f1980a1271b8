"""Hubs and homeservers that go away between "the homeserver has the reaction" and "the agent has
the result": one answer reaches the agent, none is lost, and the card is right in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chatbridge import lock_file
from tests.fakes.machine import COLOURS, Agent, Json, frozen
from tests.fakes.matrix_hub import PATIENCE, Scene
from tests.fakes.matrix_timeline import Message
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse
from tests.fakes.web import visitor

BLUE = [{"questionId": "c", "values": ["blue"]}]
OPTIONS = ["alpha", "beta", "gamma"]
FORM: Json = {
    "questions": [
        {"id": "m", "question": "Which ones?", "type": "multi-select", "options": OPTIONS},
        {"id": "s", "question": "Which one?", "type": "select", "options": OPTIONS},
    ]
}


async def ended_rightly(scene: Scene, agent: Agent, id: int, card: Message) -> None:
    """The agent has its answer, once; the only card says so; and nobody can answer again."""
    assert await scene.result(agent) == {
        "id": id,
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": BLUE,
    }
    shown = await scene.becomes(card, "✅ Answered", "blue", "delivered")
    assert shown.thread is None
    await scene.tap(card, "1️⃣")
    await scene.ada.sees(lambda it: is_refusal(it, card), room=scene.room)
    await scene.nothing_more(agent)
    refused = [it for it in scene.said() if is_refusal(it, card)]
    assert len(refused) == 1, "what had counted came again"
    assert "blue" in scene.ada.message(scene.room, card.event_id).body


def is_refusal(message: Message, card: Message) -> bool:
    """What a tap on this card leads to once it has ended."""
    return message.thread == card.event_id and message.body.startswith("Already answered at ")


def cards(scene: Scene) -> list[str]:
    """Not what the bot says about them: those are notices."""
    return [it.event_id for it in scene.said("Which colour?") if it.msgtype == "m.text"]


async def test_an_answer_arrives_once_though_the_hub_is_killed_before_or_after_its_commit(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(synapse, tmp_path) as scene, scene.asking() as (agent, first):
        with scene.home.no_commits():
            await scene.tap(first, "2️⃣")
            # It has read the reaction, and could not commit it.
            await scene.until_status(lambda it: "nothing is read" in it.get("trouble", ""))
            await scene.kill_hub()
        await ended_rightly(scene, agent, 1, first)

        second = await scene.card(agent, 2)
        ask = await asyncio.to_thread(scene.home.until)
        with frozen(agent.process.pid):
            await scene.tap(second, "2️⃣")
            await asyncio.to_thread(scene.home.until_it, ask, lambda it: it["status"] == "answered")
            await scene.kill_hub()
        await ended_rightly(scene, agent, 2, second)
        assert cards(scene) == [first.event_id, second.event_id]


async def test_no_tap_in_a_form_is_lost_though_the_hub_is_killed_after_each(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(synapse, tmp_path) as scene, scene.asking(FORM) as (agent, root):

        async def tap_and_kill(card: Message, *keys: str) -> None:
            """Nobody knows how far the hub has come with it."""
            await scene.tap(card, *keys)
            await scene.kill_hub()

        await tap_and_kill(root, "3️⃣", "1️⃣")
        await tap_and_kill(root, "✅")
        step = await scene.shows("Which one?", fits=lambda it: it.thread == root.event_id)
        await tap_and_kill(step, "2️⃣")
        review = await scene.shows("check and send")
        assert scene.buttons(review) == ["✅", "↩️", "❔", "❌"]
        await tap_and_kill(review, "✅")
        assert (await scene.result(agent))["answers"] == [
            {"questionId": "m", "values": ["alpha", "gamma"]},
            {"questionId": "s", "values": ["beta"]},
        ]
        await scene.becomes(root, "✅ Answered", "delivered")
        await scene.nothing_more(agent)
        steps = [it for it in scene.said() if it.thread == root.event_id]
        assert [it.event_id for it in steps] == [step.event_id, review.event_id]
        for each in steps:
            await scene.becomes(each)


async def test_an_answer_after_the_homeserver_was_away_reaches_the_agent_that_waits(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with (
        Relay.running(synapse.port) as relay,
        Scene.set(synapse, tmp_path, CHATBRIDGE_MATRIX__HOMESERVER=relay.address) as scene,
        scene.asking() as (agent, card),
    ):
        with relay.down():
            await scene.until_status(lambda it: "cannot be reached" in it.get("trouble", ""))
            await scene.tap(card, "2️⃣")
        await ended_rightly(scene, agent, 1, card)
        assert cards(scene) == [card.event_id]
        assert (await scene.until_status(lambda it: it["ok"]))["ok"]


async def test_the_answer_among_thirty_messages_is_found_by_the_hub_that_was_away(
    synapse: Synapse, tmp_path: Path
) -> None:
    """In a room without reactions, and with a stranger in the end."""
    async with (
        Scene.set(synapse, tmp_path, CHATBRIDGE_MATRIX__REACTIONS="false") as scene,
        scene.agent() as agent,
    ):
        agent.ask(1, COLOURS)
        card = await scene.ada.sees(lambda it: "Which colour?" in it.body, room=scene.room)
        assert "Reply with a number or your own words." in card.body
        with frozen(agent.process.pid):  # so that it starts no hub
            await scene.kill_hub()
            for number in range(30):
                if number == 17:
                    await scene.ada.reply(scene.room, "2", to=card.event_id)
                else:
                    await scene.ada.say(scene.room, f"note to myself, number {number}")
        await ended_rightly(scene, agent, 1, card)
        assert cards(scene) == [card.event_id]
        by_bot = [it for it in scene.ada.events(scene.room) if it["sender"] == scene.login.user_id]
        assert "m.reaction" not in {it["type"] for it in by_bot}
        await scene.ada.invite(scene.room, "@mallory:localhost")
        await until_inbox_says(scene, f"Strangers are in the Matrix room {scene.room}: 1.")


async def until_inbox_says(scene: Scene, text: str) -> None:
    """On the page that the owner opens."""
    info = lock_file.find_holder(str(scene.home.state))
    assert info is not None
    assert info.web is not None
    code = (await asyncio.to_thread(scene.home.api, "/api/login-codes", {}))["code"]
    async with visitor(info.web, {"Origin": info.web}) as browser, asyncio.timeout(PATIENCE):
        await browser.post("/login", data={"code": code})
        while True:
            if text in (await browser.get("/")).text:
                return
            await asyncio.sleep(0.05)
