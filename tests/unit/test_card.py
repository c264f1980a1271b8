"""The card in each state of an ask, in terms that every channel shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card, Role, State
from chatbridge.core.forms import filling, form
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    Attention,
    Draft,
    Entry,
    Option,
    Outcome,
    Person,
    Priority,
    Project,
    Question,
    QuestionType,
    Status,
    View,
    new_draft,
)
from chatbridge.core.nights.later import options

ADA = Person(name="Ada", channel="telegram")
SELECT = Question(
    id="db",
    text="Which **database**?",
    type=QuestionType.SELECT,
    options=(
        Option(label="PostgreSQL (recommended)", description="about 9 s more"),
        Option(label="SQLite"),
    ),
)
MULTI = Question(
    id="checks",
    text="Which checks?",
    type=QuestionType.MULTI_SELECT,
    options=(Option(label="Unit tests"), Option(label="Load test")),
    required=False,
)
CONFIRM = Question(id="sure", text="Sure?", type=QuestionType.CONFIRM)
TEXT = Question(id="notes", text="Anything else?", placeholder="a name\nor two")
CHOSEN = Outcome(at=200.0, answers=(Answer(values=("PostgreSQL (recommended)",)),), by=ADA)


def ask(*questions: Question, draft: Draft | None = None) -> Ask:
    questions = questions or (SELECT,)
    return Ask(
        id="ask-1",
        project=Project(key="/src/shop", name="shop-api", label="work\nlaptop"),
        agent=Agent(client="claude-code", name="Claude Code"),
        tool="ask_user",
        dialect="questions",
        title=None,
        questions=questions,
        fingerprint="f",
        created_at=100.0,
        deadline=400.0,
        draft=draft or new_draft(questions),
    )


def card(shown: Ask, *, latest: float | None = None) -> Card:
    later = options(shown, now=200.0, latest=latest or 0.0, morning=200.0)
    return build_card(shown, channel="telegram", later=later if latest else ())


def roles(shown: Card) -> list[Role]:
    return [button.role for button in shown.buttons]


# ── the form's screens (T1 to T8) ─────────────────────────────────────────────────────────────────


def test_a_select_shows_its_options_other_and_cancel() -> None:
    shown = card(ask())
    assert (shown.state, shown.glyph, shown.view) == (State.OPEN, "❓", View.QUESTION)
    assert (shown.project, shown.label, shown.agent) == ("shop-api", "work laptop", "Claude Code")
    assert (shown.question, shown.number, shown.count) == ("Which **database**?", 1, 1)
    first, second = shown.choices
    assert (first.number, first.label, first.recommended) == (1, "PostgreSQL", True)
    assert first.description == "about 9 s more"
    assert second.action == form.Choose(step=0, option=1)
    assert roles(shown) == [Role.OTHER, Role.EXPLAIN, Role.CANCEL]


def test_a_multi_select_toggles_to_the_other_state_and_counts_what_is_picked() -> None:
    shown = card(ask(MULTI, draft=Draft(entries=(Entry(picked=(0,), text="lint\nfirst"),))))
    on, off = shown.choices
    assert (on.picked, on.action) == (True, form.Toggle(step=0, option=0, on=False))
    assert (off.picked, off.action) == (False, form.Toggle(step=0, option=1, on=True))
    assert roles(shown) == [
        Role.OTHER,
        Role.SKIP,
        Role.DROP_OTHER,
        Role.DONE,
        Role.EXPLAIN,
        Role.CANCEL,
    ]
    done, drop = shown.button(Role.DONE), shown.button(Role.DROP_OTHER)
    assert done is not None
    assert done.label == "Done (2)"
    assert drop is not None
    assert drop.label == "lint first"


def test_a_confirm_is_yes_and_no() -> None:
    shown = card(ask(CONFIRM))
    assert [choice.label for choice in shown.choices] == ["Yes", "No"]
    assert roles(shown) == [Role.EXPLAIN, Role.CANCEL]


def test_a_text_has_no_options_and_its_placeholder_in_one_line() -> None:
    shown = card(ask(TEXT))
    assert (shown.type, shown.choices) == (QuestionType.TEXT, ())
    assert shown.placeholder == "a name or two"
    assert roles(shown) == [Role.EXPLAIN, Role.CANCEL]


def test_a_step_says_where_it_is_and_leads_back() -> None:
    asked = ask(SELECT, MULTI, TEXT)
    entries = (Entry(picked=(1,), done=True), Entry(), Entry())
    shown = card(replace(asked, draft=Draft(entries=entries, at=1, step=1)))
    assert (shown.number, shown.count, shown.question) == (2, 3, "Which checks?")
    assert roles(shown) == [Role.OTHER, Role.BACK, Role.SKIP, Role.DONE, Role.EXPLAIN, Role.CANCEL]


def test_the_review_lists_what_was_put_in_and_edits_each() -> None:
    entries = (
        Entry(picked=(0,), done=True),
        Entry(done=True),
        Entry(text="two\nlines", done=True),
        Entry(picked=(1,), done=True),
    )
    draft = Draft(entries=entries, view=View.REVIEW, at=4, step=9)
    shown = card(ask(SELECT, MULTI, TEXT, CONFIRM, draft=draft))
    assert [line.answer for line in shown.lines] == ["PostgreSQL", None, "two\nlines", "No"]
    assert [line.edit for line in shown.lines] == [form.Edit(step=9, question=i) for i in range(4)]
    assert roles(shown) == [Role.BACK, Role.SEND, Role.EXPLAIN, Role.CANCEL]
    assert (shown.question, shown.choices) == ("", ())


def test_an_edited_question_shows_what_was_entered_and_leads_back() -> None:
    entries = (Entry(text="Ada", done=True), Entry(picked=(0,), done=True))
    shown = card(ask(TEXT, CONFIRM, draft=Draft(entries=entries, editing=True)))
    assert shown.entered == "Ada"
    assert Role.BACK in roles(shown)


def test_other_asks_for_a_text_and_leads_back_to_the_options() -> None:
    shown = card(ask(draft=Draft(entries=(Entry(),), view=View.OTHER)))
    assert (shown.view, shown.choices, shown.question) == (View.OTHER, (), "Which **database**?")
    assert roles(shown)[0] is Role.BACK


@pytest.mark.parametrize(("at", "question"), [(0, "Which **database**?"), (2, "")])
def test_cancel_asks_first_from_a_question_and_from_the_review(at: int, question: str) -> None:
    draft = Draft(entries=(Entry(), Entry()), view=View.CANCEL, at=at)
    shown = card(ask(SELECT, TEXT, draft=draft))
    assert roles(shown) == [Role.BACK, Role.CANCEL_NOW]
    assert shown.question == question


# ── time, titles, declared defaults (T9, T15) ─────────────────────────────────────────────────────


def test_the_last_fifth_is_soon_but_at_most_ten_minutes() -> None:
    assert card(ask()).soon_at == pytest.approx(340.0)
    assert card(replace(ask(), deadline=100.0 + 7200)).soon_at == 100.0 + 7200 - 600
    assert card(replace(ask(), deadline=None)).soon_at is None


def test_more_time_is_offered_until_the_latest_deadline() -> None:
    later = card(ask(), latest=1_300.0).button(Role.LATER)
    assert later is not None
    assert later.action == form.AskLater(step=0)
    assert card(ask(), latest=400.0).button(Role.LATER) is None


def test_the_screen_for_more_time_has_its_choices_and_a_way_back() -> None:
    aside = filling.advance((SELECT,), new_draft((SELECT,)), form.AskLater(step=0))
    assert isinstance(aside, form.Moved)
    shown = card(ask(draft=aside.draft), latest=1_300.0)
    assert [(choice.label, choice.action) for choice in shown.choices] == [
        ("+15 min", form.Extend(step=1, minutes=15))
    ]
    assert roles(shown) == [Role.BACK]


def test_a_snoozed_card_can_be_shown_now_and_still_be_answered() -> None:
    snoozed = replace(ask(), attention=Attention(snoozed_until=390.0))
    shown = card(snoozed)
    assert shown.snoozed_until == 390.0
    assert shown.choices
    assert Role.SHOW_NOW in roles(shown)
    assert card(replace(snoozed, status=Status.TIMED_OUT)).snoozed_until is None


def test_an_open_card_says_that_nobody_waits() -> None:
    assert card(replace(ask(), orphaned=True)).orphaned
    assert not card(replace(ask(), orphaned=True, status=Status.TIMED_OUT)).orphaned


@pytest.mark.parametrize(
    ("title", "questions", "shown"),
    [
        ("Release\n2.4", (TEXT,), "Release 2.4"),
        ("which **database**", (SELECT,), None),
        ("Which database", (SELECT, TEXT), "Which database"),
        (" \n", (SELECT, TEXT), None),
        (None, (SELECT,), None),
    ],
)
def test_a_title_is_shown_unless_it_says_nothing_new(
    title: str | None, questions: tuple[Question, ...], shown: str | None
) -> None:
    assert card(replace(ask(*questions), title=title)).title == shown


def test_a_declared_default_is_shown_from_the_start() -> None:
    declared = replace(SELECT, on_timeout=Answer(values=("SQLite",)))
    assert card(ask(declared)).declared == "SQLite"
    assert card(ask()).declared is None


# ── ends (T10 to T14) ─────────────────────────────────────────────────────────────────────────────


def answered() -> Ask:
    return replace(ask(), status=Status.ANSWERED, outcome=CHOSEN, settled_at=200.0)


@pytest.mark.parametrize(
    ("shown", "state", "glyph", "offered"),
    [
        (answered(), State.HANDING_OVER, "✅", []),
        (replace(answered(), delivered_at=201.0), State.ANSWERED, "✅", []),
        (replace(answered(), kept=True), State.KEPT, "✅", [Role.DISCARD]),
        (replace(answered(), discarded=True), State.DISCARDED, "🚫", []),
        (replace(ask(), status=Status.CANCELLED), State.CANCELLED, "🚫", []),
        (replace(ask(), status=Status.WITHDRAWN), State.WITHDRAWN, "🚫", []),
        (replace(ask(), status=Status.TIMED_OUT), State.TIMED_OUT, "⌛", [Role.ANYWAY]),
    ],
)
def test_an_ended_card_has_nothing_to_fill_in(
    shown: Ask, state: State, glyph: str, offered: list[Role]
) -> None:
    ended = card(shown, latest=1e9)
    assert (ended.state, ended.glyph, roles(ended)) == (state, glyph, offered)
    assert (ended.view, ended.choices, ended.question) == (None, (), "")
    assert [line.question for line in ended.lines] == ["Which **database**?"]


def test_an_answered_card_says_what_was_answered_and_by_whom() -> None:
    here, elsewhere = (
        build_card(answered(), channel="telegram"),
        build_card(answered(), channel="web"),
    )
    assert [line.answer for line in here.lines] == ["PostgreSQL"]
    assert (here.by, here.by_you, elsewhere.by_you) == (ADA, True, False)


def test_a_cancelled_card_has_the_reason_and_no_answer() -> None:
    outcome = Outcome(at=200.0, reason="later", by=ADA)
    shown = card(replace(ask(), status=Status.CANCELLED, outcome=outcome))
    assert shown.outcome is not None
    assert (shown.outcome.reason, shown.lines[0].answer) == ("later", None)


def test_answer_anyway_opens_the_form_again_without_a_cancel() -> None:
    late = replace(ask(), status=Status.TIMED_OUT, draft=Draft(entries=(Entry(),), late=True))
    shown = card(late, latest=1e9)
    assert (shown.state, shown.glyph, shown.view) == (State.LATE, "⌛", View.QUESTION)
    assert roles(shown) == [Role.OTHER]


def test_a_default_that_stood_in_says_so_and_takes_no_late_answer() -> None:
    stood_in = Outcome(at=400.0, answers=(Answer(values=("SQLite",), decided_by="timeout"),))
    shown = card(replace(ask(), status=Status.TIMED_OUT, outcome=stood_in))
    assert shown.lines[0].answer == "SQLite"
    assert roles(shown) == []


def test_a_late_answer_is_kept_until_it_is_handed_over() -> None:
    late = replace(ask(), status=Status.TIMED_OUT, outcome=Outcome(at=400.0), late=CHOSEN)
    kept = card(replace(late, kept=True, kept_until=900.0))
    assert (kept.state, kept.kept_until, roles(kept)) == (State.KEPT, 900.0, [Role.DISCARD])
    assert kept.lines[0].answer == "PostgreSQL"
    handed_over = card(replace(late, delivered_at=500.0))
    assert (handed_over.state, handed_over.handed_over_late) == (State.ANSWERED, True)


@pytest.mark.parametrize(
    ("attention", "said"),
    [
        (Attention(priority=Priority.URGENT), "urgent"),
        (
            Attention(over_budget=3),
            "marked urgent, but 3 urgent questions rang tonight already",
        ),
        (Attention(over_budget=1), "marked urgent, but 1 urgent question rang tonight already"),
        (Attention(over_budget=0), "marked urgent, but none may ring in quiet hours"),
        (Attention(priority=Priority.LOW), None),
        (Attention(), None),
    ],
)
def test_an_open_card_says_that_it_is_urgent_or_was_meant_to_be(
    attention: Attention, said: str | None
) -> None:
    given = replace(ask(), attention=attention)
    assert build_card(given, channel="web").urgency == said
    ended = replace(given, status=Status.ANSWERED, outcome=CHOSEN)
    assert build_card(ended, channel="web").urgency is None
