"""The form with files and voice messages: what they answer, what they wait for, where they do not
fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbridge.core.forms import filling, form
from chatbridge.core.forms.approval_form import TAP_IT, advance_approval
from chatbridge.core.forms.form import Answered, Moved, Refused
from chatbridge.core.model import Answer, AskBack, Question, View, VoiceMessage, new_draft
from tests.fakes.inbox import COMMAND
from tests.strategies import PHOTO
from tests.unit.test_form import CONFIRM, MULTI, OPTIONAL, SELECT, TEXT, Filling

LOG = replace(PHOTO, digest="e" * 64, name="build.log", type="text/plain")
VOICE = replace(PHOTO, digest="f" * 64, name="voice.ogg", type="audio/ogg")
FILES = (PHOTO, LOG)


def attach(filling: Filling, *files: Any, **more: Any) -> form.Step:
    return filling.put(form.Attach(attachments=files or (PHOTO,), **more))


def tap(filling: Filling, kind: type[form.Event], **more: Any) -> form.Step:
    return filling.put(kind(step=filling.draft.step, **more))


def answer_of(step: form.Step | None, at: int = 0) -> Answer:
    assert isinstance(step, Answered), step
    return step.answers[at]


# ── files that answer ─────────────────────────────────────────────────────────────────────────────


def test_a_file_answers_a_question_for_text_and_its_caption_is_the_text() -> None:
    answer = answer_of(attach(Filling(TEXT), *FILES, text=" here it is "))
    assert answer == Answer(values=("here it is",), attachments=FILES)


def test_a_file_without_a_caption_answers_with_its_name() -> None:
    answer = answer_of(attach(Filling(TEXT), *FILES))
    assert answer == Answer(values=("photo.jpg, build.log",), attachments=FILES)


def test_a_file_with_a_caption_is_another_answer_than_the_options() -> None:
    answer = answer_of(attach(Filling(SELECT), text="like this one"))
    assert answer == Answer(custom_text="like this one", attachments=(PHOTO,))


def test_a_file_in_the_other_step_of_a_select_answers_it() -> None:
    filling = Filling(SELECT)
    tap(filling, form.Other)
    assert answer_of(attach(filling)) == Answer(custom_text="photo.jpg", attachments=(PHOTO,))


# ── files that wait ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("question", "label"), [(SELECT, "blue"), (CONFIRM, "no")])
def test_a_file_beside_options_goes_with_the_tap_that_was_drawn_before_it(
    question: Question, label: str
) -> None:
    filling, step = Filling(question), 0
    assert isinstance(attach(filling), Moved)
    answer = answer_of(filling.put(form.Choose(step=step, option=1)))
    assert answer == Answer(values=(label,), attachments=(PHOTO,))


def test_a_caption_beside_yes_and_no_is_the_remark_of_the_tap() -> None:
    filling = Filling(CONFIRM)
    attach(filling, text="but not this one")
    answer = answer_of(tap(filling, form.Choose, option=0))
    assert answer == Answer(values=("yes",), custom_text="but not this one", attachments=(PHOTO,))


def test_files_of_a_multi_select_go_with_its_picks_and_their_caption_is_its_other() -> None:
    filling = Filling(MULTI)
    tap(filling, form.Toggle, option=0, on=True)
    attach(filling, PHOTO)
    attach(filling, LOG, text="and this")
    tap(filling, form.Toggle, option=1, on=True)
    answer = answer_of(tap(filling, form.Done))
    assert answer == Answer(values=("red", "blue"), custom_text="and this", attachments=FILES)


def test_a_multi_select_can_be_answered_with_a_file_alone() -> None:
    filling = Filling(MULTI)
    assert tap(filling, form.Done) == form.NONE_PICKED
    attach(filling)
    assert answer_of(tap(filling, form.Done)).attachments == (PHOTO,)


def test_a_file_in_the_other_step_of_a_multi_select_leads_back_to_the_options() -> None:
    filling = Filling(MULTI)
    tap(filling, form.Other)
    attach(filling, text="own")
    assert (filling.draft.view, filling.draft.entries[0].text) == (View.QUESTION, "own")
    assert filling.draft.entries[0].attachments == (PHOTO,)


@pytest.mark.parametrize("question", [TEXT, SELECT, MULTI, CONFIRM])
def test_files_that_more_may_follow_answer_nothing_by_themselves(question: Question) -> None:
    filling = Filling(question)
    for _ in range(2):
        assert isinstance(attach(filling, keep=True), Moved)
    assert (filling.draft.step, filling.draft.view) == (0, View.QUESTION)
    assert filling.draft.entries[0].attachments == (PHOTO, PHOTO)


@pytest.mark.parametrize("question", [TEXT, SELECT])
def test_files_that_wait_go_with_a_text_or_without_another_word(question: Question) -> None:
    for send in (form.Text(text="so"), form.SendAttached(step=0)):
        filling = Filling(question)
        attach(filling, keep=True)
        assert answer_of(filling.put(send)).attachments == (PHOTO,)


@pytest.mark.parametrize("question", [MULTI, CONFIRM])
def test_files_alone_are_not_sent_where_a_tap_is_missing(question: Question) -> None:
    filling = Filling(question)
    attach(filling)
    assert tap(filling, form.SendAttached) == form.UNFIT


def test_files_can_be_taken_back_and_what_was_drawn_with_them_is_stale() -> None:
    filling = Filling(SELECT)
    attach(filling)
    tap(filling, form.DropAttached)
    assert filling.put(form.Choose(step=0, option=0)) == form.STALE
    assert answer_of(tap(filling, form.Choose, option=0)) == Answer(values=("red",))
    assert tap(Filling(SELECT), form.DropAttached) == form.UNFIT


def test_skipping_drops_the_files() -> None:
    filling = Filling(OPTIONAL)
    attach(filling, keep=True)
    assert answer_of(tap(filling, form.Skip)) == Answer()


def test_files_belong_to_the_question_for_which_they_were_sent() -> None:
    filling = Filling(SELECT, TEXT)
    attach(filling)
    tap(filling, form.Choose, option=0)
    attach(filling, LOG)
    assert filling.draft.view is View.REVIEW
    sent = tap(filling, form.Submit)
    assert [answer_of(sent, at).attachments for at in (0, 1)] == [(PHOTO,), (LOG,)]


def test_an_undone_answer_keeps_its_files() -> None:
    step = attach(Filling(TEXT))
    assert isinstance(step, Answered)
    sending = replace(step.draft, view=View.SENDING)
    assert filling.advance_sending(sending, form.Attach(attachments=FILES)) == form.ABOUT_TO_BE_SENT
    undone = filling.advance_sending(sending, form.Undo(step=sending.step))
    assert isinstance(undone, Moved)
    assert undone.draft.entries[0].attachments == (PHOTO,)


def test_a_file_for_a_question_that_was_asked_back_takes_that_back() -> None:
    filling = Filling(replace(SELECT, takes_ask_back=True), TEXT)
    tap(filling, form.AskExplain)
    tap(filling, form.Explain)
    asked_back = filling.draft.entries[0]
    tap(filling, form.Back)
    attach(filling)
    assert (asked_back.ask_back, filling.draft.entries[0].ask_back) == (AskBack.EXPLAIN, None)
    assert filling.draft.entries[0].attachments == (PHOTO,)


def test_a_remark_alone_is_neither_yes_nor_no() -> None:
    filling = Filling(replace(CONFIRM, takes_ask_back=True), TEXT)
    tap(filling, form.AskExplain)
    tap(filling, form.Explain)
    filling.put(form.Text(text="name"))
    tap(filling, form.Edit, question=0)
    attach(filling, text="look")
    assert tap(filling, form.Back) == form.REQUIRED
    tap(filling, form.Choose, option=1)
    assert answer_of(tap(filling, form.Submit)) == Answer(
        values=("no",), custom_text="look", attachments=(PHOTO,)
    )


def test_a_new_remark_with_a_file_replaces_the_one_of_an_answer_that_is_edited() -> None:
    filling = Filling(CONFIRM, TEXT)
    tap(filling, form.Choose, option=0, remark="old")
    filling.put(form.Text(text="name"))
    tap(filling, form.Edit, question=0)
    attach(filling, text="new")
    tap(filling, form.Choose, option=1)
    assert answer_of(tap(filling, form.Submit)).custom_text == "new"


# ── where they do not fit ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", [form.AskCancel, form.AskExplain, form.AskLater])
@pytest.mark.parametrize(
    "event", [form.Attach(attachments=FILES), form.Speak(recording=VOICE)], ids=["file", "voice"]
)
def test_screens_beside_the_question_take_no_file(way: type[form.Event], event: form.Event) -> None:
    filling = Filling(SELECT)
    assert isinstance(tap(filling, way), Moved)
    assert filling.put(event) == form.NO_FILE_HERE


def test_the_review_takes_no_file() -> None:
    filling = Filling(CONFIRM, CONFIRM)
    for _ in range(2):
        tap(filling, form.Choose, option=0)
    assert filling.draft.view is View.REVIEW
    assert attach(filling) == form.NO_FILE_HERE


@pytest.mark.parametrize(
    "event", [form.Attach(attachments=FILES), form.Speak(recording=VOICE)], ids=["file", "voice"]
)
@pytest.mark.parametrize("view", [View.QUESTION, View.OTHER, View.SCOPE])
def test_a_file_allows_and_denies_nothing(view: View, event: form.Event) -> None:
    draft = replace(new_draft((COMMAND,)), view=view)
    assert advance_approval(COMMAND, draft, event) == TAP_IT


def test_an_answer_has_no_more_files_than_a_result_can_name() -> None:
    filling = Filling(SELECT)
    attach(filling, *[PHOTO] * form.MAX_ATTACHMENTS)
    assert attach(filling) == form.too_many_files(form.MAX_ATTACHMENTS)
    assert len(filling.draft.entries[0].attachments) == form.MAX_ATTACHMENTS


def test_a_message_whose_caption_is_too_long_is_refused_as_a_whole() -> None:
    filling = Filling(TEXT)
    assert attach(filling, text="x" * (form.MAX_TEXT + 1)) == form.TOO_LONG
    assert filling.draft == new_draft((TEXT,))


def test_no_files_are_no_answer() -> None:
    assert Filling(OPTIONAL).put(form.Attach(attachments=())) == form.UNFIT


# ── voice messages ────────────────────────────────────────────────────────────────────────────────


def spoken(*questions: Question, text: str = "", problem: str | None = None) -> Filling:
    filling = Filling(*questions)
    filling.put(form.Speak(recording=VOICE))
    assert filling.draft.view is View.HEARD
    if text or problem:
        understand(filling, text, problem)
    return filling


def understand(filling: Filling, text: str, problem: str | None = None) -> form.Step:
    return filling.put(form.Transcribed(digest=VOICE.digest, text=text, problem=problem))


def test_what_was_understood_answers_only_once_it_is_sent() -> None:
    filling = spoken(TEXT, text=" port 8080 ")
    assert filling.draft.voice
    assert filling.draft.voice.text == "port 8080"
    assert answer_of(tap(filling, form.SendHeard)) == Answer(values=("port 8080",))


def test_nothing_is_sent_while_it_is_being_transcribed() -> None:
    assert tap(spoken(TEXT), form.SendHeard) == form.UNFIT


def test_a_voice_message_beside_options_is_another_answer() -> None:
    answer = answer_of(tap(spoken(SELECT, text="none of these"), form.SendHeard))
    assert answer == Answer(custom_text="none of these")


def test_a_voice_message_beside_yes_and_no_is_the_remark_of_the_tap() -> None:
    filling = spoken(CONFIRM, text="after lunch")
    assert isinstance(tap(filling, form.SendHeard), Moved)
    answer = answer_of(tap(filling, form.Choose, option=0))
    assert answer == Answer(values=("yes",), custom_text="after lunch")


def test_a_voice_message_beside_boxes_is_their_other() -> None:
    filling = spoken(MULTI, text="purple")
    tap(filling, form.SendHeard)
    tap(filling, form.Toggle, option=0, on=True)
    assert answer_of(tap(filling, form.Done)) == Answer(values=("red",), custom_text="purple")


@pytest.mark.parametrize("heard", ["wrong words", ""])
def test_a_text_corrects_what_was_understood_or_is_quicker(heard: str) -> None:
    filling = spoken(TEXT, text=heard)
    assert answer_of(filling.put(form.Text(text="right words"))).values == ("right words",)


def test_a_voice_message_can_be_discarded_and_another_one_takes_its_place() -> None:
    filling = spoken(TEXT, text="one")
    before = filling.draft.step
    filling.put(form.Speak(recording=PHOTO))
    assert filling.draft.step > before
    assert filling.draft.voice == VoiceMessage(recording=PHOTO)
    tap(filling, form.Back)
    assert filling.draft == replace(new_draft((TEXT,)), step=filling.draft.step)


def test_a_transcript_for_another_recording_counts_no_more() -> None:
    filling = spoken(TEXT)
    filling.put(form.Speak(recording=PHOTO))
    assert understand(filling, "the first one") == form.UNFIT
    assert understand(Filling(TEXT), "discarded") == form.UNFIT


@pytest.mark.parametrize("way", [form.AskCancel, form.AskExplain, form.AskLater])
def test_a_transcript_that_comes_on_a_screen_beside_it_is_there_afterwards(
    way: type[form.Event],
) -> None:
    filling = spoken(TEXT)
    tap(filling, way)
    assert isinstance(understand(filling, "port 8080"), Moved)
    tap(filling, form.Back)
    assert answer_of(tap(filling, form.SendHeard)) == Answer(values=("port 8080",))


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_transcript_is_a_problem_and_the_recording_can_be_sent(text: str) -> None:
    filling = spoken(TEXT)
    understand(filling, text)
    assert filling.draft.voice
    assert filling.draft.voice.problem == form.NOTHING_HEARD
    assert answer_of(tap(filling, form.SendHeard)).attachments == (VOICE,)


def test_a_recording_that_is_sent_beside_options_is_another_answer() -> None:
    filling = spoken(SELECT, problem="It took too long.")
    assert answer_of(tap(filling, form.SendHeard)) == Answer(
        custom_text="voice.ogg", attachments=(VOICE,)
    )


@pytest.mark.parametrize("question", [MULTI, CONFIRM])
def test_a_recording_that_is_sent_beside_boxes_or_yes_and_no_waits_for_the_tap(
    question: Question,
) -> None:
    filling = spoken(question, problem="It took too long.")
    before = filling.draft.step
    assert isinstance(tap(filling, form.SendHeard), Moved)
    assert (filling.draft.view, filling.draft.step) == (View.QUESTION, before + 1)
    assert filling.draft.entries[0].attachments == (VOICE,)


@pytest.mark.parametrize("way", [form.AskCancel, form.AskExplain, form.AskLater])
def test_a_screen_beside_a_voice_message_leads_back_to_it(way: type[form.Event]) -> None:
    filling = spoken(TEXT, text="port 8080")
    assert isinstance(tap(filling, way), Moved)
    tap(filling, form.Back)
    assert filling.draft.view is View.HEARD
    assert answer_of(tap(filling, form.SendHeard)) == Answer(values=("port 8080",))


def test_a_voice_message_does_not_follow_to_the_next_question() -> None:
    filling = spoken(replace(TEXT, takes_ask_back=True), TEXT, text="hm")
    tap(filling, form.AskExplain)
    tap(filling, form.Explain)
    assert (filling.draft.at, filling.draft.view) == (1, View.QUESTION)
    assert filling.draft.voice is None


def test_a_file_beside_a_voice_message_has_to_wait() -> None:
    assert isinstance(attach(spoken(TEXT, text="port 8080")), Refused)
