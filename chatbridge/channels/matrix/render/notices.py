"""What the bot says outside of cards: lists, questions back, help.

An agent's words share a line with ours here: they are one line, cut, and kept apart. What a typed
text could have meant is `core.typed`'s to say, and becomes a message with `said`.
"""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.matrix.render.drawing import Drawing, drawn
from chatbridge.channels.matrix.render.html import (
    NOTHING,
    Words,
    clipped,
    lines,
    name,
    numbered,
    paragraph,
    paragraphs,
    strong,
    trusted,
    untrusted,
)
from chatbridge.channels.matrix.render.outcome import PROJECT
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.cards.phrases import REMARK_GLYPH, REMARK_HEADING, format_end, format_time
from chatbridge.core.model import Ask, Question
from chatbridge.core.text import one_line, prose, shortened
from chatbridge.markdown import HEADLINE_SOURCE, headline

LISTED = 20
LIST_QUESTION, ONE_QUESTION = 50, 60
REMARK = 1_000


def said(text: str) -> Drawing:
    """A plain sentence."""
    return drawn(paragraph(trusted(text)))


# ── about a question ──────────────────────────────────────────────────────────────────────────────


def ended(ask: Ask, *, now: float) -> Drawing:
    """To a person whose words came after the end."""
    if not takes_late_answer(ask):
        return said(format_end(ask, now=now))
    at = format_time(ask.settled_at or ask.created_at, now=now)
    return said(f"This question ended at {at}. Reply “anyway” to leave a late answer.")


def only_text() -> Drawing:
    return said("Only text can be an answer here.")


def undecryptable() -> Drawing:
    return said(
        "I could not read your last message (encryption key missing). "
        "Send it again, or answer in the web inbox."
    )


def failed() -> Drawing:
    return said(
        "I could not take your last answer (the homeserver does not show it). "
        "Send it again, or answer in the web inbox."
    )


def which_one(asks: Sequence[Ask], *, now: float, reactions: bool) -> Drawing:
    """For a message that fits no question, or more than one."""
    if len(asks) == 1 and reactions:
        asked = name(clipped(_question(asks[0]), ONE_QUESTION))
        use_it = trusted("Use this as your answer to “") + asked + trusted("”? 👍 uses it.")
        return drawn(paragraph(use_it))
    listed = numbered((_entry(ask) + _ends(ask, now) for ask in asks[:LISTED]), mark=". ")
    more = f"and {len(asks) - LISTED} more" if len(asks) > LISTED else ""
    how = "React with its number, or reply" if reactions else "Reply"
    first = paragraph(trusted(f"Which question is this for? {how} to the one you mean."))
    return drawn(paragraphs((first, listed, paragraph(trusted(more)))))


def nothing_waits() -> Drawing:
    return said("Nothing is waiting.")


def on_its_card() -> Drawing:
    """To a message beside the cards, where only an approval waits."""
    return said("What is to be allowed or denied waits on its card: react there, or reply to it.")


def _question(ask: Ask) -> str:
    """The question that is to be answered now, as one line."""
    at = min(ask.draft.at, len(ask.questions) - 1)
    return _headline(ask.questions[at])


def _headline(question: Question) -> str:
    return headline(prose(question.text[:HEADLINE_SOURCE]))


def _entry(ask: Ask) -> Words:
    """Project and question; several questions go by their title, if they have one."""
    project = strong(name(shortened(one_line(ask.project.name), PROJECT)))
    title = one_line(ask.title or "") if len(ask.questions) > 1 else ""
    words = title or _headline(ask.questions[0])
    return project + trusted(": ") + name(clipped(words, LIST_QUESTION))


def _ends(ask: Ask, now: float) -> Words:
    if ask.deadline is None:
        return NOTHING
    return trusted(f" · ends {format_time(ask.deadline, now=now)}")


# ── about the room ────────────────────────────────────────────────────────────────────────────────


def help_text(*, reactions: bool = True) -> Drawing:
    how = "React to answer, or reply" if reactions else "Reply to answer"
    allow = "👍 and 👎, or the replies allow and deny, decide"
    allow = allow if reactions else "The replies allow and deny decide"
    return said(
        "\n".join(
            (
                "Your agents' questions arrive here.",
                f"{how}: a number, several such as 1,3, yes or no, or your own words. "
                "With several questions open, reply to the one you mean.",
                "!skip, !back, !done and !send move on; +15 gives 15 more minutes.",
                "!cancel tells an agent that you will not answer; !explain and !rephrase ask back.",
                f"{allow} what an agent may do.",
                "After the time is up, anyway leaves a late answer, and discard takes it back.",
            )
        )
    )


def remark(text: str) -> Drawing:
    """What the owner should know about the set-up."""
    words = untrusted(clipped(text, REMARK))
    first = trusted(f"{REMARK_GLYPH} ") + strong(trusted(REMARK_HEADING))
    return drawn(paragraph(lines((first, words))))


def unreachable(*, since: float, now: float) -> Drawing:
    """Above cards that come late."""
    between = f"from {format_time(since, now=now)} to {format_time(now, now=now)}"
    return said(f"Matrix was unreachable {between}. Shown now:")
