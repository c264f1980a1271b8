"""What holds for the form whatever is put in, in whatever order."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import Answered, Cancelled, Moved, Refused
from chatbridge.core.model import Draft, Option, Question, QuestionType, View, new_draft
from tests import strategies as some

DRAFT = TypeAdapter(Draft)

DoctorContext = tuple[tuple[Question, ...], Draft]


@st.composite
def situations(draw: st.DrawFn) -> DoctorContext:
    asked = draw(some.question_lists())
    return asked, draw(some.drafts(asked))


_moves = st.lists(some.any_moves, max_size=10) | st.lists(some.file_moves, min_size=8, max_size=20)


@given(situation=situations(), moves=_moves)
def test_no_event_breaks_the_form_and_the_step_never_falls(
    situation: DoctorContext, moves: list[some.Move]
) -> None:
    asked, draft = situation
    for move in moves:
        match filling.advance(asked, draft, move(asked, draft)):
            case Moved(draft=after) | Answered(draft=after):
                same_screen = (after.view, after.at) == (draft.view, draft.at)
                assert after.step >= draft.step + (not same_screen)
                assert len(after.entries) == len(asked)
                assert 0 <= after.at <= len(asked)
                beside = (View.REVIEW, View.CANCEL, View.EXPLAIN)
                assert after.at < len(asked) or after.view in beside
                assert (after.voice is not None) or after.view is not View.HEARD
                assert after.at < len(asked) or after.voice is None
                draft = after
            case Cancelled(reason=reason):
                assert reason is None or reason.strip()
            case Refused(why=why):
                assert why


MAY_DROP = (form.DropAttached, form.Skip, form.Explain, form.Rephrase)


@given(
    situation=situations(),
    moves=st.lists(some.file_moves | some.fitting_moves, max_size=20) | _moves,
)
def test_a_file_that_was_taken_is_lost_only_where_the_person_drops_it(
    situation: DoctorContext, moves: list[some.Move]
) -> None:
    asked, draft = situation
    for move in moves:
        event = move(asked, draft)
        step = filling.advance(asked, draft, event)
        if not isinstance(step, Moved | Answered):
            continue
        asks_back = draft.view is View.EXPLAIN and isinstance(event, form.Text)
        for i, (was, now) in enumerate(zip(draft.entries, step.draft.entries, strict=True)):
            added = event.attachments if isinstance(event, form.Attach) and i == draft.at else ()
            if isinstance(event, form.SendHeard) and i == draft.at and draft.voice:
                added = (draft.voice.recording,) if draft.voice.problem else ()
            dropped = i == draft.at and (isinstance(event, MAY_DROP) or asks_back)
            assert now.attachments == (*was.attachments, *added) or (
                dropped and not now.attachments
            )
            assert len(now.attachments) <= form.MAX_ATTACHMENTS
        if isinstance(step, Answered):
            given = tuple(answer.attachments for answer in step.answers)
            assert given == tuple(entry.attachments for entry in step.draft.entries)
            return
        draft = step.draft


@given(situation=situations(), move=some.any_moves, other=st.integers(-3, 3).filter(bool))
def test_a_stale_event_changes_nothing(
    situation: DoctorContext, move: some.Move, other: int
) -> None:
    asked, draft = situation
    event = replace(move(asked, draft), step=draft.step + other)
    assert filling.advance(asked, draft, event) == form.STALE


@given(
    asked=some.question_lists(),
    moves=st.lists(some.fitting_moves | some.any_moves, max_size=40),
    send=st.booleans(),
)
def test_a_question_is_never_answered_with_another_ones_value(
    asked: tuple[Question, ...], moves: list[some.Move], send: bool
) -> None:
    """Each text typed names the question that was shown; each label is the question's own."""
    draft = new_draft(asked)
    for move in moves:
        event = move(asked, draft)
        typed = f"typed at {draft.at}"
        if isinstance(event, form.Text | form.Transcribed):
            event = replace(event, text=typed)
        elif isinstance(event, form.Attach):
            files = tuple(replace(each, name=f"sent at {draft.at}") for each in event.attachments)
            event = replace(event, text=event.text and typed, attachments=files)
        elif isinstance(event, form.Speak):
            event = form.Speak(recording=replace(event.recording, name=f"sent at {draft.at}"))
        if draft.view is View.REVIEW and send:
            event = form.Submit(step=draft.step)
        step = filling.advance(asked, draft, event)
        if isinstance(step, Moved):
            draft = step.draft
        elif isinstance(step, Answered):
            for i, (question, answer) in enumerate(zip(asked, step.answers, strict=True)):
                typed, sent = f"typed at {i}", f"sent at {i}"
                names = filling.file_names(answer.attachments)
                labels = {option.label for option in question.choices}
                own = {typed, names} if question.type is QuestionType.TEXT else labels
                assert set(answer.values) <= own
                assert answer.custom_text in (None, typed, names)
                assert {file.name for file in answer.attachments} <= {sent}
                assert not (question.required and answer.skipped)
            return


