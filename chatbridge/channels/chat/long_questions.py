"""What of a question stands in its card, and where the rest is, so that nothing an agent wrote is
lost: in continuation messages and files that go with the card, or in the web inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from chatbridge.channels.chat import approvals
from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.attachments import file_lines, files_of
from chatbridge.channels.chat.capabilities import Capabilities, Continuations, Lengths, T
from chatbridge.channels.chat.hints import DECLARED_LENGTH
from chatbridge.channels.chat.keyboard import label_of, needs_list
from chatbridge.channels.chat.outcome import project
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card, Choice, Role
from chatbridge.core.model import Ask, Status, View
from chatbridge.core.text import clipped, one_line, visible

IN_THE_INBOX = "The whole question is in the web inbox."
ALL = Lengths()


@dataclass
class Overflow(Generic[T]):
    leaflets: list[T] = field(default_factory=list)
    """Messages that come before the card."""
    before: list[doc.File] = field(default_factory=list)
    after: list[doc.File] = field(default_factory=list)
    questions: list[int] = field(default_factory=list)
    """Those whose cards refer to what was sent before them."""


# ── in the card ───────────────────────────────────────────────────────────────────────────────────


def largest(chat: Capabilities[T]) -> Lengths:
    return ALL if chat.continuations else chat.lengths[0]


def fitted(make: Callable[[Lengths], doc.Document], chat: Capabilities[T], *, now: float) -> T:
    """A card, cut so that it fits; where there are continuations, they hold what does not."""
    *larger, smallest = (ALL,) if chat.continuations else chat.lengths
    for lengths in larger:
        written = chat.write(make(lengths), now=now)
        if chat.size(written) < chat.card:
            return written
    return chat.write(make(smallest), now=now)


def question(
    card: Card, chat: Capabilities[T], lengths: Lengths, *, listed: bool, overflowed: bool
) -> doc.Group:
    """A question, with its options where they are `listed`. `overflowed`: it was sent whole before
    the card."""
    if chat.continuations is None:
        return doc.Group(tuple(_cut_question(card, lengths, listed=listed)))
    if overflowed:
        return _short_question(card, chat, chat.continuations)
    return _whole_question(card, listed=listed)


def _cut_question(card: Card, lengths: Lengths, *, listed: bool) -> Iterator[doc.Block]:
    left_out = f"… {IN_THE_INBOX}"
    yield doc.Markdown(source=card.question, limit=lengths.question, left_out=left_out, whole=True)
    shown = card.choices[: lengths.options] if listed else ()
    yield doc.Options(tuple(_cut(choice, lengths) for choice in shown))
    if listed and len(shown) < len(card.choices):
        yield doc.line(f"… and {len(card.choices) - len(shown)} more. {IN_THE_INBOX}")


def _short_question(card: Card, chat: Capabilities[T], more: Continuations[T]) -> doc.Group:
    choices = [replace(_named(c), description=one_line(c.description or "")) for c in card.choices]
    for lengths in chat.lengths:
        options = doc.Options(tuple(_cut(choice, lengths) for choice in choices))
        if chat.size_of(options) <= more.options:
            break
    else:
        options = replace(options, limit=more.options)
    above = doc.line(doc.Faint(("The whole question is above.",)))
    return doc.Group(
        (doc.Markdown(source=card.question, limit=chat.lengths[0].question), above, options)
    )


def _whole_question(card: Card, *, listed: bool, whole: bool = False) -> doc.Group:
    asked = doc.Markdown(source=card.question, whole=whole)
    return doc.Group((asked, doc.Options(tuple(map(_named, card.choices if listed else ())))))


def fits(card: Card, chat: Capabilities[T]) -> bool:
    """Whether the card can hold its question whole, in a private chat and in a group. Where there
    is nothing beside a card, it has to."""
    if chat.continuations is None:
        return True
    body = _whole_question(card, listed=needs_list(card, chat, private=False))
    # Whether they are missing is not known yet: there is room to say so.
    files = file_lines(card, [each.digest for each in files_of(card)])
    return chat.size_of(body, files) <= chat.card and not _declares_much(card)


def _declares_much(card: Card) -> bool:
    """Whether the declared default has to go along. It is the whole ask's: once is enough."""
    declared = card.declared or ""
    return card.number == 1 and clipped(declared, DECLARED_LENGTH) != declared


