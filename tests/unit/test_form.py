"""The form's rules, one by one."""

from __future__ import annotations

import pytest

from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import (
    MAX_TEXT,
    Answered,
    AskCancel,
    Back,
    Cancel,
    Cancelled,
    Choose,
    Done,
    DropOther,
    Edit,
    Event,
    Moved,
    Other,
    Refused,
    Select,
    Skip,
    Step,
    Submit,
    Text,
    Toggle,
)
from chatbridge.core.model import (
    Answer,
    Draft,
    Option,
    Question,
    QuestionType,
    View,
    new_draft,
)

OPTIONS = (Option(label="red"), Option(label="blue"), Option(label="green"))
SELECT = Question(id="s", text="Colour?", type=QuestionType.SELECT, options=OPTIONS)
MULTI = Question(id="m", text="Colours?", type=QuestionType.MULTI_SELECT, options=OPTIONS)
TEXT = Question(id="t", text="Name?")
CONFIRM = Question(id="c", text="Sure?", type=QuestionType.CONFIRM)
OPTIONAL = Question(id="o", text="Anything else?", required=False)


class Filling:
    """A person in front of one form: each event carries the step that is shown."""

    def __init__(self, *questions: Question) -> None:
        self.questions = questions
        self.draft: Draft = new_draft(questions)
        self.last: Step | None = None

    def put(self, event: Event) -> Step:
        self.last = filling.advance(self.questions, self.draft, event)
        if isinstance(self.last, Moved | Answered):
            self.draft = self.last.draft
        return self.last

    def choose(self, option: int) -> Step:
        return self.put(Choose(step=self.draft.step, option=option))

    def toggle(self, option: int, *, on: bool = True) -> Step:
        return self.put(Toggle(step=self.draft.step, option=option, on=on))

    def write(self, text: str) -> Step:
        return self.put(Text(text=text))

    def tap(self, kind: type[Done | DropOther | Other | Skip | Back | Submit | AskCancel]) -> Step:
        return self.put(kind(step=self.draft.step))

    def edit(self, question: int) -> Step:
        return self.put(Edit(step=self.draft.step, question=question))

    @property
    def shown(self) -> tuple[View, int]:
        return self.draft.view, self.draft.at


def at_review() -> Filling:
    filling = Filling(SELECT, MULTI, TEXT)
    filling.choose(0)
    filling.toggle(1)
    filling.tap(Done)
    filling.write("Ada")
    assert filling.shown == (View.REVIEW, 3)
    return filling


def answers(step: Step | None) -> tuple[Answer, ...]:
    assert isinstance(step, Answered), step
    return step.answers


# ── one question ──────────────────────────────────────────────────────────────────────────────────


def test_one_select_is_answered_by_the_tap() -> None:
    assert answers(Filling(SELECT).choose(1)) == (Answer(values=("blue",)),)


@pytest.mark.parametrize(("option", "value"), [(0, "yes"), (1, "no")])
def test_one_confirm_is_answered_by_the_tap(option: int, value: str) -> None:
    assert answers(Filling(CONFIRM).choose(option)) == (Answer(values=(value,)),)


def test_one_text_is_answered_by_the_message() -> None:
    assert answers(Filling(TEXT).write(" Ada\nL. ")) == (Answer(values=(" Ada\nL. ",)),)


def test_one_multi_select_is_answered_by_done_in_the_options_order() -> None:
    filling = Filling(MULTI)
    filling.toggle(2)
    filling.toggle(0)
    assert answers(filling.tap(Done)) == (Answer(values=("red", "green")),)


def test_one_optional_question_is_answered_by_skip() -> None:
    assert answers(Filling(OPTIONAL).tap(Skip)) == (Answer(),)


# ── several questions ─────────────────────────────────────────────────────────────────────────────


def test_several_questions_go_step_by_step_to_the_review_and_are_sent_there() -> None:
    filling = at_review()
    assert answers(filling.tap(Submit)) == (
        Answer(values=("red",)),
        Answer(values=("blue",)),
        Answer(values=("Ada",)),
    )


def test_back_shows_the_question_before_with_what_was_put_in() -> None:
    filling = Filling(SELECT, TEXT)
    filling.choose(2)
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 0)
    assert filling.draft.entries[0].picked == (2,)


def test_there_is_nothing_before_the_first_question() -> None:
    assert Filling(SELECT, TEXT).tap(Back) == form.UNFIT