@given(situation=situations())
def test_every_form_can_be_finished_from_where_it_is(
    situation: DoctorContext,
) -> None:
    asked, draft = situation
    for _ in range(3 * len(asked) + 4):
        match draft.view:
            case View.CANCEL | View.OTHER | View.EXPLAIN | View.HEARD | View.CONFIRM_GRANT:
                way: list[form.Event] = [form.Back(step=draft.step)]
            case View.REVIEW:
                way = [form.Submit(step=draft.step)]
            case View.QUESTION:
                way = some.answering(asked[draft.at], draft.step)
        for event in way:
            step = filling.advance(asked, draft, event)
            if isinstance(step, Answered):
                assert len(step.answers) == len(asked)
                return
            assert isinstance(step, Moved), (draft, event, step)
            draft = step.draft
    raise AssertionError(f"not finished: {draft}")


@given(situation=situations())
def test_every_form_can_be_cancelled_from_where_it_is(
    situation: DoctorContext,
) -> None:
    asked, draft = situation
    if draft.view is not View.CANCEL:
        step = filling.advance(asked, draft, form.AskCancel(step=draft.step))
        assert isinstance(step, Moved)
        draft = step.draft
    cancel = form.Cancel(step=draft.step, reason="later")
    assert filling.advance(asked, draft, cancel) == Cancelled(reason="later")


@given(situation=situations())
def test_cancel_and_keep_it_open_lead_back_to_the_same_question(
    situation: DoctorContext,
) -> None:
    asked, before = situation
    draft = before
    for kind in (form.AskCancel, form.Back) if before.view is not View.CANCEL else ():
        step = filling.advance(asked, draft, kind(step=draft.step))
        assert isinstance(step, Moved)
        draft = step.draft
    assert (draft.at, draft.entries, draft.editing) == (before.at, before.entries, before.editing)


@given(situation=situations(), move=some.any_moves)
def test_a_draft_that_was_saved_and_loaded_behaves_the_same(
    situation: DoctorContext, move: some.Move
) -> None:
    asked, draft = situation
    loaded = DRAFT.validate_json(DRAFT.dump_json(draft))
    assert loaded == draft
    event = move(asked, draft)
    after = filling.advance(asked, draft, event)
    assert filling.advance(asked, loaded, event) == after
    if isinstance(after, Moved | Answered):  # what was typed can be saved, too
        assert DRAFT.validate_json(DRAFT.dump_json(after.draft)) == after.draft


@given(situation=situations())
def test_the_review_never_lacks_a_required_answer(
    situation: DoctorContext,
) -> None:
    asked, draft = situation
    if draft.view is View.REVIEW:
        step = filling.advance(asked, draft, form.Submit(step=draft.step))
        assert isinstance(step, Answered)


@given(
    states=st.dictionaries(st.integers(0, 3), st.booleans(), min_size=1),
    repeats=st.integers(1, 3),
)
def test_toggles_come_to_the_same_in_any_order_and_number(
    states: dict[int, bool], repeats: int
) -> None:
    options = tuple(Option(label=label) for label in "abcd")
    asked = (Question(id="m", text="?", type=QuestionType.MULTI_SELECT, options=options),)
    ends = set()
    for order in permutations(states.items()):
        draft = new_draft(asked)
        for option, on in order * repeats:
            step = filling.advance(asked, draft, form.Toggle(step=0, option=option, on=on))
            assert isinstance(step, Moved)
            draft = step.draft
        ends.add(draft)
    assert {draft.entries[0].picked for draft in ends} == {
        tuple(sorted(option for option, on in states.items() if on))
    }
