"""Several questions at once, old cards, and words from nowhere: what a person does reaches the ask
that it was meant for, or none."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.core.policy import Policy
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.inbox import SELECT
from tests.fakes.machine import COLOURS, Agent, House, Json, frozen, house
from tests.fakes.telegram.chats import User
from tests.fakes.telegram.people import Card, Phone
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import running_telegram, waiting

PAIRS = 20
AGENTS = 6
BLUE = [{"questionId": "c", "values": ["blue"]}]
TEXT: Json = {"questions": [{"id": "t", "question": "What is it called?"}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    api: BotApi
    ada: User
    phone: Phone
    home: House

    def new_card(self, agent: Agent, id: int, arguments: Json = COLOURS) -> Card:
        """Ask, and the card that comes of it, once the hub knows that it is there."""
        known = {it.id for it in self.phone.messages}
        agent.ask(id, arguments)
        asked = arguments["questions"][0]["question"]
        card = self.phone.sees(lambda it: asked in it.text and it.id not in known)
        self.home.until_noted(card)
        return card

    @contextmanager
    def agent(self) -> Iterator[Agent]:
        with self.home.agent() as agent:
            agent.initialize()
            yield agent


@pytest.fixture
def scene() -> Iterator[Scene]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        with house(**telegram_settings(api, ada)) as home:
            yield Scene(api=api, ada=ada, phone=phone, home=home)


def answers(value: str) -> list[Json]:
    return [{"questionId": "c", "values": [value]}]


# ── two agents with the same words ────────────────────────────────────────────────────────────────


def test_taps_of_agents_with_the_same_words_never_cross(scene: Scene) -> None:
    labels = [f"option {i}" for i in range(AGENTS)]
    asked: Json = {
        "questions": [{"id": "c", "question": "Which?", "type": "select", "options": labels}]
    }
    with ExitStack() as stack:
        agents = [stack.enter_context(scene.agent()) for _ in labels]
        cards = [scene.new_card(agent, 1, asked) for agent in agents]
        assert len({card.text.partition("\n\nEnds ")[0] for card in cards}) == 1
        other_way_round = list(zip(cards, labels, strict=True))[::-1]
        taps = [scene.phone.tap(card, label) for card, label in other_way_round]
        for agent, label in zip(agents, labels, strict=True):
            assert agent.result()["answers"] == answers(label)
        assert [tap.answered() for tap in taps] == [f"Sent: {it}" for it in reversed(labels)]


async def test_forty_asks_with_the_same_words_each_get_their_own_tap(tmp_path: Path) -> None:
    """The same in numbers, without Telegram's pace: all are tapped before one is dealt with."""
    async with running_telegram(tmp_path, policy=Policy(max_open_asks=2 * PAIRS)) as telegram:
        asks = [await telegram.desk.ask(SELECT) for _ in range(2 * PAIRS)]
        cards = [await telegram.card(ask) for ask in asks]
        assert len({card.text for card in cards}) == 1
        labels = ["1 · PostgreSQL in Docker", "2 · SQLite"]
        picks = [(i * 7 % 3) % 2 for i in range(len(asks))]
        taps = [
            telegram.phone.tap(card, labels[pick])
            for card, pick in reversed(list(zip(cards, picks, strict=True)))
        ]
        for tap in taps:
            assert (await waiting(tap.answered)()).startswith("Sent: ")
        for ask, pick in zip(asks, picks, strict=True):
            ended = await telegram.now(ask)
            assert ended.outcome
            assert ended.outcome.answers[0].values == (SELECT.options[pick].label,)


def test_replies_to_two_agents_with_the_same_words_reach_the_one_that_was_meant(
    scene: Scene,
) -> None:
    with scene.agent() as one, scene.agent() as other:
        first = scene.new_card(one, 1, TEXT)
        second = scene.new_card(other, 1, TEXT)
        scene.phone.say("second", reply_to=second)
        assert other.result()["answers"] == [{"questionId": "t", "values": ["second"]}]
        scene.phone.say("first", reply_to=first)
        assert one.result()["answers"] == [{"questionId": "t", "values": ["first"]}]


# ── yesterday's cards ─────────────────────────────────────────────────────────────────────────────


def old_button(card: Card, label: str) -> str:
    return next(key.data or "" for key in card.keys if key.text == label)


@pytest.mark.parametrize("restart", [False, True], ids=["same-hub", "next-hub"])
def test_a_tap_on_the_card_of_an_ended_ask_answers_nothing(scene: Scene, restart: bool) -> None:
    with scene.agent() as agent:
        old = scene.new_card(agent, 1)
        scene.phone.tap(old, "red")
        assert agent.result()["answers"] == answers("red")
        scene.phone.until(old, lambda it: "delivered" in it.text)
        if restart:
            scene.home.kill_hub()
        new = scene.new_card(agent, 2)  # the same words
        tap = scene.phone.press(old, old_button(old, "red"))
        assert tap.answered().startswith("Already answered at ")
        assert scene.phone.now(new) == new
        (still,) = scene.home.asks()
        assert still["status"] == "open"
        scene.phone.tap(new, "blue")
        assert agent.result() == {
            "id": 2,
            "answered": True,
            "cancelled": False,
            "timedOut": False,
            "answers": BLUE,
        }


