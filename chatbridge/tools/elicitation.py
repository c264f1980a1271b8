"""The client's own window beside the chats: an ask is shown in both, and the first answer wins.

Owns what becomes of the client's reply. Which of the two came first is decided where every end of
an ask is decided; the window that lost is withdrawn.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mcp_types import ElicitResult
from pydantic import ValidationError

from chatbridge.atomic_write import write_atomically
from chatbridge.core.asks.answers import check_answers
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.cards.attached import CLIP, format_attachments
from chatbridge.core.cards.outcome_text import WINDOW
from chatbridge.core.errors import AskEnded, InvalidAnswer, UnknownAsk
from chatbridge.core.model import YES_NO, Answer, Ask, Attachment, Question, QuestionType
from chatbridge.core.ports import Clock
from chatbridge.core.tasks import until_stored
from chatbridge.core.text import one_line, shortened
from chatbridge.tools.call import Elicit, ToolCall

log = logging.getLogger(__name__)

INSTANT = 1.0
"""Seconds within which nobody can decline: the client did it by itself."""
DECLINED = "declined in the agent's window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A form for the client, and what its replies mean. A reason cancels the ask; without one the
    chats go on."""

    message: str
    schema: dict[str, Any]
    read: Callable[[Mapping[str, Any]], tuple[Answer, ...]]
    """The form's content as answers. :raises InvalidAnswer:"""
    dismissed: str | None = None
    """The reason where the person closed the window."""
    unfit: str | None = None
    """The reason where the form came back without what it asked for."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    inbox: AskActions
    _putting: set[asyncio.Future[None]] = field(default_factory=set)

    @asynccontextmanager
    async def beside(
        self, ask: Ask, call: ToolCall, window: Window
    ) -> AsyncIterator[asyncio.Future[None] | None]:
        """Show the window while the ask is waited for; withdraw it then. Yields what is done once
        the window is closed; None if there is none."""
        if not ask.open or call.elicit is None:
            yield None
            return
        showing = asyncio.ensure_future(self._show(ask, call, call.elicit, window))
        try:
            yield showing
        finally:
            showing.cancel()
            await asyncio.wait({showing})
            if not showing.cancelled() and (error := showing.exception()) is not None:
                log.error("ask %s: its window failed", ask.id, exc_info=error)

    async def _show(self, ask: Ask, call: ToolCall, elicit: Elicit, window: Window) -> None:
        from mcp import MCPError  # there since the call came, and not before the first answers

        began = call.clock.monotonic()
        try:
            reply = await elicit(window.message, window.schema)
        except (MCPError, ValidationError) as error:
            log.info("ask %s: the client shows no form, the chats go on: %s", ask.id, error)
            return
        instant = call.clock.monotonic() - began < INSTANT
        putting = asyncio.ensure_future(
            self.put(ask, reply, window, instant=instant, clock=call.clock)
        )
        self._putting.add(putting)
        putting.add_done_callback(self._putting.discard)
        await asyncio.shield(putting)  # what the person has said counts, whatever the call does

    async def put(
        self, ask: Ask, reply: ElicitResult, window: Window, *, instant: bool, clock: Clock
    ) -> None:
        """Apply the client's reply, if it is the first."""
        if reply.action == "accept":
            try:
                answers = window.read(reply.content or {})
            except InvalidAnswer as error:
                log.info("ask %s: the client's form does not fit: %s", ask.id, error)
                reason = window.unfit
            else:
                await _persist(clock, lambda: self.inbox.answer(ask.id, answers, person=WINDOW))
                return
        elif instant:
            log.info("ask %s: the client declines by itself, the chats go on", ask.id)
            return
        else:
            reason = DECLINED if reply.action == "decline" else window.dismissed
        if reason is not None:
            await _persist(clock, lambda: self.inbox.cancel(ask.id, reason=reason, person=WINDOW))


async def _persist(clock: Clock, put: Callable[[], Awaitable[Ask]]) -> None:
    """The client replies once: a full disk must not lose it."""
    with suppress(AskEnded, UnknownAsk):  # the chats were first
        await until_stored(put, clock=clock, what="a reply of the client")


LONGEST_TITLE = 60
_OTHER = "An answer in your own words, if none of the options fits"


