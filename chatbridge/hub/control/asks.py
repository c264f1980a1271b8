"""Asks for a person's commands: what is open, what has been, and an answer from a terminal.

Owns which ask the beginning of an id means; `peers` says who may see it. An approval can be seen
here and never settled: an agent runs as the same user.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chatbridge.core.asks.answers import check_answers, parse_answers
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.serialize import ask_object, attachment_object, iso
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, sliced, weight_of
from chatbridge.core.cards.outcome_text import in_place, where
from chatbridge.core.cards.phrases import NOWHERE, format_postponed, format_time
from chatbridge.core.errors import (
    AskEnded,
    ChatbridgeError,
    InvalidAnswer,
    NoOpenAsk,
    NotHere,
    SeveralAsks,
    UnknownAsk,
)
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import SAID, Unclear, interpret_beside_buttons
from chatbridge.core.forms.typed_times import WRITE_TIME, NextTime, read_extend, read_snooze
from chatbridge.core.forms.yes_no import read_yes_no
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import (
    Answer,
    Ask,
    Attachment,
    Question,
    QuestionType,
    new_draft,
)
from chatbridge.core.nights.summaries import summarize
from chatbridge.core.nights.summary import Summary, period_until
from chatbridge.core.nights.switching import format_quiet
from chatbridge.core.policy import Policy
from chatbridge.core.ports import Clock, Health
from chatbridge.core.statistics import statistics_object
from chatbridge.core.text import encodable, one_line, shortened, title_of
from chatbridge.durations import LONGEST
from chatbridge.hub.control.server import CHANNEL, Answering, Json, Request, Streaming
from chatbridge.hub.links.peers import may_see, owns
from chatbridge.projects import belongs_to
from chatbridge.store.rows import summary_of

SHORTEST_ID = 6  # Characters of an id that are shown, if they tell it from the others
ENDED_TO_LOOK_AT = 200  # The newest ended asks that can still be named by the beginning of their id
MOST_HISTORY = 1_000
BRIEF_CHARACTERS, BRIEF_ITEMS = 300, 20
MOST_WHEN = 100
MOST_DIGITS = 4  # A longer number is nobody's option
TYPES: dict[type, str] = {list: "a list", dict: "an object", str: "a text"}
PAUSE_SECONDS = 0.1  # Time between two lists for a watcher: a burst of changes becomes one


ReadTime = Callable[[str, NextTime], form.Later | None]


class Watchers:
    def __init__(self) -> None:
        self._waiting: dict[asyncio.Event, int] = {}

    def changed(self, ask: Ask) -> None:
        """Wake those who may see it. Nobody learns when asks of another user change."""
        for event, uid in self._waiting.items():
            if may_see(ask, uid):
                event.set()

    @contextmanager
    def watching(self, uid: int) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting[event] = uid
        try:
            yield event
        finally:
            del self._waiting[event]


@dataclass(frozen=True, slots=True)
class TerminalAsks:
    inbox: AskActions
    policy: Policy
    health: Health
    clock: Clock
    watchers: Watchers
    reads_paths: bool = True  # Whether the hub can read the files of who runs a command

    @property
    def answers(self) -> dict[str, Answering]:
        return {
            "pending": self._pending,
            "ask": self._one,
            "files": self._files,
            "answer": self._answer,
            "cancel": self._cancel,
            "snooze": partial(self._postpone, read_snooze),
            "extend": partial(self._postpone, read_extend),
            "quiet": self._quiet,
            "history": self._history,
            "stats": self._stats,
            "summary": self._summary,
            "limits": self._limits,
        }

    @property
    def streams(self) -> dict[str, Streaming]:
        return {"watch": self._watch}

    # ── what there is ─────────────────────────────────────────────────────────────────────────────

    async def _pending(self, request: Request) -> Json:
        return await _listed(request, await self._open(request.uid))

    async def _watch(self, request: Request) -> AsyncGenerator[Json, None]:
        with self.watchers.watching(request.uid) as changed:
            while True:
                changed.clear()
                yield await self._pending(request)
                await self.clock.sleep(PAUSE_SECONDS)
                await changed.wait()

    async def _one(self, request: Request) -> Json:
        """One ask by the beginning of its id, and where it can be seen."""
        ask = await self._found(request)
        troubles = self.health.troubles()
        return {
            "ask": await self._shown(ask, request.uid),
            "places": [in_place(name) for name, trouble in troubles.items() if trouble is None],
            "troubles": {title_of(name): why for name, why in troubles.items() if why},
            "ended": None if ask.open else how_it_ended(ask, now=self.clock.time()),
            "replies": list(self.inbox.replies),
        }

    async def _files(self, request: Request) -> Json:
        """The files of an ask, its answer or a notice, by the beginning of its id. Where they are
        is said to who can read them there."""
        files = await self._found_files(request)
        store = self.inbox.attachments
        listed = []
        for source, attachment in files:
            path = store.path(attachment) if store and owns(request.uid) else None
            listed.append({**attachment_object(attachment), "from": source, "path": path})
        return {"files": listed}

    async def _found_files(self, request: Request) -> list[tuple[str, Attachment]]:
        """Each with where it comes from. :raises NoOpenAsk: :raises SeveralAsks:"""
        try:
            return list(files_of(await self._found(request)))
        except NoOpenAsk:
            wanted = str(request.given.get("id")).strip().lower()
            notices = await self.inbox.notices(limit=ENDED_TO_LOOK_AT)
            for notice in notices if len(wanted) >= SHORTEST_ID else ():
                seen = owns(request.uid) or belongs_to(notice.project, request.uid)
                if seen and notice.id.startswith(wanted):
                    return [("message", each) for each in notice.attachments]
            raise

    async def _history(self, request: Request) -> Json:
        limit, search = request.given.get("limit"), request.given.get("search")
        most = min(limit, MOST_HISTORY) if isinstance(limit, int) and limit > 0 else 20
        found = await self.inbox.history(
            limit=most if owns(request.uid) else MOST_HISTORY,
            search=encodable(search) if isinstance(search, str) and search.strip() else None,
        )
        return await _listed(request, [ask for ask in found if may_see(ask, request.uid)][:most])

    async def _stats(self, request: Request) -> Json:
        seconds: Any = request.given.get("seconds")
        if type(seconds) not in (int, float) or not 0 < seconds <= LONGEST:
            raise ChatbridgeError(f"seconds: a number up to {LONGEST:.0f} is needed")
        found = await self.inbox.statistics(seconds=seconds)
        return {"stats": await asyncio.to_thread(statistics_object, found)}

    async def _summary(self, request: Request) -> Json:
        """Of the time since a moment, or of the last quiet hours."""
        now, since = self.clock.time(), request.given.get("since")
        if type(since) is not int and not (isinstance(since, float) and math.isfinite(since)):
            since = None
        period = period_until(now, calendar=self.inbox.nights.calendar, since=since)
        found = await summarize(self.inbox, period, now=now)
        waiting = await _listed(request, found.waiting)
        return {"summary": summary_object(found, waiting["asks"])}

    async def _limits(self, _request: Request) -> Json:
        """What `chatbridge ask` has to know of the owner's rules."""
        return {
            "longest": self.policy.max_timeout,
            "withdraws": self.policy.withdraw_on_cancel,
            "attach": "path" if self.reads_paths else "data",
        }

    # ── what a person does ────────────────────────────────────────────────────────────────────────

    async def _answer(self, request: Request) -> Json:
        """With `words`, as they stand on a command line, or with `answers`, as a script has."""
        ask = await self._settled_here(request)
        if ask.what_next and ask.open:
            raise NotHere(ask.id, what_next=True)
        if not ask.open and not takes_late_answer(ask):
            raise await self._ended(ask.id, request.uid)
        words = request.given.get("words")
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            said = partial(from_words, ask, [encodable(word) for word in words])
            answers = await off_loop(said, weight=weight_of(ask))
        else:
            answers = from_json(ask, request.given.get("answers"))
        try:
            after = await self.inbox.answer(ask.id, answers, person=request.person)
        except AskEnded:
            raise await self._ended(ask.id, request.uid) from None
        return {"ask": await self._shown(after, request.uid), "late": after.late is not None}

    async def _cancel(self, request: Request) -> Json:
        ask, reason = await self._settled_here(request), request.given.get("reason")
        text = encodable(reason).strip() if isinstance(reason, str) else ""
        if len(text) > form.MAX_TEXT:
            raise InvalidAnswer("reason", f"{len(text):,} characters, at most {form.MAX_TEXT:,}")
        try:
            person = request.person
            after = await self.inbox.cancel(ask.id, reason=text or None, person=person)
        except AskEnded:
            raise await self._ended(ask.id, request.uid) from None
        return {"ask": await self._shown(after, request.uid), "heard": after.orphaned_since is None}

    async def _quiet(self, request: Request) -> Json:
        """Switches quiet hours, if there are `words`, and says how they are."""
        words = request.given.get("words")
        if words not in (None, ""):
            await self.inbox.switch_quiet(
                words if isinstance(words, str) else "?", person=request.person
            )
        return {"said": format_quiet(self.inbox.nights, now=self.clock.time())}

    async def _postpone(self, read: ReadTime, request: Request) -> Json:
        """Snooze it, or give it more time: `when` is as a person writes it."""
        ask, when = await self._settled_here(request), request.given.get("when")
        now = self.clock.time()
        next_time = partial(self.inbox.nights.hours.next_time, after=now)
        how = read(when[:MOST_WHEN], next_time) if isinstance(when, str) else None
        if how is None:
            raise InvalidAnswer("when", WRITE_TIME)
        try:
            step = await self.inbox.put(ask.id, how, person=request.person)
        except AskEnded:
            raise await self._ended(ask.id, request.uid) from None
        if isinstance(step, form.Refused):
            raise ChatbridgeError(step.why)
        assert isinstance(step, form.Postponed)
        after = await self.inbox.ask(ask.id)
        said = format_postponed(step, now=now)
        return {"ask": await self._shown(after, request.uid), "said": said}

    async def _settled_here(self, request: Request) -> Ask:
        """:raises NotHere: an approval, whatever `approvals.channels` says: an agent could do it,
        too."""
        ask = await self._found(request)
        if ask.approval:
            elsewhere = self.inbox.only_on(ask, "")
            channels = tuple(each for each in elsewhere if each not in (CHANNEL, *NOWHERE))
            raise NotHere(await self._short(ask, request.uid), channels=channels)
        return ask

    async def _ended(self, ask_id: str, uid: int) -> AskEnded:
        ask = await self.inbox.ask(ask_id)
        how = how_it_ended(ask, now=self.clock.time())
        return AskEnded(await self._short(ask, uid), status=how)

    # ── which one is meant ────────────────────────────────────────────────────────────────────────

    async def _found(self, request: Request) -> Ask:
        """The open ask whose id begins like this, else the one that has ended. :raises NoOpenAsk:
        :raises SeveralAsks:"""
        given = request.given.get("id")
        wanted = given.strip().lower() if isinstance(given, str) else ""
        asks = await self._open(request.uid)
        fits = [ask for ask in asks if wanted and ask.id.startswith(wanted)]
        if not fits:
            with suppress(UnknownAsk):
                whole = await self.inbox.ask(wanted)
                fits = [whole] if may_see(whole, request.uid) else []
        if not fits and len(wanted) >= SHORTEST_ID:
            ended = await self.inbox.history(limit=ENDED_TO_LOOK_AT)
            fits = [a for a in ended if a.id.startswith(wanted) and may_see(a, request.uid)]
        if len(fits) == 1:
            return fits[0]
        shown = shortened(one_line(wanted), 40)
        if fits:
            raise SeveralAsks(shown, known=tuple(short_ids(fits).values()))
        raise NoOpenAsk(shown, known=tuple(short_ids(asks).values()))

    async def _open(self, uid: int) -> list[Ask]:
        return [ask for ask in await self.inbox.open_asks() if may_see(ask, uid)]

    async def _short(self, ask: Ask, uid: int) -> str:
        """Its id, as far as it takes to tell it from those that are open."""
        return short_ids([ask, *await self._open(uid)])[ask.id]

    async def _shown(self, ask: Ask, uid: int) -> Json:
        return _object(ask, await self._short(ask, uid))


