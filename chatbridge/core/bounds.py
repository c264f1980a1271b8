"""Limits on the work that an agent's text can cause in the hub.

Text is limited once, where it enters, and otherwise stored unchanged, because it may go back to the
agent. Labels, declared defaults and the subject of an approval are never changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from chatbridge.core.errors import ToolInputError
from chatbridge.core.exact_text import exact
from chatbridge.core.model import Ask, AskRequest, Question
from chatbridge.core.text import collapse_runs, count_codes, visible

T = TypeVar("T")

MAX_CHARACTERS = 400_000  # Limit for all texts of an ask together, both as received and as shown
MAX_LABEL_CHARACTERS = 100_000  # Of all labels of an ask, which are converted for each card
MAX_HIDDEN = 1_000  # A text in which more characters are shown by codes is stored with these codes
THREAD_CHARACTERS = 4_000  # Longer texts are processed in a thread
SLICE_SECONDS = 0.005  # How long a loop over many asks may block the event loop


def bound_text(text: str) -> str:
    """Return `text` in the form in which it is stored."""
    text = collapse_runs(text)
    return visible(text) if count_codes(text) > MAX_HIDDEN else text


async def bound_request(request: AskRequest) -> AskRequest:
    """Return the request with its texts in the form in which they are stored.
    :raises ToolInputError: the texts are too long."""
    weight = sum(map(len, _texts(request.title, request.questions)))
    _check_size(weight)
    if request.approval:
        codes = [question.subject.code for question in request.questions if question.subject]
        shown = await off_loop(lambda: "".join(map(exact, codes)), weight=sum(map(len, codes)))
        _check_size(len(shown), " when visible", path="input")
        return request

    def bounded() -> AskRequest:
        title = request.title and bound_text(request.title)
        questions = tuple(map(_bounded_question, request.questions))
        _check_size(sum(len(visible(text)) for text in _texts(title, questions)), " when visible")
        labels = (visible(option.label) for question in questions for option in question.options)
        _check_size(sum(map(len, labels)), " in labels", most=MAX_LABEL_CHARACTERS)
        return replace(request, title=title, questions=questions)

    return await off_loop(bounded, weight=weight)


def weight_of(ask: Ask) -> int:
    """Number of characters to draw."""
    subjects = (question.subject for question in ask.questions)
    code = sum(len(subject.code) for subject in subjects if subject)
    return code + sum(map(len, _texts(ask.title, ask.questions)))


async def off_loop(work: Callable[[], T], *, weight: int) -> T:
    """Return the result of `work`, which runs in a thread if its texts are long. There the
    interpreter switches to the event loop every few milliseconds."""
    return await asyncio.to_thread(work) if weight > THREAD_CHARACTERS else work()


class Slices:
    """Cuts a loop over many asks into slices, between which the event loop runs."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether the current slice has used its time."""
        return time.perf_counter() - self._since > SLICE_SECONDS

    async def pause(self) -> None:
        """Let the event loop run if the slice is over. Call it after each item."""
        if self.over:
            await asyncio.sleep(0)
            self._since = time.perf_counter()


async def sliced(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate over many items in slices, between which the event loop runs."""
    slices = Slices()
    for item in items:
        yield item
        await slices.pause()


def _check_size(
    size: int, where: str = "", *, most: int = MAX_CHARACTERS, path: str = "questions"
) -> None:
    if size > most:
        raise ToolInputError(
            "Validation error: there is too much text",
            path=path,
            given=f"{size:,} characters{where}",
            accepted=f"at most {most:,} in all",
        )


def _bounded_question(question: Question) -> Question:
    return replace(
        question,
        text=bound_text(question.text),
        title=question.title and bound_text(question.title),
        placeholder=question.placeholder and bound_text(question.placeholder),
        options=tuple(
            replace(option, description=option.description and bound_text(option.description))
            for option in question.options
        ),
    )


def _texts(title: str | None, questions: Sequence[Question]) -> Iterator[str]:
    yield title or ""
    for question in questions:
        yield question.text
        yield question.title or ""
        yield question.placeholder or ""
        yield from question.on_timeout.values if question.on_timeout else ()
        for option in question.options:
            yield option.label
            yield option.description or ""
