"""Builds the card of an ask. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from chatbridge.core.asks.deadlines import soon_at
from chatbridge.core.asks.transitions import grant_of, is_sending, takes_late_answer
from chatbridge.core.cards.attached import CLIP, file_label
from chatbridge.core.cards.card import (
    APPROVAL_GLYPH,
    FINISHED_GLYPH,
    GLYPHS,
    REMINDER_GLYPH,
    AskAction,
    Button,
    Card,
    Choice,
    Line,
    Role,
    State,
)
from chatbridge.core.cards.grants import GRANT_VIEWS, grant_choices, grant_sentence
from chatbridge.core.cards.phrases import format_finished, format_urgency
from chatbridge.core.cards.sharing import colleague_choices, sharing_lines
from chatbridge.core.exact_text import distinguish_labels, exact, exact_line
from chatbridge.core.forms import approval_form, filling, form
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    VERDICTS,
    Answer,
    Ask,
    AskBack,
    Grant,
    Question,
    QuestionType,
    Status,
    Subject,
    View,
    VoiceMessage,
)
from chatbridge.core.nights.later import LaterOption
from chatbridge.core.people.sharing import Colleague
from chatbridge.core.text import one_line, prose, shortened, split_recommended, visible

SIDE_VIEWS = (*form.ASIDE, View.OTHER, View.HEARD, View.CONFIRM_DESTRUCTIVE, *GRANT_VIEWS)
"""Screens beside the question. A person confirms them or goes back."""
ASIDE_CHOICES = (View.LATER, View.HAND_OVER)
"""Of these, the screens with choices of their own."""
ASKED_BACK = {AskBack.EXPLAIN: "asked to explain", AskBack.REPHRASE: "asked to rephrase"}


def build_card(
    ask: Ask,
    *,
    channel: str,
    later: Sequence[LaterOption] = (),
    only_on: tuple[str, ...] = (),
    replies: Sequence[str] = (),
    colleagues: Sequence[Colleague] | None = None,
) -> Card:
    """Build the card that `channel` should show. `later`: the ways to postpone it. `only_on`: the
    channels that can settle this ask, if `channel` cannot. `replies`: the owner's quick answers to
    questions for text. `colleagues`: to whom it can be handed; None: there is no team."""
    state = state_of(ask)
    view = ask.draft.view if state in (State.OPEN, State.LATE) else None
    on_question = view is not None and ask.draft.at < len(ask.questions)
    question = ask.questions[ask.draft.at] if on_question else None
    outcome = ask.late or ask.outcome
    postponing = () if only_on or ask.what_next else _later(ask, later)
    choices = _choices(ask, question, view) if question and not only_on else ()
    if view in ASIDE_CHOICES:
        others = () if only_on else colleague_choices(ask, colleagues or ())
        choices = postponing if view is View.LATER else others
    return Card(
        ask_id=ask.id,
        revision=ask.revision,
        step=ask.draft.step,
        state=state,
        glyph=_glyph(ask, state),
        project=one_line(ask.project.name),
        label=one_line(ask.project.label) if ask.project.label else None,
        agent=one_line(ask.agent.name),
        title=_title(ask),
        view=view,
        number=min(ask.draft.at + 1, len(ask.questions)),
        count=len(ask.questions),
        done=sum(entry.done for entry in ask.draft.entries),
        type=question.type if question and view not in ASIDE_CHOICES else None,
        question=prose(question.text) if question else "",
        required=question.required if question else True,
        placeholder=one_line(question.placeholder) if question and question.placeholder else None,
        entered=_entered(ask) if question else None,
        attachments=ask.attachments,
        attached=ask.draft.entries[ask.draft.at].attachments if question else (),
        voice=_voice(ask) if view is View.HEARD else None,
        changed_by=ask.draft.by,
        choices=choices,
        later=postponing,
        snoozed_until=ask.attention.snoozed_until if ask.open else None,
        replies=tuple(
            form.Text(text=text, step=ask.draft.step)
            for text in replies
            if question and question.type is QuestionType.TEXT and view is View.QUESTION
        ),
        lines=_lines(ask, view),
        buttons=()
        if only_on
        else _buttons(ask, state, can_wait=bool(postponing), colleagues=colleagues),
        declared=_declared(ask) if ask.open else None,
        created_at=ask.created_at,
        deadline=ask.deadline,
        soon_at=soon_at(created_at=ask.created_at, deadline=ask.deadline),
        urgency=format_urgency(ask.attention) if ask.open else None,
        sharing=sharing_lines(ask),
        reminds=_reminds(ask),
        orphaned=ask.orphaned and ask.open,
        outcome=outcome,
        by_you=bool(outcome and outcome.by and outcome.by.channel == channel),
        kept_until=ask.kept_until if state is State.KEPT else None,
        delivered_at=ask.delivered_at,
        handed_over_late=ask.late is not None and ask.delivered_at is not None,
        unheard=ask.orphaned_since is not None and ask.delivered_at is None,
        approval=ask.approval,
        what_next=ask.what_next,
        subject=drawn_subject(ask),
        verdict=verdict_of(ask),
        send_at=ask.draft.send_at if view is View.SENDING else None,
        ours_to_run=ask.approval and ask.dialect == COMMANDS,
        grant_text=() if view and only_on else grant_sentence(ask, view),
        grant=_grant(ask),
        only_on=only_on,
    )


def _glyph(ask: Ask, state: State) -> str:
    if ask.approval and ask.open:
        return APPROVAL_GLYPH
    if ask.what_next and ask.open:
        return FINISHED_GLYPH
    return REMINDER_GLYPH if _reminds(ask) else GLYPHS[state]


def _reminds(ask: Ask) -> bool:
    """Whether the last reminder has led to nothing yet."""
    reminded, touched = ask.attention.reminded_at, ask.attention.touched_at
    return ask.open and reminded is not None and (touched or 0.0) < reminded


def _entered(ask: Ask) -> str | None:
    """The text that was entered for the current question; of a confirm, with its yes or no."""
    question, entry = ask.questions[ask.draft.at], ask.draft.entries[ask.draft.at]
    if entry.ask_back is not None:
        return None
    if entry.text is not None and question.type is QuestionType.CONFIRM:
        return said_to(question, filling.entry_answer(question, entry))
    return entry.text


def _voice(ask: Ask) -> VoiceMessage | None:
    voice = ask.draft.voice
    return replace(voice, text=visible(voice.text)) if voice and voice.text else voice


def state_of(ask: Ask) -> State:
    match ask.status:
        case Status.OPEN:
            return State.OPEN
        case Status.CANCELLED:
            return State.CANCELLED
        case Status.WITHDRAWN:
            return State.WITHDRAWN
        case Status.TIMED_OUT if ask.late is None:
            return State.LATE if ask.draft.late else State.TIMED_OUT
    if ask.approval:
        denied = verdict_of(ask) == VERDICTS[DENY].label
        return State.DENIED if denied else State.ALLOWED
    if ask.discarded:
        return State.DISCARDED
    if ask.delivered_at is not None:
        return State.ANSWERED
    return State.KEPT if ask.kept else State.HANDING_OVER


def _title(ask: Ask) -> str | None:
    """The title of the ask or of the current question, unless the question repeats it."""
    if ask.what_next:
        return format_finished(one_line(ask.project.name))
    own = ask.questions[ask.draft.at].title if ask.draft.at < len(ask.questions) else None
    title = one_line(ask.title or own or "")
    only = one_line(ask.questions[0].text) if len(ask.questions) == 1 else ""
    return None if not title or title.casefold() in only.casefold() else title


def _choices(ask: Ask, question: Question, view: View | None) -> tuple[Choice, ...]:
    if ask.approval:
        # Its verdicts are buttons with roles of their own, because wrong taps differ in their cost.
        return grant_choices(ask)
    if view is not View.QUESTION:
        return ()
    entry, step, labels = ask.draft.entries[ask.draft.at], ask.draft.step, _labels(question)
    multi = question.type is QuestionType.MULTI_SELECT
    return tuple(
        Choice(
            number=i + 1,
            label=labels[option.label][0],
            description=prose(option.description) if option.description else None,
            recommended=labels[option.label][1],
            picked=i in entry.picked,
            action=form.Toggle(step=step, option=i, on=i not in entry.picked)
            if multi
            else form.Choose(step=step, option=i),
            image=option.image,
        )
        for i, option in enumerate(question.choices)
    )


def _later(ask: Ask, options: Sequence[LaterOption]) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            number=number,
            label=option.label,
            description=None,
            recommended=False,
            picked=False,
            action=replace(option.event, step=ask.draft.step),
        )
        for number, option in enumerate(options, 1)
        if ask.open and ask.draft.view is not View.SENDING
    )


def _labels(question: Question) -> dict[str, tuple[str, bool]]:
    """Map each label to its displayed form and whether the agent recommends it."""
    labels = [option.label for option in question.choices]
    shown = distinguish_labels(labels)
    if question.type is QuestionType.CONFIRM:
        shown = [label.capitalize() for label in shown]
    return dict(zip(labels, map(split_recommended, shown), strict=True))


def _lines(ask: Ask, view: View | None) -> tuple[Line, ...]:
    """The lines of the review or of the outcome; without answers, the questions alone."""
    if view not in (View.REVIEW, View.SENDING, None):
        return ()
    outcome = ask.late or ask.outcome
    answers: Sequence[Answer | None] = [None] * len(ask.questions)
    if view is not None:
        answers = filling.draft_answers(ask.questions, ask.draft)
    elif outcome and outcome.answers and not ask.approval:
        answers = outcome.answers
    edits = view is View.REVIEW
    return tuple(
        Line(
            question=prose(q.text),
            answer=said_to(q, a) if a else None,
            edit=form.Edit(step=ask.draft.step, question=i) if edits else None,
            attachments=a.attachments if a else (),
        )
        for i, (q, a) in enumerate(zip(ask.questions, answers, strict=False))
    )


def said_to(question: Question, answer: Answer) -> str | None:
    if question.type is not QuestionType.TEXT:
        shown = _labels(question)
        labels = tuple(shown[value][0] if value in shown else value for value in answer.values)
        answer = replace(answer, values=labels)
    return answer_text(answer)


def answer_text(answer: Answer) -> str | None:
    """Format an answer for people; None if it was skipped."""
    if answer.skipped:
        return None
    texts = [*answer.values, *([] if answer.custom_text is None else [answer.custom_text])]
    if answer.attachments:
        files = [f"{CLIP}\N{NO-BREAK SPACE}{file_label(each)}" for each in answer.attachments]
        texts = [text for text in texts if text != filling.file_names(answer.attachments)] + files
    said = ", ".join(map(visible, texts))
    if answer.ask_back is None:
        return said
    asked = ASKED_BACK[answer.ask_back]
    return f"{asked}: {said}" if answer.custom_text else asked


_TAPS: dict[Role, tuple[str, Callable[..., form.Event]]] = {
    Role.EXPLAIN: ("Ask back…", form.AskExplain),
    Role.REPHRASE: ("Ask it differently", form.Rephrase),
    Role.EXPLAIN_NOW: ("Explain this", form.Explain),
    Role.LATER: ("More time…", form.AskLater),
    Role.TAKE: ("I'll take it", form.Take),
    Role.RELEASE: ("Let it go", form.Release),
    Role.HAND_OVER: ("Hand over…", form.AskHandOver),
    Role.SHOW_NOW: ("Show now", form.ShowNow),
    Role.CANCEL: ("Cancel…", form.AskCancel),
    Role.CANCEL_NOW: ("Cancel question", form.Cancel),
    Role.BACK: ("Back", form.Back),
    Role.SEND: ("Send answers", form.Submit),
    Role.SEND_ATTACHED: ("Send only this", form.SendAttached),
    Role.DROP_ATTACHED: ("", form.DropAttached),
    Role.SEND_HEARD: ("Send", form.SendHeard),
    Role.OTHER: ("Other…", form.Other),
    Role.DROP_OTHER: ("", form.DropOther),
    Role.SKIP: ("Skip", form.Skip),
    Role.DONE: ("Done", form.Done),
    Role.ANYWAY: ("Answer anyway", form.AnswerAnyway),
    Role.UNDO: ("Undo", form.Undo),
    Role.SHOW_ALL: ("Show all", form.ShowAll),
    Role.ALLOW: ("Allow once", partial(form.Choose, option=ALLOW)),
    Role.RUN_NOW: ("Yes, run it", partial(form.Choose, option=ALLOW)),
    Role.MORE: ("Allow more…", form.AskMore),
    Role.MORE_NOW: ("Yes", partial(form.Choose, option=ALLOW_SESSION)),
    Role.DENY: ("Deny", partial(form.Choose, option=DENY)),
    Role.DENY_WHY: ("Deny, say why…", form.Other),
}
"""The usual label and the event of each button of the form."""


def _tap(ask: Ask, role: Role, label: str = "") -> Button:
    usual, event = _TAPS[role]
    return Button(role=role, label=label or usual, action=event(step=ask.draft.step))


def _buttons(
    ask: Ask, state: State, *, can_wait: bool, colleagues: Sequence[Colleague] | None
) -> tuple[Button, ...]:
    if state is State.TIMED_OUT and takes_late_answer(ask):
        return (_tap(ask, Role.ANYWAY),)
    if state is State.KEPT:
        return (Button(role=Role.DISCARD, label="Discard", action=AskAction.DISCARD),)
    if ask.grant and ask.grant.taken_back_at is None:
        return (Button(role=Role.TAKE_BACK, label="Take back", action=AskAction.TAKE_BACK),)
    if state not in (State.OPEN, State.LATE):
        return ()
    if ask.draft.view is View.SENDING:
        return (_tap(ask, Role.UNDO),)
    buttons = approval_buttons(ask) if ask.approval else _form_buttons(ask)
    if ask.open and ask.attention.snoozed_until is not None:
        buttons.append(_tap(ask, Role.SHOW_NOW))
    if state is not State.OPEN or ask.draft.view in SIDE_VIEWS:
        return tuple(buttons)
    if colleagues is not None:
        taken = ask.attention.taken_by is not None
        buttons.append(_tap(ask, Role.RELEASE if taken else Role.TAKE))
    if colleagues:
        buttons.append(_tap(ask, Role.HAND_OVER))
    if can_wait:
        buttons.append(_tap(ask, Role.LATER))
    if not ask.needs_caller:
        if filling.can_ask_back(ask.questions, ask.draft):
            buttons.append(_tap(ask, Role.EXPLAIN))
        buttons.append(_tap(ask, Role.CANCEL))
    return tuple(buttons)


def _form_buttons(ask: Ask) -> list[Button]:
    draft = ask.draft
    match draft.view:
        case View.CANCEL:
            return [_tap(ask, Role.BACK, "Keep it open"), _tap(ask, Role.CANCEL_NOW)]
        case View.LATER | View.HAND_OVER:
            return [_tap(ask, Role.BACK)]
        case View.EXPLAIN:
            roles = (Role.EXPLAIN_NOW, Role.REPHRASE, Role.BACK)
            return [_tap(ask, role) for role in roles]
        case View.REVIEW:
            return [_tap(ask, Role.BACK), _tap(ask, Role.SEND)]
        case View.OTHER:
            return [_tap(ask, Role.BACK, "Back to the options")]
        case View.HEARD:
            return [*_send_heard(ask), _tap(ask, Role.BACK, "Discard")]
    question, buttons = ask.questions[draft.at], []
    if attached := draft.entries[draft.at].attachments:
        if question.type in (QuestionType.TEXT, QuestionType.SELECT):
            send = "Send only this" if len(attached) == 1 else "Send only these"
            buttons.append(_tap(ask, Role.SEND_ATTACHED, send))
        drop = "Remove the file" if len(attached) == 1 else "Remove the files"
        buttons.append(_tap(ask, Role.DROP_ATTACHED, drop))
    if question.takes_other:
        buttons.append(_tap(ask, Role.OTHER))
    if draft.at or draft.editing:
        buttons.append(_tap(ask, Role.BACK))
    if ask.what_next:
        if not attached:
            done = form.Skip(step=draft.step)
            buttons.append(Button(role=Role.DONE, label="Done", action=done))
    elif not question.required:
        buttons.append(_tap(ask, Role.SKIP))
    if question.type is QuestionType.MULTI_SELECT:
        other = _entered(ask)
        if other is not None:
            buttons.append(_tap(ask, Role.DROP_OTHER, one_line(other)))
        count = len(draft.entries[draft.at].picked) + (other is not None)
        buttons.append(_tap(ask, Role.DONE, f"Done ({count})"))
    return buttons


def _send_heard(ask: Ask) -> Iterator[Button]:
    voice = ask.draft.voice
    if voice and (voice.text or voice.problem):
        yield _tap(ask, Role.SEND_HEARD, "" if voice.text else "Send the recording")


def _declared(ask: Ask) -> str | None:
    texts = [said_to(q, q.on_timeout) for q in ask.questions if q.on_timeout is not None]
    return " · ".join(one_line(t) for t in texts if t) or None


HEAD, TAIL = 1_500, 800
FIRST_LINES, LAST_LINES = 14, 8  # Shown of a long subject until the person asks for all
LONG_DIFF = FIRST_LINES + LAST_LINES + 1  # Longer ones are cut, to so many lines
MAX_BEYOND_CHARACTERS = 240
REALLY = "Really run this command?"
MARKED = "It is marked as destructive, so it takes a second tap."
COMMANDS = "command"  # Dialect of approvals for commands that chatbridge runs itself


def drawn_subject(ask: Ask) -> Subject | None:
    question = ask.questions[0]
    subject = question.subject
    if subject is None:
        return None
    code, beyond = exact(subject.code), subject.beyond
    return replace(
        subject,
        code=_cut_middle(code) if approval_form.unread(question, ask.draft) else code,
        file=exact_line(subject.file) if subject.file else None,
        leads_to=exact_line(subject.leads_to) if subject.leads_to else None,
        folder=exact_line(subject.folder) if subject.folder else None,
        beyond=shortened(one_line(beyond), MAX_BEYOND_CHARACTERS) if beyond else None,
    )


def _cut_middle(code: str) -> str:
    hidden, lines = len(code) - HEAD - TAIL, code.split("\n")
    if hidden > 0:
        return f"{code[:HEAD]}\n… {hidden:,} characters …\n{code[-TAIL:]}"
    if len(lines) <= LONG_DIFF:
        return code
    more = f"… {len(lines) - FIRST_LINES - LAST_LINES} lines …"
    return "\n".join([*lines[:FIRST_LINES], more, *lines[-LAST_LINES:]])


def verdict_of(ask: Ask) -> str | None:
    """The verdict label of an approval, also while it waits to be sent."""
    if not ask.approval:
        return None
    if is_sending(ask):  # the store keeps whatever it is given, also a draft without entries
        picked = ask.draft.entries[0].picked if ask.draft.entries else ()
        return next((VERDICTS[at].label for at in picked if at < len(VERDICTS)), None)
    answers = ask.outcome.answers if ask.outcome else ()
    return next(iter(answers[0].values), None) if answers else None


def _grant(ask: Ask) -> Grant | None:
    """What it allows beyond one use, also while that waits to be sent."""
    verdict = verdict_of(ask) if is_sending(ask) else None
    return grant_of(ask, (Answer(values=(verdict,)),)) if verdict else ask.grant


def approval_buttons(ask: Ask) -> list[Button]:
    back, deny, why = (_tap(ask, role) for role in (Role.BACK, Role.DENY, Role.DENY_WHY))
    match ask.draft.view:
        case View.SCOPE | View.HOW_LONG | View.LATER | View.HAND_OVER:
            return [back, deny]
        case View.CONFIRM_GRANT:
            return [_tap(ask, Role.MORE_NOW), back, deny]
        case View.CONFIRM_DESTRUCTIVE:
            return [_tap(ask, Role.RUN_NOW), back, deny]
        case View.OTHER:
            return [back]
    if approval_form.unread(ask.questions[0], ask.draft):
        return [_tap(ask, Role.SHOW_ALL), deny, why]
    subject = ask.questions[0].subject
    allow = _tap(ask, Role.ALLOW, "Allow" if subject and subject.beyond else "")
    more = [_tap(ask, Role.MORE)] if approval_form.scopes_of(ask.questions[0]) else []
    return [allow, deny, why, *more]
