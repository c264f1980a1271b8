"""How a form is filled in: a pure state machine. Knows no channel, clock or store.

A tap of another step is stale and changes nothing. A toggle does not change the step, so that quick
toggles are not stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chatbridge.core.forms.form import (
    ABOUT_TO_BE_SENT,
    ASIDE,
    EMPTY,
    MAX_ATTACHMENTS,
    MAX_TEXT,
    NO_FILE_HERE,
    NONE_PICKED,
    NOTHING_HEARD,
    REQUIRED,
    STALE,
    TOO_LONG,
    UNFIT,
    AnswerAnyway,
    Answered,
    AskCancel,
    AskExplain,
    AskHandOver,
    AskLater,
    Attach,
    Back,
    Cancel,
    Cancelled,
    Choose,
    Done,
    DropAttached,
    DropOther,
    Edit,
    Event,
    Explain,
    HandOver,
    Later,
    Moved,
    Other,
    Postponed,
    Postponing,
    Refused,
    Release,
    Rephrase,
    Select,
    SendAttached,
    SendHeard,
    Shared,
    ShowNow,
    Skip,
    Speak,
    Step,
    Submit,
    Take,
    Text,
    Toggle,
    Transcribed,
    Undo,
    too_many_files,
)
from chatbridge.core.model import (
    Answer,
    AskBack,
    Attachment,
    Draft,
    Entry,
    Question,
    QuestionType,
    View,
    VoiceMessage,
)
from chatbridge.core.text import encodable


def advance(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    """Apply `event` to `draft`. Never raises."""
    if event.step is not None and event.step != draft.step:
        return STALE
    match draft.view, event:
        case _, Cancel(reason=reason):
            return _cancel(reason)
        case view, AskCancel() if view is not View.CANCEL:
            return show(draft, view=View.CANCEL)
        case view, AnswerAnyway() if not draft.late:
            aside = view in ASIDE
            return show(draft, late=True, view=_view_beside(draft) if aside else view)
        case view, Back() if view in ASIDE:
            return show(draft, view=_view_beside(draft))
        case _, (AskLater() | ShowNow() | Postponing()):
            return postpone(draft, event)
        case _, (Take() | Release() | AskHandOver() | HandOver()):
            return share(draft, event)
        case View.CANCEL, Text(text=text):
            return _cancel(text) if text.strip() else EMPTY
        case view, AskExplain() if view is not View.EXPLAIN and can_ask_back(questions, draft):
            return show(draft, view=View.EXPLAIN)
        case View.EXPLAIN, Rephrase():
            return _ask_back(questions, draft, AskBack.REPHRASE, None)
        case View.EXPLAIN, Text(text=text):
            return _ask_back(questions, draft, AskBack.EXPLAIN, text)
        case View.EXPLAIN, Explain():
            return _ask_back(questions, draft, AskBack.EXPLAIN, None)
        case View.REVIEW, Submit():
            return _submit(questions, draft)
        case View.REVIEW, Edit(question=at) if 0 <= at < len(questions):
            return show(draft, view=View.QUESTION, at=at, editing=True)
        case View.REVIEW, Back():
            return show(draft, view=View.QUESTION, at=len(questions) - 1, editing=False)
        case View.OTHER, Back():
            return show(draft, view=View.QUESTION)
        case View.OTHER, Text(text=text):
            return _enter_text(questions, draft, text)
        case ((View.QUESTION | View.OTHER), Attach()):
            return _attach(questions, draft, event)
        case ((View.QUESTION | View.OTHER | View.HEARD), Speak(recording=recording)):
            return show(draft, view=View.HEARD, voice=VoiceMessage(recording=recording))
        case _, Transcribed():
            return _understood(draft, event)
        case _, (Attach() | Speak()):
            return NO_FILE_HERE
        case View.HEARD, _:
            return _on_voice_message(questions, draft, event)
        case View.OTHER, (SendAttached() | DropAttached()):
            return _on_question(questions, draft, event)
        case View.QUESTION, _:
            return _on_question(questions, draft, event)
    return UNFIT


def _on_question(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    question, entry = questions[draft.at], draft.entries[draft.at]
    multi = question.type is QuestionType.MULTI_SELECT
    single = question.type in (QuestionType.SELECT, QuestionType.CONFIRM)
    lacks_choice = multi and question.required and entry_answer(question, entry).skipped
    match event:
        case Choose(option=option, remark=remark) if single and option in range(
            len(question.choices)
        ):
            return _choose(questions, draft, option, remark)
        case Toggle(option=option, on=on) if multi and 0 <= option < len(question.choices):
            picked = set(entry.picked) | {option} if on else set(entry.picked) - {option}
            entry = replace(_drop_ask_back(entry), picked=tuple(sorted(picked)))
            return Moved(draft=_enter(draft, entry))
        case Select(options=options) if multi and options <= {*range(len(question.choices))}:
            entry = replace(_drop_ask_back(entry), picked=tuple(sorted(options)))
            return Moved(draft=_enter(draft, entry))
        case SendAttached() if entry.attachments and question.type in (
            QuestionType.TEXT,
            QuestionType.SELECT,
        ):
            return _move_on(questions, draft, replace(entry, picked=(), done=True))
        case DropAttached() if entry.attachments:
            return show(_enter(draft, replace(entry, attachments=())))
        case DropOther() if multi:
            return Moved(draft=_enter(draft, replace(_drop_ask_back(entry), text=None)))
        case Done() if multi:
            if lacks_choice:
                return NONE_PICKED
            return _move_on(questions, draft, replace(entry, done=True))
        case Text(text=text) if question.type is not QuestionType.CONFIRM:
            return _enter_text(questions, draft, text)
        case Other() if question.takes_other:
            return show(draft, view=View.OTHER)
        case Skip():
            return REQUIRED if question.required else _move_on(questions, draft, Entry(done=True))
        case Back() if draft.editing:
            if lacks_choice:
                return NONE_PICKED  # the review would show a required answer as skipped
            if question.type is QuestionType.CONFIRM and not (entry.picked or entry == Entry()):
                return REQUIRED  # a remark alone is neither yes nor no
            return show(draft, view=View.REVIEW, at=len(questions), editing=False)
        case Back() if draft.at:
            return show(draft, at=draft.at - 1)
    return UNFIT


def _choose(questions: Sequence[Question], draft: Draft, option: int, remark: str | None) -> Step:
    text = encodable(remark or "").strip() or None
    if text and questions[draft.at].type is not QuestionType.CONFIRM:
        return UNFIT  # of a select, a text is another answer
    refused = check_text(text) if text else None
    before = _drop_ask_back(draft.entries[draft.at])
    if not text and not before.done and questions[draft.at].type is QuestionType.CONFIRM:
        text = before.text  # a remark that came before the tap
    entry = Entry(picked=(option,), text=text, done=True, attachments=before.attachments)
    return refused or _move_on(questions, draft, entry)


def can_ask_back(questions: Sequence[Question], draft: Draft) -> bool:
    """Whether there is a question to ask back about, and an agent that waits."""
    if draft.at < len(questions) and questions[draft.at].takes_ask_back:
        return True
    return not draft.late and not any(q.takes_ask_back for q in questions)


def _ask_back(
    questions: Sequence[Question], draft: Draft, kind: AskBack, guidance: str | None
) -> Step:
    text = None if guidance is None else encodable(guidance).strip()
    if text is not None and (refused := check_text(text)):
        return refused
    if draft.at < len(questions) and questions[draft.at].takes_ask_back:
        return _move_on(questions, draft, Entry(text=text, done=True, ask_back=kind))
    several = len(questions) > 1 and draft.at < len(questions)
    what = f"question {draft.at + 1}" if several else "this"
    wish = f"Please explain {what} in more detail."
    if kind is AskBack.REPHRASE:
        wish = f"Please rephrase {what} in a different way."
    return Cancelled(reason=f"{wish} {text}" if text else wish)


def postpone(draft: Draft, event: AskLater | ShowNow | Later) -> Step:
    """More time can be had on every screen, and its own is closed then."""
    match event:
        case AskLater():
            return UNFIT if draft.view is View.LATER else show(draft, view=View.LATER)
        case ShowNow():
            return Moved(draft=draft)
    if draft.view is View.LATER:
        draft = replace(draft, view=_view_beside(draft), step=draft.step + 1)
    return Postponed(draft=draft, how=event)


def share(draft: Draft, event: Take | Release | AskHandOver | HandOver) -> Step:
    """Also that can be done on every screen."""
    match event:
        case AskHandOver():
            return UNFIT if draft.view is View.HAND_OVER else show(draft, view=View.HAND_OVER)
        case HandOver() if draft.view is not View.HAND_OVER:
            return UNFIT
        case HandOver():
            draft = replace(draft, view=_view_beside(draft), step=draft.step + 1)
    return Shared(draft=draft, how=event)


def _view_beside(draft: Draft) -> View:
    """The screen to which those of cancelling, asking back and more time lead back."""
    if draft.voice is not None:
        return View.HEARD
    return View.REVIEW if draft.at >= len(draft.entries) else View.QUESTION


def _drop_ask_back(entry: Entry) -> Entry:
    """Picking an option withdraws an earlier ask-back."""
    return entry if entry.ask_back is None else Entry()


def _enter_text(questions: Sequence[Question], draft: Draft, text: str) -> Step:
    """Enter a text: the whole answer, or the Other of a multi-select."""
    text = encodable(text)
    if refused := check_text(text):
        return refused
    if questions[draft.at].type is QuestionType.MULTI_SELECT:
        entry = replace(draft.entries[draft.at], text=text, ask_back=None)
        return show(_enter(draft, entry), view=View.QUESTION)
    attachments = draft.entries[draft.at].attachments
    return _move_on(questions, draft, Entry(text=text, done=True, attachments=attachments))


# ── files and voice messages ──────────────────────────────────────────────────────────────────────


def _attach(questions: Sequence[Question], draft: Draft, event: Attach) -> Step:
    question, entry = questions[draft.at], _drop_ask_back(draft.entries[draft.at])
    files = (*entry.attachments, *event.attachments)
    text = encodable(event.text or "").strip() or None
    if not event.attachments:
        return UNFIT
    if len(files) > MAX_ATTACHMENTS:
        return too_many_files(MAX_ATTACHMENTS)
    if text and (refused := check_text(text)):
        return refused
    own = text is not None or draft.view is View.OTHER
    answers = question.type is QuestionType.TEXT or (question.type is QuestionType.SELECT and own)
    if answers and not event.keep:
        return _move_on(questions, draft, Entry(text=text, done=True, attachments=files))
    # As with words: a new remark takes the yes or no back that it may be about.
    done = entry.done and not (text and question.type is QuestionType.CONFIRM)
    entry = replace(entry, text=text or entry.text, done=done, attachments=files)
    if draft.view is View.OTHER and not event.keep:
        return show(_enter(draft, entry), view=View.QUESTION)
    return Moved(draft=_enter(draft, entry))


def _understood(draft: Draft, event: Transcribed) -> Step:
    voice = draft.voice
    waits = voice is not None and not (voice.text or voice.problem)
    if voice is None or not waits or voice.recording.digest != event.digest:
        return UNFIT
    text = encodable(event.text).strip()[:MAX_TEXT]
    problem = None if text else event.problem or NOTHING_HEARD
    draft = replace(draft, voice=replace(voice, text=text or None, problem=problem))
    return show(draft) if draft.view is View.HEARD else Moved(draft=draft)


def _on_voice_message(questions: Sequence[Question], draft: Draft, event: Event) -> Step:
    voice = draft.voice
    without = replace(draft, view=View.QUESTION, voice=None)
    match event:
        case Back():
            return show(without)
        case SendHeard() if voice and voice.text:
            return _enter_words(questions, without, voice.text)
        case SendHeard() if voice and voice.problem:
            own = replace(without, view=View.OTHER)  # it is sent as an answer, beside options too
            return _attach(questions, own, Attach(attachments=(voice.recording,)))
        case Text(text=text):
            return _enter_words(questions, without, text)
    return UNFIT


def _enter_words(questions: Sequence[Question], draft: Draft, text: str) -> Step:
    """As a typed text; beside yes and no it is a remark, and waits for the tap."""
    if questions[draft.at].type is not QuestionType.CONFIRM:
        return _enter_text(questions, draft, text)
    text = encodable(text)
    entry = replace(_drop_ask_back(draft.entries[draft.at]), text=text, done=False)
    return check_text(text) or show(_enter(draft, entry))


# ── sending ───────────────────────────────────────────────────────────────────────────────────────


def advance_sending(draft: Draft, event: Event) -> Step:
    """Apply `event` while complete answers wait to be sent: only `Undo` changes anything. Never
    raises."""
    if event.step is not None and event.step != draft.step:
        return STALE
    if not isinstance(event, Undo):
        return ABOUT_TO_BE_SENT
    entries = draft.entries
    if len(entries) == 1:  # an undone answer is not used at the deadline either
        entries = (replace(entries[0], done=False),)
    return show(draft, entries=entries, view=_view_beside(draft), send_at=None)


def draft_answers(questions: Sequence[Question], draft: Draft) -> tuple[Answer, ...]:
    return tuple(entry_answer(q, e) for q, e in zip(questions, draft.entries, strict=True))


def check_text(text: str) -> Refused | None:
    if not text.strip():
        return EMPTY
    return TOO_LONG if len(text) > MAX_TEXT else None


def _enter(draft: Draft, entry: Entry) -> Draft:
    entries = list(draft.entries)
    entries[draft.at] = entry
    return replace(draft, entries=tuple(entries))


def show(draft: Draft, **changes: Any) -> Moved:
    """Change the screen."""
    return Moved(draft=replace(draft, step=draft.step + 1, **changes))


def _move_on(questions: Sequence[Question], draft: Draft, entry: Entry) -> Step:
    """Enter it, and show the next question or the review, or submit a single question."""
    draft = replace(_enter(draft, entry), voice=None)
    if len(questions) == 1:
        return _submit(questions, draft)
    if draft.editing or draft.at == len(questions) - 1:
        return show(draft, view=View.REVIEW, at=len(questions), editing=False)
    return show(draft, view=View.QUESTION, at=draft.at + 1)


def _submit(questions: Sequence[Question], draft: Draft) -> Step:
    answers = draft_answers(questions, draft)
    if any(q.required and a.skipped for q, a in zip(questions, answers, strict=True)):
        return REQUIRED
    return Answered(draft=replace(draft, step=draft.step + 1), answers=answers)


def _cancel(reason: str | None) -> Step:
    reason = encodable(reason or "").strip()
    return TOO_LONG if len(reason) > MAX_TEXT else Cancelled(reason=reason or None)


def entry_answer(question: Question, entry: Entry) -> Answer:
    if entry.ask_back is not None:
        return Answer(ask_back=entry.ask_back, custom_text=entry.text)
    values = tuple(question.choices[i].label for i in entry.picked)
    text, files = entry.text, entry.attachments
    if text is None and not values and files:
        text = file_names(files)
    if text is None:
        return Answer(values=values, attachments=files)
    if question.type is QuestionType.TEXT:
        return Answer(values=(text,), attachments=files)
    return Answer(values=values, custom_text=text, attachments=files)


def file_names(attachments: Sequence[Attachment]) -> str:
    """Stands for the text of an answer that consists of files alone."""
    return ", ".join(each.name for each in attachments)
