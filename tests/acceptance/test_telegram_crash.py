"""Hubs that die at any point between "Telegram has the tap" and "the agent has the result": one
answer reaches the agent, none is lost, and the card is right in the end."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass

import pytest

from tests.acceptance.bridge import until
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.machine import COLOURS, Agent, House, Json, frozen, house
from tests.fakes.telegram.people import Card, Phone
from tests.fakes.telegram.server import BotApi

BLUE = [{"questionId": "c", "values": ["blue"]}]
ENDINGS = pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    api: BotApi
    home: House
    phone: Phone

    @contextmanager
    def asking(self, arguments: Json = COLOURS) -> Iterator[tuple[Agent, Json, Card]]:
        """An agent that waits, its ask, and the card, which the hub knows to be there."""
        with self.home.agent() as agent:
            agent.initialize()
            agent.ask(1, arguments)
            card = self.phone.sees(arguments["questions"][0]["question"])
            ask = self.home.until()
            self.home.until_noted(card)
            self.api.until(lambda api: api.polling)
            yield agent, ask, card

    def told(self, card: Card, label: str) -> str:
        """What pops up for a tap. On a slow machine Telegram's spinner stops before it is known."""
        taps = (self.phone.press(card, button(card, label)).answered() for _ in range(5))
        return next(filter(None, taps), "")

    def ended_rightly(self, agent: Agent, ask: Json, card: Card) -> None:
        """The agent has its answer, once; the card says so; and nobody can answer again."""
        assert agent.result() == {
            "id": 1,
            "answered": True,
            "cancelled": False,
            "timedOut": False,
            "answers": BLUE,
        }
        nothing_more(agent)  # and a hub that was stopped in order is started for it
        shown = self.phone.until(card, lambda it: "delivered" in it.text)
        assert shown.text.startswith("✅ Answered")
        assert "blue" in shown.text
        assert "You answered here" in shown.text
        assert shown.rows == ()
        assert not shown.deleted
        self.api.until_confirmed()
        assert self.told(card, "red").startswith("Already answered at ")
        ended = self.home.until_it(ask, lambda it: it["delivered"])
        assert ended["outcome"]["answers"] == BLUE
        assert self.phone.now(card).text == shown.text
        nothing_more(agent)


def button(card: Card, label: str) -> str:
    """What a button of this drawing carries."""
    return next(key.data or "" for key in card.keys if key.text == label)


def nothing_more(agent: Agent) -> None:
    """The next thing the agent hears is the answer to what it says next."""
    agent.request("end", "tools/list")
    reply = agent.receive()
    assert reply["id"] == "end", reply


@pytest.fixture
def scene() -> Iterator[Scene]:
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        with house(**telegram_settings(api, ada)) as home:
            yield Scene(api=api, home=home, phone=phone)


def cards(scene: Scene) -> list[Card]:
    return [it for it in scene.phone.messages if "Which colour?" in it.text]


# ── the tap has not been put in ───────────────────────────────────────────────────────────────────


@ENDINGS
def test_a_tap_while_no_hub_runs_is_the_answer_as_soon_as_one_does(
    scene: Scene, how: signal.Signals
) -> None:
    with scene.asking() as (agent, ask, card):
        with frozen(agent.process.pid):  # so that it starts no hub
            scene.home.kill_hub(how)
            tap = scene.phone.tap(card, "blue")
            assert scene.api.pending
        scene.ended_rightly(agent, ask, card)
        assert tap.toast == "Sent: blue"
        assert len(cards(scene)) == 1


def test_a_tap_that_was_sent_to_a_hub_that_died_before_reading_it_comes_again(
    scene: Scene,
) -> None:
    with scene.asking() as (agent, ask, card):
        with frozen(scene.home.hub()):
            tap = scene.phone.tap(card, "blue")
            scene.api.until(lambda api: not api.polling)  # it is in the hub's socket
            scene.home.kill_hub()
        assert scene.api.pending
        assert tap.toast is None
        scene.ended_rightly(agent, ask, card)
        assert len(cards(scene)) == 1


