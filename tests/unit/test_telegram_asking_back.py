"""The screens on which a person asks back (T8), and how that reads afterwards."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.chat.card import placeholder
from chatbridge.channels.telegram.render.card import draw_prompt
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Outcome, Status
from tests.telegram_asks import (
    ADA,
    GROUP,
    HOUR,
    NOW,
    PRIVATE,
    ask,
    buttons,
    card,
    read_card,
    read_plainly,
    select,
    stepped,
)

DATABASE = select("Which database should the integration tests use?", "PostgreSQL", "SQLite")
BRANCH = select("Which branch is released?", "main", "release/2.4")
CHECKS = select("Which checks must pass?", "Unit tests", "Load test", multi=True)


def test_asking_to_explain_asks_what_first() -> None:
    shown = stepped(ask(DATABASE), form.AskCancel(step=0), form.AskExplain(step=0))
    assert read_card(shown) == (
        "❓ shop-api · Claude Code\n\nWhich database should the integration tests use?\n\n"
        f"What should be explained?\nSend it as text, or:\nEnds {clock_time(NOW + HOUR)}"
    )
    assert "Reply with it, or:" in read_card(shown, GROUP)
    prompted = replace(PRIVATE, prompted=True)
    assert buttons(shown, prompted) == [["Just explain more"], ["‹ Back"]]
    assert buttons(shown) == [["Write it…"], ["Just explain more"], ["‹ Back"]]
    assert read_plainly(draw_prompt(card(shown), mention=None)) == "What to explain, for shop-api:"
    assert placeholder(card(shown)) == "What should be explained?"


def test_a_question_that_takes_it_shows_what_was_asked_back() -> None:
    asked = [replace(each, takes_ask_back=True) for each in (BRANCH, CHECKS)]
    shown = stepped(
        ask(*asked),
        form.AskCancel(step=0),
        form.AskExplain(step=0),
        form.Text(text="Which one is <stable>?"),
        form.AskCancel(step=0),
        form.Rephrase(step=0),
    )
    assert "released?\nasked to explain: Which one is <stable>?\n\n2." in read_card(shown)
    assert "must pass?\nasked to rephrase\n\nNothing" in read_card(shown)
    sent = form.advance(shown.questions, shown.draft, form.Submit(step=shown.draft.step))
    assert isinstance(sent, form.Answered)
    outcome = Outcome(at=NOW + 60, answers=sent.answers, by=ADA)
    over = replace(shown, status=Status.ANSWERED, outcome=outcome)
    assert "released?\nasked to explain: Which one is <stable>?\n2." in read_card(over)