def short_ids(asks: Iterable[Ask | OwnerMessage]) -> dict[str, str]:
    """The shortest beginning of each id that no other of these has."""
    ids = list(dict.fromkeys(ask.id for ask in asks))
    taken = Counter(one[:SHORTEST_ID] for one in ids)
    found = {}
    for one in ids:
        length = SHORTEST_ID
        if taken[one[:length]] > 1:
            while any(other != one and other.startswith(one[:length]) for other in ids):
                length += 1
        found[one] = one[:length]
    return found


def files_of(ask: Ask) -> Iterator[tuple[str, Attachment]]:
    """All files of an ask and its answer, each with where it comes from."""
    for question in ask.questions:
        for number, option in enumerate(question.options, start=1):
            if option.image:
                yield f"option {number}", option.image
    yield from (("question", each) for each in ask.attachments)
    for answer in ask.answer.answers if ask.answer else ():
        yield from (("answer", each) for each in answer.attachments)


def how_it_ended(ask: Ask, *, now: float) -> str:
    """Answered on Telegram at 22:41."""
    status = str(ask.status).replace("_", " ")
    by = ask.outcome.by if ask.outcome else None
    place = f" {where(by)}" if by else ""
    return f"{status}{place} at {format_time(ask.settled_at or ask.created_at, now=now)}"


