"""How an approval reads: what would be done, to the letter, and what can be said to it.

Pure. What of it a card cannot hold goes out as a file, which is `overflow`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator

from chatbridge.channels.telegram.render.html import (
    Run,
    Text,
    blocks,
    clipped,
    code,
    cut,
    ends_of,
    headline,
    joined,
    time_tag,
    units,
    width,
)
from chatbridge.core.cards.build import FIRST_LINES, LAST_LINES, LONG_DIFF, MARKED, REALLY
from chatbridge.core.cards.card import Card, Role
from chatbridge.core.cards.phrases import UNSENT, format_only_on
from chatbridge.core.model import Subject, View
from chatbridge.core.text import prose

ROOM = 3_000
"""For the code; the rest of Telegram's 4,096 is for the longest frame there can be."""
HEAD, TAIL = 1_500, 800
"""How much of longer code is shown, in units."""
QUESTION, PATH = 200, 160
ENDED_CODE = 600
IN_A_LINE = 200
DIFF, COMMAND = "diff", "bash"

EARLY = "That was very quick. Tap again if you mean it."
NOT_CANCELLED = "This one can be denied instead. Tap Deny."


# ── what would be done ────────────────────────────────────────────────────────────────────────────


def body(card: Card) -> Text:
    """What is asked, and what about, as much as fits a card."""
    subject = card.subject
    asked = _asked(card)
    if subject is None:
        return asked
    folder: Text = ()
    if subject.folder:
        folder = (Run(f"{subject.where} "), *_path(subject.folder))
    beside: Text = ()
    if is_cut(card) and not card.button(Role.SHOW_ALL):
        beside = (Run("All of it is in the file.", ("i",)),)
    # What the card left out before is not there to be counted.
    shown = _code(subject, counted=not card.button(Role.SHOW_ALL))
    means = joined(_means(card), apart="\n")
    return joined((joined((asked, _file(card), shown, folder, beside), apart="\n"), means))


def _means(card: Card) -> Iterator[Text]:
    """What a person should know before they allow it."""
    if card.subject and card.subject.beyond:
        yield (Run(card.subject.beyond),)
    if card.view is View.CONFIRM_DESTRUCTIVE:
        yield (Run(MARKED),)


def _asked(card: Card) -> Text:
    if card.view is View.SESSION:
        return (Run(f"Allow {_this(card)} until the session ends?", ("b",)),)
    if card.view is View.CONFIRM_DESTRUCTIVE:
        return (Run(REALLY, ("b",)),)
    return cut(joined(blocks(card.question)), QUESTION)


def _this(card: Card) -> str:
    if card.subject and card.subject.file:
        return "this exact change"
    return "this exact command" if is_command(card) else "exactly this"


def is_command(card: Card) -> bool:
    """Whether it would run something that speaks for itself."""
    return bool(card.subject and card.subject.language == COMMAND)


def _file(card: Card) -> Text:
    subject = card.subject
    if subject is None:
        return ()
    leads_to = _path(subject.leads_to) if subject.leads_to else ()
    if not subject.file:
        return leads_to and (Run("its path leads to "), *leads_to)
    named = _path(subject.file)
    if subject.language == DIFF and not card.button(Role.SHOW_ALL):  # what is cut is not counted
        added, removed = _changes(subject.code)
        named = (*named, Run(f" · {added} added, {removed} removed"))
    return (*named, Run("\nleads to "), *leads_to) if leads_to else named


def _changes(diff: str) -> tuple[int, int]:
    """How many lines a diff adds, and how many it removes. It has no file names in it."""
    begins = [line[:1] for line in diff.split("\n")]
    return begins.count("+"), begins.count("-")


def _path(path: str) -> Text:
    """A long one keeps its end, which says more."""
    if units(path) > PATH:
        head, tail = ends_of(path, head=PATH // 4, tail=PATH // 2)
        path = f"{head}…{tail}"
    return (Run("\u2068"), Run(path, ("code",)), Run("\u2069"))


def _code(
    subject: Subject, *, counted: bool, room: int = ROOM, head: int = HEAD, tail: int = TAIL
) -> Text:
    text = subject.code
    if not text.strip():
        return (Run("empty", ("i",)),)
    if subject.language == DIFF:
        lines = (FIRST_LINES, LAST_LINES)
        whole = code(text, subject.language, above=LONG_DIFF, shown=lines)
    else:
        whole = code(text, subject.language)
    if width(whole) <= room:
        return whole
    first, last = ends_of(text, head=head, tail=tail)
    left_out = f"… {len(text) - len(first) - len(last):,} characters …" if counted else "…"
    return (
        *code(first, subject.language),
        Run(f"\n{left_out}\n"),
        *code(last, subject.language),
    )


def is_cut(card: Card) -> bool:
    """Whether a card cannot hold all of it."""
    subject = card.subject
    if subject is None:
        return False
    shown = "".join(run.text for run in _code(subject, counted=False))
    return bool(subject.code.strip() and shown != subject.code) or bool(_left_out(card))


def _left_out(card: Card) -> list[str]:
    """What stands around the code and is too long for the card."""
    subject = card.subject
    found = [card.question] if width(joined(blocks(card.question))) > QUESTION else []
    paths = (subject.file, subject.leads_to, subject.folder) if subject else ()
    return found + [path for path in paths if path and units(path) > PATH]


def whole(card: Card) -> str:
    """All of it as a bare text, for the file."""
    return "\n\n".join([*_left_out(card), card.subject.code if card.subject else ""])


# ── what is said beside it ────────────────────────────────────────────────────────────────────────


def hints(card: Card, *, private: bool, now: float, unsent: bool) -> Iterator[str]:
    if card.only_on:
        yield format_only_on(card.only_on)
    elif unsent and card.view is not View.OTHER:
        yield UNSENT
    elif card.view is View.OTHER:
        yield "Send the reason as text." if private else "Reply with the reason."
    if card.deadline is None:
        yield "No time limit"
        return
    at = time_tag(card.deadline, now=now)
    soon = card.soon_at is not None and now >= card.soon_at
    yield "Denied if nobody answers. " + (f"<b>Ends {at}, soon.</b>" if soon else f"Ends {at}")


def ended(card: Card) -> Text:
    """What an approval that is over was about. A command needs no question to be understood."""
    line = card.lines[0].question
    asked: Text = () if is_command(card) else (Run(clipped(headline(line), QUESTION)),)
    subject = card.subject
    if subject is None:
        return asked or (Run(clipped(headline(line), QUESTION)),)
    if subject.file:
        return joined((asked, _file(card)), apart="\n")
    third = ENDED_CODE // 3
    shown = _code(subject, counted=False, room=ENDED_CODE, head=2 * third, tail=third)
    return joined((asked, shown), apart="\n")


def about(subject: Subject | None) -> str:
    return (subject.file or subject.code.strip()) if subject else ""


def in_one_line(question: str, about: str) -> str:
    """For lists: what is asked, and as much of what about, to the letter, as there is room for."""
    return " ".join(f"{headline(prose(question))} {about[:IN_A_LINE]}".split())