def test_a_tap_that_a_hub_read_and_could_not_commit_before_it_died_comes_again(
    scene: Scene,
) -> None:
    with scene.asking() as (agent, ask, card):
        with scene.home.no_commits():
            tap = scene.phone.tap(card, "blue")
            # That it says nothing after 2 s tells that it is at work and has not committed.
            assert tap.answered() == ""
            scene.home.kill_hub()
        assert scene.api.pending
        scene.ended_rightly(agent, ask, card)
        assert len(cards(scene)) == 1


def test_a_tap_in_time_counts_though_the_deadline_passed_while_no_hub_ran(scene: Scene) -> None:
    with scene.asking() as (agent, ask, card):
        with frozen(agent.process.pid):
            scene.home.kill_hub()
            scene.phone.tap(card, "blue")
            deadline_is_now(scene.home, ask)
        scene.ended_rightly(agent, ask, card)


def deadline_is_now(home: House, ask: Json) -> None:
    """Without a hub nobody can tell that it was another; one that is near in earnest may pass
    before the hub is killed."""
    with closing(sqlite3.connect(home.database)) as stored, stored:
        stored.execute("UPDATE asks SET deadline = ? WHERE id = ?", (time.time(), ask["id"]))


def test_a_tap_on_a_new_bots_first_card_counts_though_the_hub_died_before_its_first_poll_ended(
    scene: Scene,
) -> None:
    poll = scene.api.hold("getUpdates")
    with scene.home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        ask = scene.home.until()
        poll.arrived()
        with frozen(agent.process.pid):
            with scene.api.service.changed:  # a card that comes too early comes at once
                scene.api.service.changed.wait_for(lambda: cards(scene), 0.5)
            scene.home.kill_hub()
            early = [scene.phone.tap(card, "blue") for card in cards(scene)]
        card = scene.phone.sees("Which colour?")
        if not early:
            scene.phone.tap(card, "blue")
        scene.ended_rightly(agent, ask, card)


# ── the tap has been put in ───────────────────────────────────────────────────────────────────────


@ENDINGS
def test_a_tap_that_was_committed_and_not_confirmed_to_telegram_counts_once(
    scene: Scene, how: signal.Signals
) -> None:
    with scene.asking() as (agent, ask, card):
        with frozen(agent.process.pid):
            next_poll = scene.api.hold("getUpdates")
            scene.api.hold("editMessageText", times=100)
            scene.api.hold("answerCallbackQuery")
            scene.phone.tap(card, "blue")
            next_poll.arrived()
            scene.home.until_it(ask, lambda it: it["status"] == "answered")
            scene.home.kill_hub(how)
            assert scene.api.pending  # Telegram still has it to give
            assert scene.phone.now(card) == card
            scene.api.heal()
        scene.ended_rightly(agent, ask, card)
        assert len(cards(scene)) == 1


@ENDINGS
@pytest.mark.parametrize("heard", [False, True], ids=["agent-waits", "agent-has-it"])
def test_a_card_that_was_not_edited_before_the_hub_died_is_edited_by_the_next(
    scene: Scene, how: signal.Signals, heard: bool
) -> None:
    with scene.asking() as (agent, ask, card):
        with nullcontext() if heard else frozen(agent.process.pid):
            edit = scene.api.hold("editMessageText")
            tap = scene.phone.tap(card, "blue")
            edit.arrived()
            scene.api.until_confirmed()
            assert tap.answered() == "Sent: blue"
            if heard:
                scene.home.until_it(ask, lambda it: it["delivered"])
            scene.home.kill_hub(how)
            assert scene.phone.now(card) == card
        scene.ended_rightly(agent, ask, card)
        assert len(cards(scene)) == 1


def test_an_edit_that_the_dead_hub_did_not_hear_of_is_made_again_without_harm(
    scene: Scene,
) -> None:
    with scene.asking() as (agent, ask, card):
        with frozen(agent.process.pid):
            edit = scene.api.hold("editMessageText", after_effect=True)
            scene.phone.tap(card, "blue")
            edit.arrived()
            scene.phone.until(card, lambda it: "on its way" in it.text)
            scene.home.kill_hub()
        scene.ended_rightly(agent, ask, card)
        assert len(cards(scene)) == 1