def _object(ask: Ask, short: str) -> Json:
    """As the inbox's API has it, with what only a list needs."""
    done = sum(entry.done for entry in ask.draft.entries)
    found = {**ask_object(ask), "short": short, "approval": ask.approval, "done": done}
    return found | ({"whatNext": True} if ask.what_next else {})


async def _listed(request: Request, asks: Sequence[Ask]) -> Json:
    short, brief = short_ids(asks), request.given.get("brief") is True
    return {"asks": [in_list(it, short[it.id], brief=brief) async for it in sliced(asks)]}


def in_list(ask: Ask, short: str, *, brief: bool) -> Json:
    """`brief`: for a table only, with the texts as people saw them."""
    found = _object(ask, short)
    if not brief:
        return found
    summary = summary_of(ask)
    return {**_cut(found), "headline": summary.question, "said": summary.said}


def summary_object(summary: Summary, waiting: Sequence[Json]) -> Json:
    """For `chatbridge summary`."""
    tally = summary.tally
    return {
        "since": iso(summary.period.start),
        "until": iso(summary.period.end),
        "waiting": waiting,
        "timedOut": tally.timed_out,
        "lateAnswers": tally.late,
        "notices": tally.notices,
        "failedCommands": tally.failed,
    }


def _cut(value: Any) -> Any:
    """Cut texts to the length of a row in a table."""
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in value.items() if name != "options"}
    if isinstance(value, list):
        return [_cut(item) for item in value[:BRIEF_ITEMS]]
    return value[:BRIEF_CHARACTERS] if isinstance(value, str) else value


