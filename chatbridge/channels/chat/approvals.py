"""How an approval reads: what would be done, to the letter, and all of what a card cannot hold.

What can be said to it is in `hints`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat.capabilities import Capabilities, Seen, T
from chatbridge.channels.chat.outcome import asked_line
from chatbridge.core.cards.build import MARKED, REALLY
from chatbridge.core.cards.card import Card, Role
from chatbridge.core.cards.grants import grant_note
from chatbridge.core.cards.phrases import format_change
from chatbridge.core.model import Subject, View

ENDED_QUESTION = 200
COMMAND, DIFF = "bash", "diff"


def screen(card: Card, seen: Seen, chat: Capabilities[T], *, listed: bool) -> doc.Group:
    """What is asked, and what about, as much as fits a card. `listed`: what can be picked stands in
    the text, too."""
    subject = card.subject
    options = doc.Options(card.choices if listed else ())
    if subject is None:
        return doc.Group((_asked(card, chat), options))
    whole = _where_the_whole_is(card, seen, chat)
    about = about_blocks(card, chat, limit=chat.code)
    beyond: doc.Line = (subject.beyond,) if subject.beyond else ()
    marked: doc.Line = (MARKED,) if chat.buttons and card.view is View.CONFIRM_DESTRUCTIVE else ()
    return doc.Group(
        (
            doc.Group((_asked(card, chat), *about, doc.Lines((whole,))), tight=True),
            doc.Lines((beyond, marked, (note,) if (note := grant_note(card)) else ())),
            options,
        )
    )


def _asked(card: Card, chat: Capabilities[T]) -> doc.Block:
    if card.grant_text:
        return doc.line(doc.strong(*card.grant_text))
    if card.view is View.CONFIRM_DESTRUCTIVE:
        return doc.line(doc.strong(REALLY))
    return _question(card, chat)


def _question(card: Card, chat: Capabilities[T]) -> doc.Markdown:
    return doc.Markdown(source=card.question, limit=chat.approval_question)


def _is_command(card: Card) -> bool:
    """Whether it would run something that speaks for itself."""
    return bool(card.subject and card.subject.language == COMMAND)


def _where_the_whole_is(card: Card, seen: Seen, chat: Capabilities[T]) -> doc.Line:
    if card.button(Role.SHOW_ALL) or not is_cut(card, chat):
        return ()
    if chat.continuations:
        return (doc.Faint(("All of it is in the file.",)),)
    return () if seen.unsent else ("All of it is in this thread, page by page.",)


def about_blocks(card: Card, chat: Capabilities[T], *, limit: int) -> doc.Document:
    """The code, cut to `limit`, with its file and its folder."""
    subject = card.subject
    if subject is None:
        return ()
    folder: doc.Line = ()
    if subject.folder:
        folder = (f"{subject.where} ", doc.Path(subject.folder, chat.path))
    # What the card left out before is not there to be counted.
    code = _code(subject, limit, counted=not card.button(Role.SHOW_ALL))
    return (_file(card, subject, chat), code, doc.Lines((folder,)))


def _file(card: Card, subject: Subject, chat: Capabilities[T]) -> doc.Lines:
    leads: doc.Line = ()
    if subject.leads_to:
        leads = ("leads to ", doc.Path(subject.leads_to, chat.path))
    if not subject.file:
        return doc.Lines((("its path ", *leads),)) if leads else doc.Lines(())
    named: doc.Line = (doc.Path(subject.file, chat.path),)
    if subject.language == DIFF and not card.button(Role.SHOW_ALL):  # what is cut is not counted
        change = format_change(subject.code)
        named = (*named, f" · {change}") if change else named
    return doc.Lines((named, leads))


def _code(subject: Subject, limit: int | None, *, counted: bool = False) -> doc.Code:
    return doc.Code(text=subject.code, language=subject.language, limit=limit, counted=counted)


def ended(card: Card, chat: Capabilities[T], asked: doc.Block) -> doc.Document:
    """What an approval that is over was about. In a chat without threads it is kept short: a
    command needs no question to be understood, and a file's name stands for its change."""
    subject = card.subject
    if chat.threads:
        return (asked, *about_blocks(card, chat, limit=chat.ended_code))
    question = doc.line(asked_line(card.lines[0].question, ENDED_QUESTION))
    if subject is None:
        return (question,)
    code = _code(subject, chat.ended_code)
    about = _file(card, subject, chat) if subject.file else code
    return (doc.Group((about,) if _is_command(card) else (question, about), tight=True),)


# ── what no card can hold ─────────────────────────────────────────────────────────────────────────


def is_cut(card: Card, chat: Capabilities[T]) -> bool:
    """Whether the card cannot hold all of it."""
    subject = card.subject
    if subject is None:
        return False
    shown, whole = (_code(subject, limit) for limit in (chat.code, None))
    return chat.is_cut(shown, whole) or bool(left_out(card, chat))


def left_out(card: Card, chat: Capabilities[T]) -> Sequence[str]:
    """What stands around the code and is too long for the card."""
    subject, question = card.subject, doc.Markdown(source=card.question)
    paths = (subject.file, subject.leads_to, subject.folder) if subject else ()
    found = [card.question] if chat.is_cut(_question(card, chat), question) else []
    return found + [
        path
        for path in paths
        if path and chat.is_cut(doc.line(doc.Path(path, chat.path)), doc.line(doc.Path(path)))
    ]


def pages(card: Card, chat: Capabilities[T]) -> Sequence[doc.Document]:
    """What has to be shown before this can be allowed, because no card has room for it."""
    subject = card.subject
    decidable = card.view not in (None, View.OTHER) and not card.button(Role.SHOW_ALL)
    if subject is None or not decidable or not is_cut(card, chat):
        return ()
    parts = [
        doc.Code(text=part, language=subject.language)
        for text in (*left_out(card, chat), subject.code)
        for part in _split(text, subject, chat)
    ]
    return [
        (doc.line(f"Page {i} of {len(parts)}, to the letter:"), part)
        for i, part in enumerate(parts, 1)
    ]


def _split(text: str, subject: Subject, chat: Capabilities[T]) -> Iterator[str]:
    """The text in parts that fit a message each, cut at lines where that keeps half of it."""
    while text:
        length = min(len(text), chat.page)
        part = doc.Code(text=text[:length], language=subject.language)
        while length > 1 and chat.size_of(part) > chat.page:
            length = length * 3 // 4
            part = replace(part, text=text[:length])
        if length < len(text):
            at_line = text.rfind("\n", length // 2, length)
            length = at_line + 1 if at_line > 0 else length
        yield text[:length]
        text = text[length:]
