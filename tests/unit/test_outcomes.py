"""How the end of an ask is written, in each of the two forms."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from chatbridge.core.asks import transitions
from chatbridge.core.asks.reach import UNSURE, Reach
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskRequest,
    Attention,
    Call,
    CallName,
    Option,
    Outcome,
    Project,
    Question,
    QuestionType,
    Status,
)
from chatbridge.tools.ask_user import QUESTION, QUESTIONS, TIMED_OUT, render_result

NOW = 1000.0
OPTIONS = (Option(label="A"), Option(label="B"), Option(label="C"))
TEXT = Question(id="t", text="What?")
SELECT = Question(id="s", text="Which?", type=QuestionType.SELECT, options=OPTIONS)
SEEN = Reach(shown=("telegram",), missing=(("web", "no page was open"),))
NOBODY = Reach(missing=(("telegram", "it cannot be reached"), ("web", "no page was open")))
MULTI = Question(id="m", text="Which ones?", type=QuestionType.MULTI_SELECT, options=OPTIONS)


def opened(dialect: str, *questions: Question) -> Ask:
    request = AskRequest(
        project=Project(key="/p", name="p"),
        agent=Agent(client="c", name="C"),
        tool="ask_user",
        dialect=dialect,
        questions=questions,
    )
    return transitions.open_ask(request, now=NOW, deadline=None)


def ended(ask: Ask, status: Status, *answers: Answer, reason: str | None = None) -> Ask:
    outcome = Outcome(at=NOW, answers=answers, reason=reason)
    return replace(ask, status=status, settled_at=NOW, outcome=outcome)


def call_of(ask: Ask, *ids: str, late: bool = False) -> Call:
    name = CallName(link="l", request="1")
    given = ids or tuple(question.id for question in ask.questions)
    return Call(name=name, ask_id=ask.id, question_ids=given, started_at=NOW, late=late)


def texts_of(result: CallToolResult) -> list[str]:
    blocks = [block for block in result.content if isinstance(block, TextContent)]
    assert len(blocks) == len(result.content)
    return [block.text for block in blocks]


def text_of(result: CallToolResult) -> str:
    (text,) = texts_of(result)
    return text


def told(ask: Ask, call: Call | None = None, reach: Reach = SEEN) -> dict[str, Any]:
    result = render_result(ask, call or call_of(ask), reach)
    found: dict[str, Any] = json.loads(text_of(result))
    assert result.structured_content == found
    assert not result.is_error
    return found


def said(ask: Ask, reach: Reach = SEEN) -> tuple[str, bool]:
    result = render_result(ask, call_of(ask), reach)
    assert result.structured_content is None
    return text_of(result), bool(result.is_error)


def test_answers_have_the_ids_of_the_call_that_is_told() -> None:
    ask = ended(opened(QUESTIONS, TEXT, SELECT), Status.ANSWERED, answer("x"), answer("B"))
    assert told(ask, call_of(ask, "one", "two"))["answers"] == [
        {"questionId": "one", "values": ["x"]},
        {"questionId": "two", "values": ["B"]},
    ]


def answer(*values: str, other: str | None = None) -> Answer:
    return Answer(values=values, custom_text=other)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (answer(), {"values": []}),
        (answer("A", "C"), {"values": ["A", "C"]}),
        (answer(other="D"), {"values": [], "customText": "D"}),
        (answer("A", other="D"), {"values": ["A"], "customText": "D"}),
        (replace(answer("A"), decided_by="timeout"), {"values": ["A"], "decidedBy": "timeout"}),
    ],
)
def test_an_answer_has_only_the_keys_that_say_something(
    given: Answer, written: dict[str, Any]
) -> None:
    ask = ended(opened(QUESTIONS, MULTI), Status.ANSWERED, given)
    assert told(ask)["answers"] == [{"questionId": "m", **written}]


@pytest.mark.parametrize(
    ("status", "flags"),
    [
        (Status.CANCELLED, (False, True, False)),
        (Status.TIMED_OUT, (False, False, True)),
        (Status.WITHDRAWN, (False, True, False)),
    ],
)
def test_an_ask_without_answers_says_how_it_ended(
    status: Status, flags: tuple[bool, bool, bool]
) -> None:
    found = told(ended(opened(QUESTIONS, TEXT), status))
    assert (found["answered"], found["cancelled"], found["timedOut"]) == flags
    assert found["answers"] == []


def test_declared_defaults_are_both_an_answer_and_a_time_out() -> None:
    default = replace(answer("x"), decided_by="timeout")
    found = told(ended(opened(QUESTIONS, TEXT), Status.TIMED_OUT, default))
    assert (found["answered"], found["timedOut"]) == (True, True)


def test_a_late_answer_is_an_answer_and_no_time_out_and_says_that_it_is_late() -> None:
    ask = ended(opened(QUESTIONS, TEXT), Status.TIMED_OUT)
    late = replace(ask, late=Outcome(at=NOW, answers=(answer("x"),)))
    assert told(late) == {
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": [{"questionId": "t", "values": ["x"]}],
        "late": True,
    }


def test_an_answer_in_time_that_was_kept_is_late_for_the_call_that_takes_it_over() -> None:
    ask = ended(opened(QUESTIONS, TEXT), Status.ANSWERED, answer("x"))
    assert "late" not in told(ask)
    assert told(ask, call_of(ask, late=True))["late"] is True


@pytest.mark.parametrize(
    ("question", "given", "sentence"),
    [
        (TEXT, answer("free\ntext"), "User answered: free\ntext"),
        (SELECT, answer("B"), "User selected: B"),
        (SELECT, answer(other="D"), "User answered: D"),
        (MULTI, answer("A", "C"), "User selected: A, C"),
        (MULTI, answer("A", other="D"), "User selected: A, Other: D"),
        (MULTI, answer(other="D"), "User selected: Other: D"),
    ],
)
def test_a_single_questions_answer_is_the_documented_sentence(
    question: Question, given: Answer, sentence: str
) -> None:
    ask = ended(opened(QUESTION, question), Status.ANSWERED, given)
    assert said(ask) == (sentence, False)


def test_a_remark_beside_a_yes_is_custom_text() -> None:
    sure = Question(id="c", text="Sure?", type=QuestionType.CONFIRM)
    for said in (answer("yes"), answer("yes", other="but back up first")):
        (given,) = told(ended(opened(QUESTIONS, sure), Status.ANSWERED, said))["answers"]
        remark = {"customText": said.custom_text} if said.custom_text else {}
        assert given == {"questionId": "c", "values": ["yes"], **remark}


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (None, "User cancelled the question."),
        ("Ask Kim.", "User cancelled the question. Ask Kim."),
    ],
)
def test_a_single_question_that_is_cancelled_is_an_error_with_the_documented_sentence(
    reason: str | None, sentence: str
) -> None:
    ask = ended(opened(QUESTION, SELECT), Status.CANCELLED, reason=reason)
    assert said(ask) == (sentence, True)


def test_a_single_question_that_times_out_says_beside_the_contract_that_nobody_agreed() -> None:
    ask = ended(opened(QUESTION, SELECT), Status.TIMED_OUT)
    result = render_result(ask, call_of(ask), SEEN)
    sentence, meaning = texts_of(result)
    assert sentence == (
        "User did not respond within the timeout period. Proceeding with your best judgment."
    )
    assert "nobody agreed to anything" in meaning
    assert "safe way" in meaning
    assert result.is_error
    assert result.structured_content is None


def test_a_ticket_is_no_outcome_and_names_the_ask_and_the_tool_to_call() -> None:
    ask = opened(QUESTIONS, TEXT)
    ticket = render_result(ask, call_of(ask), SEEN).structured_content
    assert ticket
    assert [ticket[flag] for flag in ("answered", "cancelled", "timedOut")] == [False] * 3
    assert (ticket["pending"], ticket["askId"]) == (True, ask.id)
    assert "wait_for_answer" in ticket["next"]


def test_a_single_questions_ticket_is_one_sentence_with_the_id() -> None:
    ask = opened(QUESTION, TEXT)
    ticket = render_result(ask, call_of(ask), SEEN)
    assert not ticket.is_error
    assert ticket.structured_content is None
    assert ask.id in text_of(ticket)
    assert "wait_for_answer" in text_of(ticket)


def test_letters_of_all_alphabets_are_written_as_they_are() -> None:
    ask = ended(opened(QUESTIONS, TEXT), Status.ANSWERED, answer("Größe 😀"))
    assert "Größe 😀" in text_of(render_result(ask, call_of(ask), SEEN))


# ── nobody could be reached ───────────────────────────────────────────────────────────────────────

UNREACHED = "Nobody could be reached. Telegram: it cannot be reached; web inbox: no page was open."


def test_a_time_out_that_nobody_can_have_seen_says_so_and_one_that_was_seen_does_not() -> None:
    ask = ended(opened(QUESTIONS, TEXT), Status.TIMED_OUT)
    assert told(ask, reach=NOBODY)["delivery"] == UNREACHED
    assert "delivery" not in told(ask)
    assert "delivery" not in told(ask, reach=UNSURE)


def test_a_single_questions_time_out_that_nobody_can_have_seen_has_a_second_sentence() -> None:
    ask = ended(opened(QUESTION, TEXT), Status.TIMED_OUT)
    unreached, reached = (render_result(ask, call_of(ask), each) for each in (NOBODY, SEEN))
    assert texts_of(unreached)[0] == f"{TIMED_OUT} {UNREACHED}"
    assert texts_of(reached)[0] == TIMED_OUT
    assert texts_of(unreached)[1:] == texts_of(reached)[1:]


@pytest.mark.parametrize("status", [Status.ANSWERED, Status.CANCELLED])
def test_what_a_person_has_ended_was_seen_whatever_is_known_of_its_cards(status: Status) -> None:
    given = (answer("x"),) if status is Status.ANSWERED else ()
    assert "delivery" not in told(ended(opened(QUESTIONS, TEXT), status, *given), reach=NOBODY)
    assert UNREACHED not in said(ended(opened(QUESTION, TEXT), status, *given), NOBODY)[0]


def test_a_ticket_says_whether_anybody_can_have_seen_the_question() -> None:
    for dialect in (QUESTIONS, QUESTION):
        ask = opened(dialect, TEXT)
        assert UNREACHED in text_of(render_result(ask, call_of(ask), NOBODY))
        assert "Nobody" not in text_of(render_result(ask, call_of(ask), SEEN))
        assert "Nobody" not in text_of(render_result(ask, call_of(ask), UNSURE))


@pytest.mark.parametrize("dialect", [QUESTION, QUESTIONS])
@pytest.mark.parametrize("status", Status)
def test_a_question_that_was_not_urgent_after_all_says_so_beside_the_documented_result(
    dialect: str, status: Status
) -> None:
    answers = (Answer(values=("A",)),) if status is Status.ANSWERED else ()
    plain = opened(dialect, SELECT)
    if status is not Status.OPEN:
        plain = ended(plain, status, *answers)
    over = replace(plain, attention=Attention(over_budget=3))
    documented = render_result(plain, call_of(plain), SEEN)
    result = render_result(over, call_of(over), SEEN)
    assert result.is_error == documented.is_error
    note = result.content[-1]
    assert isinstance(note, TextContent)
    if dialect == QUESTIONS:
        assert result.structured_content == json.loads(note.text)
        found = dict(result.structured_content)
        said = found.pop("note")
        assert found == documented.structured_content
    else:
        assert result.content[:-1] == documented.content
        said = note.text
    assert "You marked this urgent, but 3 urgent questions rang tonight already." in said
