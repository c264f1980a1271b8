"""What a page's tap puts in: one event of the form, or several at once where a sheet of the page
has in one place what the form has on screens of its own. Pure."""

from __future__ import annotations

from chatbridge.core.forms import form
from chatbridge.core.forms.form import Event
from chatbridge.core.model import Ask, View


def events_of(ask: Ask, action: Event, text: str) -> tuple[Event, ...]:
    """What the tap means on the screen that it was drawn for; `text` was typed beside it. If the
    ask has moved on since, the first of the events is stale, and none counts."""
    typed = bool(text.strip())
    match action:
        case form.Done(step=step) if typed:
            # A multi-select's page has the field for Other beside its options.
            return form.Text(text=text, step=step), form.Done(step=step + 1)
        case form.Other(step=step) if typed and ask.approval:
            return form.Other(step=step), form.Text(text=text, step=step + 1)
        case form.Rephrase(step=step) if form.can_ask_back(ask.questions, ask.draft):
            lead = _to_cancel(ask, step)
            return *lead, form.Rephrase(step=step + len(lead))
        case form.Explain(step=step) if form.can_ask_back(ask.questions, ask.draft):
            lead = _to_explain(ask, step)
            step += len(lead)
            last = form.Text(text=text, step=step) if typed else form.Explain(step=step)
            return *lead, last
        case _:
            return (action,)


def _to_cancel(ask: Ask, step: int) -> tuple[Event, ...]:
    return () if ask.draft.view is View.CANCEL else (form.AskCancel(step=step),)


def _to_explain(ask: Ask, step: int) -> tuple[Event, ...]:
    if ask.draft.view is View.EXPLAIN:
        return ()
    lead = _to_cancel(ask, step)
    return *lead, form.AskExplain(step=step + len(lead))
