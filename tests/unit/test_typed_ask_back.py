"""Words that ask back instead of answering, where everything can be typed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import AskCancel, AskExplain, Back, Event, Explain, Rephrase, Text
from chatbridge.core.forms.typed_input import Unclear, interpret
from chatbridge.core.model import Ask, Outcome, Status
from tests.telegram_asks import NEXT_TIME, NOW, ask, confirm, select, stepped, text

ONE = ask(select("Which?", "red", "blue"))
NAMED = ask(select("What next?", "Explain", "Test"))
WORDS = ask(text("Why?"))
CANCEL = stepped(WORDS, AskCancel(step=0))
EXPLAIN = stepped(WORDS, AskExplain(step=0))
OTHER = stepped(ONE, form.Other(step=0))
MIXED = ask(replace(confirm("Sure?"), takes_ask_back=True), text("Why?"))
SECOND = stepped(MIXED, form.Choose(step=0, option=0))
UNASKABLE = stepped(SECOND, AskCancel(step=0))
REVIEW = stepped(ask(confirm("Sure?"), confirm("Really?")), *[form.Choose(step=0, option=0)] * 2)


@pytest.mark.parametrize(
    ("shown", "said", "events"),
    [
        (CANCEL, "explain", (AskExplain(step=1),)),
        (CANCEL, " Rephrase ", (AskExplain(step=1), Rephrase(step=2))),
        (CANCEL, "!explain", (AskExplain(step=1),)),
        (CANCEL, "explain it to me later", (Text(text="explain it to me later", step=1),)),
        (EXPLAIN, "✅", (Explain(step=1),)),
        (EXPLAIN, "explain", (Explain(step=1),)),
        (EXPLAIN, "!rephrase", (Rephrase(step=1),)),
        (EXPLAIN, "rephrase", (Rephrase(step=1),)),
        (EXPLAIN, "🔁", (Rephrase(step=1),)),
        (EXPLAIN, "↩️", (Back(step=1),)),
        (EXPLAIN, "back", (Back(step=1),)),
        (EXPLAIN, "!cancel", (AskCancel(step=1),)),
        (EXPLAIN, "the second one", (Text(text="the second one", step=1),)),
        (ONE, "explain", (AskExplain(step=0),)),
        (ONE, "!explain", (AskExplain(step=0),)),
        (ONE, "Ask back", (AskExplain(step=0),)),
        (ONE, "❔", (AskExplain(step=0),)),
        (ONE, "rephrase", (AskExplain(step=0), Rephrase(step=1))),
        (ONE, "explain the second", (Text(text="explain the second", step=0),)),
        (NAMED, "explain", (form.Choose(step=0, option=0),)),
        (OTHER, "explain", (Text(text="explain", step=1),)),
        (REVIEW, "explain", (AskExplain(step=2),)),
        (WORDS, "!Rephrase", (AskExplain(step=0), Rephrase(step=1))),
        (WORDS, "explain", (Text(text="explain", step=0),)),
        (WORDS, "rephrase", (Text(text="rephrase", step=0),)),
    ],
)
def test_a_word_asks_back_or_is_what_was_asked_for(
    shown: Ask, said: str, events: tuple[Event, ...]
) -> None:
    assert interpret(shown, said, next_time=NEXT_TIME) == events
    draft = shown.draft
    for event in events:
        step = filling.advance(shown.questions, draft, event)
        assert not isinstance(step, form.Refused)
        draft = step.draft if isinstance(step, form.Moved) else draft


def test_where_nobody_can_be_asked_back_the_words_do_nothing_else() -> None:
    assert interpret(SECOND, "!explain", next_time=NEXT_TIME) == Unclear(why=form.UNFIT.why)
    assert interpret(UNASKABLE, "explain", next_time=NEXT_TIME) == (Text(text="explain", step=2),)
    over = replace(WORDS, status=Status.TIMED_OUT, outcome=Outcome(at=NOW))
    late = replace(over, draft=replace(over.draft, late=True))
    assert interpret(late, "!rephrase", next_time=NEXT_TIME) == Unclear(why=form.UNFIT.why)
