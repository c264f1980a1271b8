"""A question in the terminal, answered by typing numbers and texts, on the same form as in a chat.

Owns what is printed and how a typed line is read. The demo and `chatbridge answer` send the
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from chatbridge import markdown
from chatbridge.core.cards.attached import CLIP, format_size
from chatbridge.core.cards.build import answer_text
from chatbridge.core.exact_text import distinguish_labels
from chatbridge.core.forms import filling, form
from chatbridge.core.forms.typed_times import read_plus
from chatbridge.core.forms.yes_no import read_yes_no
from chatbridge.core.model import Answer, Option, Question, QuestionType, View, new_draft
from chatbridge.core.text import one_line, prose, split_recommended

BACK = "<"
EXPLAIN, REPHRASE = "?", "??"
SNOOZE = "!snooze "


class Reply(NamedTuple):
    """What a typed line led to: something to print, or the answers, what asks back or what
    postpones it to send."""

    text: str = ""
    answers: tuple[Answer, ...] | None = None
    asks_back: str | None = None
    later: tuple[str, str] | None = None  # The request of a hub, and the time for it


class TerminalForm:
    """One ask of the inbox's API, filled in by typed lines."""

    def __init__(
        self, ask: dict[str, Any], *, takes_ask_back: bool = False, replies: Sequence[str] = ()
    ) -> None:
        """`replies`: the owner's quick answers to questions for text."""
        self.questions = tuple(
            Question(
                id=found["id"],
                text=found["question"],
                type=QuestionType(found["type"]),
                options=tuple(
                    Option(label=it["label"], description=it.get("description"))
                    for it in found["options"]
                ),
                required=found["required"],
            )
            for found in ask["questions"]
        )
        self._title = one_line(ask["title"] or "")
        self._files = _files(ask)
        self._draft = new_draft(self.questions)
        self._takes_ask_back = takes_ask_back
        self._replies = {f"!{number}": text for number, text in enumerate(replies, 1)}

    def screen(self) -> str:
        """What is to be answered now."""
        if self._draft.view is View.REVIEW:
            return self._review()
        at, count = self._draft.at, len(self.questions)
        question = self.questions[at]
        lines = self._heading(f"{at + 1} of {count}" if count > 1 else "")
        lines += [*self._files, _plain(question), ""]
        labels = distinguish_labels([option.label for option in question.choices])
        for number, option in enumerate(question.choices, 1):
            lines.append(f"  {number}  {labels[number - 1]}")
            if option.description:
                lines.append(f"     {one_line(option.description)}")
        if question.type is QuestionType.TEXT:
            lines += [f"  {sign}  {text}" for sign, text in self._replies.items()]
        if question.choices or (question.type is QuestionType.TEXT and self._replies):
            lines.append("")
        return "\n".join([*lines, self._hint(question)])

    def _heading(self, place: str) -> list[str]:
        """A single question without a title needs no line that says which one it is."""
        heading = " · ".join(filter(None, (self._title, place)))
        return [heading, ""] if heading else []

    def take(self, line: str) -> Reply:
        """What a typed line leads to: another screen, a word about it, or the end."""
        if self._takes_ask_back and line.startswith(EXPLAIN):
            return self._ask_back(line)
        if self._takes_ask_back and (later := _later(line)):
            return later
        if self._draft.view is not View.REVIEW:
            question = self.questions[self._draft.at]
            if (number := _named(question, line)) is not None:
                line = str(number)
            elif question.type is QuestionType.CONFIRM and line.strip() not in ("1", "2", BACK, ""):
                return self._yes_or_no(line)
        if problem := self._problem(line):
            return Reply(problem)
        return self._put(*self._events(line))

    def _put(self, *events: form.Event) -> Reply:
        for event in events:
            match filling.advance(self.questions, self._draft, event):
                case form.Moved(draft=draft):
                    self._draft = draft
                case form.Answered(answers=answers):
                    return Reply(answers=answers)
                case form.Refused(why=why):
                    return Reply(why)
        return Reply(self.screen())

    def _yes_or_no(self, line: str) -> Reply:
        said = read_yes_no(line)
        if said is None:
            return Reply("Type yes or no first, then a remark if you like: yes, but …")
        step = self._draft.step
        return self._put(form.Choose(step=step, option=said.option, remark=said.remark))

    def _ask_back(self, line: str) -> Reply:
        """The reason with which it is cancelled: what the agent should do about its question."""
        opened = filling.advance(
            self.questions, self._draft, form.AskExplain(step=self._draft.step)
        )
        assert isinstance(opened, form.Moved)
        step, what = opened.draft.step, line.removeprefix(EXPLAIN).strip()
        event: form.Event = form.Text(step=step, text=what) if what else form.Explain(step=step)
        if line == REPHRASE:
            event = form.Rephrase(step=step)
        match filling.advance(self.questions, opened.draft, event):
            case form.Cancelled(reason=reason):
                return Reply(asks_back=reason)
            case refused:
                assert isinstance(refused, form.Refused)
                return Reply(refused.why)

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
            return f"There is no option {wrong[0]}. This question has options 1 to {len(choices)}."
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
        if question.type is not QuestionType.MULTI_SELECT:
            if len(numbers) == 1 and question.choices:
                return [form.Choose(step=step, option=numbers[0] - 1)]
            quick = self._replies.get(line, line) if question.type is QuestionType.TEXT else line
            return [form.Text(step=step, text=quick)]
        # One line says it all: numbers, or a text as Other. Then the question is done.
        picked = form.Select(step=step, options=frozenset(number - 1 for number in numbers))
        if line and not numbers:
            # Other shows the question again, which is one step more.
            return [picked, form.Text(step=step, text=line), form.Done(step=step + 1)]
        return [form.DropOther(step=step), picked, form.Done(step=step)]

    def _hint(self, question: Question) -> str:
        match question.type:
            case QuestionType.MULTI_SELECT:
                hint = "Type the numbers you want, as in 1,2, or your own answer."
            case QuestionType.TEXT:
                hint = "Type your answer."
            case QuestionType.CONFIRM:
                hint = "Type yes or no."
            case _:
                hint = "Type a number, or your own answer."
        if not question.required:
            hint += " Enter skips."
        if self._draft.at or self._draft.editing:
            hint += f" {BACK} goes back."
        if self._takes_ask_back:
            hint += (
                f"\n{EXPLAIN} and what is unclear asks back; {REPHRASE} has it asked differently."
                f"\n+15 or +1h gives it more time; {SNOOZE}1h puts it off."
            )
        return hint

    def _review(self) -> str:
        lines = self._heading("check and send")
        entries = zip(self.questions, self._draft.entries, strict=True)
        for number, (question, entry) in enumerate(entries, 1):
            answer = answer_text(filling.entry_answer(question, entry)) or "(skipped)"
            lines += [f"{number}. {_plain(question)}", f"   {answer}", ""]
        last = "Nothing has been sent yet. Enter sends it, a number changes that answer."
        return "\n".join([*lines, last])


def _files(ask: dict[str, Any]) -> list[str]:
    """What goes with the questions, and how to see it."""
    images = [it["image"] for each in ask["questions"] for it in each["options"] if "image" in it]
    files = [*images, *ask.get("attachments", ())]
    if not files:
        return []
    named = ", ".join(f"{one_line(it['name'])} ({format_size(it['size'])})" for it in files)
    return [f"{CLIP} {named}", f"   To see them: chatbridge show {ask['short']}", ""]


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


def _later(line: str) -> Reply | None:
    """More time, or a snooze, in words that are hardly an answer."""
    said = one_line(line).casefold()
    if said.startswith(SNOOZE):
        return Reply(later=("snooze", said.removeprefix(SNOOZE)))
    plus = read_plus(said)
    return Reply(later=("extend", f"{plus.minutes}min")) if plus else None


def _plain(question: Question) -> str:
    return markdown.plain(markdown.parse(prose(question.text)))


def _numbers(line: str) -> list[int]:
    """The numbers of a line that has nothing else in it."""
    words = line.replace(",", " ").split()
    fits = all(word.isascii() and word.isdecimal() and len(word) < 4 for word in words)
    return [int(word) for word in words] if fits else []