def window_of(
    questions: Sequence[Question], *, title: str | None, files: Sequence[Attachment] = ()
) -> Window:
    """The form; what comes back incomplete, or is closed, changes nothing. It cannot show files."""
    properties: dict[str, Any] = {}
    for name, question in _named(questions):
        properties |= _fields(name, question)
    # A select that has to be answered can be answered by its Other: neither field is required.
    required = [name for name, q in _named(questions) if q.required and not q.takes_other]

    def read(content: Mapping[str, Any]) -> tuple[Answer, ...]:
        given = {q.id: _answer(name, q, content) for name, q in _named(questions)}
        return check_answers(questions, given)

    return Window(
        message=_message(questions, title, files),
        schema={"type": "object", "properties": properties, "required": required},
        read=read,
    )


def _named(questions: Sequence[Question]) -> list[tuple[str, Question]]:
    """Ids are the agent's own and can be anything."""
    return [(f"q{number}", question) for number, question in enumerate(questions, start=1)]


def _message(questions: Sequence[Question], title: str | None, files: Sequence[Attachment]) -> str:
    lines = [question.text for question in questions]
    if len(lines) > 1:
        lines = [f"{number}. {text}" for number, text in enumerate(lines, start=1)]
        lines = [*([title] if title else []), *lines]
    if files:
        lines.append(f"{CLIP} {format_attachments(files)}: in the inbox")
    return "\n".join(lines)


def _fields(name: str, question: Question) -> dict[str, Any]:
    lines = [question.text]
    lines += [f"{o.label}: {o.description}" for o in question.options if o.description]
    lines += [question.placeholder] if question.placeholder else []
    title = shortened(one_line(question.text), LONGEST_TITLE)
    shown = {"title": title, "description": "\n".join(lines)}
    labels = [option.label for option in question.options]
    other = {f"{name}_other": {"type": "string", "title": "Other", "description": _OTHER}}
    match question.type:
        case QuestionType.SELECT:
            return {name: {"type": "string", **shown, "enum": labels}, **other}
        case QuestionType.MULTI_SELECT:
            items = {"type": "string", "enum": labels}
            return {name: {"type": "array", **shown, "items": items}, **other}
        case QuestionType.CONFIRM:
            return {name: {"type": "boolean", **shown}}
        case _:
            return {name: {"type": "string", **shown}}


def _answer(name: str, question: Question, content: Mapping[str, Any]) -> Answer:
    """:raises InvalidAnswer: it is of another type than the form's."""
    given = content.get(name)
    match question.type:
        case QuestionType.CONFIRM:
            if given is not None and not isinstance(given, bool):
                raise InvalidAnswer(name, "neither true nor false")
            values = [] if given is None else [YES_NO[0 if given else 1].label]
        case QuestionType.MULTI_SELECT:
            values = [] if given is None else given
            if not isinstance(values, list):
                raise InvalidAnswer(name, "no list")
        case _:
            if given is not None and not isinstance(given, str):
                raise InvalidAnswer(name, "no text")
            values = [given] if given and given.strip() else []
    other = content.get(f"{name}_other")
    if not question.takes_other or not isinstance(other, str) or not other.strip():
        return Answer(values=tuple(values))
    # Some clients send an enum's first value though nobody chose it: words were meant.
    kept = () if question.type is QuestionType.SELECT else tuple(values)
    return Answer(values=kept, custom_text=other)


KEY_SIZE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class FormState:
    about: str
    """A digest of the project and the question that the form is about."""
    ask: str | None
    """The ask that is open in the chats as well."""
    at: float

    def is_instant(self, now: float) -> bool:
        """Whether a reply that comes now is the client's own."""
        return now - self.at < INSTANT


class States:
    def __init__(self, key: Callable[[], bytes]) -> None:
        """`key` is read once, when it is first needed."""
        self._key = cache(key)

    def signed(self, state: FormState) -> str:
        payload = _encoded(json.dumps(asdict(state)).encode())
        return f"{payload}.{self._signature(payload)}"

    def opened(self, given: str) -> FormState | None:
        """The state, if it is one of ours."""
        payload, _, signature = given.encode("utf-8", "replace").decode().partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(payload).encode()):
            return None
        return FormState(**json.loads(base64.urlsafe_b64decode(payload)))

    def _signature(self, payload: str) -> str:
        return _encoded(hmac.digest(self._key(), payload.encode(), "sha256"))


def about(project: str, question: str) -> str:
    return hashlib.sha256(json.dumps([project, question]).encode()).hexdigest()


def key_in(path: Path) -> bytes:
    """The key, made on first use."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            key = file.read(KEY_SIZE + 1)
    except FileNotFoundError:
        key = b""
    if len(key) != KEY_SIZE:
        key = secrets.token_bytes(KEY_SIZE)
        write_atomically(path, key)
    return key


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
