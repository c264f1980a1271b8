"""State changes of an ask, as pure functions that return the changed ask.

The broker decides when to apply them. Nothing here waits, reads a clock or touches a store.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import approval_form, filling, form
from chatbridge.core.model import (
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Answer,
    Ask,
    AskRequest,
    Attention,
    Grant,
    Outcome,
    Person,
    QuestionType,
    Status,
    View,
    new_draft,
)
from chatbridge.core.policy import Policy

APPROVAL_FETCH_SECONDS = 600.0
"""How long an approval counts for a call that was without a hub."""


def open_ask(
    request: AskRequest,
    *,
    now: float,
    deadline: float | None,
    approval_channels: Collection[str] = (),
) -> Ask:
    questions = request.questions
    if request.approval:
        channels = tuple(sorted(approval_channels))
        questions = tuple(replace(question, channels=channels) for question in questions)
    return Ask(
        id=str(uuid.uuid4()),
        project=request.project,
        agent=request.agent,
        tool=request.tool,
        dialect=request.dialect,
        title=request.title,
        questions=questions,
        attachments=request.attachments,
        fingerprint=request.fingerprint,
        created_at=now,
        deadline=deadline,
        draft=new_draft(request.questions),
        attention=Attention(priority=request.priority, quiet=request.quiet),
    )


def latest_deadline(ask: Ask, policy: Policy) -> float:
    """The latest deadline that this ask can have."""
    longest = ask.created_at + policy.max_timeout
    subject = ask.questions[0].subject
    latest = subject.latest if subject else None
    return longest if latest is None else min(longest, latest)


def apply_event(ask: Ask, event: form.Event) -> form.Step:
    """Apply a form event to the draft of an ask. :raises AskEnded: the ask takes no more input."""
    anyway = isinstance(event, form.AnswerAnyway)
    if ask.open and ask.draft.view is View.SENDING:
        return filling.advance_sending(ask.draft, event)
    if ask.open and ask.approval:
        return approval_form.advance_approval(ask.questions[0], ask.draft, event)
    if ask.open:
        return form.UNFIT if anyway else filling.advance(ask.questions, ask.draft, event)
    if takes_late_answer(ask) and (ask.draft.late or anyway):
        return filling.advance(ask.questions, ask.draft, event)
    raise AskEnded(ask.id, status=ask.status)


def delay_sending(ask: Ask, step: form.Step, *, now: float, policy: Policy) -> form.Step:
    """Delay a complete answer for as long as the owner wants to be able to undo it, but not past
    the deadline."""
    if not isinstance(step, form.Answered) or not ask.open:
        return step
    seconds = _undo_seconds(ask, step, policy)
    if not seconds:
        return step
    send_at = now + seconds if ask.deadline is None else min(now + seconds, ask.deadline)
    return form.Moved(draft=replace(step.draft, view=View.SENDING, send_at=send_at))


def _undo_seconds(ask: Ask, step: form.Answered, policy: Policy) -> float:
    subject = ask.questions[0].subject
    denied = ask.approval and step.answers[0].values == (VERDICTS[DENY].label,)
    weighty = any(question.type is QuestionType.CONFIRM for question in ask.questions)
    weighty |= bool(subject and subject.destructive and not denied)
    return max(policy.undo, policy.undo_confirms if weighty else 0.0)


def is_sending(ask: Ask) -> bool:
    """Whether its answer is complete, and waits to be sent."""
    return ask.open and ask.draft.view is View.SENDING and ask.draft.by is not None


def send(ask: Ask, *, now: float, policy: Policy) -> Ask:
    """Send the answer that waits, as of when it was due. One that needs its caller and that no
    hub could send for long is asked for again: what it was meant for may be over."""
    assert ask.draft.by is not None
    due = min(now, ask.draft.send_at or now)
    if ask.needs_caller and now - due > APPROVAL_FETCH_SECONDS:
        undone = filling.advance_sending(ask.draft, form.Undo(step=ask.draft.step))
        assert isinstance(undone, form.Moved)
        return _revised(ask, draft=undone.draft)
    answers = filling.draft_answers(ask.questions, ask.draft)
    return answer(ask, answers, by=ask.draft.by, now=due, policy=policy)


def takes_late_answer(ask: Ask) -> bool:
    """Whether this is a timed-out ask without a late answer and without a declared default. Where
    its caller is needed, a late one would have no effect."""
    decided = ask.needs_caller or bool(ask.outcome and ask.outcome.answers)
    return ask.status is Status.TIMED_OUT and ask.late is None and not decided


def answer(ask: Ask, answers: tuple[Answer, ...], *, by: Person, now: float, policy: Policy) -> Ask:
    """Answer the ask, in time or after its time-out. :raises AskEnded:"""
    outcome = Outcome(at=now, answers=answers, by=by, grant=grant_of(ask, answers))
    kept_until = None if ask.needs_caller else now + policy.late_answer_ttl
    revise = partial(_revised, ask, kept_until=kept_until, delivered_at=None)
    if ask.open:
        return revise(status=Status.ANSWERED, settled_at=now, outcome=outcome)
    if takes_late_answer(ask):
        return revise(late=outcome, kept=True)
    raise AskEnded(ask.id, status=ask.status)


def grant_of(ask: Ask, answers: tuple[Answer, ...]) -> Grant | None:
    """What the person's way through the form allows beyond one use."""
    if not ask.approval or answers[0].values != (VERDICTS[ALLOW_SESSION].label,):
        return None
    draft, scopes = ask.draft, approval_form.scopes_of(ask.questions[0])
    if draft.scope >= len(scopes) or (draft.lasting is None) != (draft.until is None):
        return None  # without its end an hour would last for the whole session
    return Grant(folder=scopes[draft.scope], lasting=draft.lasting, until=draft.until)


