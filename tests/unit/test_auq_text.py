"""auq's texts, each against its golden file, and what holds for any words in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import TextContent

from chatbridge.core.asks import transitions
from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskBack,
    AskRequest,
    Call,
    CallName,
    Outcome,
    Project,
    Status,
)
from chatbridge.tools.auq import Limits, parse, render_fetched, render_result
from tests.auq_asks import BOTH, FOLDER, ONE, SESSION, Json, golden

NOW = 1000.0
REACHED = Reach(shown=("web",))
UNREACHED = Reach(missing=(("web", "no page was open"),))
UNIT = Answer(values=("Unit tests",))
SQLITE = Answer(values=("SQLite",))


def opened(arguments: Json) -> Ask:
    request = AskRequest(
        project=Project(key="/p", name="p"),
        agent=Agent(client="c", name="C"),
        tool="ask_user_questions",
        dialect="auq",
        questions=parse(arguments, Limits(questions=5, options=5)).questions,
    )
    return replace(transitions.open_ask(request, now=NOW, deadline=None), id=SESSION)


def closed(arguments: Json, status: Status, *answers: Answer, reason: str | None = None) -> Ask:
    outcome = Outcome(at=NOW, answers=answers, reason=reason)
    return replace(opened(arguments), status=status, settled_at=NOW, outcome=outcome)


def answered(*answers: Answer) -> Ask:
    return closed(BOTH if len(answers) == 2 else ONE, Status.ANSWERED, *answers)


def call_of(ask: Ask, *, late: bool = False) -> Call:
    name = CallName(link="l", request="1")
    return Call(name=name, ask_id=ask.id, question_ids=(), started_at=NOW, late=late)


def told(
    ask: Ask, reach: Reach = REACHED, *, fetched: bool = False, late: bool = False
) -> tuple[str, bool]:
    render = render_fetched if fetched else render_result
    result = render(ask, call_of(ask, late=late), reach)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.is_error)


ANSWERED = {
    "answered": (
        Answer(values=("PostgreSQL (recommended)",)),
        Answer(values=("Unit tests", "Contract tests")),
    ),
    "answered_one": (SQLITE,),
    "other": (
        Answer(custom_text='Kim\'s "old" one'),
        Answer(values=("Load test",), custom_text="the linter's"),
    ),
    "nothing_chosen": (Answer(), Answer()),
    "elaborate": (Answer(ask_back=AskBack.EXPLAIN), UNIT),
    "elaborate_guided": (
        SQLITE,
        Answer(ask_back=AskBack.EXPLAIN, custom_text='What does "load" mean here?'),
    ),
    "rephrase": (SQLITE, Answer(ask_back=AskBack.REPHRASE)),
}


@pytest.mark.parametrize("fetched", [False, True], ids=["waited for", "fetched"])
@pytest.mark.parametrize(("name", "answers"), ANSWERED.items(), ids=list(ANSWERED))
def test_answers_are_told_in_the_contracts_words_however_they_are_got(
    name: str, answers: tuple[Answer, ...], fetched: bool
) -> None:
    assert told(answered(*answers), fetched=fetched) == (golden(name), False)


@pytest.mark.parametrize(
    ("name", "fetched", "reason"),
    [
        ("rejected", False, None),
        ("rejected_reason", False, 'Ask "Kim" first.'),
        ("fetched_rejected", True, None),
        ("fetched_rejected_reason", True, 'Ask "Kim" first.'),
    ],
)
def test_a_rejection_is_no_error_and_has_its_reason(
    name: str, fetched: bool, reason: str | None
) -> None:
    ask = closed(BOTH, Status.CANCELLED, reason=reason)
    assert told(ask, UNREACHED, fetched=fetched) == (golden(name), False)


@pytest.mark.parametrize("fetched", [False, True], ids=["waited for", "fetched"])
@pytest.mark.parametrize(
    ("name", "reach"), [("timed_out", REACHED), ("timed_out_unreached", UNREACHED)]
)
def test_a_time_out_is_an_error_that_also_says_if_nobody_was_reached(
    name: str, reach: Reach, fetched: bool
) -> None:
    assert told(closed(BOTH, Status.TIMED_OUT), reach, fetched=fetched) == (golden(name), True)


def test_what_was_withdrawn_is_neither_answered_nor_rejected() -> None:
    assert told(closed(BOTH, Status.WITHDRAWN)) == (golden("withdrawn"), True)


def test_an_answer_after_the_time_out_is_an_answer_that_says_so() -> None:
    late = replace(closed(ONE, Status.TIMED_OUT), late=Outcome(at=NOW, answers=(SQLITE,)))
    assert told(late) == (golden("late"), False)


def test_an_answer_that_was_kept_for_this_call_says_so() -> None:
    assert told(answered(SQLITE), late=True) == (golden("late"), False)


def test_a_set_that_is_open_tells_how_to_fetch_and_if_nobody_was_reached() -> None:
    ask = opened(BOTH)
    assert told(ask) == (golden("submitted"), False)
    assert told(ask, UNREACHED) == (golden("submitted_unreached"), False)
    assert told(ask, fetched=True) == (golden("pending"), False)
    assert told(ask, UNREACHED, fetched=True) == (golden("pending_unreached"), False)


def test_every_golden_file_is_ended_by_one_line_break() -> None:
    files = sorted(FOLDER.glob("*.txt"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text == text.rstrip() + "\n", file.name


ANY_TEXT = st.text(min_size=1) | st.text("'\"\\\n—→ab", min_size=1)


@given(text=ANY_TEXT)
def test_any_other_can_be_read_back_from_between_its_quotes(text: str) -> None:
    said, _ = told(answered(Answer(custom_text=text)))
    before, after = golden("answered_one").split("→ SQLite")
    shown = said.removeprefix(f"{before}→ Other: '").removesuffix(f"'{after}")
    assert shown.replace("\\'", "'") == text
    assert shown.count("'") == shown.count("\\'") == text.count("'")


@given(text=ANY_TEXT)
def test_any_reason_and_guidance_can_be_read_back_from_between_their_quotes(text: str) -> None:
    reason, _ = told(closed(BOTH, Status.CANCELLED, reason=text))
    guidance, _ = told(answered(Answer(ask_back=AskBack.EXPLAIN, custom_text=text)))
    for said, label in ((reason, "Rejection reason"), (guidance, "User guidance")):
        shown = said.partition(f'{label}: "')[2].removesuffix('"')
        assert shown.replace('\\"', '"') == text
        assert shown.count('"') == shown.count('\\"') == text.count('"')


@given(picked=st.sets(st.sampled_from(["Unit tests", "Contract tests", "Load test"])))
def test_choices_come_in_the_options_order_one_a_line(picked: set[str]) -> None:
    said, _ = told(answered(SQLITE, Answer(values=tuple(sorted(picked)))))
    lines = said.partition("2. Which checks must pass?\n")[2].splitlines()
    chosen = [line.removeprefix("→ ").partition(" — ")[0] for line in lines]
    order = ["Unit tests", "Contract tests", "Load test"]
    assert chosen == ([label for label in order if label in picked] or ["(No selection)"])
