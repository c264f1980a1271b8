"""What the bot says about Telegram itself: its commands, help, and chats."""

from __future__ import annotations

from chatbridge.channels.chat.document import Document, InlineCode, Lines, paragraph, strong
from chatbridge.core.text import one_line

COMMANDS = (
    ("pending", "Open questions"),
    ("history", "The last ten that have ended"),
    ("cancel", "Cancel an open question"),
    ("quiet", "Quiet hours, on or off"),
    ("help", "What can be done here"),
)


def help_text(*, private: bool) -> str:
    own_words = "send it as a message" if private else "reply to the question"
    return "\n".join(
        (
            "Your agents' questions arrive here.",
            f"Tap a button to answer. For an answer in your own words, {own_words}.",
            "With several questions open, reply to the one you mean.",
            "/pending shows what is open, /history what has ended.",
            "/cancel tells an agent that you will not answer.",
            "/quiet 2h keeps your chats quiet for a while; /quiet says how it is.",
            "What you answer after the time is up is kept for the agent's next call.",
        )
    )


def not_here(chat_id: int) -> Document:
    """Said to someone who may answer, in a chat that gets no questions."""
    number, setting = InlineCode(str(chat_id)), InlineCode("telegram.chat_id")
    how = ("To get them here, add ", number, " to ", setting, ".")
    return (Lines((("Questions do not arrive in this chat.",), how)),)


def paired(host: str) -> Document:
    name = strong(one_line(host))
    return paragraph("This chat is paired with ", name, ". Agents' questions arrive here.")
