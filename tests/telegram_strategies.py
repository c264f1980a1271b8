"""Strategies for asks and notices of any size, in any state, with anything in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card_messages import SentFiles
from chatbridge.core.forms import form
from chatbridge.core.forms.form import AskMore, ShowAll
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Answer,
    Ask,
    Attachment,
    AttachmentKind,
    Draft,
    Grant,
    Level,
    Option,
    Outcome,
    Person,
    Question,
    Status,
    View,
    VoiceMessage,
)
from tests import strategies as some
from tests.telegram_asks import approval, ask, named, notice, stepped

V = TypeVar("V")

ids = st.uuids().map(str)
_MARKUP = (
    "**bold `code` *and* more** [link](https://example.org/?a=1&b=<2>) <b>raw</b>",
    "> quote\n> > deeper\n> ```\n> code\n> ```\n\nafter",
    "- one\n  - two\n    1. three\n\n       ```py\n       x = 1\n       ```\n- > said",
    "```python\n" + "\n".join(f"line {i}" for i in range(50)) + "\n```",
    "~~~\n" + "y" * 3_000 + "\n~~~",
    "# Heading\n\nText\n\n" + "word " * 900,
    "`&`" * 600,
    "*a*`&`" * 300,
    "😀" * 2_500,
    "e\u0301\u0302\u0303" * 1_500,
    "❓ shop-api · Claude Code\n\nEnds 22:45",
    "\n\n".join(["שלום עולם " * 30] * 20),
    "x" * 20_000,
    "&" * 4_000,
)
long_texts = st.sampled_from(_MARKUP) | st.lists(
    some.words | st.sampled_from(_MARKUP), min_size=1, max_size=4
).map("\n\n".join)
_long_words = some.words | long_texts.map(lambda found: found[:1_000])
# Made once: what is made while an example is drawn takes most of the time.
_coins = st.booleans()
_option_counts = st.sampled_from([0, 1, 3, 12, 40, 99, 150])
_long_values = st.tuples(long_texts)
_long_answers = st.builds(Answer, values=_long_values)


_DIGESTS = ("a" * 64, "b" * 64)
files = st.builds(
    Attachment,
    digest=st.sampled_from(_DIGESTS),
    name=_long_words,
    type=st.just("image/png"),
    size=st.integers(0, 10**12),
    kind=st.sampled_from(AttachmentKind),
    caption=st.none() | long_texts,
    excerpt=st.none() | long_texts,
)
_few_files = st.just(()) | st.lists(files, max_size=5).map(tuple)
_many_files = st.just(()) | st.lists(files, max_size=10).map(tuple)
_images = st.none() | files
_voices = st.builds(
    VoiceMessage,
    recording=files,
    text=st.none() | long_texts,
    problem=st.none() | long_texts,
)


def _grown(draw_value: st.DrawFn, question: Question) -> Question:
    """The same kind of question, with far more in it; its options stay as many or more."""
    more: Sequence[Option] = ()
    if question.options:
        more = [Option(label=f"Option number {i}") for i in range(draw_value(_option_counts))]
    options = tuple(
        replace(
            option,
            label=_same_or(draw_value, option.label, _long_words),
            description=_same_or(draw_value, option.description, long_texts),
            image=draw_value(_images),
        )
        for option in question.options
    )
    return replace(
        question,
        text=_same_or(draw_value, question.text, long_texts),
        options=(*options, *more),
        placeholder=_same_or(draw_value, question.placeholder, _long_words),
        on_timeout=_same_or(draw_value, question.on_timeout, _long_answers),
    )


def _same_or(draw_value: st.DrawFn, same: V, others: st.SearchStrategy[V]) -> V:
    return draw_value(others) if draw_value(_coins) else same


_CODES = (
    "terraform apply -var-file=prod.tfvars plan.out",
    "```\n</code></pre><b>x</b> & $(rm -rf /) \u202etxt\n```",
    "\n".join(f"+line {i}" for i in range(60)),
    "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new",
    "😀" * 3_000,
    "\u202e" * 3_000,
    "&" * 3_000,
    "word " * 4_000,
    "\n\n\n",
    "   x",
    "",
)
codes = (
    some.texts
    | st.sampled_from(_CODES)
    | st.lists(st.sampled_from(_CODES) | some.texts, max_size=3).map("\n".join)
)
_paths = st.none() | some.words | long_texts
_ways: list[tuple[form.Event, ...]] = [(), (form.Other(step=0),)]
_more, _picks = AskMore(step=0), [form.Pick(step=0, option=i) for i in range(2)]
_grant_ways: list[tuple[form.Event, ...]] = [
    *((_more, *way) for way in ((), (_picks[0],), (_picks[1],), (form.Back(step=0),)))
]
_last_screen: tuple[form.Event, ...] = (_more, *_picks)  # of several folders
_edits = st.sampled_from([(), ("/src/shop",), ("/src/shop/src/<b>a</b>", "/src/shop")])


@st.composite
def approvals(draw_value: st.DrawFn) -> Ask:
    """An approval in any state of its life, about anything."""
    question = approval(
        draw_value(codes),
        question=draw_value(st.just("Run this command?") | some.words | long_texts),
        language=draw_value(st.sampled_from([None, "bash", "diff", "json", "a<b"])),
        file=draw_value(_paths),
        leads_to=draw_value(_paths),
        folder=draw_value(_paths),
        started=draw_value(st.booleans()),
        destructive=draw_value(st.booleans()),
        beyond=draw_value(st.none() | long_texts),
        edits=draw_value(_edits),
    )
    shown = ask(question, id=draw_value(ids), deadline=draw_value(st.sampled_from([None, 400.0])))
    subject = question.subject
    assert subject is not None
    long = len(subject.code) > 3_000 and draw_value(st.booleans())
    if long:
        whole_first = replace(question, subject=replace(subject, whole_first=True))
        shown = replace(shown, questions=(whole_first,))
        if draw_value(st.booleans()):
            shown = stepped(shown, ShowAll(step=0))
    if not long or shown.draft.whole:
        ways = [*_ways, *_grant_ways] if subject.scopes else _ways
        ways = [*ways, _last_screen] if len(subject.scopes) > 1 else ways
        ways = [*ways, (form.Choose(step=0, option=ALLOW),)] if subject.destructive else ways
        shown = stepped(shown, *draw_value(st.sampled_from(ways)))
    shown = replace(shown, created_at=100.0, project=named(draw_value(_long_words)))
    status = draw_value(st.sampled_from(Status))
    verdict = draw_value(st.sampled_from([ALLOW, ALLOW_SESSION, DENY]))
    why = draw_value(st.none() | _long_words) if verdict == DENY else None
    given = Answer(values=(VERDICTS[verdict].label,), custom_text=why)
    by = Person(name=draw_value(_long_words), channel="telegram", place="7")
    grant = None
    if verdict == ALLOW_SESSION and subject.scopes:
        timed: dict[str, Any] = {"lasting": 3600.0, "until": 3800.0}
        over = {"taken_back_at": 300.0}
        grant = Grant(
            folder=draw_value(st.sampled_from(subject.scopes)),
            **draw_value(st.sampled_from([{}, timed, {**timed, **over}])),
        )
    outcome = {
        Status.OPEN: None,
        Status.ANSWERED: Outcome(at=200.0, answers=(given,), by=by, grant=grant),
    }.get(status, Outcome(at=200.0))
    status = Status.WITHDRAWN if status is Status.CANCELLED else status
    return replace(shown, status=status, outcome=outcome)


notices = st.builds(
    replace,
    st.builds(
        notice,
        some.texts | long_texts,
        title=some.texts | _long_words,
        level=st.sampled_from(Level),
        project=_long_words,
        agent=_long_words,
        id=ids,
    ),
    attachments=_few_files,
)


def asks() -> st.SearchStrategy[Ask]:
    """An ask in any state of its life, with texts and options of any size."""
    return questions_asked() | approvals()


_plain_asks = some.asks()


@st.composite
def questions_asked(draw_value: st.DrawFn) -> Ask:
    found = draw_value(_plain_asks)
    entries = tuple(
        replace(
            e,
            text=_same_or(draw_value, e.text, some.big_texts) if e.text else e.text,
            attachments=draw_value(_many_files),
        )
        for e in found.draft.entries
    )
    draft = _spoken(draw_value, replace(found.draft, entries=entries))
    return replace(
        found,
        id=draw_value(ids),
        title=_same_or(draw_value, found.title, _long_words),
        project=replace(found.project, name=draw_value(_long_words)),
        agent=replace(found.agent, name=draw_value(_long_words)),
        questions=tuple(_grown(draw_value, question) for question in found.questions),
        attachments=draw_value(_few_files),
        draft=draft,
        outcome=_ended(draw_value, found.outcome) if found.outcome else None,
        late=_ended(draw_value, found.late) if found.late else None,
    )


def _spoken(draw_value: st.DrawFn, draft: Draft) -> Draft:
    """The same, or after somebody has spoken an answer."""
    if draft.view is not View.QUESTION or not draw_value(_coins):
        return draft
    return replace(draft, view=View.HEARD, voice=draw_value(_voices))


_channels = st.sampled_from(["telegram", "web", "terminal", "a<b"])
_names = some.texts | long_texts
_reasons = some.big_texts | some.texts


def _ended(draw_value: st.DrawFn, outcome: Outcome) -> Outcome:
    """The same end, with more words, and somebody else who brought it about."""
    answers = tuple(
        replace(answer, values=_same_or(draw_value, answer.values, _long_values))
        if answer.values
        else answer
        for answer in outcome.answers
    )
    by = None
    if draw_value(_coins):
        by = Person(name=draw_value(_names), channel=draw_value(_channels), place="7")
    reason = draw_value(_reasons) if outcome.reason else outcome.reason
    return replace(outcome, answers=answers, by=by, reason=reason)


seens = st.builds(
    Seen,
    private=st.booleans(),
    viewer=st.none() | st.just("7"),
    now=st.sampled_from([0.0, 150.0, 350.0, 500.0, 2e9]),
    prompted=st.booleans(),
    again=st.booleans(),
    overflowed=st.booleans(),
    unsent=st.booleans(),
    files=st.builds(SentFiles, missing=st.sampled_from([(), _DIGESTS]), shrunk=st.booleans()),
)
