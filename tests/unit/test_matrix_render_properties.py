"""What holds for every message that an ask can become, whatever its agent wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.card import draw_card, draw_past, draw_reminder, draw_root
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.bounds import MAX_CHARACTERS
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import GLYPHS
from chatbridge.core.model import (
    Answer,
    Ask,
    Entry,
    Option,
    Outcome,
    Question,
    QuestionType,
    Status,
    View,
)
from tests.matrix_asks import ADA, SEEN, card, check, html_text, plain, seens
from tests.telegram_asks import NOW, ask, select
from tests.telegram_strategies import asks, long_texts


@given(asks(), seens)
def test_every_card_fits_an_event_and_its_first_line_is_ours(shown: Ask, seen: Seen) -> None:
    drawn = build_card(shown, channel="matrix", latest_deadline=1e9)
    drawing = draw_card(drawn, seen)
    check(drawing)
    first = drawing.body.split("\n")[0]
    asides = {View.CANCEL: "Cancel", View.EXPLAIN: "What should be explained?"}
    if drawn.approval:
        asides[View.OTHER] = "Why should it be denied?"
    begins = asides.get(drawn.view) if drawn.view else None
    assert first.startswith(begins or drawn.glyph)
    assert len(first) <= 160
    assert drawn.view or first.startswith(tuple(GLYPHS.values()))


@given(asks(), seens, st.sampled_from(View), st.integers(0, 10))
def test_every_other_message_about_an_ask_fits(shown: Ask, seen: Seen, view: View, at: int) -> None:
    drawn = build_card(shown, channel="matrix", latest_deadline=1e9)
    check(draw_reminder(drawn, seen))
    if drawn.view is not None:
        check(draw_root(drawn, seen))
    check(draw_past(shown, view=view, at=at))
    check(notices.ended(shown, now=seen.now))


@given(st.lists(asks(), max_size=4), long_texts)
def test_every_notice_fits(shown: list[Ask], text: str) -> None:
    check(notices.which_one(shown * 8, now=300.0, reactions=True))
    check(notices.remark(text))


# ── the largest there can be ──────────────────────────────────────────────────────────────────────

FILLS = ("x", "&", "<", "ש", "😀", "word ", "line\n", "para\n\n", "`a` ", "- a\n", "> ")
"""Each of them takes more room than the last one thought of."""


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("count", [1, 10, 100])
def test_the_largest_question_fits_an_event(fill: str, count: int) -> None:
    big = fill * (100_000 // len(fill))
    said = big[: MAX_CHARACTERS // count]
    names = [f"{i}{fill * 400}"[:1_000] for i in range(count)]
    options = tuple(Option(label=name, description=said) for name in names)
    question = Question(id="q", text=big, type=QuestionType.MULTI_SELECT, options=options)
    question = replace(question, on_timeout=Answer(values=(big,)))
    shown = ask(question, project=big, agent=big, title=big)
    entry = Entry(picked=tuple(range(count)), text=fill * 2_000)
    shown = replace(shown, draft=replace(shown.draft, entries=(entry,), by=ADA))
    drawn = card(shown)
    drawing = draw_card(drawn, SEEN)
    check(drawing)
    assert "The whole question is in the web inbox." in drawing.body
    assert "React with every number you want" in drawing.body
    sent = Outcome(at=NOW, answers=(Answer(values=(big,), custom_text=big),), by=ADA)
    check(draw_card(card(replace(shown, status=Status.ANSWERED, outcome=sent)), SEEN))
    check(draw_root(drawn, SEEN))
    check(draw_past(shown, view=View.QUESTION, at=0))


@pytest.mark.parametrize("fill", FILLS)
def test_the_largest_form_fits_an_event(fill: str) -> None:
    questions = [Question(id=str(i), text=f"{i}{fill * 500}"[:1_000]) for i in range(10)]
    entry = Entry(text=fill * 2_000, done=True)
    shown = ask(*questions, title=fill * 50)
    draft = replace(shown.draft, entries=(entry,) * 10, view=View.REVIEW, at=10)
    check(draw_card(card(replace(shown, draft=draft)), SEEN))
    answers = (Answer(values=(fill * 2_000,)),) * 10
    for status in (Status.ANSWERED, Status.TIMED_OUT):
        ended = replace(shown, status=status, outcome=Outcome(at=NOW, answers=answers, by=ADA))
        drawing = draw_card(card(ended), SEEN)
        check(drawing)
        assert drawing.html.count("<li>") == 10


def test_a_hundred_short_options_are_all_listed() -> None:
    shown = ask(select("Which?", *(f"Option {i} is quite a long one" for i in range(1, 101))))
    drawing = draw_card(card(shown), SEEN)
    assert all(f"\n{i} \u2068Option {i} is" in drawing.body for i in range(1, 101))


# ── nothing of an agent's is markup ───────────────────────────────────────────────────────────────

TRICK = "</p><strong>x</strong> & <br>"


def tricked() -> list[Words]:
    question = Question(
        id="q",
        text=f"{TRICK}\n\n```\n{TRICK}\n```\n\n- {TRICK}",
        type=QuestionType.MULTI_SELECT,
        options=(Option(label=TRICK, description=TRICK),),
        on_timeout=Answer(values=(TRICK,)),
    )
    shown = ask(question, project=TRICK[:18], agent=TRICK[:14], title=TRICK[:28] + "?")
    entry = Entry(picked=(0,), text=TRICK)
    shown = replace(shown, draft=replace(shown.draft, entries=(entry,)))
    by = replace(ADA, name=TRICK, channel="web")
    answered = Outcome(at=NOW, answers=(Answer(values=(TRICK,)),), by=by)
    ended = replace(shown, status=Status.ANSWERED, outcome=answered)
    gone = replace(shown, status=Status.CANCELLED, outcome=Outcome(at=NOW, reason=TRICK, by=by))
    return [
        *(draw_card(card(each), SEEN) for each in (shown, ended, gone)),
        draw_root(card(shown), SEEN),
        draw_past(shown, view=View.QUESTION, at=0),
        draw_reminder(card(shown), SEEN),
        notices.which_one([shown], now=NOW, reactions=True),
    ]


def test_what_an_agent_wrote_is_text_in_html_as_in_the_body() -> None:
    for drawing in tricked():
        read = plain(html_text(drawing.html))
        body = plain(drawing.body)
        for mark in ("</p>", "<strong>", "<br>"):
            assert read.count(mark) == body.count(mark)
        assert body.count("</p>") > 0
