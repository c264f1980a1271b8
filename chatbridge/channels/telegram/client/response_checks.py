"""What comes over the wire from a Bot API server, checked before the library gets to see it.

Owns the connections. A server that answers in another form, or an update that this library does
not understand, must neither stop the channel nor stand in the way of other updates.
"""

from __future__ import annotations

import json
import logging
import re
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any

import httpx
from telegram import Update
from telegram.error import BadRequest, Conflict, Forbidden, TelegramError
from telegram.request import HTTPXRequest

from chatbridge import safe_json
from chatbridge.core.cards.phrases import format_certificate_advice

log = logging.getLogger(__name__)

KEPT_OPEN = 30.0
"""How long an idle connection is kept: opening one takes longer than sending a message."""
UNREADABLE = "its answer cannot be read"
LONGEST_PAUSE = 3600
NO_NUMBER = 0
"""The number of a message, or a topic, that was made without its number being known; or its
date."""
_OK = re.compile(rb'\s*\{.*"ok"\s*:\s*true\b', re.DOTALL)
"""In JSON that may be broken, but not in a page of some gateway's."""
_NUMBER = rb'"result"\s*:\s*\{\s*"%s"\s*:\s*(\d{1,15})\s*[,}]'
"""What was made begins with its own number; those of other messages come later."""

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
            what_to_do = format_certificate_advice("telegram.api_base")
            return f"telegram's certificate is not trusted ({why}). {what_to_do}"
        error = error.__cause__ or error.__context__
    return None


class Asking(HTTPXRequest):
    """The library writes every answer that is no JSON into the log, whole, with a traceback: for a
    gateway that is down all night, a page every minute."""

    async def do_request(self, url: str, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        status, payload = await super().do_request(url, *args, **kwargs)
        method = url.rpartition("/")[2]
        if status == HTTPStatus.OK and not method.startswith("get"):
            payload = _least(payload, topic=method == "createForumTopic")
        return status, payload

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        try:
            found = safe_json.loads(payload)
        except ValueError:
            raise _unreadable(payload) from None
        if not isinstance(found, dict) or not found.keys() & {"result", "description"}:
            raise _unreadable(payload)
        if not isinstance(found.get("description"), str | None):
            raise _unreadable(payload)
        _check_parameters(found.get("parameters"))
        return found


class SaidOk(TelegramError):
    """The server says ok, and nothing more of its answer can be read."""


def _unreadable(payload: bytes) -> TelegramError:
    return (SaidOk if _OK.match(payload) else TelegramError)(UNREADABLE)


def _least(payload: bytes, *, topic: bool) -> bytes:
    """Of the answer to a call that does something: what is used of it. The rest may be in any form:
    what the server says is done must not be done again."""
    name = "message_thread_id" if topic else "message_id"
    if (made := _made(payload, name)) is None:
        return payload
    number = made.get(name)
    least: dict[str, object] = {name: number if type(number) is int else NO_NUMBER}
    if topic:
        least |= {"name": "", "icon_color": 0}
    else:
        least |= {"date": NO_NUMBER, "chat": {"id": 0, "type": "private"}}
        dates = {name: made.get(name) for name in ("date", "edit_date")}
        least |= {name: at for name, at in dates.items() if type(at) is int and 0 < at < 2**32}
    return json.dumps({"ok": True, "result": least}).encode()


def _made(payload: bytes, name: str) -> dict[str, object] | None:
    """What there is now, as far as that can be read; None if nothing says that it was done."""
    try:
        found = safe_json.loads(payload)
    except ValueError:
        if not _OK.match(payload):
            return None
        number = re.search(_NUMBER % name.encode(), payload)
        return {name: int(number[1])} if number else {}
    if not isinstance(found, dict) or found.get("ok") is not True:
        return None
    made = found.get("result")
    return made if isinstance(made, dict) else {}


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
            raise _unreadable(payload)
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