def test_back_from_the_review_shows_the_last_question() -> None:
    filling = at_review()
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 2)
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 1)


def test_an_edited_question_leads_back_to_the_review() -> None:
    filling = at_review()
    filling.edit(0)
    assert filling.shown == (View.QUESTION, 0)
    filling.choose(2)
    assert filling.shown == (View.REVIEW, 3)
    assert answers(filling.tap(Submit))[0] == Answer(values=("green",))


def test_back_from_an_edited_question_leads_to_the_review_and_changes_nothing() -> None:
    filling = at_review()
    before = filling.draft.entries
    filling.edit(1)
    filling.tap(Back)
    assert filling.shown == (View.REVIEW, 3)
    assert filling.draft.entries == before


def test_an_edit_cannot_leave_a_required_question_empty_behind() -> None:
    filling = at_review()
    filling.edit(1)
    filling.toggle(1, on=False)
    assert filling.tap(Back) == form.NONE_PICKED
    assert filling.tap(Done) == form.NONE_PICKED
    filling.toggle(0)
    filling.tap(Back)
    assert answers(filling.tap(Submit))[1] == Answer(values=("red",))


@pytest.mark.parametrize("question", [-1, 3, 10**9])
def test_a_question_that_is_not_there_cannot_be_edited(question: int) -> None:
    assert at_review().edit(question) == form.UNFIT


def test_nothing_can_be_sent_before_the_review() -> None:
    assert Filling(SELECT, TEXT).tap(Submit) == form.UNFIT


def test_a_text_on_the_review_is_not_taken() -> None:
    assert at_review().write("hm") == form.UNFIT


# ── multi-select ──────────────────────────────────────────────────────────────────────────────────


def test_toggles_keep_the_step_so_that_quick_ones_are_not_stale() -> None:
    filling = Filling(MULTI)
    taps = [Toggle(step=0, option=0, on=True), Toggle(step=0, option=1, on=True)]
    for tap in [*taps, Toggle(step=0, option=0, on=False)]:
        assert isinstance(filling.put(tap), Moved)
    assert filling.draft.entries[0].picked == (1,)


def test_a_selection_picks_its_options_and_no_others() -> None:
    filling = Filling(MULTI)
    filling.toggle(0)
    assert isinstance(filling.put(Select(step=0, options=frozenset({1}))), Moved)
    assert filling.draft.entries[0].picked == (1,)
    assert filling.put(Select(step=0, options=frozenset({1, 99}))) == form.UNFIT
    assert isinstance(filling.put(Select(step=0, options=frozenset())), Moved)
    assert not any(entry.picked for entry in filling.draft.entries)
    assert Filling(SELECT).put(Select(step=0, options=frozenset({0}))) == form.UNFIT


def test_a_toggle_that_arrives_twice_sets_the_same_state() -> None:
    filling = Filling(MULTI)
    filling.toggle(1)
    filling.toggle(1)
    assert filling.draft.entries[0].picked == (1,)


def test_a_required_multi_select_needs_a_choice_or_other() -> None:
    filling = Filling(MULTI)
    assert filling.tap(Done) == form.NONE_PICKED
    filling.write("mauve")
    assert answers(filling.tap(Done)) == (Answer(custom_text="mauve"),)


def test_an_optional_multi_select_can_be_done_with_nothing() -> None:
    optional = Question(
        id="m", text="?", type=QuestionType.MULTI_SELECT, options=OPTIONS, required=False
    )
    assert answers(Filling(optional).tap(Done)) == (Answer(),)


def test_a_multi_select_cannot_be_chosen_and_a_select_not_toggled() -> None:
    assert Filling(MULTI).choose(0) == form.UNFIT
    assert Filling(SELECT).toggle(0) == form.UNFIT
    assert Filling(SELECT).tap(Done) == form.UNFIT
    assert Filling(SELECT).tap(DropOther) == form.UNFIT


# ── Other and text ────────────────────────────────────────────────────────────────────────────────


def test_other_of_a_select_replaces_the_choice() -> None:
    filling = Filling(SELECT, TEXT)
    filling.choose(0)
    filling.tap(Back)
    filling.tap(Other)
    assert filling.shown == (View.OTHER, 0)
    filling.write("mauve")
    assert filling.draft.entries[0].picked == ()
    filling.write("Ada")
    assert answers(filling.tap(Submit))[0] == Answer(custom_text="mauve")


