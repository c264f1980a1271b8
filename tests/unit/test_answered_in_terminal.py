"""An answer from the command line is called so on every channel's card."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.matrix.render import card as matrix
from chatbridge.channels.telegram.render import card as telegram
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.outcome_text import Untrusted, page_remark
from chatbridge.core.model import Answer, Outcome, Person, Status
from tests.matrix_asks import SEEN, card, plain
from tests.telegram_asks import GROUP, NOW, ask, text

ADA = Person(name="ada", channel="terminal")
OUTCOME = Outcome(at=NOW + 60, answers=(Answer(values=("blue",)),), by=ADA)
ASK = replace(ask(text("Which?")), status=Status.ANSWERED, outcome=OUTCOME, delivered_at=NOW + 61)


def test_telegram_says_terminal() -> None:
    shown = telegram.draw_card(build_card(ASK, channel="telegram"), GROUP).html
    assert "<b>Answered elsewhere</b>" in shown
    assert "\u2068ada\u2069, terminal, " in shown


def test_matrix_says_terminal() -> None:
    shown = plain(matrix.draw_card(card(ASK), SEEN).body)
    assert "Answered elsewhere" in shown
    assert "ada, terminal, " in shown


def test_the_inbox_says_terminal() -> None:
    who, *rest = page_remark(build_card(ASK, channel="web"), now=NOW + 90)
    assert isinstance(who, Untrusted)
    assert (who.text, *rest[:3]) == ("ada", ", ", "terminal", ", ")
