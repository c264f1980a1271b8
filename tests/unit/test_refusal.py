"""What no person could read is refused before anybody is asked."""

from __future__ import annotations

import pytest

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Option, Question, QuestionType
from chatbridge.tools.refusal import LONGEST, check_size


def options(count: int, size: int) -> Question:
    made = (Option(label=str(i), description="\u200b" * size) for i in range(count))
    return Question(id="q", text="Which?", type=QuestionType.SELECT, options=tuple(made))


def test_questions_that_are_long_only_together_are_refused_with_their_size() -> None:
    check_size([options(3, 100_000)])
    with pytest.raises(ToolInputError) as refused:
        check_size([options(3, 100_000), options(2, 100_000)])
    sentence, details = str(refused.value).split("\n")
    assert sentence == "Validation error: the questions are too long"
    assert details.startswith("questions: given 500,0")
    assert details.endswith(f"at most {LONGEST:,} in all")