def take_back(ask: Ask, *, now: float, by: Person) -> Ask:
    """End what was allowed beyond one use, if that still holds."""
    grant, outcome = ask.grant, ask.outcome
    if outcome is None or grant is None or not grant.holds(now):
        return ask
    ended = replace(grant, taken_back_at=now, taken_back_by=by)
    return _revised(ask, outcome=replace(outcome, grant=ended))


def cancel(ask: Ask, *, reason: str | None, by: Person, now: float) -> Ask:
    """:raises AskEnded:"""
    if not ask.open:
        raise AskEnded(ask.id, status=ask.status)
    return _ended(ask, Status.CANCELLED, Outcome(at=now, reason=reason, by=by))


def close_late_form(ask: Ask) -> Ask:
    """Close the form of a late answer. The ask stays timed out."""
    return _revised(ask, draft=replace(new_draft(ask.questions), step=ask.draft.step + 1))


def time_out(ask: Ask, *, now: float, policy: Policy) -> Ask:
    """End it without an answer, unless one is about to be sent."""
    if is_sending(ask):
        ask = send(ask, now=now, policy=policy)
    if not ask.open:
        return ask
    answers = _declared_answers(ask) if policy.declared_defaults else ()
    return _ended(ask, Status.TIMED_OUT, Outcome(at=now, answers=answers))


def withdraw(ask: Ask, *, now: float) -> Ask:
    return _ended(ask, Status.WITHDRAWN, Outcome(at=now))


def postpone(ask: Ask, step: form.Postponed, *, now: float) -> Ask:
    """Give it more time, or snooze it, as `later.settle` has worked out. More time does not end a
    snooze."""
    until = step.snoozed_until or ask.attention.snoozed_until
    attention = replace(ask.attention, touched_at=now, snoozed_until=until)
    return _revised(ask, draft=step.draft, deadline=step.deadline, attention=attention)


def share(ask: Ask, step: form.Shared, *, now: float) -> Ask:
    """Note who is on it, or that it was handed over, as `sharing.settle` has worked out. Who gets
    it has not taken it yet."""
    handovers = ask.attention.handovers + ((step.handover,) if step.handover else ())
    attention = replace(ask.attention, touched_at=now, taken_by=step.taken_by, handovers=handovers)
    return _revised(ask, draft=step.draft, attention=attention)


