"""What comes over the wire from a Bot API server, checked before the library gets to see it.

Owns the connections. A server that answers in another form, or an update that this library does
not understand, must neither stop the channel nor stand in the way of other updates.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import AsyncGenerator
from functools import cache
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any

import httpx
from telegram import Update
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import HTTPXRequest

from chatbridge import safe_json
from chatbridge.channels.telegram.client.attached import attached, check_types
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)

KEPT_OPEN = 30.0
"""How long an idle connection is kept: opening one takes longer than sending a message."""
PIECE = 1 << 16
AS_IT_IS = {"Accept-Encoding": "identity"}
NOT_HANDED_OUT = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
UNREADABLE = "its answer cannot be read"
NO_NUMBER = 0
"""The number of a message, or a topic, that was made without its number being known; or its
date."""
UNKNOWN: dict[str, object] = {
    "message_id": NO_NUMBER,
    "message_thread_id": NO_NUMBER,
    "date": NO_NUMBER,
    "chat": {"id": 0, "type": "private"},
    "name": "",
    "icon_color": 0,
}
"""A message or a topic of which only this is known: that there is one."""
_OK = re.compile(rb'\s*\{.*"ok"\s*:\s*true\b', re.DOTALL)
"""In JSON that may be broken, but not in a page of some gateway's."""
_NUMBER = re.compile(rb'"result"\s*:[\s\[]*\{\s*"(message(?:_thread)?_id)"\s*:\s*(\d{1,15})\s*[,}]')
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


class SaidOk(TelegramError):
    """The server says ok, and nothing more of its answer can be read."""


class Asking(HTTPXRequest):
    """The library writes every answer that is no JSON into the log, whole, with a traceback: for a
    gateway that is down all night, a page every minute."""

    async def do_request(self, url: str, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        status, payload = await super().do_request(url, *args, **kwargs)
        method = url.rpartition("/")[2]
        if status == HTTPStatus.OK and not method.startswith("get"):
            payload = _least(payload, several=method == "sendMediaGroup")
        return status, payload

    async def download(self, url: str) -> AsyncGenerator[bytes, None]:
        """What is at this address, in pieces. Errors are the library's, as of any request."""
        try:
            async with self._client.stream("GET", url, headers=AS_IT_IS) as answer:
                status = answer.status_code
                if status in NOT_HANDED_OUT:
                    raise BadRequest(str(status))
                if status != HTTPStatus.OK:
                    raise NetworkError(str(status))
                async for piece in answer.aiter_raw(PIECE):
                    yield piece
        except httpx.TimeoutException as error:
            raise TimedOut from error
        except httpx.HTTPError as error:
            raise NetworkError(f"httpx.{type(error).__name__}") from error

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
        return found


def _unreadable(payload: bytes) -> TelegramError:
    return (SaidOk if _OK.match(payload) else TelegramError)(UNREADABLE)


def _least(payload: bytes, *, several: bool) -> bytes:
    """Of the answer to a call that does something: what is used of it, which of several messages is
    the first. The rest may be in any form: what the server says is done must not be done again."""
    try:
        found = safe_json.loads(payload)
        is_ok, made = value_at(found, "ok") is True, value_at(found, "result")
    except ValueError:
        is_ok, number = _OK.match(payload) is not None, _NUMBER.search(payload)
        made = {number[1].decode(): int(number[2])} if number else {}
    if not is_ok:
        return payload
    if isinstance(made, list):
        made = made[0] if made else {}
    numbers = {name: value_at(made, name) for name in ("message_id", "message_thread_id")}
    dates = {name: value_at(made, name) for name in ("date", "edit_date")}
    least = {
        **UNKNOWN,
        **{name: number for name, number in numbers.items() if type(number) is int},
        **{name: at for name, at in dates.items() if type(at) is int and 0 < at < 2**32},
    }
    return json.dumps({"ok": True, "result": [least] if several else least}).encode()


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
    number = value_at(update, "update_id")
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
    check_types(str, query.data if query else None)
    if message is not None:
        check_types(str, message.text, message.caption, message.media_group_id)
        attached(message)
        check_types(int, message.migrate_to_chat_id)