def test_other_of_a_multi_select_joins_what_is_picked_and_can_be_taken_back() -> None:
    filling = Filling(MULTI)
    filling.toggle(0)
    filling.tap(Other)
    filling.write("mauve")
    assert filling.shown == (View.QUESTION, 0)
    step = filling.draft.step
    filling.tap(DropOther)
    assert (filling.draft.entries[0].text, filling.draft.step) == (None, step)
    filling.write("teal")
    assert answers(filling.tap(Done)) == (Answer(values=("red",), custom_text="teal"),)


def test_back_from_other_shows_the_options_again() -> None:
    filling = Filling(SELECT)
    filling.tap(Other)
    filling.tap(Back)
    assert filling.shown == (View.QUESTION, 0)


@pytest.mark.parametrize("question", [TEXT, CONFIRM])
def test_only_options_have_an_other(question: Question) -> None:
    assert Filling(question).tap(Other) == form.UNFIT


def test_a_yes_or_no_takes_a_remark_and_a_select_does_not() -> None:
    draft = new_draft((CONFIRM,))
    remarked = form.Choose(step=0, option=0, remark=" Back up first. ")
    step = filling.advance((CONFIRM,), draft, remarked)
    assert isinstance(step, form.Answered)
    assert step.answers == (Answer(values=("yes",), custom_text="Back up first."),)
    blank = filling.advance((CONFIRM,), draft, form.Choose(step=0, option=1, remark=" "))
    assert isinstance(blank, form.Answered)
    assert blank.answers == (Answer(values=("no",)),)
    endless = form.Choose(step=0, option=0, remark="x" * 10_001)
    assert filling.advance((CONFIRM,), draft, endless) == form.TOO_LONG
    assert filling.advance((SELECT,), new_draft((SELECT,)), remarked) == form.UNFIT


def test_a_text_does_not_answer_a_confirm() -> None:
    assert Filling(CONFIRM).write("yes, but") == form.UNFIT


def test_a_text_without_options_asked_for_is_the_other_of_a_select() -> None:
    assert answers(Filling(SELECT).write("mauve")) == (Answer(custom_text="mauve"),)


def test_a_text_with_another_step_is_stale_and_without_one_is_taken() -> None:
    filling = Filling(TEXT)
    assert filling.put(Text(text="Ada", step=7)) == form.STALE
    assert isinstance(filling.put(Text(text="Ada")), Answered)


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_a_blank_text_is_no_answer(blank: str) -> None:
    assert Filling(TEXT).write(blank) == form.EMPTY


def test_the_longest_text_is_taken_and_one_more_character_is_not() -> None:
    assert isinstance(Filling(TEXT).write("x" * MAX_TEXT), Answered)
    assert Filling(TEXT).write("x" * (MAX_TEXT + 1)) == form.TOO_LONG


def test_half_a_surrogate_pair_becomes_something_that_can_be_sent_on() -> None:
    assert answers(Filling(TEXT).write("a\ud800")) == (Answer(values=("a\ufffd",)),)
    assert Filling(TEXT).put(Cancel(step=0, reason="\udc00")) == Cancelled(reason="\ufffd")


# ── skip, stale, absurd ───────────────────────────────────────────────────────────────────────────


def test_skip_is_refused_for_a_required_question() -> None:
    assert Filling(TEXT).tap(Skip) == form.REQUIRED


def test_skip_forgets_what_was_put_in() -> None:
    filling = Filling(OPTIONAL, TEXT)
    filling.write("something")
    filling.tap(Back)
    filling.tap(Skip)
    filling.write("Ada")
    assert answers(filling.tap(Submit))[0].skipped


def test_a_tap_of_an_older_step_changes_nothing_and_is_told_kindly() -> None:
    filling = Filling(SELECT, SELECT)
    tap = Choose(step=filling.draft.step, option=0)
    filling.put(tap)
    before = filling.draft
    assert filling.put(tap) == Refused(why="That was an older step. Here is the current one.")
    assert filling.draft == before


@pytest.mark.parametrize("option", [-1, 3, 10**9])
def test_an_option_that_is_not_there_is_refused(option: int) -> None:
    assert Filling(SELECT).choose(option) == form.UNFIT
    assert Filling(MULTI).toggle(option) == form.UNFIT
    assert Filling(TEXT).choose(option) == form.UNFIT