def show_second_line(ask: Ask, *, now: float) -> Ask:
    return _revised(ask, attention=replace(ask.attention, second_line_at=now))


def show_everywhere(ask: Ask) -> Ask:
    return _revised(ask, attention=replace(ask.attention, everywhere=True))


def extend_to(ask: Ask, deadline: float | None) -> Ask:
    """Move the deadline to that of a new caller, if that is later."""
    later = None if ask.deadline is None or deadline is None else max(ask.deadline, deadline)
    return ask if later == ask.deadline else _revised(ask, deadline=later)


def leave_quiet_hours(ask: Ask, *, policy: Policy) -> Ask:
    """Move a deadline that falls into quiet hours, if the owner wants that."""
    latest = latest_deadline(ask, policy)
    return extend_to(ask, policy.nights.deadline_after_quiet(ask, latest=latest))


def remind(ask: Ask, *, now: float, last: bool) -> Ask:
    """Bring its card to the bottom of the chats, because nobody has answered."""
    escalated = ask.attention.escalated or last
    return _raised(ask, reminded_at=now, escalated=escalated)


def wake(ask: Ask, *, now: float) -> Ask:
    """Bring back a card that was snoozed. That is reminder enough for what was due meanwhile."""
    return _raised(ask, snoozed_until=None, reminded_at=now)


def _raised(ask: Ask, **changes: Any) -> Ask:
    attention = replace(ask.attention, raised=ask.attention.raised + 1, **changes)
    return _revised(ask, attention=attention)


def bump_revision(ask: Ask) -> Ask:
    """Make every surface show the ask again, though it has not changed."""
    return _revised(ask)


def is_undelivered(ask: Ask) -> bool:
    """Whether an answer is neither delivered, kept nor discarded. What needs its caller is
    never kept."""
    waits = ask.answer is not None and ask.delivered_at is None
    return waits and not ask.needs_caller and not ask.kept and not ask.discarded


def keep(ask: Ask) -> Ask:
    return _revised(ask, kept=True)


def discard(ask: Ask) -> Ask:
    return _revised(ask, kept=False, discarded=True) if ask.kept else ask


def mark_delivered(ask: Ask, *, now: float) -> Ask:
    return _revised(ask, delivered_at=now, kept=False)


def mark_caller_gone(ask: Ask, *, now: float) -> Ask:
    """Record when the last caller left. The card does not say so yet."""
    return ask if ask.orphaned_since else replace(ask, orphaned_since=now)


def mark_lost(ask: Ask, *, now: float) -> Ask:
    """Record that the last caller left before it got the next task, which nobody else gets."""
    waits = ask.what_next and ask.answer is not None and ask.delivered_at is None
    return _revised(ask, orphaned_since=now) if waits and ask.orphaned_since is None else ask


def mark_orphaned(ask: Ask) -> Ask:
    return _revised(ask, orphaned=True)


def clear_orphaned(ask: Ask) -> Ask:
    """Record that the ask has a caller again."""
    if ask.orphaned_since is None:
        return ask
    visible = 1 if ask.orphaned else 0
    return replace(ask, orphaned_since=None, orphaned=False, revision=ask.revision + visible)


def _ended(ask: Ask, status: Status, outcome: Outcome) -> Ask:
    return _revised(ask, status=status, settled_at=outcome.at, outcome=outcome)


def _revised(ask: Ask, **changes: Any) -> Ask:
    """Apply a change that the card shows."""
    return replace(ask, revision=ask.revision + 1, **changes)


def _declared_answers(ask: Ask) -> tuple[Answer, ...]:
    """Complete the draft with the declared defaults. Return nothing if a required answer is still
    missing or no default was declared: a half-filled form is not an answer."""
    if not any(q.on_timeout for q in ask.questions):
        return ()
    answers = []
    for question, entry in zip(ask.questions, ask.draft.entries, strict=True):
        default = question.on_timeout and replace(question.on_timeout, decided_by="timeout")
        answer = filling.entry_answer(question, entry) if entry.done else default or Answer()
        if answer.skipped and question.required:
            return ()
        answers.append(answer)
    return tuple(answers)