def until_responded(scene: Scene) -> None:
    """The card may be edited before the result is written: the hub does both at the same time. What
    another agent gets after the tool has returned comes after it."""
    log = scene.home.state / "hub.log"
    until(lambda: "Session completed successfully" in log.read_text() or None, "a result")
    with scene.home.agent() as other:
        other.initialize()


def test_a_result_whose_confirmation_the_dead_hub_did_not_read_is_confirmed_to_the_next(
    scene: Scene,
) -> None:
    with scene.asking() as (agent, ask, card), ExitStack() as until_killed:
        with frozen(agent.process.pid):
            scene.phone.tap(card, "blue")
            scene.phone.until(card, lambda it: "on its way" in it.text)
            until_responded(scene)
            until_killed.enter_context(frozen(scene.home.hub()))
        reply = agent.receive()  # the link has written it, and nobody reads its confirmation
        assert reply["result"]["structuredContent"]["answers"] == BLUE
        scene.home.kill_hub()
        shown = scene.phone.until(card, lambda it: "delivered" in it.text)
        assert shown.rows == ()
        ended = scene.home.until_it(ask, lambda it: it["delivered"])
        assert not ended["kept"]
        second = scene.phone.press(card, button(card, "red"))
        assert second.answered().startswith("Already answered at ")
        nothing_more(agent)
        assert len(cards(scene)) == 1


# ── the card itself ───────────────────────────────────────────────────────────────────────────────


@ENDINGS
@pytest.mark.parametrize("tapped", ["older", "newer"])
def test_a_card_whose_number_the_dead_hub_did_not_note_works_beside_the_second(
    scene: Scene, how: signal.Signals, tapped: str
) -> None:
    sending = scene.api.hold("sendMessage", after_effect=True)
    with scene.home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        sending.arrived()
        ask = scene.home.until()
        older = scene.phone.sees("Which colour?")
        scene.home.kill_hub(how)
        newer = scene.phone.sees(lambda it: "Which colour?" in it.text and it.id != older.id)
        assert older.keys == newer.keys
        scene.home.until_noted(newer)
        tap = scene.phone.tap(older if tapped == "older" else newer, "blue")
        assert tap.answered() == "Sent: blue"
        if tapped == "newer":
            late = scene.phone.tap(older, "red")
            assert late.answered().startswith("Already answered at ")
        scene.phone.gone(older)
        scene.ended_rightly(agent, ask, newer)
        assert [it.id for it in cards(scene)] == [newer.id]


def test_a_form_goes_on_where_it_was_though_the_hub_dies_after_every_tap(scene: Scene) -> None:
    options = ["alpha", "beta", "gamma"]
    form: Json = {
        "questions": [
            {"id": "m", "question": "Which ones?", "type": "multi-select", "options": options},
            {"id": "s", "question": "Which one?", "type": "select", "options": options},
        ]
    }
    with scene.asking(form) as (agent, _, card):

        def tap_and_die(label: str, then: str) -> None:
            tap = scene.phone.tap(card, label)
            tap.answered()
            scene.home.kill_hub()
            scene.phone.until(card, lambda it: any(key.text.startswith(then) for key in it.keys))

        tap_and_die("☐\ufe0e gamma", "☑\ufe0e gamma")
        tap_and_die("☐\ufe0e alpha", "☑\ufe0e alpha")
        tap_and_die("Done (2)", "beta")
        tap_and_die("beta", "Send answers")
        tap = scene.phone.tap(card, "Send answers")
        assert tap.answered() == "Sent: 2 answers"
        assert agent.result()["answers"] == [
            {"questionId": "m", "values": ["alpha", "gamma"]},
            {"questionId": "s", "values": ["beta"]},
        ]
        shown = scene.phone.until(card, lambda it: "delivered" in it.text)
        assert shown.rows == ()
        nothing_more(agent)