def test_a_tap_on_the_card_of_an_ask_that_this_hub_does_not_know_answers_nothing(
    scene: Scene,
) -> None:
    with scene.agent() as agent:
        old = scene.new_card(agent, 1)
        with frozen(agent.process.pid):
            scene.home.kill_hub()
    scene.phone.tap(old, "red")  # nobody is there to hear it
    with house(**telegram_settings(scene.api, scene.ada)) as other, other.agent() as agent:
        agent.initialize()
        here = Scene(api=scene.api, ada=scene.ada, phone=scene.phone, home=other)
        new = here.new_card(agent, 1)  # the same words
        here.api.until(lambda api: api.polling)
        tap = here.phone.tap(old, "red")
        assert tap.answered() == "This question is no longer here."
        here.phone.until(old, lambda it: it.rows == ())
        assert here.phone.now(new) == new
        assert len(other.asks()) == 1
        here.phone.tap(new, "blue")
        assert agent.result()["answers"] == BLUE


# ── words from nowhere ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("arguments", [TEXT, COLOURS], ids=["text", "select"])
def test_hello_typed_while_no_hub_ran_answers_nothing_and_can_be_used_with_one_tap(
    scene: Scene, arguments: Json
) -> None:
    with scene.agent() as agent:
        card = scene.new_card(agent, 1, arguments)
        with frozen(agent.process.pid):
            scene.home.kill_hub()
            written = scene.phone.say("hello?")
        asked = scene.phone.sees("Use this as your answer to")
        assert asked.reply_to == written.id
        assert asked.rows == (("Use it", "No"),)
        scene.api.until_confirmed()
        (ask,) = scene.home.asks()
        assert ask["status"] == "open"
        assert scene.phone.now(card).text == card.text
        tap = scene.phone.tap(asked, "Use it")
        assert tap.answered() == "Sent: hello?"
        given = {"values": ["hello?"]} if arguments is TEXT else {"values": []}
        other = {} if arguments is TEXT else {"customText": "hello?"}
        name = arguments["questions"][0]["id"]
        assert agent.result()["answers"] == [{"questionId": name, **given, **other}]
        scene.phone.gone(asked)
        scene.phone.until(written, lambda it: it.reactions == ("👍",))
        shown = scene.phone.until(card, lambda it: "delivered" in it.text)
        assert shown.rows == ()


def test_hello_that_was_not_meant_as_an_answer_is_forgotten_with_one_tap(scene: Scene) -> None:
    with scene.agent() as agent:
        card = scene.new_card(agent, 1)
        with frozen(agent.process.pid):
            scene.home.kill_hub()
            scene.phone.say("hello?")
        asked = scene.phone.sees("Use this as your answer to")
        assert scene.phone.tap(asked, "No").answered() == ""
        scene.phone.gone(asked)
        assert len(scene.home.asks()) == 1
        scene.phone.tap(card, "blue")
        assert agent.result()["answers"] == BLUE


def test_a_reply_quicker_than_telegrams_word_to_the_hub_need_not_be_typed_again(
    scene: Scene,
) -> None:
    with scene.agent() as agent:
        sending = scene.api.hold(
            "sendMessage", after_effect=True, when=lambda it: "force_reply" in str(it)
        )
        agent.ask(1, TEXT)
        sending.arrived()
        prompt = scene.phone.sees(lambda it: it.force_reply is not None)
        written = scene.phone.say("quick", reply_to=prompt)
        with scene.api.service.changed:  # what is said too early is said at once
            scene.api.service.changed.wait_for(lambda: not scene.api.pending, 0.5)
        sending.release()

        def taken() -> bool:
            there = scene.phone.messages
            return any(it.id == written.id and it.reactions for it in there)

        def offered() -> list[Card]:
            return [it for it in scene.phone.messages if ("Use it", "No") in it.rows]

        scene.api.until(lambda _: taken() or offered())
        for card in offered():
            scene.phone.tap(card, "Use it")
        assert agent.result()["answers"] == [{"questionId": "t", "values": ["quick"]}]


# ── two people's hands ────────────────────────────────────────────────────────────────────────────


def test_of_a_tap_and_a_web_answer_at_the_same_time_one_wins_and_both_places_say_which(
    scene: Scene,
) -> None:
    with scene.agent() as agent:
        for i in range(6):
            card = scene.new_card(agent, i)
            ask = scene.home.until()
            web = ThreadPoolExecutor()
            with web, frozen(scene.home.hub()):  # so that both are there before one is read
                path, body = f"/api/asks/{ask['id']}/answer", {"answers": answers("red")}
                posted = web.submit(scene.home.status, path, body)
                tap = scene.phone.tap(card, "blue")
            toast = tap.answered()
            (value,) = agent.result()["answers"][0]["values"]
            shown = scene.phone.until(card, lambda it: "delivered" in it.text)
            ended = scene.home.until_it(ask, lambda it: it["delivered"])
            assert ended["outcome"]["answers"] == answers(value)
            assert value in shown.text
            assert shown.rows == ()
            if value == "blue":
                assert (toast, posted.result()) == ("Sent: blue", 409)
                assert shown.text.startswith("✅ Answered ·")
                assert "You answered here" in shown.text
            else:
                assert toast.startswith("Already answered at ")
                assert posted.result() == 200
                assert shown.text.startswith("✅ Answered ·")
                assert "a script" in shown.text
        scene.home.until_noted(card)
        agent.request("end", "tools/list")
        assert agent.receive()["id"] == "end"
