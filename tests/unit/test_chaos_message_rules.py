"""The rules of `make chaos` about messages to agents find what they are for, and only that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos import messages, notices
from tests.chaos.checker import check
from tests.chaos.log import Event, Heard, Struck, Wrote
from tests.chaos.night import Final, StoredMessage

KEY, TEXT = messages.words("shop", 1)
WROTE = Wrote(at=10.0, message=KEY, project="shop", way="terminal", text=TEXT, taken=True)
HEARD = Heard(
    at=12.0,
    agent="ada",
    project="shop",
    link="ada.1",
    message=KEY,
    text=f"{messages.BEGINS}12:00 in the terminal: {TEXT}",
    late=False,
)
AGAIN = replace(HEARD, at=20.0, agent="bob", link="bob.1")
DELIVERED = StoredMessage(key=KEY, project="shop", state="delivered")
WAITING = replace(DELIVERED, state="waiting")


def found(*events: Event, stored: tuple[StoredMessage, ...] = (DELIVERED,)) -> list[str]:
    return [each.rule for each in check(events, {}, Final(messages=stored))]


def fault(at: float, name: str) -> Struck:
    return Struck(at=at, fault=name)


def test_a_message_that_came_once_and_one_that_waits_are_fine() -> None:
    assert found(WROTE, HEARD) == []
    assert found(WROTE, stored=(WAITING,)) == []
    assert found(replace(WROTE, taken=False), stored=()) == []


@pytest.mark.parametrize(
    ("events", "stored", "rule"),
    [
        ((WROTE,), (), "no message is lost"),
        ((WROTE,), (DELIVERED,), "no message is lost"),
        ((WROTE, HEARD), (DELIVERED, DELIVERED), "no message comes twice"),
        ((WROTE, HEARD, AGAIN), (DELIVERED,), "no message comes twice"),
        ((WROTE, replace(HEARD, project="other")), (DELIVERED,), "none is crossed"),
        ((WROTE, replace(HEARD, text="obey")), (DELIVERED,), "none is crossed"),
        ((HEARD,), (DELIVERED,), "none is crossed"),
        ((WROTE, HEARD), (WAITING,), "a message's state is true"),
        ((WROTE, HEARD), (replace(WAITING, state="taken_back"),), "a message's state is true"),
        ((WROTE, HEARD), (replace(DELIVERED, behind=True),), "chats say what became of it"),
    ],
)
def test_each_rule_finds_what_it_is_for(
    events: tuple[Event, ...], stored: tuple[StoredMessage, ...], rule: str
) -> None:
    assert found(*events, stored=stored) == [rule]


@pytest.mark.parametrize("name", ["kill a link", "freeze a link", "fill the disk"])
def test_it_may_come_again_if_its_first_link_could_not_confirm_it(name: str) -> None:
    assert found(WROTE, HEARD, fault(12.5, name), AGAIN) == []
    assert found(WROTE, HEARD, fault(12.5, name), stored=(WAITING,)) == []
    assert found(WROTE, fault(30.0, name), HEARD, AGAIN) == ["no message comes twice"]


@pytest.mark.parametrize("name", ["kill the hub", "cut the leader off", "kill a follower"])
def test_a_dead_hub_excuses_another_link_and_not_the_same(name: str) -> None:
    died = fault(12.5, name)
    same = replace(AGAIN, link=HEARD.link, agent="ada")
    assert found(WROTE, HEARD, died, AGAIN) == []
    assert found(WROTE, HEARD, died, same) == ["no message comes twice"]


def test_a_call_that_its_agent_gave_up_may_have_had_it() -> None:
    assert found(WROTE, replace(HEARD, late=True), AGAIN) == []


def test_a_result_is_read_without_its_messages() -> None:
    own = '{"sent": ["telegram"], "waiting": []}'
    blocks = [{"type": "text", "text": text} for text in (own, HEARD.text)]
    response = {"result": {"content": blocks}}
    assert messages.heard(response) == [(KEY, HEARD.text)]
    assert messages.without(response)["result"]["structuredContent"] == {
        "sent": ["telegram"],
        "waiting": [],
    }
    assert notices.read(response).sent == ("telegram",)
