"""Reply markups: what the service takes, and what it says about the rest."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tests.fakes.telegram import limits
from tests.fakes.telegram.entities import width
from tests.fakes.telegram.replies import Refusal, bad_request

STYLES = ("primary", "success", "danger")
_ACTIONS = ("url", "callback_data", "copy_text", "web_app", "login_url", "switch_inline_query")


def checked_markup(markup: Any) -> dict[str, Any] | None:
    """An inline keyboard or a ForceReply as it is kept; None where it says nothing.

    :raises Refusal:
    """
    if markup is None or markup == "":
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    if rows := markup.get("inline_keyboard"):
        return {"inline_keyboard": _rows(rows)}
    if markup.get("force_reply"):
        placeholder = markup.get("input_field_placeholder", "")
        if width(placeholder) > limits.PLACEHOLDER:
            raise bad_request("PLACEHOLDER_TOO_LONG")
        return dict(markup)
    if markup.get("keyboard") or markup.get("remove_keyboard"):
        return dict(markup)
    return None


def _rows(rows: Any) -> list[list[dict[str, Any]]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request(
            'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'
        )
    # The real service leaves buttons out where there are too many. A test wants to know.
    if sum(map(len, rows)) > limits.BUTTONS:
        raise bad_request("reply markup is too long")
    if any(len(row) > limits.BUTTONS_IN_A_ROW for row in rows):
        raise bad_request("reply markup is too long")
    return [[_button(button) for button in row] for row in rows if row]


def _button(button: Any) -> dict[str, Any]:
    if not isinstance(button, dict):
        raise _unreadable("InlineKeyboardButton must be an Object")
    if "text" not in button:
        raise _unreadable('Can\'t find field "text"')
    if not isinstance(button["text"], str) or not button["text"].strip():
        raise bad_request("inline keyboard button text must be non-empty")
    if "style" in button and button["style"] not in STYLES:
        raise _unreadable("invalid button style specified")
    if not any(button.get(action) for action in _ACTIONS):
        raise _unreadable("Text buttons are unallowed in the inline keyboard")
    url = button.get("url")
    if url is not None and "." not in (urlsplit(str(url)).hostname or ""):
        raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
    data = button.get("callback_data")
    if data is not None and len(str(data).encode()) > limits.CALLBACK_DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")
    return dict(button)


def _unreadable(reason: str) -> Refusal:
    return bad_request(f"can't parse inline keyboard button: {reason}")