def _cut(choice: Choice, lengths: Lengths) -> Choice:
    description = choice.description or ""
    if lengths.description is not None:
        description = clipped(description, lengths.description) if lengths.description else ""
    label = choice.label if lengths.label is None else clipped(choice.label, lengths.label)
    return replace(choice, label=label, description=description)


def _named(choice: Choice) -> Choice:
    label = label_of(choice)
    return choice if label == choice.label else replace(choice, label=label)


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────


def overflow(ask: Ask, chat: Capabilities[T]) -> Overflow[T]:
    """What belongs to an ask beside its card, for all its questions; nothing for most asks."""
    found: Overflow[T] = Overflow()
    more = chat.continuations
    if more is None:
        return found
    if ask.approval:
        found.after += _of_approval(ask, chat)
        return found
    for i, question in enumerate(ask.questions):
        card = _card_of(ask, i, chat)
        if fits(card, chat):
            # Of long code in a question, a card shows the beginning and the end.
            shown = doc.Markdown(source=card.question)
            if chat.is_cut(shown, replace(shown, whole=True)):
                found.after.append(_file(ask, i, visible(question.text)))
            continue
        found.questions.append(i)
        parts = _parts(ask, i, card, chat, more)
        found.leaflets += parts
        if not parts:
            found.before.append(_file(ask, i, "\n".join(_whole_as_text(card, chat))))
    return found


def _of_approval(ask: Ask, chat: Capabilities[T]) -> Iterator[doc.File]:
    """All of what it is about: when somebody asks for it, or at once if no card can hold it. Until
    it is out, nothing can be allowed."""
    card = _card_of(ask, 0, chat)
    if card.subject is None or card.button(Role.SHOW_ALL):
        return
    if ask.draft.whole or approvals.is_cut(card, chat):
        whole = "\n\n".join([*approvals.left_out(card, chat), card.subject.code])
        yield doc.File(name=f"approval-{ask.id[:8]}.txt", content=whole.encode())


def _card_of(ask: Ask, question: int, chat: Capabilities[T]) -> Card:
    """The card that shows this question of the ask."""
    draft = replace(ask.draft, view=View.QUESTION, at=question)
    return build_card(replace(ask, status=Status.OPEN, draft=draft), channel=chat.channel)


def _parts(
    ask: Ask, question: int, card: Card, chat: Capabilities[T], more: Continuations[T]
) -> Sequence[T]:
    """All of it as continuation messages; none if those were too many."""
    declared: doc.Document = ()
    if card.declared and _declares_much(card):
        declared = doc.paragraph(
            doc.Faint(("Used if nobody answers:\n",)), doc.Untrusted(card.declared)
        )
    listed = needs_list(card, chat, private=False)
    whole = doc.Group((_whole_question(card, listed=listed, whole=True), *declared))
    if chat.size_of(whole) > more.most * more.size:
        return ()  # without cutting it: there may be much of it
    named = project(ask.project.name)
    what = f"question {question + 1}" if len(ask.questions) > 1 else "the question"

    def title(number: int, count: int) -> doc.Line:
        first = f"{number}/{count} of {what}" if count > 1 else what.capitalize()
        return (doc.Faint((f"{first} for ", named)),)

    parts = more.split((whole,), more.size, title)
    return parts if len(parts) <= more.most else ()


def _whole_as_text(card: Card, chat: Capabilities[T]) -> Iterator[str]:
    yield card.question
    if needs_list(card, chat, private=False):
        yield ""
        for choice in card.choices:
            recommended = " (recommended)" if choice.recommended else ""
            yield f"{choice.number}. {label_of(choice)}{recommended}"
            if choice.description:
                yield choice.description
    if _declares_much(card):
        yield f"\nUsed if nobody answers: {card.declared}"


def _file(ask: Ask, question: int, text: str) -> doc.File:
    which = f"-{question + 1}" if len(ask.questions) > 1 else ""
    return doc.File(name=f"question-{ask.id[:8]}{which}.txt", content=text.encode())
