"""What agents want to know: drawn from the seed, each with a key that no other has.

Owns how a riddle is asked in each tool's words, and what a result says. Labels of options carry
the key, too, so that a value tells which question it was meant for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tests.chaos import messages

Json = dict[str, Any]
Values = tuple[tuple[str, ...], ...]

DAY = 24 * 3600 * 1000
SOON = 12 * 1000
"""Nobody answers these: they have to time out."""
KEY = re.compile(r"k\d{4}z")
YES_NO = ("yes", "no")
PICTURES = 0.2
"""How often a riddle comes with one."""


class Kind(StrEnum):
    TEXT = "text"
    SELECT = "select"
    MULTI = "multi-select"
    CONFIRM = "confirm"


class Status(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    TICKET = "ticket"
    ERROR = "error"
    GIVEN_UP = "given up"
    """By the agent itself: it cancelled, or waited no longer."""
    LINK_GONE = "link gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One question."""

    text: str
    kind: Kind
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Riddle:
    key: str
    tool: str
    parts: tuple[Part, ...]
    agents: tuple[str, ...]
    """Two, if two ask in the very same words."""
    mortal: bool = False
    """Nobody answers it, and its time-out is short."""
    by_ticket: bool = False
    single: bool = False
    """`ask_user` with one question, whose result is a sentence."""
    picture: bool = False
    """It comes with one."""

    def arguments(self, picture: Json) -> Json:
        """`picture`: as an attachment, if it has one."""
        files = {"attachments": [picture]} if self.picture else {}
        match self.tool:
            case "question_ask":
                return {"question": self.parts[0].text}
            case "ask_user_questions":
                return {"questions": [_for_auq(part) for part in self.parts], **files}
            case _:
                return {**self._for_ask_user(), **files}

    def _for_ask_user(self) -> Json:
        how: Json = {"timeout": SOON if self.mortal else DAY}
        if self.by_ticket:
            how["wait"] = False
        if not self.single:
            return {"questions": [_for_ask_user(part) for part in self.parts], **how}
        (part,) = self.parts
        if part.options:
            how |= {"options": list(part.options), "multiSelect": part.kind is Kind.MULTI}
        return {"question": part.text, **how}


def _for_ask_user(part: Part) -> Json:
    options = {"options": list(part.options)} if part.options else {}
    return {"question": part.text, "type": part.kind.value, **options}


def _for_auq(part: Part) -> Json:
    return {
        "prompt": part.text,
        "title": part.text.split()[0],
        "options": [{"label": label} for label in part.options],
        "multiSelect": part.kind is Kind.MULTI,
    }


# ── drawing ───────────────────────────────────────────────────────────────────────────────────────


class Deck:
    """Where riddles come from. The same seed draws the same ones, in the order of drawing."""

    def __init__(self, random: random.Random, *, texts: float = 0.0) -> None:
        """`texts`: how often it is one question for a text, whatever else would be drawn."""
        self._random = random
        self._texts = texts
        self.drawn: dict[str, Riddle] = {}

    def draw(self, *agents: str, elicits: bool = False, mortal_ones: bool = True) -> Riddle:
        key = f"k{len(self.drawn):04d}z"
        riddle = self._riddle(key, agents, elicits=elicits, mortal_ones=mortal_ones)
        self.drawn[key] = riddle
        return riddle

    def _riddle(
        self, key: str, agents: tuple[str, ...], *, elicits: bool, mortal_ones: bool
    ) -> Riddle:
        if len(agents) > 1:
            kind = self._random.choice((Kind.TEXT, Kind.SELECT))
            return Riddle(key=key, tool="ask_user", parts=(_part(key, 0, kind),), agents=agents)
        if elicits and self._random.random() < 0.7:
            return Riddle(
                key=key, tool="question_ask", parts=(_part(key, 0, Kind.TEXT),), agents=agents
            )
        if self._texts and self._random.random() < self._texts:
            part = _part(key, 0, Kind.TEXT)
            return Riddle(key=key, tool="ask_user", parts=(part,), agents=agents)
        if mortal_ones and self._random.random() < 0.05:
            part = _part(key, 0, self._random.choice(tuple(Kind)))
            return Riddle(key=key, tool="ask_user", parts=(part,), agents=agents, mortal=True)
        tool = self._random.choices(("ask_user", "ask_user_questions"), (5, 1))[0]
        count = self._random.choices((1, 2, 3), (7, 2, 1))[0]
        kinds = (Kind.SELECT, Kind.MULTI) if tool == "ask_user_questions" else tuple(Kind)
        parts = tuple(_part(key, i, self._random.choice(kinds)) for i in range(count))
        return Riddle(
            key=key,
            tool=tool,
            parts=parts,
            agents=agents,
            by_ticket=tool == "ask_user" and self._random.random() < 0.15,
            picture=self._random.random() < PICTURES,
            single=tool == "ask_user"
            and count == 1
            and parts[0].kind is not Kind.CONFIRM
            and self._random.random() < 0.4,
        )


