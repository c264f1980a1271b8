"""Hypothesis strategies for the domain: questions, asks, events, and drafts that events lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from chatbridge.core.forms import filling, form
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    Attachment,
    AttachmentKind,
    Draft,
    Option,
    Outcome,
    Person,
    Project,
    Question,
    QuestionType,
    Status,
    View,
    new_draft,
)

TRICKS = (
    "\u202e\u202a\u2066\u2069\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u061c\x00\x1b\x07\x85"
)
"""Direction, zero-width and control characters, as a hostile agent would use them."""

_characters = st.sampled_from("ab 1\n*`[]()<>&_-#.\\") | st.sampled_from(TRICKS) | st.characters()
_samples = st.sampled_from(
    [
        "Which database?",
        "**bold** and `code`\n\n- a\n- b",
        "שלום עולם",
        "مرحبا",
        "می\u200cخواهم",
        "日本語の質問",
        "👩‍💻 ❤️ 1️⃣",
        "safe\u202egnp.exe",
        "a\u200bb\x1b[31m",
        "Fast (recommended)",
        "\r\n two\r\nlines ",
    ]
)
texts = st.sampled_from(["", " "]) | _samples | st.text(_characters, max_size=12)
words = _samples | st.text(_characters, max_size=12).filter(lambda text: bool(text.strip()))
"""What an agent may put where something must be said."""
some_text = st.none() | texts
big_texts = st.sampled_from(["x" * 10_000, "x" * 10_001, "\n" * 10_001, "ש" * 100_000])

_options = st.builds(Option, label=words, description=some_text)
_option_lists = st.lists(_options, min_size=1, max_size=4, unique_by=lambda option: option.label)


FORM_TYPES = [kind for kind in QuestionType if kind is not QuestionType.APPROVAL]
"""What can stand in a form; an approval has one of its own."""
# Made once: what is made while an example is drawn takes most of the time.
_form_types = st.sampled_from(FORM_TYPES)
_declared = st.none() | st.just(Answer(values=("declared\u202e",)))
_counts = st.sampled_from([1, 1, 2, 2, 3, 3, 10])
_coins = st.booleans()
_deadlines = st.none() | st.just(400.0)
_deliveries = st.none() | st.just(210.0)
_keeping = st.none() | st.just(1000.0)


@st.composite
def questions(draw: st.DrawFn, *, number: int = 0) -> Question:
    kind = draw(_form_types)
    takes_options = kind in (QuestionType.SELECT, QuestionType.MULTI_SELECT)
    return Question(
        id=f"q{number}",
        text=draw(words),
        type=kind,
        options=tuple(draw(_option_lists)) if takes_options else (),
        required=draw(_coins),
        placeholder=draw(some_text),
        on_timeout=draw(_declared),
        takes_ask_back=draw(_coins),
    )


_numbered = [questions(number=number) for number in range(10)]


@st.composite
def question_lists(draw: st.DrawFn) -> tuple[Question, ...]:
    return tuple(draw(_numbered[i]) for i in range(draw(_counts)))


PHOTO = Attachment(
    digest="d" * 64,
    name="photo.jpg",
    type="image/jpeg",
    size=1_200_000,
    kind=AttachmentKind.PICTURE,
)
_offsets = st.sampled_from([0, 0, 0, 0, -1, 1, -(10**9), 10**9])
_numbers = st.integers(0, 9) | st.sampled_from([-1, -(10**9), 10, 10**9])
_said = words | texts | big_texts
_digests = st.sampled_from("abcd").map(lambda letter: letter * 64)
recordings = st.builds(
    Attachment,
    digest=_digests,
    name=words,
    type=st.just("audio/ogg"),
    size=st.integers(0, 10**9),
    kind=st.sampled_from(AttachmentKind),
)
_files = st.lists(recordings, max_size=3).map(tuple) | st.just(())
_bare: list[type[form.Event]] = [
    form.SendAttached,
    form.DropAttached,
    form.SendHeard,
    form.DropOther,
    form.Done,
    form.Other,
    form.Skip,
    form.Back,
    form.Submit,
    form.AskCancel,
    form.AnswerAnyway,
    form.AskExplain,
    form.Explain,
    form.Rephrase,
    AskMore,
    ShowAll,
]
_relative_events: st.SearchStrategy[form.Event] = st.one_of(
    st.builds(form.Choose, step=_offsets, option=_numbers),
    st.builds(form.Toggle, step=_offsets, option=_numbers, on=st.booleans()),
    st.builds(form.Text, step=st.none() | _offsets, text=_said),
    st.builds(
        form.Attach,
        step=st.none() | _offsets,
        attachments=_files,
        text=st.none() | _said,
        keep=_coins,
    ),
    st.builds(form.Speak, step=st.none() | _offsets, recording=recordings),
    st.builds(
        form.Transcribed,
        step=st.none() | _offsets,
        digest=_digests,
        text=_said,
        problem=some_text,
    ),
    st.builds(form.Edit, step=_offsets, question=_numbers),
    st.builds(form.Pick, step=_offsets, option=_numbers),
    st.builds(form.Cancel, step=_offsets, reason=st.none() | _said),
    *(st.builds(kind, step=_offsets) for kind in _bare),
)

Move = Callable[[Sequence[Question], Draft], form.Event]
"""An event that is told the form it meets."""


def _relative(event: form.Event) -> Move:
    def move(_: Sequence[Question], draft: Draft) -> form.Event:
        return event if event.step is None else replace(event, step=draft.step + event.step)

    return move


def _fitting(number: int) -> Move:
    def move(asked: Sequence[Question], draft: Draft) -> form.Event:
        choice = fitting(asked, draft)
        return choice[number % len(choice)]

    return move


fitting_moves = st.integers(0, 10**6).map(_fitting)
_walks = st.lists(fitting_moves, max_size=12)
any_moves = _relative_events.map(_relative)
"""Events of this step, or of another; many fit nowhere."""


def fitting(asked: Sequence[Question], draft: Draft) -> list[form.Event]:
    """The events that a person can bring about from what is shown."""
    step, leave = draft.step, form.AskCancel(step=draft.step)
    if draft.view is View.CANCEL:
        back: list[form.Event] = [form.Back(step=step)]
        if draft.at < len(asked) and asked[draft.at].takes_ask_back:
            return [*back, form.AskExplain(step=step), form.Rephrase(step=step)]
        return back
    if draft.view is View.EXPLAIN:
        explained = form.Text(text=f"text for {draft.at}", step=step)
        return [form.Back(step=step), form.Explain(step=step), explained]
    if draft.view is View.REVIEW:
        edits = [form.Edit(step=step, question=i) for i in range(len(asked))]
        return [form.Back(step=step), leave, *edits]
    if draft.view is View.OTHER:
        return [form.Back(step=step), leave, form.Text(text="my own", step=step)]
    question = asked[draft.at]
    if draft.view is View.HEARD:
        return [form.Back(step=step), leave, *sending_files(asked, draft)]
    found: list[form.Event] = [leave, form.Back(step=step), form.Skip(step=step)]
    found += sending_files(asked, draft)
    match question.type:
        case QuestionType.TEXT:
            found.append(form.Text(text=f"text for {draft.at}"))
        case QuestionType.MULTI_SELECT:
            numbers = range(len(question.choices))
            found += [form.Toggle(step=step, option=i, on=True) for i in numbers]
            found += [form.Toggle(step=step, option=i, on=False) for i in numbers]
            found += [form.Other(step=step), form.Done(step=step), form.DropOther(step=step)]
        case QuestionType.SELECT | QuestionType.CONFIRM:
            found += [form.Choose(step=step, option=i) for i in range(len(question.choices))]
            found.append(form.Other(step=step))
    return found


def sending_files(asked: Sequence[Question], draft: Draft) -> list[form.Event]:
    """Those of them that are about files and voice messages, with the way back to a question."""
    step, said = draft.step, f"text for {draft.at}"
    if draft.view is View.HEARD:
        assert draft.voice is not None
        digest = draft.voice.recording.digest
        understood = [form.Transcribed(digest=digest, text=text) for text in (said, "")]
        return [*understood, form.SendHeard(step=step)]
    if draft.view is not View.QUESTION:
        return [form.Back(step=step)]
    attached = [form.Attach(attachments=(PHOTO,), step=step, keep=keep) for keep in (True, False)]
    return [
        *attached,
        form.Attach(attachments=(PHOTO,), text=said),
        form.Speak(recording=PHOTO, step=step),
        form.SendAttached(step=step),
        form.DropAttached(step=step),
    ]


def _with_files(number: int) -> Move:
    def move(asked: Sequence[Question], draft: Draft) -> form.Event:
        choice = sending_files(asked, draft)
        return choice[number % len(choice)]

    return move


file_moves = st.integers(0, 10**6).map(_with_files)


@st.composite
def drafts(draw: st.DrawFn, asked: tuple[Question, ...]) -> Draft:
    """A draft that was reached by events, with no way there that a person could not take."""
    draft = new_draft(asked)
    if draw(_coins):  # to the review, where a short walk seldom gets
        draft = _filled(draft, asked)
    for move in draw(_walks):
        step = filling.advance(asked, draft, move(asked, draft))
        if isinstance(step, form.Moved):
            draft = step.draft
    return draft


def _filled(draft: Draft, asked: tuple[Question, ...]) -> Draft:
    for question in asked:
        if len(asked) == 1:
            break
        for event in answering(question, draft.step):
            moved = filling.advance(asked, draft, event)
            assert isinstance(moved, form.Moved)
            draft = moved.draft
    return draft


def answering(question: Question, step: int) -> list[form.Event]:
    """The shortest way to answer one question."""
    match question.type:
        case QuestionType.TEXT:
            return [form.Text(text="typed", step=step)]
        case QuestionType.MULTI_SELECT:
            return [form.Toggle(step=step, option=0, on=True), form.Done(step=step)]
        case _:
            return [form.Choose(step=step, option=0)]


@st.composite
def asks(draw: st.DrawFn, statuses: Sequence[Status] = tuple(Status)) -> Ask:
    """An ask in any state of its life."""
    asked = draw(question_lists())
    draft = draw(drafts(asked))
    status = draw(st.sampled_from(statuses))
    answers = tuple(filling.entry_answer(q, e) for q, e in zip(asked, draft.entries, strict=True))
    by = Person(name="Ada", channel="web")
    given = Outcome(at=200.0, answers=answers, by=by)
    by_default = draw(_coins)
    late = status is Status.TIMED_OUT and not by_default and draw(_coins)
    if status is Status.TIMED_OUT and not by_default:
        draft = replace(draft, late=late or draw(_coins))
    ended = {
        Status.OPEN: None,
        Status.ANSWERED: given,
        Status.CANCELLED: Outcome(at=200.0, reason=draw(some_text), by=by),
        Status.TIMED_OUT: given if by_default else Outcome(at=200.0),
        Status.WITHDRAWN: Outcome(at=200.0),
    }
    return Ask(
        id="ask-1",
        project=Project(key="/src/shop", name=draw(words), label=draw(some_text)),
        agent=Agent(client="client", name=draw(words)),
        tool="ask_user",
        dialect="questions",
        title=draw(some_text),
        questions=asked,
        fingerprint="f",
        created_at=100.0,
        deadline=draw(_deadlines),
        draft=draft,
        status=status,
        outcome=ended[status],
        late=given if late else None,
        delivered_at=draw(_deliveries),
        kept=draw(_coins),
        kept_until=draw(_keeping),
        discarded=draw(_coins),
        orphaned=draw(_coins),
    )
