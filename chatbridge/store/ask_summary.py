"""The summary that the store keeps beside each ask, so that lists need not read all of it.

Every text is cut before it is looked at: a summary costs the same for a short ask and a long one.
"""

from __future__ import annotations

from dataclasses import replace

from chatbridge.core.cards.build import drawn_subject, said_to, state_of, verdict_of
from chatbridge.core.cards.card import State
from chatbridge.core.cards.row import Summary
from chatbridge.core.model import Answer, Ask, View
from chatbridge.core.text import one_line, prose, shortened
from chatbridge.markdown import HEADLINE_SOURCE, headline

MAX_TEXT = 300
MAX_ANSWERS, MAX_VALUES = 3, 5  # How many answers, and how many values of each, are summed up


def summary_of(ask: Ask) -> Summary:
    if not ask.questions:  # no tool asks nothing, but the store keeps whatever it is given
        return Summary(question="", count=0)
    first, draft, state = ask.questions[0], ask.draft, state_of(ask)
    subject, outcome = first.subject, ask.late or ask.outcome
    question = shortened(headline(prose(first.text[:HEADLINE_SOURCE])), MAX_TEXT)
    return Summary(
        question=question,
        title=_title(ask, question),
        subject=_subject(ask),
        language=subject.language if subject else None,
        file=bool(subject and subject.file),
        approval=ask.approval,
        channels=ask.approval_channels,
        count=len(ask.questions),
        at=draft.at,
        done=sum(entry.done for entry in draft.entries),
        review=draft.view is View.REVIEW,
        state=state,
        verdict=verdict_of(ask),
        beyond=bool(subject and subject.beyond),
        said=_said(ask, state),
        ended_at=outcome.at if outcome else None,
        by=outcome.by.channel if outcome and outcome.by else None,
    )


def _subject(ask: Ask) -> str | None:
    first = ask.questions[0]
    if first.subject is None:
        return None
    code = first.subject.code.strip()[:MAX_TEXT]
    short = replace(first, subject=replace(first.subject, code=code))
    drawn = drawn_subject(replace(ask, questions=(short,)))
    return (drawn.file or drawn.code)[:MAX_TEXT] if drawn else None


def _title(ask: Ask, question: str) -> str | None:
    title = shortened(one_line((ask.title or ask.questions[0].title or "")[:1_000]), MAX_TEXT)
    repeated = len(ask.questions) == 1 and title.casefold() in question.casefold()
    return None if not title or repeated else title


def _said(ask: Ask, state: State) -> str | None:
    outcome = ask.late or ask.outcome
    if outcome is None:
        return None
    if state is State.CANCELLED:
        said = outcome.reason
    elif ask.approval:
        said = outcome.answers[0].custom_text if outcome.answers else None
    else:
        pairs = zip(ask.questions, outcome.answers[:MAX_ANSWERS], strict=False)
        texts = (said_to(question, _cut(answer)) for question, answer in pairs)
        said = " · ".join(text for text in texts if text)
    return shortened(one_line(said[: 4 * MAX_TEXT]), MAX_TEXT) if said else None


def _cut(answer: Answer) -> Answer:
    own = answer.custom_text
    return replace(
        answer,
        values=tuple(value[:MAX_TEXT] for value in answer.values[:MAX_VALUES]),
        custom_text=None if own is None else own[:MAX_TEXT],
    )
