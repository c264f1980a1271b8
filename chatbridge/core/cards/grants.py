"""Grants, in words: what an approval can allow beyond one use, the screens on which that is chosen,
and what the card says of it afterwards. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from chatbridge.core.cards.card import Card, Choice, Part
from chatbridge.core.cards.markup import Name, Time
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.exact_text import exact_line
from chatbridge.core.forms import approval_form, form
from chatbridge.core.model import Ask, Grant, Subject, View
from chatbridge.core.text import one_line

GRANT_VIEWS = (View.SCOPE, View.HOW_LONG, View.CONFIRM_GRANT)
STILL_ASKED = (
    "Hidden files, links, scripts and files that tools run on their own are still asked for."
)
ASKED_AGAIN = "It is asked for again, unless something else allows it."
"""Another grant or a rule of the owner's may cover the same."""


def grant_choices(ask: Ask) -> tuple[Choice, ...]:
    """What can be picked on such a screen."""
    match ask.draft.view:
        case View.SCOPE:
            labels = [
                _scope_label(ask, folder) for folder in approval_form.scopes_of(ask.questions[0])
            ]
        case View.HOW_LONG:
            labels = [_lasting_label(seconds) for seconds in approval_form.lasting(_subject(ask))]
        case _:
            return ()
    return tuple(
        Choice(
            number=i + 1,
            label=label,
            description=None,
            recommended=False,
            picked=False,
            action=form.Pick(step=ask.draft.step, option=i),
        )
        for i, label in enumerate(labels)
    )


def grant_sentence(ask: Ask, view: View | None) -> tuple[Part, ...]:
    """The question of such a screen, all that its last tap allows, or what was allowed."""
    scopes, draft = approval_form.scopes_of(ask.questions[0]), ask.draft
    if view is None:
        return tuple(_granted(ask, ask.grant)) if ask.grant else ()
    if view not in GRANT_VIEWS or draft.scope >= len(scopes):
        return ()
    if view is View.SCOPE:
        return ("What may it do without asking?",)
    folder = scopes[draft.scope]
    if view is View.HOW_LONG:
        return ("How long may it ", *_doing(ask, folder), " without asking?")
    return tuple(_allowed(ask, Grant(folder=folder, until=draft.until)))


def grant_note(card: Card) -> str:
    """What the last tap does not allow, though it may sound so."""
    last = card.grant_text and card.view is View.CONFIRM_GRANT
    return STILL_ASKED if last and card.subject and card.subject.edits else ""


def allowed_words(grant: Grant) -> str:
    """What is left of it, for a heading: `once` of what was taken back."""
    return "once" if grant.taken_back_at is not None else lasting_words(grant)


def lasting_words(grant: Grant) -> str:
    return "for this session" if grant.lasting is None else f"for {format_duration(grant.lasting)}"


def _granted(ask: Ask, grant: Grant) -> Iterator[Part]:
    if grant.taken_back_at is not None:
        yield from ("Taken back ", Time(grant.taken_back_at), f". {ASKED_AGAIN}")
    else:
        yield from _allowed(ask, grant)


def _allowed(ask: Ask, grant: Grant) -> Iterator[Part]:
    """With a time it holds for whoever asks in the project, and says so."""
    if grant.until is None:
        yield Name(one_line(ask.agent.name))
    else:
        yield from ("Any agent in ", Name(one_line(ask.project.name)))
    yield from (" may ", *_doing(ask, grant.folder), " without asking until ")
    yield from ("its session ends.",) if grant.until is None else (Time(grant.until), ".")


def _doing(ask: Ask, folder: str | None) -> tuple[Part, ...]:
    if folder is None:
        verb = {"command": "run", "change": "make"}.get(_kind(ask), "do")
        return (f"{verb} {_this(ask)}",)
    name, below = one_line(ask.project.name), _below(ask, folder)
    return ("edit files in ", Name(f"{name}/{below}" if below else name))


def _scope_label(ask: Ask, folder: str | None) -> str:
    if folder is None:
        return _this(ask).capitalize()
    below = _below(ask, folder)
    return f"Edits in {below}/" if below else f"All edits in {one_line(ask.project.name)}"


def _lasting_label(seconds: float | None) -> str:
    return "Until the session ends" if seconds is None else f"For {format_duration(seconds)}"


def _below(ask: Ask, folder: str) -> str:
    """The folder, from the project's on, which is the last of them; empty: that one itself."""
    top = "".join(_subject(ask).edits[-1:])
    return "" if folder == top else exact_line(folder.removeprefix(f"{top}/"))


def _this(ask: Ask) -> str:
    kind = _kind(ask)
    return f"this exact {kind}" if kind else "exactly this"


def _kind(ask: Ask) -> str:
    subject = _subject(ask)
    if subject.file:
        return "change"
    return "command" if subject.language == "bash" else ""


def _subject(ask: Ask) -> Subject:
    return ask.questions[0].subject or Subject(code="")
