"""An approval's screens: what would be done, to the letter, and what can be said to that. Pure.

Owns how its code is cut where an event has no room for it, and the pages on which all of it is
shown before it can be allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chatbridge.channels.chat.document import Line, Lines
from chatbridge.channels.chat.hints import ReactionView, time_left
from chatbridge.channels.matrix.render.html import (
    LIMIT,
    NOTHING,
    Words,
    begun,
    code_block,
    inline_code,
    lines,
    paragraph,
    paragraphs,
    question,
    size,
    strong,
    trusted,
    write,
)
from chatbridge.core.cards.build import REALLY
from chatbridge.core.cards.card import Card, Role
from chatbridge.core.cards.phrases import UNSENT, format_only_on
from chatbridge.core.forms.typed_input import RUN_IT, is_destructive
from chatbridge.core.model import Subject, View
from chatbridge.core.text import isolated

WHOLE = 18_000
"""So many bytes of an event are for the code; what takes more is cut, or goes on pages."""
BRIEF, ENDED = 3_000, 6_000
PAGE = LIMIT - 1_000
ASKED, PATH = 2_000, 1_500
INDENT = "    "
CUT = "\n…\n"
LANGUAGE_OF_COMMANDS = "bash"

DENYING = "deny, or “deny:” and why."
FOR_SESSION = " Reply session to allow it for this session."
MARKED = "It is marked as destructive."


def screen(card: Card, seen: ReactionView) -> Words:
    """All but the heading."""
    told = Lines(((todo(card, seen),), time_left(card, seen)))
    about = what(card, room=WHOLE)
    beyond = paragraph(trusted((card.subject and card.subject.beyond) or ""))
    return paragraphs(
        (_asked(card), about, _rest(card, seen), beyond, write((told,), now=seen.now))
    )


def _asked(card: Card) -> Words:
    if card.view is View.SESSION:
        command = card.subject and card.subject.language == LANGUAGE_OF_COMMANDS
        which = "this exact command" if command else "exactly this"
        return paragraph(strong(trusted(f"Allow {which} until the session ends?")))
    if card.view is View.CONFIRM_DESTRUCTIVE:
        return paragraph(strong(trusted(REALLY)))
    return question(card.question, room=ASKED, left_out=NOTHING)


def _rest(card: Card, seen: ReactionView) -> Words:
    """Where the rest is of what was cut."""
    if seen.unsent or not pages_of(card):
        return NOTHING
    return paragraph(trusted("All of it is in this thread, page by page."))


# ── what can be done ──────────────────────────────────────────────────────────────────────────────


def todo(card: Card, seen: ReactionView) -> str:
    if card.only_on:
        return format_only_on(card.only_on)
    destructive = is_destructive(card)
    if seen.unsent:
        return f"{UNSENT} {'👎 denies it. Or reply' if seen.reactions else 'Reply'} deny."
    if card.view is View.CONFIRM_DESTRUCTIVE:
        return f"{MARKED} Reply {RUN_IT} to run it. {_or_not(seen)}"
    if card.view is View.SESSION:
        if seen.reactions and not destructive:
            return "👍 allows it for this session, 👎 denies it, ↩️ goes back. Or reply yes."
        return f"Reply yes to allow it for this session. {_or_not(seen)}"
    if card.button(Role.SHOW_ALL):
        if seen.reactions:
            return "📄 shows all of it, and then it can be allowed. 👎 denies it. Or reply all."
        return "Reply all to see all of it, and then it can be allowed. Or reply deny."
    once = " once" if card.button(Role.SESSION) else ""
    session = FOR_SESSION if card.button(Role.SESSION) else ""
    if destructive:
        denying = "👎 denies it. Or reply" if seen.reactions else "Or reply"
        return f"{MARKED} Reply {RUN_IT} to allow it{once}. {denying} {DENYING}{session}"
    replies = f"allow, {DENYING}{session}"
    return f"👍 allow{once}, 👎 deny. Or reply {replies}" if seen.reactions else f"Reply {replies}"


def _or_not(seen: ReactionView) -> str:
    return "👎 denies it, ↩️ goes back." if seen.reactions else "Or reply deny or back."


def why_hint(seen: ReactionView) -> Line:
    back = "↩️ goes back." if seen.reactions else "Reply back to go back."
    return (f"Why should it be denied? Reply with the reason. {back}",)


# ── what it is about ──────────────────────────────────────────────────────────────────────────────


def what(card: Card, *, room: int) -> Words:
    """The code in as many bytes, with its file or its folder."""
    subject = card.subject
    if subject is None:
        return NOTHING
    return paragraphs((_file(card, subject), _code(subject, room), _folder(subject)))


def _file(card: Card, subject: Subject) -> Words:
    leads = trusted("leads to ") + _path(subject.leads_to) if subject.leads_to else NOTHING
    if subject.file is None:
        return paragraph(trusted("its path ") + leads) if leads else NOTHING
    named = _path(subject.file)
    if subject.language == "diff" and not card.button(Role.SHOW_ALL):  # what is cut is not counted
        rows = subject.code.split("\n")  # none of them names a file
        added, removed = (sum(row.startswith(mark) for row in rows) for mark in "+-")
        named += trusted(f" · {added} added, {removed} removed")
    return paragraph(lines((named, leads)))


def _folder(subject: Subject) -> Words:
    if subject.folder is None:
        return NOTHING
    return paragraph(trusted(f"{subject.where} ") + _path(subject.folder))


def _path(path: str) -> Words:
    code = inline_code(begun(path, PATH))
    return Words(isolated(code.body), isolated(code.html))


def _code(subject: Subject, room: int) -> Words:
    """The whole of it if it fits, else its beginning and its end."""
    kept = len(subject.code)
    words = _block(subject.code, subject)
    while size(words) > room and kept > 1:
        kept = min(kept * 3 // 4, kept - 1)
        head = kept * 2 // 3
        tail = subject.code[len(subject.code) - (kept - head) :] if kept > head else ""
        words = _block(f"{subject.code[:head]}{CUT}{tail}", subject)
    return words


def _block(code: str, subject: Subject) -> Words:
    """Indented in the body: no line of it can pass for one of ours."""
    block = code_block(code, subject.language)
    return Words(INDENT + code.replace("\n", f"\n{INDENT}"), block.html) if block else NOTHING


def _fits(subject: Subject) -> bool:
    return size(_block(subject.code, subject)) <= WHOLE


# ── all of it ─────────────────────────────────────────────────────────────────────────────────────


def pages_of(card: Card) -> Sequence[Words]:
    """What has to be shown before this can be allowed, because no card has room for it."""
    subject = card.subject
    decidable = card.view not in (None, View.OTHER) and not card.button(Role.SHOW_ALL)
    if subject is None or not decidable:
        return ()
    cut = [*_cut(card, subject)]
    if not cut and _fits(subject):
        return ()
    parts = [
        _block(part, subject)
        for text in (*cut, subject.code)
        for part in split(replace(subject, code=text))
    ]
    return [
        (paragraphs((paragraph(trusted(f"Page {i} of {len(parts)}, to the letter:")), part)))
        for i, part in enumerate(parts, 1)
    ]


def _cut(card: Card, subject: Subject) -> Iterator[str]:
    """What stands around the code and is too long for the card."""
    asked = question(card.question, room=ASKED, left_out=NOTHING)
    if asked != question(card.question, room=LIMIT, left_out=NOTHING):
        yield card.question
    for path in (subject.file, subject.leads_to, subject.folder):
        if path and begun(path, PATH) != path:
            yield path


def split(subject: Subject) -> Iterator[str]:
    """The code in parts that fit an event each, cut at lines where that keeps half of it."""
    rest = subject.code
    while rest:
        length = min(len(rest), PAGE)
        while size(_block(rest[:length], subject)) > PAGE:
            length = length * 3 // 4
        if length < len(rest):
            at_line = rest.rfind("\n", length // 2, length)
            length = at_line + 1 if at_line > 0 else length
        yield rest[:length]
        rest = rest[length:]
