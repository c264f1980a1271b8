"""How an ended ask reads in a room (T10 to T15), word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.render.card import draw_card
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Ask, Outcome, Person, Status
from tests.matrix_asks import ADA, SEEN, SHARED, card, check, plain
from tests.telegram_asks import HOUR, NOW, ask, confirm, select, text

DATABASE = select("Which database?", "PostgreSQL in Docker (recommended)", "SQLite")
AT = clock_time(NOW + 60)
CHOSEN = Answer(values=("PostgreSQL in Docker (recommended)",))


def body(shown: Ask, seen: Seen = SEEN) -> str:
    drawing = draw_card(card(shown), seen)
    check(drawing)
    return plain(drawing.body)


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
KEPT = replace(
    OVER,
    late=Outcome(at=NOW + 60, answers=(Answer(values=("yes",)),), by=ADA),
    kept=True,
    kept_until=NOW + 10 * HOUR,
)


def test_an_answer_given_here() -> None:
    assert body(ANSWERED) == (
        "✅ Answered · shop-api\nWhich database?\nPostgreSQL in Docker\n"
        f"you, here, {AT} · the agent has it"
    )
    assert plain(draw_card(card(ANSWERED), SEEN).html) == (
        "<p>✅ <strong>Answered</strong> · shop-api</p>"
        "<p>Which database?<br><strong>PostgreSQL in Docker</strong></p>"
        f"<p>you, here, {AT} · the agent has it</p>"
    )
    assert body(replace(ANSWERED, delivered_at=None)).endswith(f"{AT} · handing over")


@pytest.mark.parametrize(
    ("by", "seen", "who", "first"),
    [
        (ADA, SHARED, "Ada, Matrix", "Answered"),
        (replace(ADA, place="@bob:example.org"), SEEN, "Ada, Matrix", "Answered"),
        (replace(ADA, channel="telegram"), SEEN, "Ada, Telegram", "Answered elsewhere"),
        (Person(name="", channel="web"), SEEN, "in the browser", "Answered elsewhere"),
    ],
)
def test_an_answer_says_who_gave_it_and_where(by: Person, seen: Seen, who: str, first: str) -> None:
    lines = body(ended(ask(DATABASE), Status.ANSWERED, CHOSEN, by=by), seen).split("\n")
    assert lines[0] == f"✅ {first} · shop-api"
    assert lines[-1] == f"{who}, {AT} · the agent has it"


def test_several_answers_stand_under_their_questions() -> None:
    answers = (CHOSEN, Answer())
    shown = ask(DATABASE, text("Why?", required=False), title="Release")
    assert body(ended(shown, Status.ANSWERED, *answers)).startswith(
        "✅ Answered · shop-api\nRelease\n"
        "1. Which database?\nPostgreSQL in Docker\n2. Why?\nskipped\nyou, here"
    )


def test_a_cancelled_question_has_its_reason() -> None:
    shown = ended(ask(DATABASE), Status.CANCELLED, reason="not\nnow")
    assert body(shown) == (
        "🚫 Cancelled · shop-api\nWhich database?\nReason: not now\n"
        f"you, here, {AT} · the agent was told"
    )
    several = ended(ask(DATABASE, text("Why?")), Status.CANCELLED)
    assert "1. Which database?\n2. Why?\nyou, here" in body(several)


def test_a_timed_out_question_says_how_to_answer_anyway() -> None:
    assert body(OVER) == (
        "⌛ Timed out · shop-api\nDelete the old fixtures?\n"
        f"Nobody answered by {clock_time(NOW + HOUR)}. The agent was told so, nothing else.\n"
        "Answer anyway: reply “anyway”."
    )


def test_a_declared_answer_that_was_used_is_the_end_of_it() -> None:
    used = replace(CHOSEN, decided_by="timeout")
    said = body(ended(ask(DATABASE), Status.TIMED_OUT, used, by=None))
    assert said.endswith(". Used, as agreed beforehand: PostgreSQL in Docker")


def test_a_kept_answer_can_be_discarded_while_it_is_kept() -> None:
    until = clock_time(NOW + 10 * HOUR)
    assert body(KEPT) == (
        "✅ Kept · shop-api\nDelete the old fixtures?\nYes\n"
        f"Kept until {until}. The agent gets it when it asks this again.\n"
        "To discard it, reply “discard”."
    )
    forgotten = replace(SEEN, now=NOW + 11 * HOUR)
    assert body(KEPT, forgotten).endswith(f"{until}. The agent did not ask again.")
    handed = replace(KEPT, delivered_at=NOW + 70)
    assert body(handed).endswith(f"you, here, {AT} · handed over {clock_time(NOW + 70)}")
    assert body(replace(KEPT, discarded=True)).endswith(" · the agent does not get it")


def test_a_withdrawn_question_needs_no_answer() -> None:
    said = body(ended(ask(DATABASE), Status.WITHDRAWN, by=None))
    assert said == (
        "🚫 Withdrawn · shop-api\nWhich database?\nThe agent no longer needs an answer."
    )
