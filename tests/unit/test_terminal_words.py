"""Answers of commands, whatever is typed or sent: they fit their questions, or are refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks import transitions
from chatbridge.core.asks.answers import check_answers
from chatbridge.core.errors import ChatbridgeError, InvalidAnswer
from chatbridge.core.model import Answer, Ask, Option, Question, QuestionType
from chatbridge.hub.control.asks import from_json, from_words
from tests.fakes.core_env import request

LABELS = ("Yes", "No (recommended)", "3", "yes and no")
KINDS = [kind for kind in QuestionType if kind is not QuestionType.APPROVAL]
PIECES = st.sampled_from(["yes", "no", "1", "2", "3", "9", "0", "1,2", "own words", "", " ", "٣"])
WORDS = st.lists(PIECES | st.text(max_size=8), min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(LABELS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["questionId", "values", "customText", "x"]), inner)
    ),
    max_leaves=12,
)


def ask(kind: QuestionType, *, required: bool) -> Ask:
    choosing = kind in (QuestionType.SELECT, QuestionType.MULTI_SELECT)
    question = Question(
        id="q",
        text="?",
        type=kind,
        options=tuple(Option(label=label) for label in LABELS) if choosing else (),
        required=required,
    )
    return transitions.open_ask(request(question), now=0.0, deadline=None)


def fits(one: Ask, answers: tuple[Answer, ...]) -> bool:
    """As strict as for every script."""
    given = {q.id: a for q, a in zip(one.questions, answers, strict=True)}
    return check_answers(one.questions, given) == answers


@given(st.sampled_from(KINDS), st.booleans(), WORDS)
def test_typed_words_are_a_fitting_answer_or_a_sentence(
    kind: QuestionType, required: bool, words: list[str]
) -> None:
    one = ask(kind, required=required)
    with suppress(ChatbridgeError):
        assert fits(one, from_words(one, words))


@given(st.sampled_from(KINDS), VALUES)
def test_json_is_a_fitting_answer_or_refused_by_its_path(kind: QuestionType, given: Any) -> None:
    one = ask(kind, required=True)
    with suppress(InvalidAnswer):
        assert fits(one, from_json(one, given))
