"""Agents: each asks one riddle after another through a link of its own, until it is to stop.

An agent goes on by the book: a ticket is turned in, and after a call that broke off the same is
asked again in the same words. All that it does and hears is in the log.
"""

from __future__ import annotations

import asyncio
import random
import time
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.chaos import messages, notices
from tests.chaos.link_pipe import Json, LinkGone, LinkPipe
from tests.chaos.log import Asked, CameBack, Heard, Log, Notified, Told
from tests.chaos.manner import Manner
from tests.chaos.places import World
from tests.chaos.riddles import Deck, Result, Riddle, Status, read
from tests.fakes.sample_files import png

START_WITHIN = 60.0
SILENT_GRACE = 5.0
"""What was written just before a silent client's limit may be read just after it."""
TELLS_MUCH = 0.2
"""How often it is much that an agent has to tell."""
MUCH = 6
"""Telegram makes a list of so many."""
LOOKS_FOR_MESSAGES = 0.15
"""How often an agent looks whether the person has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What kind of client an agent is."""

    client: str = "claude-code"
    elicits: bool = False
    silent_after: float | None = None
    """After so many seconds it drops a call without a word."""


CLAUDE = Habits()
KINDS = (
    *(CLAUDE,) * 14,
    Habits(client="cursor"),
    Habits(client="cline"),
    Habits(client="zed", silent_after=60.0),
    Habits(client="zed", silent_after=60.0),
    Habits(elicits=True),
    Habits(elicits=True),
)


@dataclass(slots=True)
class Counts:
    restarts: int = 0
    """Links that were started after another had ended."""
    asked_again: int = 0
    notices: int = 0
    cancelled: int = 0
    tickets: int = 0
    late: int = 0
    """Answers that had been kept."""


