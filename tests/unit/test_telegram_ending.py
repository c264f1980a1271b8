"""A card that has ended, word for word (T10 to T14): what came of it, and what is left to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.telegram.render.card import draw_card
from chatbridge.channels.web.sessions import BY_TOKEN, IN_A_BROWSER
from chatbridge.core.cards.outcome_text import WINDOW
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Ask, Outcome, Person, Status
from tests.telegram_asks import (
    ADA,
    GROUP,
    HOUR,
    NOW,
    PRIVATE,
    ask,
    buttons,
    card,
    confirm,
    read_card,
    select,
    text,
)

DATABASE = select(
    "Which database should the integration tests use?\n\nTwo tests need `SKIP LOCKED`.",
    "PostgreSQL in Docker (recommended)",
    "Keep SQLite",
)
BRANCH = select("Which branch is released?", "main", "release/2.4")
CHECKS = select("Which checks must pass?", "Unit tests", "Load test", multi=True)
NOTES = text("Anything the notes must mention?", required=False)
CHOSEN = Answer(values=("PostgreSQL in Docker (recommended)",))
AT = clock_time(NOW + 60)


def ended(
    shown: Ask, status: Status, *answers: Answer, by: Person | None = ADA, reason: str | None = None
) -> Ask:
    outcome = Outcome(at=NOW + 60, answers=answers, by=by, reason=reason)
    return replace(shown, status=status, outcome=outcome, delivered_at=NOW + 61)


ANSWERED = ended(ask(DATABASE), Status.ANSWERED, CHOSEN)
OVER = replace(
    ask(confirm("Delete the old fixtures?")),
    status=Status.TIMED_OUT,
    outcome=Outcome(at=NOW + HOUR),
)
LATE = replace(
    OVER,
    late=Outcome(at=NOW + 60, answers=(Answer(values=("yes",)),), by=ADA),
    kept=True,
    kept_until=NOW + 10 * HOUR,
)


def test_an_answer_given_here() -> None:
    assert read_card(ANSWERED) == (
        "✅ Answered · shop-api\n\n"
        "Which database should the integration tests use?\nPostgreSQL in Docker\n\n"
        f"you, here, {AT} · the agent has it"
    )
    assert buttons(ANSWERED) == []


@pytest.mark.parametrize(
    ("by", "seen", "who", "first"),
    [
        (ADA, GROUP, "Ada, Telegram", "Answered"),
        (replace(ADA, place="8"), PRIVATE, "Ada, Telegram", "Answered"),
        (Person(name="Ada", channel="matrix"), PRIVATE, "Ada, Matrix", "Answered elsewhere"),
        (IN_A_BROWSER, PRIVATE, "in the browser", "Answered elsewhere"),
        (BY_TOKEN, GROUP, "in a browser logged in with the token", "Answered elsewhere"),
        (WINDOW, GROUP, "in the agent's own window", "Answered elsewhere"),
        (Person(name="Ada", channel="terminal"), GROUP, "Ada, terminal", "Answered elsewhere"),
    ],
)
def test_an_answer_says_who_gave_it_and_where(by: Person, seen: Seen, who: str, first: str) -> None:
    lines = read_card(ended(ask(DATABASE), Status.ANSWERED, CHOSEN, by=by), seen).split("\n")
    assert lines[0] == f"✅ {first} · shop-api"
    assert lines[-1] == f"{who}, {AT} · the agent has it"


def test_an_answer_that_is_on_its_way() -> None:
    assert read_card(replace(ANSWERED, delivered_at=None)).endswith(f"{AT} · handing over")


def test_many_answers_are_folded() -> None:
    answers = (Answer(values=("main",)), Answer(values=("Unit tests",)), Answer())
    few = ended(ask(BRANCH, CHECKS, NOTES), Status.ANSWERED, *answers)
    assert "1. Which branch is released?\nmain\n2. Which" in read_card(few)
    assert "<blockquote" not in draw_card(card(few), PRIVATE).html
    many = ended(ask(BRANCH, CHECKS, NOTES, BRANCH), Status.ANSWERED, *answers, answers[0])
    assert "<blockquote expandable>1. Which" in draw_card(card(many), PRIVATE).html


def test_a_cancelled_question_has_its_reason() -> None:
    shown = ended(ask(DATABASE), Status.CANCELLED, reason="not\nnow")
    assert read_card(shown).endswith(
        f"use?\n\nReason: not now\n\nyou, here, {AT} · the agent was told"
    )

    unheard = replace(shown, delivered_at=None, orphaned_since=NOW)
    assert read_card(unheard).endswith(" · no agent was waiting")


def test_a_timed_out_question_can_be_answered_anyway() -> None:
    at = clock_time(NOW + HOUR)
    assert read_card(OVER) == (
        "⌛ Timed out · shop-api\n\nDelete the old fixtures?\n\n"
        f"Nobody answered by {at}. The agent was told so, nothing else."
    )
    assert buttons(OVER) == [["Answer anyway"]]
    assert read_card(replace(OVER, orphaned_since=NOW)).endswith(f"{at}. No agent was waiting.")


def test_a_declared_answer_that_was_used() -> None:
    used = replace(CHOSEN, decided_by="timeout")
    shown = ended(ask(DATABASE), Status.TIMED_OUT, used, by=None)
    assert read_card(shown).endswith(
        "tests use?\n\nNobody answered by "
        f"{clock_time(NOW + HOUR)}. Used, as agreed beforehand: PostgreSQL in Docker"
    )
    assert buttons(shown) == []


def test_a_late_answer_is_kept_until_it_is_discarded_or_handed_over() -> None:
    until = clock_time(NOW + 10 * HOUR)
    assert read_card(LATE) == (
        "✅ Kept · shop-api\n\nDelete the old fixtures?\nYes\n\n"
        f"Kept until {until}. The agent gets it when it asks this again."
    )
    assert buttons(LATE) == [["Discard"]]
    assert f"\nAda, Telegram, {AT}\nKept until" in read_card(LATE, GROUP)
    forgotten = replace(PRIVATE, now=NOW + 11 * HOUR)
    assert read_card(LATE, forgotten).endswith(f"{until}. The agent did not ask again.")
    assert buttons(LATE, forgotten) == []
    handed = replace(LATE, delivered_at=NOW + 70)
    assert read_card(handed).endswith(f"you, here, {AT} · handed over {clock_time(NOW + 70)}")
    discarded = replace(LATE, discarded=True)
    assert read_card(discarded).startswith("🚫 Discarded · shop-api")
    assert read_card(discarded).endswith(" · the agent does not get it")


def test_a_withdrawn_question_needs_no_answer() -> None:
    shown = ended(ask(DATABASE), Status.WITHDRAWN, by=None)
    assert read_card(shown).startswith("🚫 Withdrawn · shop-api")
    assert read_card(shown).endswith("\n\nThe agent no longer needs an answer.")
