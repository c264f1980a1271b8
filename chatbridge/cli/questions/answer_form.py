"""The form of `chatbridge answer`: the terminal's, with an option's own words beside its number."""

from __future__ import annotations

from typing import Any

from chatbridge.cli.questions.terminal_form import Reply, TerminalForm
from chatbridge.core.model import Question, QuestionType, View
from chatbridge.core.text import one_line, split_recommended


class AnswerForm(TerminalForm):
    def __init__(self, ask: dict[str, Any]) -> None:
        super().__init__(ask)
        self._alone = len(self.questions) == 1

    def screen(self) -> str:
        """A single question without a title needs no line that says which one it is."""
        heading, _, rest = super().screen().partition("\n\n")
        if self._alone:
            heading = heading.removesuffix(" · 1 of 1")
        heading = heading.removeprefix(" · ")
        return f"{heading}\n\n{rest}" if heading else rest

    def take(self, line: str) -> Reply:
        if self._draft.view is View.REVIEW:
            return super().take(line)
        question = self.questions[self._draft.at]
        number = _named(question, line)
        if number is not None:
            return super().take(str(number))
        if question.type is QuestionType.CONFIRM and line.strip() not in ("1", "2", "<", ""):
            return Reply(text="Type yes or no.")
        return super().take(line)

    def _hint(self, question: Question) -> str:
        hint = super()._hint(question)
        if question.type is QuestionType.CONFIRM:
            return hint.replace("Type a number, or your own answer.", "Type yes or no.")
        return hint


def _named(question: Question, line: str) -> int | None:
    """The number of the option whose words these are."""
    said = one_line(line).casefold()
    for number, option in enumerate(question.choices, 1):
        label = one_line(option.label).casefold()
        if said and said in (label, split_recommended(label)[0]):
            return number
        if question.type is QuestionType.CONFIRM and said == label[:1]:
            return number
    return None