class Agent:
    def __init__(
        self,
        name: str,
        world: World,
        log: Log,
        deck: Deck,
        random: random.Random,
        *,
        folder: str,
        habits: Habits,
        manner: Manner,
        counts: Counts,
    ) -> None:
        """`folder` names whose project it works in."""
        self.name = name
        self.partner: Agent | None = None
        self.unsolved: Riddle | None = None
        self.private_lines = 0
        self._world = world
        self._log = log
        self._deck = deck
        self._random = random
        self.folder = folder
        self._habits = habits
        self._manner = manner
        self._counts = counts
        self._pipe: LinkPipe | None = None
        self._given_up: set[str] = set()  # Calls that it has cancelled
        self._began: dict[str, float] = {}
        self._links = 0
        self._shared: list[Riddle] = []
        """What its partner asks, too."""

    async def run(self, stop: asyncio.Event) -> None:
        """Until it is to stop, and its last riddle is solved."""
        await self._pause(stop, 0.0, 8.0)
        while not stop.is_set() or self._shared:
            self.unsolved = self._next()
            await self._solve(self.unsolved)
            self.unsolved = None
            if self._random.random() < self._manner.tells:
                await self._tell()
            if self._random.random() < LOOKS_FOR_MESSAGES:
                await self._check()
            await self._pause(stop, 0.5, self._manner.rests)

    async def close(self) -> None:
        if self._pipe is not None:
            pipe, self._pipe = self._pipe, None
            self.private_lines += pipe.private_lines
            await pipe.close()

    def _next(self) -> Riddle:
        if self._shared:
            return self._shared.pop()
        if self.partner is not None and self._random.random() < 0.25:
            riddle = self._deck.draw(self.name, self.partner.name)
            self.partner._shared.append(riddle)
            return riddle
        return self._deck.draw(self.name, elicits=self._habits.elicits)

    async def _pause(self, stop: asyncio.Event, least: float, most: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._random.uniform(least, most)):
                await stop.wait()

    # ── one riddle ────────────────────────────────────────────────────────────────────────────────

    async def _solve(self, riddle: Riddle) -> None:
        attempt, ticket = 0, None
        while True:
            attempt += 1
            tool, arguments = self._call_for(riddle, ticket)
            result = await self._attempt(riddle, attempt, tool, arguments)
            match result.status:
                case Status.ANSWERED | Status.TIMED_OUT | Status.CANCELLED:
                    return
                case Status.TICKET:
                    self._counts.tickets += 1
                    ticket = result.ticket or ticket
                case _:
                    self._counts.asked_again += 1
            await asyncio.sleep(self._random.uniform(0.0, 2.0))

    async def _attempt(self, riddle: Riddle, attempt: int, tool: str, arguments: Json) -> Result:
        patience = self._patience(riddle, attempt)
        try:
            pipe = await self._link()
            number, reply = pipe.request("tools/call", {"name": tool, "arguments": arguments})
        except LinkGone:
            return Result(status=Status.LINK_GONE)
        call = f"{pipe.name}/{number}"
        self._began[call] = time.monotonic()
        asked = Asked(
            at=_now(), agent=self.name, riddle=riddle.key, attempt=attempt, call=call, tool=tool
        )
        self._log.add(asked)
        try:
            result = await self._outcome(riddle, pipe, number, reply, patience)
        except LinkGone:
            result = Result(status=Status.LINK_GONE)
        if '"late":true' in result.text.replace(" ", "") or "Late: these" in result.text:
            self._counts.late += 1
        self._log.add(
            CameBack(
                at=_now(),
                agent=asked.agent,
                riddle=asked.riddle,
                attempt=attempt,
                call=call,
                status=result.status.value,
                values=result.values,
                text=result.text[:500],
                files=(*map(_content, result.files), *result.texts),
            )
        )
        return result

    async def _outcome(
        self,
        riddle: Riddle,
        pipe: LinkPipe,
        number: int,
        reply: asyncio.Future[Json],
        patience: float | None,
    ) -> Result:
        """:raises LinkGone:"""
        silent = self._habits.silent_after
        limit = min((it for it in (patience, silent and silent + SILENT_GRACE) if it), default=None)
        done, _ = await asyncio.wait({reply}, timeout=limit)
        if done:
            return read(riddle, reply.result())
        if limit == patience:
            self._counts.cancelled += 1
            self._given_up.add(f"{pipe.name}/{number}")
            pipe.cancel(number)
            await pipe.barrier()
            if reply.done():  # it was on its way when the agent gave up
                return read(riddle, reply.result())
        return Result(status=Status.GIVEN_UP)

    def _call_for(self, riddle: Riddle, ticket: str | None) -> tuple[str, Json]:
        if ticket is not None and riddle.tool == "ask_user_questions":
            return "get_answered_questions", {"session_id": ticket, "blocking": True}
        if ticket is not None:
            return "wait_for_answer", {"askId": ticket}
        return riddle.tool, riddle.arguments(self._picture(riddle) if riddle.picture else {})

    def _picture(self, riddle: Riddle) -> Json:
        """The same bytes for who asks again."""
        name, content = f"{self.name}.png", png(400, 300) + riddle.key.encode()
        if not self._world.files_by_path():
            return {"name": name, "data": b64encode(content).decode()}
        (self._world.project(self.folder) / name).write_bytes(content)
        return {"path": name}

    def _patience(self, riddle: Riddle, attempt: int) -> float | None:
        """Some calls are given up after a while; never for ever, so that a riddle ends."""
        if riddle.mortal or attempt > 3 or self._random.random() > 0.15:
            return None
        return self._random.uniform(1.0, 15.0)

    # ── notices ───────────────────────────────────────────────────────────────────────────────────

    async def _tell(self) -> None:
        try:
            pipe = await self._link()
        except LinkGone:
            return
        levels = [self._random.choice(("info", "warning", "error"))]
        if self._random.random() < TELLS_MUCH:
            levels = ["info"] * MUCH
        await asyncio.gather(*(self._notify(pipe, level) for level in levels))

    async def _notify(self, pipe: LinkPipe, level: str) -> None:
        self._counts.notices += 1
        key, text = notices.words(self.name, self._counts.notices)
        number, reply = pipe.request(
            "tools/call",
            {"name": "notify_user", "arguments": {"message": text, "level": level}},
        )
        call = f"{pipe.name}/{number}"
        self._log.add(Notified(at=_now(), agent=self.name, notice=key, call=call, text=text))
        try:
            told = notices.read(await reply)
        except LinkGone:
            told = notices.Result(status=notices.Ending.LINK_GONE)
        self._log.add(
            Told(
                at=_now(),
                agent=self.name,
                notice=key,
                call=call,
                status=told.status.value,
                sent=told.sent,
                waiting=told.waiting,
                text=told.text[:500],
            )
        )

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _check(self) -> None:
        """What it finds is noted as it comes."""
        with suppress(LinkGone):
            pipe = await self._link()
            arguments = {"waitSeconds": self._random.choice((0, 2, 5))}
            await pipe.request("tools/call", {"name": "check_messages", "arguments": arguments})[1]

    def _heard(self, link: str, number: int, response: Json) -> None:
        call, silent = f"{link}/{number}", self._habits.silent_after
        waited = time.monotonic() - self._began.get(call, time.monotonic())
        late = call in self._given_up or (silent is not None and waited > silent - SILENT_GRACE)
        for key, text in messages.heard(response):
            self._log.add(
                Heard(
                    at=_now(),
                    agent=self.name,
                    project=self._world.project_name(self.folder),
                    link=link,
                    message=key,
                    text=text,
                    late=late,
                )
            )

    # ── its link ──────────────────────────────────────────────────────────────────────────────────

    async def _link(self) -> LinkPipe:
        """The link that it has, or a new one. :raises LinkGone: it was killed at once."""
        if self._pipe is not None and not self._pipe.gone:
            return self._pipe
        if self._pipe is not None:
            self._counts.restarts += 1
            self.private_lines += self._pipe.private_lines
            await self._pipe.process.wait()
        self._links += 1
        name = f"{self.name}.{self._links}"
        self._pipe = await LinkPipe.start(
            self._world.link_command(),
            name=name,
            cwd=self._world.project(self.folder),
            environment=self._world.link_environment(self.folder),
            stderr=self._world.stderr_of(name),
            born=self._world.born,
            heard=partial(self._heard, name),
        )
        capabilities: Json = {"elicitation": {}} if self._habits.elicits else {}
        await self._pipe.initialize(self._habits.client, capabilities)
        return self._pipe


def _content(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _now() -> float:
    return time.time()


def hire(
    count: int,
    world: World,
    log: Log,
    deck: Deck,
    random: random.Random,
    counts: Counts,
    *,
    manner: Manner,
) -> list[Agent]:
    """Every other pair works in one project, and sometimes asks in the very same words."""
    agents: list[Agent] = []
    for number in range(count):
        name = f"agent-{number:02d}"
        second = number % 4 == 1
        agents.append(
            Agent(
                name,
                world,
                log,
                deck,
                _own(random),
                folder=agents[-1].name if second else name,
                habits=KINDS[number % len(KINDS)],
                manner=manner,
                counts=counts,
            )
        )
        if second:
            agents[-2].partner, agents[-1].partner = agents[-1], agents[-2]
    return agents


def _own(source: random.Random) -> random.Random:
    return type(source)(source.random())
