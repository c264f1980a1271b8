"""What the load's registry of questions notices."""

from __future__ import annotations

import random

import pytest

from tests.bench.machine import Json
from tests.load.registry import Question, Registry, figures


def said(*values: str) -> Json:
    answers = [{"questionId": "q", "values": [*values]}]
    return {"result": {"structuredContent": {"answers": answers if values else []}}}


@pytest.fixture
def registry() -> Registry:
    return Registry(random.Random(1))


@pytest.fixture
def question(registry: Registry) -> Question:
    made = registry.ask("team-000", "link", 10.0)
    assert registry.seen(f"[team-000] {made.arguments['questions'][0]['question']}", "web", 10.5)
    made.answered = 12.0
    return made


def test_the_right_answer_is_timed(registry: Registry, question: Question) -> None:
    registry.result(question, said(question.label), 12.25)
    assert not registry.wrong
    found = figures([question, question])
    assert (found["out"]["p50"], found["back"]["p50"]) == (500.0, 250.0)


def test_an_answer_to_another_question_counts_as_crossed(
    registry: Registry, question: Question
) -> None:
    other = registry.ask("team-000", "link", 10.0)
    registry.result(question, said(other.label), 13.0)
    assert registry.wrong == {"crossed": 1}


def test_a_second_result_counts_as_twice(registry: Registry, question: Question) -> None:
    for at in (13.0, 14.0):
        registry.result(question, said(question.label), at)
    assert registry.wrong == {"twice": 1}


def test_an_answer_that_nobody_gave_counts(registry: Registry, question: Question) -> None:
    question.answered = 0.0
    registry.result(question, said(question.label), 13.0)
    assert registry.wrong == {"before it was given": 1}


def test_a_result_without_an_answer_counts(registry: Registry, question: Question) -> None:
    registry.result(question, said(), 13.0)
    assert registry.wrong == {"without an answer": 1}


def test_what_is_not_heard_counts_as_lost(registry: Registry, question: Question) -> None:
    found = figures([question])
    assert (found["asked"], found["heard"], found["unheard"]) == (1, 0, 1)


def test_a_card_that_is_shown_again_is_the_same(registry: Registry, question: Question) -> None:
    assert registry.seen(f"Number {question.number}: again", "web", 20.0) is None
    assert question.seen == 10.5
