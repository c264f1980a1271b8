"""What the bot says outside of cards: lists, questions back, help.

An agent's words share a line with ours here: they are one line, cut, and kept apart. What a typed
text could have meant is `core.forms.typed_input`'s to say, and becomes a message with `said`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.announcer import draw_files
from chatbridge.channels.chat.document import Lines, Untrusted, line, paragraph, strong
from chatbridge.channels.matrix.render.card import MATRIX
from chatbridge.channels.matrix.render.html import Words, begun, write
from chatbridge.core.model import Ask, Notice
from chatbridge.core.text import clipped, one_line, prose

TITLE = 200
MESSAGE = 23_000
"""In bytes."""
FILES = 2_500
"""For the first lines of files, likewise."""
MESSAGE_LEFT_OUT = "… The whole message is in the web inbox."


def said(text: str) -> Words:
    """A plain sentence."""
    return write(paragraph(text), now=0.0)


undecryptable = partial(
    said,
    "I could not read your last message (encryption key missing). "
    "Send it again, or answer in the web inbox.",
)
failed = partial(
    said,
    "I could not take your last answer (the homeserver does not show it). "
    "Send it again, or answer in the web inbox.",
)
on_its_card = partial(
    said, "What is to be allowed or denied waits on its card: react there, or reply to it."
)
"""To a message beside the cards, where only an approval waits."""


# ── about a question ──────────────────────────────────────────────────────────────────────────────


def which_one(asks: Sequence[Ask], *, now: float, reactions: bool) -> Words:
    """For a message that fits no question, or more than one."""
    if len(asks) == 1 and reactions:
        return write(paragraph(*notices.use_it_question(asks[0]), " 👍 uses it."), now=now)
    how = "React with its number, or reply" if reactions else "Reply"
    first = f"Which question is this for? {how} to the one you mean."
    listed = asks[: notices.LISTED_AT_MOST]
    entries = [(*notices.ask_entry(ask), *notices.ends(ask.deadline)) for ask in listed]
    return write(notices.numbered(first, entries, total=len(asks)), now=now)


def yes_or_no(ask: Ask, *, now: float, reactions: bool) -> Words:
    """To a text that says neither clearly."""
    how = " Reply yes or no, and then your words."
    if reactions:
        how = " 👍 or 👎 answers, with this as a remark."
    return write(paragraph(*notices.yes_or_no_question(ask), how), now=now)


# ── about the room ────────────────────────────────────────────────────────────────────────────────


def help_text(*, reactions: bool = True, files: bool = False) -> Words:
    also = f"; {notices.FILES_TOO}" if files else ""
    how = "React to answer, or reply" if reactions else "Reply to answer"
    allow = "👍 and 👎, or the replies allow and deny, decide"
    allow = allow if reactions else "The replies allow and deny decide"
    return said(
        "\n".join(
            (
                "Your agents' questions arrive here.",
                f"{how}: a number, several such as 1,3, yes or no, or your own words{also}. "
                "With several questions open, reply to the one you mean.",
                "!skip, !back, !done and !send move on; !later gives more time, as +15 and !+1h do,"
                " and !snooze 1h puts a question off.",
                "!cancel tells an agent that you will not answer; !explain and !rephrase ask back.",
                f"{allow} what an agent may do.",
                "!tell passes your words to a running agent, as a reply to its notice does; "
                "!agents shows who is there.",
                "!quiet 2h keeps your chats quiet for a while; !quiet says how it is.",
                "After the time is up, anyway leaves a late answer, and discard takes it back.",
            )
        )
    )


# ── what agents tell ──────────────────────────────────────────────────────────────────────────────


def draw_notice(notice: Notice) -> Words:
    """What an agent tells without asking, or how an operation ended."""
    if notice.operation is not None:
        return write(notices.operation_end(notice, notice.operation, MATRIX).document, now=0.0)
    message = prose(notice.message).strip("\n")
    shown = begun(message, MESSAGE)
    title = (strong(Untrusted(clipped(one_line(notice.title), TITLE))),) if notice.title else ()
    heading = Lines((notices.notice_heading(notice), title))
    left_out = () if shown == message else paragraph(MESSAGE_LEFT_OUT)
    files = draw_files(notice, MATRIX, heading, most=FILES)
    return write((heading, line(Untrusted(shown)), *left_out, *files), now=0.0)
