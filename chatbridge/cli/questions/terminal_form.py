"""A question in the terminal, answered by typing numbers and texts, on the same form as in a chat.

Owns what is printed and how a typed line is read. The demo and `chatbridge answer` send the
answers.
"""

from __future__ import annotations

import asyncio
import os
import termios
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from chatbridge import markdown
from chatbridge.core.cards.build import answer_text
from chatbridge.core.exact_text import distinguish_labels
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Option, Question, QuestionType, View, new_draft
from chatbridge.core.text import one_line, prose, split_recommended

BACK = "<"


class Lines:
    """Lines typed at a terminal, read by the event loop: no thread is left waiting at the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._rest = b""

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        with suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)  # half a line is not the shell's

    async def next(self) -> str | None:
        """The next line; None when there will be no more."""
        return await self._lines.get()

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:  # the terminal was closed
            data = b""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._lines.put_nowait(line.decode(errors="replace").strip())
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._lines.put_nowait(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a typed line led to: something to print, or the answers to send."""

    text: str = ""
    answers: tuple[Answer, ...] | None = None


class TerminalForm:
    """One ask of the inbox's API, filled in by typed lines."""

    def __init__(self, ask: dict[str, Any]) -> None:
        self.questions = tuple(_question(q) for q in ask["questions"])
        self._title = one_line(ask["title"] or "")
        self._draft = new_draft(self.questions)

    def screen(self) -> str:
        """What is to be answered now."""
        if self._draft.view is View.REVIEW:
            return self._review()
        at = self._draft.at
        question = self.questions[at]
        lines = [f"{self._title} · {at + 1} of {len(self.questions)}", "", _plain(question), ""]
        labels = distinguish_labels([option.label for option in question.choices])
        for number, option in enumerate(question.choices, 1):
            lines.append(f"  {number}  {labels[number - 1]}")
            if option.description:
                lines.append(f"     {one_line(option.description)}")
        if question.choices:
            lines.append("")
        return "\n".join([*lines, self._hint(question)])

    def take(self, line: str) -> Reply:
        """What a typed line leads to: another screen, a word about it, or the end."""
        if problem := self._problem(line):
            return Reply(text=problem)
        for event in self._events(line):
            match form.advance(self.questions, self._draft, event):
                case form.Moved(draft=draft):
                    self._draft = draft
                case form.Answered(answers=answers):
                    return Reply(answers=answers)
                case form.Refused(why=why):
                    return Reply(text=why)
        return Reply(text=self.screen())

    def as_json(self, answers: tuple[Answer, ...]) -> list[dict[str, Any]]:
        """Answers as the API takes them."""
        return [
            {"questionId": question.id, "values": list(answer.values)}
            | ({"customText": answer.custom_text} if answer.custom_text is not None else {})
            for question, answer in zip(self.questions, answers, strict=True)
        ]

    def _problem(self, line: str) -> str | None:
        """Why a line fits nothing that is shown, in more helpful words than the form's."""
        numbers = _numbers(line)
        if self._draft.view is View.REVIEW:
            known = line in ("", BACK) or (numbers and 1 <= numbers[0] <= len(self.questions))
            return None if known else f"Enter sends it; 1 to {len(self.questions)} change one."
        choices = self.questions[self._draft.at].choices
        wrong = [n for n in numbers if not 1 <= n <= len(choices)] if choices else []
        if wrong:
            return f"There is no option {wrong[0]}. This question has 1 to {len(choices)}."
        return None

    def _events(self, line: str) -> list[form.Event]:
        step, numbers = self._draft.step, _numbers(line)
        if line == BACK:
            return [form.Back(step=step)]
        if self._draft.view is View.REVIEW:
            if not numbers:
                return [form.Submit(step=step)]
            return [form.Edit(step=step, question=numbers[0] - 1)]
        question = self.questions[self._draft.at]
        if not line and not question.required:
            return [form.Skip(step=step)]
        if question.type is QuestionType.MULTI_SELECT:
            return self._several(question, line)
        if len(numbers) == 1 and question.choices:
            return [form.Choose(step=step, option=numbers[0] - 1)]
        return [form.Text(step=step, text=line)]

    def _several(self, question: Question, line: str) -> list[form.Event]:
        """One line says it all: numbers, or a text as Other. Then the question is done."""
        step, numbers = self._draft.step, _numbers(line)
        toggles = [
            form.Toggle(step=step, option=i, on=i + 1 in numbers)
            for i in range(len(question.choices))
        ]
        if line and not numbers:
            # Other shows the question again, which is one step more.
            return [*toggles, form.Text(step=step, text=line), form.Done(step=step + 1)]
        return [form.DropOther(step=step), *toggles, form.Done(step=step)]

    def _hint(self, question: Question) -> str:
        match question.type:
            case QuestionType.MULTI_SELECT:
                hint = "Type the numbers you want, as in 1,2, or your own answer."
            case QuestionType.TEXT:
                hint = "Type your answer."
            case _:
                hint = "Type a number, or your own answer."
        if not question.required:
            hint += " Enter skips."
        return f"{hint} {BACK} goes back." if self._draft.at or self._draft.editing else hint

    def _review(self) -> str:
        lines = [f"{self._title} · check and send", ""]
        entries = zip(self.questions, self._draft.entries, strict=True)
        for number, (question, entry) in enumerate(entries, 1):
            answer = answer_text(form.entry_answer(question, entry)) or "(skipped)"
            lines += [f"{number}. {_plain(question)}", f"   {answer}", ""]
        return "\n".join(
            [*lines, "Nothing has been sent yet. Enter sends it, a number changes that answer."]
        )


class AnswerForm(TerminalForm):
    """The form of `chatbridge answer`: an option can be named by its words, too."""

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


def _question(found: dict[str, Any]) -> Question:
    return Question(
        id=found["id"],
        text=found["question"],
        type=QuestionType(found["type"]),
        options=tuple(
            Option(label=o["label"], description=o.get("description")) for o in found["options"]
        ),
        required=found["required"],
    )


def _plain(question: Question) -> str:
    return markdown.plain(markdown.parse(prose(question.text)))


def _numbers(line: str) -> list[int]:
    """The numbers of a line that has nothing else in it."""
    words = line.replace(",", " ").split()
    fits = all(word.isascii() and word.isdecimal() and len(word) < 4 for word in words)
    return [int(word) for word in words] if fits else []
