"""What the bot says about Telegram's chats."""

from __future__ import annotations

from chatbridge.channels.chat.document import Document, InlineCode, Lines, paragraph, strong
from chatbridge.core.text import one_line


def not_here(chat_id: int) -> Document:
    """Said to someone who may answer, in a chat that gets no questions."""
    number, setting = InlineCode(str(chat_id)), InlineCode("telegram.chat_id")
    how = ("To get them here, add ", number, " to ", setting, ".")
    return (Lines((("Questions do not arrive in this chat.",), how)),)


def paired(host: str) -> Document:
    name = strong(one_line(host))
    return paragraph("This chat is paired with ", name, ". Agents' questions arrive here.")
