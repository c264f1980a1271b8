"""An answer from the command line is called so in the inbox, as on every chat's card."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.markup import Name
from chatbridge.core.cards.outcome_text import page_remark
from chatbridge.core.model import Answer, Outcome, Person, Status
from tests.telegram_asks import NOW, ask, text

ADA = Person(name="ada", channel="terminal")
OUTCOME = Outcome(at=NOW + 60, answers=(Answer(values=("blue",)),), by=ADA)
ASK = replace(ask(text("Which?")), status=Status.ANSWERED, outcome=OUTCOME, delivered_at=NOW + 61)


def test_the_inbox_says_terminal() -> None:
    who, *rest = page_remark(build_card(ASK, channel="web"), now=NOW + 90)
    assert isinstance(who, Name)
    assert (who.text, *rest[:2]) == ("ada", " answered in the terminal", ", ")
