"""Read request bodies, bounded in size and time, and parse them.

A page's form becomes events of the core's form; a script's JSON becomes checked answers. What does
not fit is refused, with the path of the field.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast, get_args
from urllib.parse import parse_qsl

from starlette.requests import Request

from chatbridge import safe_json
from chatbridge.channels.web.server import read_body
from chatbridge.core.asks.answers import check_keys, check_type, wrong_type
from chatbridge.core.cards.card import AskAction
from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.forms import form
from chatbridge.core.forms.form import MAX_TEXT, Event
from chatbridge.core.model import Ask, View

MAX_BODY = 256 * 1024
BODY_SECONDS = 10.0
MAX_FIELDS = 32
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

NAMES: dict[type[Event], str] = {
    event: re.sub("(?<!^)(?=[A-Z])", "_", event.__name__).lower() for event in get_args(Event)
}
NAMES[form.AnswerAnyway] = "anyway"
NO_TAPS = (form.Attach, form.Speak, form.Transcribed)
"""Made by who stores a file, or hears it: no form of a page can claim one."""
EVENTS = {name: event for event, name in NAMES.items() if event not in NO_TAPS}


@dataclass(eq=False)
class Refusal(Exception):
    """Answered with `status`: JSON for the API, with `more` in it, and a page for a browser."""

    status: int
    sentence: str
    title: str | None = None
    more: Mapping[str, object] = field(default_factory=dict)


# ── bodies ────────────────────────────────────────────────────────────────────────────────────────


async def _read_body(request: Request, *, seconds: float) -> bytes:
    """The whole body, or a refusal: a sender cannot make the hub hold much, or for long."""
    try:
        async with asyncio.timeout(seconds):
            body = await read_body(request, limit=MAX_BODY)
    except TimeoutError:
        raise Refusal(408, f"The request did not end within {seconds:g} s.") from None
    if body is None:
        raise Refusal(413, f"The request is larger than {MAX_BODY // 1024} KiB.")
    return body


async def read_json(request: Request, *, seconds: float) -> dict[str, Any]:
    """A JSON object; nothing at all counts as an empty one."""
    body = await _read_body(request, seconds=seconds)
    if not body:
        return {}
    check_media_type(request, JSON)
    try:
        found = safe_json.loads(body.decode())
        if b"\\u" in body:
            # Python's reader takes escaped halves of a character; no store and no page does.
            json.dumps(found, ensure_ascii=False).encode()
        problem = None if isinstance(found, dict) else wrong_type(found, dict)
    except ValueError:
        problem = "the body is not valid JSON in UTF-8"
    if problem:
        raise Refusal(422, problem, more={"path": ""})
    return cast("dict[str, Any]", found)


async def read_form(request: Request, *, seconds: float) -> dict[str, str]:
    body = await _read_body(request, seconds=seconds)
    if body:
        check_media_type(request, FORM)
    try:
        fields = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise Refusal(422, "The form could not be read.") from None
    # Browsers send a text area's line breaks as two characters.
    return {name: value.replace("\r\n", "\n") for name, value in fields}


def wants_json(request: Request) -> bool:
    """Whether who asks is a script or the worker, and not a person with a page."""
    path, marked = request.scope["path"], "x-chatbridge" in request.headers
    return path.startswith("/api/") or (marked and path.startswith("/push"))


def check_media_type(request: Request, accepted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != accepted:
        raise Refusal(415, f"Content-Type: given {given or 'none'}; accepted: {accepted}")


# ── the API's JSON ────────────────────────────────────────────────────────────────────────────────


def parse_reason(body: Mapping[str, Any]) -> str | None:
    check_keys(body, "", ("reason",))
    reason = body.get("reason")
    if reason is None:
        return None
    if len(check_type(reason, str, "reason")) > MAX_TEXT:
        raise InvalidAnswer("reason", f"{len(reason):,} characters, at most {MAX_TEXT:,}")
    return str(reason).strip() or None


# ── the pages' forms ──────────────────────────────────────────────────────────────────────────────


def whole_number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) else None


NUMBERS: dict[str, Callable[[str | None], int | None]] = {
    "step": whole_number,
    "option": whole_number,
    "question": whole_number,
    "minutes": whole_number,
    "until": whole_number,
    "to": whole_number,
    "on": lambda text: {"0": False, "1": True}.get(text or ""),
}


def parse_event(sent: Mapping[str, str]) -> Event | AskAction | None:
    """What a page's form asks for; None if it fits nothing. A page's tap always carries its step:
    without it an old page could answer a newer question."""
    given = {"do": "", "text": "", **sent}
    name = given["do"]
    if name in set(AskAction):
        return AskAction(name)
    if name not in EVENTS:
        return None
    values: dict[str, Any] = {}
    for part in (each.name for each in fields(EVENTS[name])):
        values[part] = NUMBERS[part](given.get(part)) if part in NUMBERS else given.get(part)
        if part in NUMBERS and values[part] is None:
            return None
    return EVENTS[name](**values)


def event_fields(action: Event | AskAction) -> dict[str, str]:
    if isinstance(action, AskAction):
        return {"do": action.value}
    carried = [each.name for each in fields(action) if each.name in NUMBERS]
    numbers = {name: str(int(getattr(action, name))) for name in carried}
    return {"do": NAMES[type(action)], **numbers}


def events_of(ask: Ask, action: Event, text: str) -> tuple[Event, ...]:
    """What the tap means on the screen that it was drawn for; `text` was typed beside it. If the
    ask has moved on since, the first of the events is stale, and none counts."""
    typed = bool(text.strip())
    match action:
        case form.Done(step=step) if typed:
            # A multi-select's page has the field for Other beside its options.
            return form.Text(text=text, step=step), form.Done(step=step + 1)
        case form.Other(step=step) if typed and ask.approval:
            return form.Other(step=step), form.Text(text=text, step=step + 1)
        case form.Rephrase(step=step) | form.Explain(step=step):
            lead = () if ask.draft.view is View.EXPLAIN else (form.AskExplain(step=step),)
            step += len(lead)
            if isinstance(action, form.Rephrase):
                return *lead, form.Rephrase(step=step)
            return *lead, form.Text(text=text, step=step) if typed else form.Explain(step=step)
        case _:
            return (action,)
