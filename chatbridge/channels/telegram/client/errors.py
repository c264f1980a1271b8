"""What the Bot API's answers mean, and what it means when none comes: python-telegram-bot's errors
as ours. None keeps its cause: the library's errors carry addresses, and a bot's address has its
token."""

from __future__ import annotations

import logging
import re
from datetime import timedelta

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.errors import (
    LONGEST_PAUSE,
    asks_for_pause,
    token_rejected,
    untrusted,
)
from chatbridge.channels.telegram.client.response_checks import UNREADABLE, SaidOk
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater

log = logging.getLogger(__name__)

CONFLICT_PAUSE = 5.0
NOT_ALLOWED = ("not enough rights", "no rights to send", "chat_write_forbidden")
"""What Telegram says with status 400, though it is the chat that refuses and not the message."""
NO_FILES = re.compile(r"not enough rights to send (?!text)")
"""The chat takes texts, and only this kind of message not."""


class Rejected(MessageRejected):
    """Telegram does not take this request, however often it is made (400)."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        text = said.lower()
        self.nothing_new = "message is not modified" in text
        self.message_gone = "message to edit not found" in text or "message can't be edited" in text
        gone = ("message thread not found", "topic_closed", "topic_deleted")
        self.topic_gone = any(words in text for words in gone)
        self.unreadable = "can't parse entities" in text
        self.file_too_large = "file is too big" in text


class Migrated(ChatbridgeError):
    """The group became a supergroup and has a new id."""

    def __init__(self, chat: int) -> None:
        self.chat = chat
        super().__init__(f"the group became a supergroup, its id is {chat} now")


class Polled(RetryLater):
    """Another program reads this bot's messages (409)."""

    def __init__(self, said: str) -> None:
        what = (
            "another program polls this bot (409). Stop it: look for a second chatbridge, also on "
            "another computer, or for another bridge with the same token; or make a new bot with "
            "@BotFather"
        )
        if "webhook" in said.lower():
            what = (
                "this bot has a webhook, so its messages go elsewhere (409). Remove it with "
                "deleteWebhook, or make a new bot with @BotFather"
            )
        super().__init__(f"telegram: {what}", after=CONFLICT_PAUSE)


def meaning_of(error: Exception, *, hint: str, chat: int | None) -> Exception:
    """`hint` says where the token is set, `chat` where something was to be done."""
    match error:
        case RetryAfter(retry_after=timedelta() as pause):
            seconds = min(pause.total_seconds(), LONGEST_PAUSE)
            return asks_for_pause("telegram", seconds if seconds > 0 else None)
        case ChatMigrated(new_chat_id=int(group)) if group < 0:
            return Migrated(group)
        case InvalidToken():
            what, where = "telegram rejected the bot token (401)", hint
            if "not found" in str(error.__cause__ or error).lower():
                what = "telegram does not know the bot token (404)"
                where += " and telegram.api_base"
            return token_rejected(what, hint=where)
        case BadRequest() | Conflict() | Forbidden() if error.__cause__ is not None:
            # Words that cannot be read say nothing about a chat or a message.
            return RetryLater(f"telegram cannot be reached ({UNREADABLE})")
        case Forbidden(message=said):
            return ChatRefused(
                f"telegram: the bot may not write to the chat {chat} (403: {said}). Open "
                "the chat in Telegram and press Start or Unblock, or add the bot to the group again"
            )
        case Conflict(message=said):
            return Polled(said)
        case BadRequest(message=said) if "chat not found" in said.lower():
            return ChatRefused(
                f"telegram does not know the chat {chat} (400). Check telegram.chat_id; its "
                "owner has to press Start in the bot's chat first"
            )
        case BadRequest(message=said) if NO_FILES.search(said.lower()):
            return Rejected(said)
        case BadRequest(message=said) if any(words in said.lower() for words in NOT_ALLOWED):
            return ChatRefused(
                f"telegram: the bot may not write to the chat {chat} (400: {said}). "
                "Let an administrator of the group allow it"
            )
        case BadRequest(message=said):
            return Rejected(said)
        case TimedOut():
            return RetryLater("telegram did not answer in time", unsent=_is_unsent(error))
        case SaidOk():
            return RetryLater(f"telegram said ok, but {UNREADABLE}")
        case ArithmeticError() | AttributeError() | LookupError() | TypeError() | ValueError():
            # An answer in another form than the library expects.
            log.debug("telegram's answer has another form: %r", type(error))
            return RetryLater(f"telegram cannot be reached ({UNREADABLE})")
        case TelegramError(message=said) if "Request Entity Too Large" in said:
            return Rejected(said)
        case TelegramError(message=said):
            # What went wrong, without the address: "httpx.ConnectError: …" or "Bad Gateway".
            kind = said.partition(":")[0].partition("(")[0].strip()[:60]
            why = untrusted(error, "telegram", setting="telegram.api_base")
            return RetryLater(
                why or f"telegram cannot be reached ({kind})", unsent=_is_unsent(error)
            )
        case _:
            return error


def _is_unsent(error: Exception) -> bool:
    """Whether there was no connection over which it could have gone out."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout", "PoolTimeout")