def _part(key: str, number: int, kind: Kind) -> Part:
    asked = f"{key} part {number + 1}:"
    match kind:
        case Kind.TEXT:
            return Part(text=f"{asked} what shall it be called?", kind=kind)
        case Kind.CONFIRM:
            return Part(text=f"{asked} shall it go on?", kind=kind)
        case _:
            options = tuple(f"{key}{number + 1}{letter}" for letter in "abcd")
            which = "which ones?" if kind is Kind.MULTI else "which one?"
            return Part(text=f"{asked} {which}", kind=kind, options=options)


def choices(part: Part) -> tuple[str, ...]:
    return YES_NO if part.kind is Kind.CONFIRM else part.options


# ── results ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    status: Status
    values: Values = ()
    ticket: str | None = None
    """None: the one that is known already."""
    text: str = ""
    files: tuple[str, ...] = ()
    """Where what the person sent with the answer is."""
    texts: tuple[str, ...] = ()
    """What is in it, where it came along."""


TICKET = re.compile(r"(?:askId |session_id \")([0-9a-f-]{36})")
STILL_OPEN = "No answers yet."
SENTENCE = re.compile(r"User (?:answered|selected): (.*)", re.DOTALL)
FILE = re.compile(r"The user attached .*: (/.*)")
ALONG = re.compile(r"The user attached .*; its text follows\.")
SILENCE = ("User did not respond within the timeout period", "Status: timed_out")


def read(riddle: Riddle, response: Json) -> Result:
    """What a response says, whichever tool it is of."""
    if "error" in response:
        return Result(status=Status.ERROR, text=str(response["error"]))
    result = messages.without(response)["result"]
    texts = [block.get("text", "") for block in result.get("content", ())]
    files = tuple(path for text in texts for path in FILE.findall(text))
    along = sum(len(ALONG.findall(text)) for text in texts)
    texts, last = texts[: len(texts) - along], texts[len(texts) - along :]
    text = "\n".join(text for text in texts if not (FILE.match(text) or ALONG.match(text)))
    return replace(_read(riddle, result, text), files=files, texts=tuple(last))


def _read(riddle: Riddle, result: Json, text: str) -> Result:
    told = result.get("structuredContent")
    if isinstance(told, dict) and "answered" in told:
        return _of_questions(told, text)
    if isinstance(told, dict) and isinstance(told.get("answer"), str):
        return Result(status=Status.ANSWERED, values=((told["answer"],),), text=text)
    if any(each in text for each in SILENCE):
        return Result(status=Status.TIMED_OUT, text=text)
    if "cancelled the question" in text or "was declined" in text:
        return Result(status=Status.CANCELLED, text=text)
    if result.get("isError"):
        return Result(status=Status.ERROR, text=text)
    if found := TICKET.search(text):
        return Result(status=Status.TICKET, ticket=found[1], text=text)
    if STILL_OPEN in text:
        return Result(status=Status.TICKET, text=text)
    if riddle.tool == "ask_user_questions":
        return _of_auq(riddle, text)
    found = SENTENCE.fullmatch(text)
    if found is None:
        return Result(status=Status.ERROR, text=text)
    several = riddle.parts[0].kind is Kind.MULTI
    values = tuple(found[1].split(", ")) if several else (found[1],)
    return Result(status=Status.ANSWERED, values=(values,), text=text)


def _of_questions(told: Json, text: str) -> Result:
    if told.get("pending"):
        return Result(status=Status.TICKET, ticket=told["askId"], text=text)
    if told["answered"]:
        values = tuple(tuple(_each(answer)) for answer in told["answers"])
        return Result(status=Status.ANSWERED, values=values, text=text)
    if told["timedOut"]:
        return Result(status=Status.TIMED_OUT, text=text)
    return Result(status=Status.CANCELLED, text=text)


def _each(answer: Json) -> Iterator[str]:
    yield from answer["values"]
    if "customText" in answer:
        yield answer["customText"]


def _of_auq(riddle: Riddle, text: str) -> Result:
    if "Rejected" in text or "rejected" in text:
        return Result(status=Status.CANCELLED, text=text)
    values: list[tuple[str, ...]] = []
    for part in riddle.parts:
        _, _, rest = text.partition(part.text)
        lines = rest.split("\n\n")[0].splitlines()[1:]
        values.append(tuple(line.removeprefix("→ ") for line in lines if line.startswith("→ ")))
    return Result(status=Status.ANSWERED, values=tuple(values), text=text)
