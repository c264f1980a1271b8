"""What comes in: request bodies, bounded in size and time, and what they mean.

A page's form becomes one event of the core's form; a script's JSON becomes checked answers. What
does not fit is refused here, with the path of the field.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from chatbridge import safe_json
from chatbridge.channels.web.errors import Refusal
from chatbridge.core.asks.answers import check_answers
from chatbridge.core.cards.card import AskAction
from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.forms import form
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.forms.form import MAX_TEXT, Event
from chatbridge.core.model import Answer, Question

MAX_BODY = 256 * 1024
BODY_SECONDS = 10.0
MAX_FIELDS = 32
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

EVENTS: dict[str, type[Event]] = {
    "choose": form.Choose,
    "toggle": form.Toggle,
    "drop_other": form.DropOther,
    "done": form.Done,
    "text": form.Text,
    "other": form.Other,
    "skip": form.Skip,
    "back": form.Back,
    "edit": form.Edit,
    "submit": form.Submit,
    "ask_cancel": form.AskCancel,
    "cancel": form.Cancel,
    "anyway": form.AnswerAnyway,
    "ask_explain": form.AskExplain,
    "explain": form.Explain,
    "rephrase": form.Rephrase,
    "ask_session": AskSession,
    "show_all": ShowAll,
}
NAMES = {event: name for name, event in EVENTS.items()}


# ── bodies ────────────────────────────────────────────────────────────────────────────────────────


async def read_body(request: Request, *, seconds: float) -> bytes:
    """The whole body, or a refusal: a sender cannot make the hub hold much, or for long."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MAX_BODY:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise _too_large()
    except TimeoutError:
        raise Refusal(408, f"The request did not end within {seconds:g} s.") from None
    return bytes(body)


def _too_large() -> Refusal:
    return Refusal(413, f"The request is larger than {MAX_BODY // 1024} KiB.")


async def read_json(request: Request, *, seconds: float) -> dict[str, Any]:
    """A JSON object; nothing at all counts as an empty one."""
    body = await read_body(request, seconds=seconds)
    if not body:
        return {}
    _check_type(request, JSON)
    try:
        # Python's reader takes escaped halves of a character; no store and no page does.
        found = safe_json.loads(body.decode())
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError:
        raise _invalid("", "the body is not valid JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise _invalid("", f"given {_kind(found)}; accepted: an object")
    return found


async def read_form(request: Request, *, seconds: float) -> dict[str, str]:
    body = await read_body(request, seconds=seconds)
    if body:
        _check_type(request, FORM)
    try:
        fields = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise Refusal(422, "The form could not be read.") from None
    # Browsers send a text area's line breaks as two characters.
    return {name: value.replace("\r\n", "\n") for name, value in fields}


def _check_type(request: Request, accepted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != accepted:
        raise Refusal(415, f"Content-Type: given {given or 'none'}; accepted: {accepted}")


# ── the API's JSON ────────────────────────────────────────────────────────────────────────────────


def parse_answers(questions: Sequence[Question], body: Mapping[str, Any]) -> tuple[Answer, ...]:
    _check_keys(body, "", ("answers",))
    answers = _typed(body.get("answers"), list, "answers")
    given: dict[str, Answer] = {}
    for i, item in enumerate(answers):
        path = f"answers[{i}]"
        _check_keys(_typed(item, dict, path), f"{path}.", ("questionId", "values", "customText"))
        question_id = _typed(item.get("questionId"), str, f"{path}.questionId")
        if question_id in given:
            raise _invalid(f"{path}.questionId", f"{question_id!r} was answered before")
        values = _typed(item.get("values", []), list, f"{path}.values")
        for j, value in enumerate(values):
            _typed(value, str, f"{path}.values[{j}]")
        custom = item.get("customText")
        if custom is not None:
            _typed(custom, str, f"{path}.customText")
        given[question_id] = Answer(values=tuple(values), custom_text=custom)
    try:
        return check_answers(questions, given)
    except InvalidAnswer as error:
        raise _invalid(error.path, error.problem) from error


def parse_reason(body: Mapping[str, Any]) -> str | None:
    _check_keys(body, "", ("reason",))
    reason = body.get("reason")
    if reason is None:
        return None
    if len(_typed(reason, str, "reason")) > MAX_TEXT:
        raise _invalid("reason", f"{len(reason):,} characters, at most {MAX_TEXT:,}")
    return reason.strip() or None


def _check_keys(body: Mapping[str, Any], prefix: str, accepted: Sequence[str]) -> None:
    for key in body:
        if key not in accepted:
            raise _invalid(f"{prefix}{key}", f"unknown; accepted: {', '.join(accepted)}")


def _typed(value: Any, kind: type, path: str) -> Any:
    if not isinstance(value, kind):
        raise _invalid(path, f"given {_kind(value)}; accepted: {_KINDS[kind]}")
    return value


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _invalid(path: str, problem: str) -> Refusal:
    sentence = f"{path}: {problem}" if path else problem
    return Refusal(422, sentence, more={"path": path})


# ── the pages' forms ──────────────────────────────────────────────────────────────────────────────


def parse_event(fields: Mapping[str, str]) -> Event | AskAction | None:
    """What a page's form asks for; None if it fits nothing.

    A page's tap always carries its step: without it an old page could answer a newer question.
    """
    name = fields.get("do", "")
    if name in set(AskAction):
        return AskAction(name)
    if name not in EVENTS:
        return None
    values: dict[str, Any] = {}
    for field in dataclasses.fields(EVENTS[name]):
        given = fields.get(field.name)
        match field.name:
            case "step" | "option" | "question":
                if given is None or not given.isascii() or not given.isdecimal() or len(given) > 9:
                    return None
                values[field.name] = int(given)
            case "on":
                if given not in ("0", "1"):
                    return None
                values[field.name] = given == "1"
            case "text":
                values[field.name] = given or ""
            case _:
                values[field.name] = given
    return EVENTS[name](**values)


def event_fields(action: Event | AskAction) -> dict[str, str]:
    """The fields that a button's form carries: `parse_event` backwards."""
    if isinstance(action, AskAction):
        return {"do": action.value}
    fields = {"do": NAMES[type(action)]}
    for field in dataclasses.fields(action):
        value = getattr(action, field.name)
        if field.name in ("step", "option", "question", "on"):
            fields[field.name] = str(int(value))
    return fields