# ── an answer behind a command ────────────────────────────────────────────────────────────────────


def from_json(ask: Ask, given: object) -> tuple[Answer, ...]:
    """Whole answers, in the form that the inbox's API takes.
    :raises InvalidAnswer: with the path of the field that does not fit."""
    return parse_answers(ask.questions, given, lambda _, kind: f"accepted is {TYPES[kind]}")


def from_words(ask: Ask, words: list[str]) -> tuple[Answer, ...]:
    """The answer to an ask of one question, as words of a command line.
    :raises ChatbridgeError: what does not fit, in words for the person who typed it."""
    if len(ask.questions) > 1:
        raise ChatbridgeError(
            f"There are {len(ask.questions)} questions in it. Leave the values out to answer them "
            "one by one, or use --json"
        )
    (question,), text = ask.questions, " ".join(words)
    match question.type:
        case QuestionType.TEXT:
            answer = Answer(values=(text,))
        case QuestionType.MULTI_SELECT:
            picked = [(word, _picked(ask, question, word)) for word in words]
            own = " ".join(word for word, labels in picked if not labels) or None
            values = tuple(label for _, labels in picked for label in labels)
            answer = Answer(values=values, custom_text=own)
        case QuestionType.CONFIRM:
            said = read_yes_no(text)
            if said is None:
                quoted = shortened(one_line(text), SAID)
                raise ChatbridgeError(f"“{quoted}” is not clearly yes or no.")
            label = question.choices[said.option].label
            answer = Answer(values=(label,), custom_text=said.remark)
        case _:
            labels = _picked(ask, question, text)
            answer = Answer(values=labels) if labels else Answer(custom_text=text)
    return check_answers(ask.questions, {question.id: answer})


def _picked(ask: Ask, question: Question, text: str) -> tuple[str, ...]:
    """The labels that a text names, by its words or its number, as in a chat."""
    blank = replace(ask, draft=new_draft(ask.questions))
    events = interpret_beside_buttons(blank, text)
    assert not isinstance(events, Unclear)
    labels = [
        question.choices[event.option].label
        for event in events
        if isinstance(event, form.Choose | form.Toggle)
    ]
    digits = text.strip()
    if not labels and digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS:
        raise ChatbridgeError(
            f"There is no option {digits}. This question has options 1 to {len(question.choices)}."
        )
    return tuple(labels)
