"""What comes over the wire from a Bot API server, checked before the library gets to see it.

Owns the connections. A server that answers in another form, or an update that this library does
not understand, must neither stop the channel nor stand in the way of other updates.
"""

from __future__ import annotations

import logging
import re
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import httpx
from telegram import Update
from telegram.error import BadRequest, Conflict, Forbidden, TelegramError
from telegram.request import HTTPXRequest

from chatbridge import nesting
from chatbridge.core.words import to_trust_it

log = logging.getLogger(__name__)

KEPT_OPEN = 30.0
"""How long an idle connection is kept: opening one takes longer than sending a message."""
UNREADABLE = "its answer cannot be read"
LONGEST_PAUSE = 3600
_DONE = re.compile(rb'\s*\{\s*"ok"\s*:\s*true\b')
_MESSAGE = re.compile(rb'"message_id"\s*:\s*(\d{1,15})\b')
"""The first one is the message's own: those that it is about come after it."""

if find_spec("sniffio") is None:
    # httpcore tries to import it several times in each request, and where it is missing, Python
    # searches every folder each time. So Python is told that it is.
    sys.modules["sniffio"] = None  # type: ignore[assignment]


def connections(number: int) -> dict[str, object]:
    limits = httpx.Limits(max_connections=number, keepalive_expiry=KEPT_OPEN)
    return {"limits": limits, "verify": _certificates()}


# One for all: reading the authorities takes as long as a link's whole start.
_certificates = cache(httpx.create_ssl_context)


@contextmanager
def readable() -> Iterator[None]:
    """A refusal whose words cannot be read says nothing about a chat or a message."""
    try:
        yield
    except (BadRequest, Conflict, Forbidden) as error:
        if error.__cause__ is None:
            raise
        raise TelegramError(UNREADABLE) from None


def untrusted(error: BaseException | None) -> str | None:
    """What to do about the server's certificate, if that is why it was told nothing."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message.rstrip(".")
            what_to_do = to_trust_it("telegram.api_base")
            return f"telegram's certificate is not trusted ({why}). {what_to_do}"
        error = error.__cause__ or error.__context__
    return None


class Asking(HTTPXRequest):
    """The library writes every answer that is no JSON into the log, whole, with a traceback: for a
    gateway that is down all night, a page every minute."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        try:
            found = nesting.loads(payload)
        except ValueError:
            return _rescued(payload)
        if not isinstance(found, dict) or not found.keys() & {"result", "description"}:
            raise TelegramError(UNREADABLE)
        if not isinstance(found.get("description"), str | None):
            raise TelegramError(UNREADABLE)
        _check_parameters(found.get("parameters"))
        if isinstance(made := found.get("result"), dict):
            found["result"] = _least(made)
        return found


class DoneUnreadably(TelegramError):
    """The server says ok, and nothing more of its answer can be read."""


def _rescued(payload: bytes) -> dict[str, object]:
    """Of an answer that is no JSON: which message it made. That one must not be sent again. Without
    its number nothing says that there is one."""
    if not _DONE.match(payload):
        raise TelegramError(UNREADABLE)
    if (made := _MESSAGE.search(payload)) is None:
        raise DoneUnreadably(UNREADABLE)
    return {"ok": True, "result": _least({"message_id": int(made[1])})}


def _least(made: dict[str, object]) -> dict[str, object]:
    """Of a message, or a topic, that was made: what is used of it. The rest may be in any form."""
    message, topic = made.get("message_id"), made.get("message_thread_id")
    if type(message) is int:
        dates = {name: made.get(name) for name in ("date", "edit_date")}
        known = {name: date for name, date in dates.items() if type(date) is int and date > 0}
        nowhere = {"id": 0, "type": "private"}
        return {"date": int(time.time()), **known, "message_id": message, "chat": nowhere}
    if type(topic) is int:
        return {"message_thread_id": topic, "name": "", "icon_color": 0}
    return made


def _check_parameters(parameters: object) -> None:
    if parameters is None:
        return
    if not isinstance(parameters, dict):
        raise TelegramError(UNREADABLE)
    pause = parameters.get("retry_after", 1)
    if type(pause) is not int or pause < 0:
        raise TelegramError(UNREADABLE)
    if pause > LONGEST_PAUSE:
        parameters["retry_after"] = LONGEST_PAUSE
    group = parameters.get("migrate_to_chat_id", -1)
    if type(group) is not int or group >= 0:
        raise TelegramError(UNREADABLE)


class Polling(Asking):
    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        found = Asking.parse_json_payload(payload)
        updates = found.get("result")
        if isinstance(updates, list):
            found["result"] = [_decodable(update) for update in updates]
        elif "result" in found:
            raise TelegramError(UNREADABLE)
        return found


def _decodable(update: object) -> dict[str, object]:
    number = update.get("update_id") if isinstance(update, dict) else None
    if not isinstance(update, dict) or type(number) is not int or number < 0:
        raise TelegramError(UNREADABLE)  # there is no reading on from here
    try:
        _check(Update.de_json(update, None))
    except Exception as error:  # noqa: BLE001 - whatever a newer Telegram may send
        log.warning("update %d cannot be read (%s); passed over", number, type(error).__name__)
        return {"update_id": number}
    return update


def _check(update: Update) -> None:
    """The library does not look at the types of what it is given."""
    message, query = update.message, update.callback_query
    texts = [message.text if message else None, query.data if query else None]
    numbers = [message.migrate_to_chat_id if message else None]
    if any(not isinstance(text, str | None) for text in texts):
        raise TypeError("a text that is none")
    if any(type(number) not in (int, type(None)) for number in numbers):
        raise TypeError("a number that is none")
