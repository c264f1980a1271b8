"""Reads what a Bot API server answers. One that answers in another form, or an update that the
library does not understand, neither stops the channel nor holds up other updates."""

from __future__ import annotations

import logging
import re
import ssl
from contextlib import suppress
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, NegativeInt, NonNegativeInt, ValidationError
from telegram import Update

from chatbridge import safe_json
from chatbridge.channels.telegram.client.errors import Migrated, Polled, Rejected
from chatbridge.core.cards.phrases import format_certificate_advice
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater, TokenRejected

log = logging.getLogger(__name__)

Json = dict[str, Any]

UNREADABLE = "its answer cannot be read"
SAID_OK = f"telegram said ok, but {UNREADABLE}"
LONGEST_PAUSE = 3600
NO_NUMBER = 0
"""The number of a message, or a topic, that was made without its number being known."""
NOT_ALLOWED = ("not enough rights", "no rights to send", "chat_write_forbidden")
"""What Telegram says with status 400, though it is the chat that refuses and not the message."""
_OK = re.compile(rb'\s*\{.*"ok"\s*:\s*true\b', re.DOTALL)
"""In JSON that may be broken, but not in a page of some gateway's."""
_MADE = re.compile(rb'"result"\s*:\s*\{\s*"(message_(?:thread_)?id)"\s*:\s*(\d{1,15})\s*[,}]')
"""What was made begins with its own number; those of other messages come later."""


class Parameters(BaseModel):
    model_config = ConfigDict(strict=True)

    retry_after: NonNegativeInt = 0
    migrate_to_chat_id: NegativeInt | None = None


class Refusal(BaseModel):
    """The body of an answer that is no success."""

    description: str | None
    parameters: Parameters | None = None


def result_in(payload: bytes, method: str) -> Any:
    """The result of a call that succeeded. One with an effect must not be repeated, so every answer
    to it that says ok counts. :raises RetryLater:"""
    found: Any = None
    with suppress(ValueError):
        found = safe_json.loads(payload)
    is_whole = isinstance(found, dict)
    if not (found.get("ok") is True if is_whole else _OK.match(payload)):
        raise _unreached(UNREADABLE)
    result = found.get("result") if is_whole else None
    if isinstance(result, list if method == "getUpdates" else dict):
        return result
    if method.startswith("get"):
        raise RetryLater(SAID_OK)
    made = _MADE.search(payload)
    return {made[1].decode(): int(made[2])} if made else {}


def refusal(status: int, payload: bytes, *, chat: int | None, hint: str) -> ChatbridgeError:
    """What an answer that is no success means; `hint` says where the token is set."""
    try:
        answer = Refusal.model_validate_json(payload)
    except ValidationError:
        answer = None
    given = (answer and answer.parameters) or Parameters()
    if given.migrate_to_chat_id is not None:
        return Migrated(given.migrate_to_chat_id)
    if given.retry_after:
        pause = float(min(given.retry_after, LONGEST_PAUSE))
        return RetryLater("telegram asks for a pause (429)", after=pause)
    if answer is None and status in (400, 403, 409):
        return _unreached(UNREADABLE)  # it says nothing about a chat or a message
    said = answer and answer.description
    said = said or httpx.codes.get_reason_phrase(status) or "Unknown HTTPError"
    if said.startswith("Bad Request: "):
        said = said.removeprefix("Bad Request: ").capitalize()
    then = "then run: chatbridge stop"
    match status:
        case 401:
            return TokenRejected(f"telegram rejected the bot token (401). Check {hint}, {then}")
        case 404:
            what = "telegram does not know the bot token (404)"
            return TokenRejected(f"{what}. Check {hint} and telegram.api_base, {then}")
        case 400 if "chat not found" in said.lower():
            return ChatRefused(
                f"telegram does not know the chat {chat} (400). Check telegram.chat_id; its owner "
                "has to press Start in the bot's chat first"
            )
        case 400 if any(words in said.lower() for words in NOT_ALLOWED):
            return ChatRefused(
                f"telegram: the bot may not write to the chat {chat} (400: {said}). Let an "
                "administrator of the group allow it"
            )
        case 400:
            return Rejected(said)
        case 403:
            return ChatRefused(
                f"telegram: the bot may not write to the chat {chat} (403: {said}). Open the chat "
                "in Telegram and press Start or Unblock, or add the bot to the group again"
            )
        case 409:
            return Polled(said)
        case _:
            return _unreached(said.partition(":")[0].partition("(")[0].strip()[:60])


def no_answer(error: Exception) -> RetryLater:
    """Why there was none, without the address."""
    if isinstance(error, httpx.TimeoutException):
        return RetryLater("telegram did not answer in time")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = cause.verify_message.rstrip(".")
            what_to_do = format_certificate_advice("telegram.api_base")
            return RetryLater(f"telegram's certificate is not trusted ({why}). {what_to_do}")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.HTTPError):
        return _unreached(f"httpx.{type(error).__name__}")
    return _unreached("Unknown error in HTTP implementation")


def _unreached(why: str) -> RetryLater:
    return RetryLater(f"telegram cannot be reached ({why})")


# ── parts of a result ─────────────────────────────────────────────────────────────────────────────


def date_in(found: Json, name: str) -> float | None:
    at = found.get(name)
    return float(at) if type(at) is int and 0 < at < 2**32 else None


def update_from(found: object) -> Update:
    number = found.get("update_id") if isinstance(found, dict) else None
    if not isinstance(found, dict) or type(number) is not int or number < 0:
        raise _unreached(UNREADABLE)  # there is no reading on from here
    try:
        update = Update.de_json(found, None)
        # The library does not look at the types of what it is given.
        message, query = update.message, update.callback_query
        texts = (message and message.text, query and query.data)
        moved = message and message.migrate_to_chat_id
        if any(not isinstance(text, str | None) for text in texts):
            raise TypeError("a text that is none")
        if type(moved) not in (int, type(None)):
            raise TypeError("a number that is none")
    except Exception as error:  # noqa: BLE001 - whatever a newer Telegram may send
        log.warning("update %d cannot be read (%s); passed over", number, type(error).__name__)
        return Update(number)
    return update
