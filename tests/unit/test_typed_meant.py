"""What a typed text does where everything can be typed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import Choose, Done, Event, Select, Text, Toggle
from chatbridge.core.forms.typed_input import Action, Unclear, interpret
from chatbridge.core.model import (
    Ask,
    Attention,
    Option,
    Outcome,
    Question,
    QuestionType,
    Status,
    View,
)
from tests import strategies as some
from tests.matrix_asks import go, plain
from tests.telegram_asks import NEXT_TIME, NOW, ask, confirm, later, select, text
from tests.telegram_strategies import questions_asked as any_asks

DATABASE = select(
    "Which database?",
    "PostgreSQL (recommended)",
    "Keep SQLite",
    "Redis",
    "Postgres on a server",
)
CHECKS = select("Which checks?", "Unit tests", "Load, and more", "7", multi=True, required=False)
FORM = ask(confirm("Sure?"), CHECKS, text("Why?", required=False))
SECOND = go(FORM, form.Choose(step=0, option=0))
THIRD = go(SECOND, form.Skip(step=0))
REVIEW = go(THIRD, form.Skip(step=0))
CANCEL = go(FORM, form.AskCancel(step=0))
OTHER = go(SECOND, form.Other(step=0))


def action(shown: Ask, said: str) -> Action:
    found = interpret(shown, said, next_time=NEXT_TIME)
    assert isinstance(found, tuple), found
    (event,) = found
    return event


def why(shown: Ask, said: str) -> str:
    found = interpret(shown, said, next_time=NEXT_TIME)
    assert isinstance(found, Unclear), found
    return plain(found.why)


# ── one option ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "option"),
    [
        ("1", 0),
        (" 2\n", 1),
        ("2️⃣", 1),
        ("4⃣", 3),
        ("redis", 2),
        ("PostgreSQL", 0),
        ("postgresql (Recommended)", 0),
        ("keep", 1),
        ("Postgres on", 3),
    ],
)
def test_a_number_a_label_or_its_first_words_choose(said: str, option: int) -> None:
    assert action(ask(DATABASE), said) == Choose(step=0, option=option)


@pytest.mark.parametrize("said", ["x", "MariaDB", "1.", "SQLite", "2 or 3", "-1", "٢", "👍", "r"])
def test_what_begins_no_label_is_an_answer_of_its_own(said: str) -> None:
    assert action(ask(DATABASE), said) == Text(text=said, step=0)


def test_a_text_that_fits_several_labels_is_asked_back() -> None:
    both = "“Post” fits 1 PostgreSQL and 4 Postgres on a server. Reply with the number."
    assert why(ask(DATABASE), "Post") == both
    many = ask(select("Which?", *(f"part {i}" for i in range(1, 9))))
    assert why(many, "part") == (
        "“part” fits 1 part 1, 2 part 2, 3 part 3, 4 part 4 and 4 more. Reply with the number."
    )


def test_a_text_that_stops_within_a_word_is_asked_back() -> None:
    assert why(ask(DATABASE), "red") == ("“red” fits 3 Redis. Reply 3 to choose it, or say more.")


def test_labels_that_differ_only_in_case_are_told_apart_by_number() -> None:
    shown = ask(select("Which?", "Main", "main"))
    assert why(shown, "main") == "“main” fits 1 Main and 2 main. Reply with the number."
    assert action(shown, "2") == Choose(step=0, option=1)


@pytest.mark.parametrize("number", ["0", "7", "0000000012", "99"])
def test_a_number_that_is_not_there_is_named(number: str) -> None:
    shown = number if len(number) <= 8 else number[:7] + "…"
    said = why(ask(DATABASE), number)
    assert said == f"There is no option {shown}. This question has options 1 to 4."


def test_a_question_with_one_option_says_so() -> None:
    assert why(ask(select("Which?", "a")), "2") == (
        "There is no option 2. This question has only option 1."
    )


def test_what_is_quoted_back_is_cut_visible_and_kept_apart() -> None:
    shown = ask(select("Which?", "x\u202e" + "y" * 100, "x\u202e" + "y" * 90))
    found = interpret(shown, "x\u202e" + "y" * 60, next_time=NEXT_TIME)
    assert isinstance(found, Unclear)
    assert "\u202e" not in found.why
    assert found.why.count("\u2068x⟨U+202E⟩") == found.why.count("…\u2069") == 3
    assert len(found.why) < 200


# ── several options ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("1,3", (0, 2)),
        ("2 1", (0, 1)),
        ("3; 1", (0, 2)),
        ("unit tests, 2", (0, 1)),
        ("unit; 3", (0, 2)),
        ("Load, and more", (1,)),
        ("7", (2,)),
    ],
)
def test_a_list_is_the_whole_choice_and_finishes_it(said: str, options: tuple[int, ...]) -> None:
    picked = go(SECOND, Toggle(step=0, option=1, on=True))
    assert interpret(picked, said, next_time=NEXT_TIME) == (
        Select(step=1, options=frozenset(options)),
        Done(step=1),
    )


@pytest.mark.parametrize("said", ["1,9", "unit tests, 9", "9", "1 2 9"])
def test_a_list_with_a_number_that_is_not_there_changes_nothing(said: str) -> None:
    assert why(SECOND, said) == "There is no option 9. This question has options 1 to 3."


@pytest.mark.parametrize("said", ["1 and 3", "Unit tests and more", "not 1, the other", ",", " "])
def test_any_other_text_joins_what_is_picked(said: str) -> None:
    assert action(SECOND, said) == Text(text=said, step=1)


def test_a_list_with_a_doubtful_part_is_asked_back() -> None:
    assert (
        why(SECOND, "1, loa") == "“loa” fits 2 Load, and more. Reply 2 to choose it, or say more."
    )


def test_a_number_emoji_puts_one_option_on() -> None:
    picked = go(SECOND, Toggle(step=0, option=1, on=True))
    assert action(picked, "2️⃣") == Toggle(step=1, option=1, on=True)


# ── yes and no, texts ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "option"),
    [("yes", 0), ("No", 1), ("Y", 0), (" n ", 1), ("👍", 0), ("👎🏽", 1), ("👍\ufe0f", 0)],
)
def test_yes_and_no_in_words_and_signs(said: str, option: int) -> None:
    assert action(FORM, said) == Choose(step=0, option=option)


@pytest.mark.parametrize("said", ["1", "maybe", "yes?", "", "✅"])
def test_a_confirm_takes_nothing_else(said: str) -> None:
    assert why(FORM, said) == "Reply yes or no."


@pytest.mark.parametrize(
    "said", ["1", "skip", "Cancel", "back", "yes", "✅", "👍", "!stop", "done"]
)
def test_any_word_is_an_answer_where_a_text_is_asked_for(said: str) -> None:
    assert action(THIRD, said) == Text(text=said, step=2)


# ── instead of buttons ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shown", "said", "event"),
    [
        (FORM, "cancel", form.AskCancel(step=0)),
        (FORM, "❌", form.AskCancel(step=0)),
        (SECOND, "Done", form.Done(step=1)),
        (SECOND, "✅", form.Done(step=1)),
        (SECOND, "SKIP", form.Skip(step=1)),
        (SECOND, "⏭", form.Skip(step=1)),
        (SECOND, "back", form.Back(step=1)),
        (SECOND, "↩️", form.Back(step=1)),
        (THIRD, "!skip", form.Skip(step=2)),
        (THIRD, "!Back", form.Back(step=2)),
        (THIRD, "!cancel", form.AskCancel(step=2)),
        (THIRD, "⏭️", form.Skip(step=2)),
        (REVIEW, "send", form.Submit(step=3)),
        (REVIEW, "yes", form.Submit(step=3)),
        (REVIEW, "✅", form.Submit(step=3)),
        (REVIEW, "!send", form.Submit(step=3)),
        (REVIEW, "back", form.Back(step=3)),
        (REVIEW, "2", form.Edit(step=3, question=1)),
        (REVIEW, "cancel", form.AskCancel(step=3)),
        (CANCEL, "✅", form.Cancel(step=1)),
        (CANCEL, "!cancel", form.Cancel(step=1)),
        (CANCEL, "cancel", form.Cancel(step=1)),
        (CANCEL, "yes", form.Cancel(step=1)),
        (CANCEL, "↩️", form.Back(step=1)),
        (CANCEL, "Keep", form.Back(step=1)),
        (CANCEL, "back", form.Back(step=1)),
        (CANCEL, "no", form.Back(step=1)),
        (CANCEL, "skip it for now", Text(text="skip it for now", step=1)),
        (OTHER, "↩️", form.Back(step=2)),
        (OTHER, "back", form.Back(step=2)),
        (OTHER, "!cancel", form.AskCancel(step=2)),
        (OTHER, "1", Text(text="1", step=2)),
    ],
)
def test_a_word_or_a_sign_stands_for_a_button(shown: Ask, said: str, event: Event) -> None:
    assert action(shown, said) == event


@pytest.mark.parametrize("said", ["0", "4", "done", "Unit tests", "", "9" * 5000])
def test_the_review_takes_send_or_a_number(said: str) -> None:
    assert why(REVIEW, said) == "Reply send, or the number of the answer to change."


@pytest.mark.parametrize("said", ["Skip", "cancel", "✅", "+15"])
def test_an_options_own_label_comes_before_what_the_word_does(said: str) -> None:
    shown = ask(select("Which?", "other", said))
    assert action(shown, said) == Choose(step=0, option=1)


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("later", "Later, after six"),
        ("snooze", "Snooze the alert"),
        ("snooze 1h", "Snooze 1h and retry"),
        ("+1h", "+1h from now"),
        ("until 08:00", "Until 08:00 tomorrow"),
    ],
)
def test_the_first_words_of_a_label_choose_it_and_give_no_more_time(said: str, label: str) -> None:
    shown = ask(select("When shall I deploy?", "Now", label))
    found = interpret(shown, said, next_time=NEXT_TIME, later=later(shown))
    assert found == (Choose(step=0, option=1),)
    found = interpret(shown, "!later", next_time=NEXT_TIME, later=later(shown))
    assert found == (form.AskLater(step=0),)


def test_a_button_that_is_not_there_is_refused_kindly() -> None:
    assert why(FORM, "!skip") == "This question needs an answer."
    assert why(FORM, "!back") == "That does not fit this question."
    assert why(SECOND, "!send") == "That does not fit this question."


@pytest.mark.parametrize("said", ["+15", "+15 min", " +15MIN ", "+ 15 minutes"])
@pytest.mark.parametrize("shown", [FORM, SECOND, THIRD, REVIEW, CANCEL, OTHER])
def test_more_time_can_be_had_on_every_screen(shown: Ask, said: str) -> None:
    assert action(shown, said) == form.Extend(minutes=15)


def test_there_is_no_more_time_where_there_is_no_limit() -> None:
    assert action(replace(THIRD, deadline=None), "+15") == Text(text="+15", step=2)


@pytest.mark.parametrize("word", ["later", "Later", "more time", "snooze", "!later"])
def test_a_word_opens_the_screen_for_more_time(word: str) -> None:
    for shown in (FORM, SECOND, REVIEW):
        found = interpret(shown, word, next_time=NEXT_TIME, later=later(shown))
        assert found == (form.AskLater(step=shown.draft.step),)
        assert why(shown, word) == "This question can get no more time."


def test_where_any_word_may_be_an_answer_only_few_mean_more_time() -> None:
    eight = int(NEXT_TIME(8 * 60) // 60)
    for said in ("later", "snooze 1h", "until 08:00", "+1", "+30", "+1h", "+ 90 min", "+15h"):
        assert action(THIRD, said) == Text(text=said, step=2)
    assert action(THIRD, "!snooze 1h") == form.Snooze(minutes=60)
    assert action(THIRD, "!+1h") == form.Extend(minutes=60)
    assert action(THIRD, "!until 08:00") == form.ExtendUntil(until=eight)


def test_a_time_that_nobody_can_read_is_no_answer() -> None:
    assert why(SECOND, "snooze tomorrow") == "Write a time such as 45min, 1h or until 08:00."


def test_the_screen_for_more_time_takes_a_number_its_words_or_any_time() -> None:
    aside = go(SECOND, form.AskLater(step=0))
    step, ways = aside.draft.step, later(aside)
    for said, how in (
        ("1", form.Extend(step=step, minutes=15)),
        ("+1 h", form.Extend(minutes=60)),
        ("Snooze 1 h", form.Snooze(minutes=60)),
        ("4️⃣", form.Snooze(step=step, minutes=60)),
        ("snooze 2h", form.Snooze(minutes=120)),
        ("back", form.Back(step=step)),
    ):
        assert interpret(aside, said, next_time=NEXT_TIME, later=ways) == (how,)
    for said in ("9", "yes", "Unit tests"):
        unclear = interpret(aside, said, next_time=NEXT_TIME, later=ways)
        assert isinstance(unclear, Unclear), "it answers nothing"


def test_a_snoozed_question_takes_show_and_every_answer() -> None:
    snoozed = replace(SECOND, attention=Attention(snoozed_until=NOW + 60))
    for said in ("show", "!Show now"):
        assert action(snoozed, said) == form.ShowNow(step=1)
    found = interpret(snoozed, "1", next_time=NEXT_TIME)
    assert found == interpret(SECOND, "1", next_time=NEXT_TIME)
    assert action(SECOND, "show") == Text(text="show", step=1)


OVER = replace(THIRD, status=Status.TIMED_OUT, outcome=Outcome(at=NOW))


def test_anyway_opens_a_timed_out_question_and_is_a_word_afterwards() -> None:
    assert action(OVER, "Anyway") == form.AnswerAnyway(step=2)
    late = replace(OVER, draft=replace(OVER.draft, late=True))
    assert action(late, "anyway") == Text(text="anyway", step=2)
    assert why(late, "!cancel") == "That does not fit this question."
    assert action(late, "+15") == Text(text="+15", step=2)


# ── whatever is typed ─────────────────────────────────────────────────────────────────────────────

_said = (
    st.sampled_from(["yes", "no", "done", "send", "skip", "back", "cancel", "keep", "anyway"])
    | st.sampled_from(["!done", "!send", "!skip", "!back", "!cancel", "!", "+15"])
    | st.sampled_from(["later", "!more time", "+1h", "snooze 1h", "!snooze until 8", "snooze x"])
    | st.sampled_from(["explain", "rephrase", "!explain", "!rephrase"])
    | st.sampled_from(["✅", "⏭️", "↩️", "❌", "👍", "👎", "1️⃣", "🔟"])
    | st.sampled_from(["1", "1,3", "0", "12", "1,,2", "99999"])
    | some.texts
    | some.big_texts
    | st.integers(min_value=0).map(str)
    | st.lists(st.integers(0, 12).map(str) | some.words, max_size=4).map(", ".join)
)

_ends = st.none() | st.integers(1, 8)


@given(any_asks(), st.data())
def test_every_text_is_taken_or_refused_kindly(shown: Ask, data: st.DataObject) -> None:
    labels = [option.label for question in shown.questions for option in question.choices]
    beginnings = st.builds(lambda label, end: label[:end], st.sampled_from(labels or [""]), _ends)
    found = interpret(shown, data.draw(_said | beginnings), next_time=NEXT_TIME)
    if isinstance(found, Unclear):
        assert found.why.endswith(".")
        assert len(found.why) < 500
        return
    assert found
    draft = shown.draft
    takes_input = shown.open or (takes_late_answer(shown) and draft.late)
    for event in found:
        assert not isinstance(event, AskAction)
        if isinstance(event, form.Later):
            assert len(found) == 1
            assert shown.open
            continue
        step = filling.advance(shown.questions, draft, event)
        if isinstance(step, form.Refused):
            assert step != form.STALE
            assert step != form.UNFIT or not takes_input, event
            assert event == found[-1]
        elif isinstance(step, form.Moved):
            draft = step.draft
        else:
            assert event == found[-1]


@given(st.integers(1, 150), st.integers(0, 10**12), st.booleans())
def test_a_number_never_picks_what_is_not_there(count: int, number: int, multi: bool) -> None:
    kind = QuestionType.MULTI_SELECT if multi else QuestionType.SELECT
    options = tuple(Option(label=f"option {i}") for i in range(count))
    shown = ask(Question(id="q", text="?", type=kind, options=options))
    found = interpret(shown, str(number), next_time=NEXT_TIME)
    assert isinstance(found, Unclear) != (1 <= number <= count)
    if isinstance(found, tuple):
        picked = (
            Select(step=0, options=frozenset({number - 1}))
            if multi
            else Choose(step=0, option=number - 1)
        )
        assert found[0] == picked


@pytest.mark.parametrize("view", list(View))
def test_an_ask_without_a_form_to_fill_in_breaks_nothing(view: View) -> None:
    ended = replace(FORM, status=Status.CANCELLED, draft=replace(FORM.draft, view=view))
    assert action(ended, "done") == Text(text="done", step=0)
