"""An agent's text is bounded once, where it enters, and stays readable."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatbridge.core.bounds import MAX_CHARACTERS, MAX_HIDDEN, bound_request, bound_text
from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import (
    Agent,
    Answer,
    AskRequest,
    Option,
    Project,
    Question,
    QuestionType,
    Subject,
)
from chatbridge.core.text import visible


def request(*questions: Question, title: str | None = None) -> AskRequest:
    return AskRequest(
        project=Project(key="/src/shop", name="shop"),
        agent=Agent(client="claude", name="Claude"),
        tool="ask_user",
        dialect="questions",
        questions=questions,
        title=title,
    )


def options(count: int, description: str) -> Question:
    made = (Option(label=str(i), description=description) for i in range(count))
    return Question(id="q", text="Which?", type=QuestionType.SELECT, options=tuple(made))


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a" + "\u200b" * 98_000 + "b", "a⟨U+200B ×98000⟩b"),
        ("\u200b\u200c" * 10, "⟨U+200B, U+200C ×20⟩"),
        ("\u200b\u200c\u2060\u202e" * 3, "⟨U+200B, U+200C, U+202E, … ×12⟩"),
        ("a" + "\u0301" * 98_000, "a⟨U+0301 ×98000⟩"),
        ("a\u200b" * (MAX_HIDDEN + 1), "a⟨U+200B⟩" * (MAX_HIDDEN + 1)),
    ],
)
def test_long_runs_of_hidden_characters_are_counted_and_many_of_them_stored_as_codes(
    text: str, stored: str
) -> None:
    assert bound_text(text) == stored


@pytest.mark.parametrize(
    "text", ["a\u200bb\u200b", "👩🏽‍💻 می\u200cخواهم e\u0301", "two\r\nlines", "soft\xad-\u200fhy"]
)
def test_a_text_with_few_hidden_characters_is_stored_as_it_came(text: str) -> None:
    assert bound_text(text) == text


@example("\u200b\u0301", 501)
@given(st.text("\u200b\u202e\u0301❤\ufe0f\u200d\ue000\U000f1234", max_size=9), st.integers(1, 900))
def test_whatever_is_stored_is_drawn_with_few_codes_to_make(text: str, times: int) -> None:
    stored = bound_text(f"{text}a" * times)
    codes = visible(stored).count("⟨U+") - stored.count("⟨U+")
    assert codes <= MAX_HIDDEN


async def test_every_text_of_an_ask_is_bounded_and_what_goes_back_to_the_agent_is_not_changed() -> (
    None
):
    run = "\u200b" * 20
    label = f"yes{run}"
    given = Question(
        id="q",
        text=f"Which?{run}",
        type=QuestionType.SELECT,
        options=(Option(label=label, description=f"this{run}"),),
        placeholder=f"there{run}",
        title=f"Port{run}",
        on_timeout=Answer(values=(label,)),
    )
    marked = "⟨U+200B ×20⟩"
    asked = request(given, title=f"Set{run}")
    bounded = await bound_request(asked)
    (stored,) = bounded.questions
    assert bounded.title == f"Set{marked}"
    assert (stored.text, stored.placeholder, stored.title) == (
        f"Which?{marked}",
        f"there{marked}",
        f"Port{marked}",
    )
    assert stored.options == (Option(label=label, description=f"this{marked}"),)
    assert stored.on_timeout == given.on_timeout
    assert bounded.fingerprint == asked.fingerprint


async def test_questions_that_are_long_only_together_are_refused_with_their_size() -> None:
    await bound_request(request(options(3, "x" * 100_000)))
    with pytest.raises(ToolInputError) as refused:
        await bound_request(request(options(3, "x" * 100_000), options(2, "x" * 100_000)))
    sentence, details = str(refused.value).split("\n")
    assert sentence == "Validation error: there is too much text"
    assert details.startswith("questions: given 500,0")
    assert details.endswith(f"at most {MAX_CHARACTERS:,} in all")


@pytest.mark.parametrize(
    "question",
    [
        Question(id="q", text="a\u200b" * 49_000),
        Question(id="q", text="Which?", on_timeout=Answer(values=("x" * 400_000,))),
        Question(
            id="q",
            text="Which?",
            type=QuestionType.SELECT,
            options=tuple(Option(label=f"{i}" + "a\u200b" * 490) for i in range(100)),
        ),
        Question(
            id="q",
            text="Run it?",
            type=QuestionType.APPROVAL,
            subject=Subject(code="a\u200b" * 49_000, language="bash"),
        ),
    ],
    ids=["hidden characters between others", "a declared default", "labels", "an approval"],
)
async def test_what_is_too_long_once_it_is_visible_is_refused(question: Question) -> None:
    with pytest.raises(ToolInputError, match="too much text"):
        await bound_request(request(question))
