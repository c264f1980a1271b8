"""Every question from its call to the result, and what became of it.

One person may answer each, with one of three options that are of this question alone: so an answer
that is lost, comes twice, or reaches another agent shows.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.machine import Json, percentiles

NUMBER = re.compile(r"Number (\d+):")
CUT = "failed"
"""What an agent or a person could not do at all."""
WAYS = ("left", "right", "straight on")


@dataclass(slots=True, kw_only=True)
class Question:
    number: int
    project: str
    kind: str
    """How its agent is connected."""
    label: str
    """What will be answered."""
    asked: float
    seen: float = 0.0
    channel: str = ""
    answered: float = 0.0
    heard: float = 0.0
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set once it is heard."""

    @property
    def arguments(self) -> Json:
        options = [_label(self.number, way) for way in WAYS]
        text = f"Number {self.number}: which way shall I go?"
        one = {"id": "q", "question": text, "type": "select", "options": options}
        return {"questions": [one]}


@dataclass(slots=True)
class Registry:
    chance: random.Random
    questions: dict[int, Question] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)
    """What must not happen, and how often it did."""
    said: list[str] = field(default_factory=list)
    """The first of it, in words."""

    def ask(self, project: str, kind: str, now: float) -> Question:
        number = len(self.questions) + 1
        label = _label(number, self.chance.choice(WAYS))
        made = Question(number=number, project=project, kind=kind, label=label, asked=now)
        self.questions[number] = made
        return made

    def seen(self, text: str, channel: str, now: float) -> Question | None:
        """The question in this text, the first time that it is shown to who answers it."""
        found = NUMBER.search(text)
        question = self.questions.get(int(found[1])) if found else None
        if question is None or question.seen:
            return None
        question.seen, question.channel = now, channel
        return question

    def result(self, question: Question, said: Json, now: float) -> None:
        """What an agent was told."""
        told = said.get("result", {}).get("structuredContent", {})
        values = [value for answer in told.get("answers", ()) for value in answer["values"]]
        if values != [question.label]:
            self.note("crossed" if values else "without an answer", f"{question} {said}")
        elif question.heard:
            self.note("twice", str(question))
        elif not question.answered:
            self.note("before it was given", str(question))
        question.heard = now
        question.over.set()

    def note(self, what: str, more: str) -> None:
        self.wrong[what] += 1
        if len(self.said) < 20:
            self.said.append(f"{what}: {more}"[:500])


def _label(number: int, way: str) -> str:
    return f"{number} {way}"


def figures(questions: Sequence[Question]) -> Json:
    """Of those that were asked in one stage."""
    done = [it for it in questions if it.heard]
    parts: Json = {
        "asked": len(questions),
        "heard": len(done),
        "unseen": sum(not it.seen for it in questions),
        "unheard": sum(bool(it.answered) and not it.heard for it in questions),
        "out": spread([it.seen - it.asked for it in done]),
        "back": spread([it.heard - it.answered for it in done]),
        "both": spread([it.seen - it.asked + it.heard - it.answered for it in done]),
        "channels": {},
        "kinds": {},
    }
    for channel in sorted({it.channel for it in done}):
        there = [it for it in done if it.channel == channel]
        parts["channels"][channel] = _both_ways(there)
    for kind in sorted({it.kind for it in done}):
        parts["kinds"][kind] = _both_ways([it for it in done if it.kind == kind])
    return parts


def _both_ways(questions: Sequence[Question]) -> Json:
    return {
        "count": len(questions),
        "out": spread([it.seen - it.asked for it in questions]),
        "back": spread([it.heard - it.answered for it in questions]),
    }


def spread(seconds: Sequence[float]) -> Json:
    """Milliseconds."""
    if len(seconds) < 2:
        return {}
    return {**percentiles(seconds), "max": round(max(seconds) * 1000, 2)}
