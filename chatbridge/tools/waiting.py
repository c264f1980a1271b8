"""How every tool that asks waits: until the ask has ended, or until its client would give up.

What is said then is each tool's own: its outcome, or its ticket. `wait_for_answer` goes on waiting
for an ask whose call returned a ticket.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_types import CallToolResult

from chatbridge.core.asks.broker import Broker
from chatbridge.core.asks.reach import UNSURE, Reach, Reached
from chatbridge.core.errors import StoreError, UnknownAsk
from chatbridge.core.model import Ask, AskRequest, Call
from chatbridge.core.tasks import race
from chatbridge.projects import settings_of
from chatbridge.tools.attachments import GivenFile, ToolFiles
from chatbridge.tools.call import ToolCall, ToolHandler
from chatbridge.tools.clients import soonest
from chatbridge.tools.definition import (
    number_field,
    object_schema,
    refused,
    text_field,
    unknown_id,
)

log = logging.getLogger(__name__)

UNREACHED_SECONDS = 600.0
"""After this time an ask that no channel has shown counts as one that nobody can see. Long enough
for a network that is down for some minutes, or a chat with many others before it."""
LOOK_SECONDS = 3.0
"""How often to look whether an ask was shown meanwhile."""
CLOCK_STEP_SECONDS = 5.0
"""How far wall time may drift from monotonic time before it counts as a step."""


RenderResult = Callable[[Ask, Call, Reach], CallToolResult]
"""A tool's words for an ask that has ended, or for one that is still open."""


@dataclass(frozen=True, slots=True)
class Waiting:
    broker: Broker
    reached: Reached
    """Who can have seen an ask."""
    files: ToolFiles | None = None
    """None: neither agents nor people can send any."""

    async def ask(
        self, request: AskRequest, call: ToolCall, *, files: Sequence[GivenFile] = ()
    ) -> Wait:
        """Wait for what the broker finds or makes for it. :raises ToolInputError:
        :raises TooManyOpenAsks:"""
        if files and self.files is not None:
            earlier = await self.broker.waiting_calls.asked_before(call.name)
            request = await self.files.attach(request, files, call, earlier)
        request = replace(request, quiet=settings_of(call.project.key).quiet.rule)
        if not request.needs_caller:
            await self.broker.waiting_calls.wait_for_absent_callers(request, call.name)
        ask, caller = await self.broker.ask(
            request, call.name, counts_for=call.counts_for, shared_link=call.shared_link
        )
        if caller.counts_until is None and (left := call.counts_for) is not None:
            # The call itself has shown its client's limit, by asking again.
            until = call.clock.time() + left
            await call.counts_until(self.broker.waiting_calls, until)
            caller = replace(caller, counts_until=until)
        log.info("ask %s call=%s project=%s", ask.id, call.id, call.project.name)
        return Wait(self, ask, caller, call)

    async def follow(
        self, ask_id: str, call: ToolCall, *, tools: Collection[str] | None = None
    ) -> Wait:
        """Wait for an ask of these tools in the call's project. :raises UnknownAsk:"""
        project, counts_for = call.project.key, call.counts_for
        ask, caller = await self.broker.follow(
            ask_id, call.name, project=project, tools=tools, counts_for=counts_for
        )
        return Wait(self, ask, caller, call)

    async def reach(self, ask: Ask) -> Reach:
        """Who can have seen it. What is not known now is no reason to withhold an answer; and who
        has answered has seen it, so that the store need not be asked."""
        if ask.answer is not None:
            return UNSURE
        try:
            return await self.reached(ask.id)
        except StoreError as error:
            log.warning("ask %s: where it was shown is not known: %s", ask.id, error)
            return UNSURE


@dataclass(frozen=True, slots=True)
class Wait:
    """One call's wait for an ask."""

    waiting: Waiting
    ask: Ask
    """As it was when the call came."""
    caller: Call
    call: ToolCall

    async def ended(
        self,
        *,
        limit: float | None = None,
        endless: bool = False,
        unless: Callable[[], Awaitable[object]] | None = None,
    ) -> Ask | None:
        """The ask once it has ended; None if the limit, the client's own or `unless` comes first.
        An endless wait has no limit: where the client gives up without a word, its call then counts
        as gone, so that it can ask again."""
        ended: Ask | None = self.ask
        if self.ask.open:
            call, broker = self.call, self.waiting.broker
            since = call.since(self.caller.started_at)
            if endless:
                ended = await self._watched(call.silent_after)
                if ended is None:
                    await broker.waiting_calls.cancel(call.name)
                    ended = await self._watched(None)
            else:
                limit = soonest(limit, broker.policy.max_block, call.patience)
                ended = await self._watched(limit, unless)
            await self._count_by_its_timer(since)
        if ended is not None:
            log.info("Session completed successfully session=%s call=%s", ended.id, self.call.id)
        return ended

    async def outcome(self, render: RenderResult, *, limit: float | None) -> CallToolResult:
        """Wait, and render how the ask has ended, or a ticket."""
        return await self.result(await self.ended(limit=limit), render)

    async def result(self, ended: Ask | None, render: RenderResult) -> CallToolResult:
        """How the ask ended; if it is open, the call gets a ticket."""
        ask = ended or self.ask
        reach = await self.waiting.reach(ask)
        if ask.open:
            await self.ticket()
        return await self.shown(ask, render(ask, self.caller, reach))

    async def shown(self, ask: Ask, result: CallToolResult) -> CallToolResult:
        """The result, with the files of the answer."""
        files = self.waiting.files
        return result if files is None else await files.show(result, ask)

    async def ticket(self) -> None:
        """Note that the call ends, and that its agent may come back for the answer."""
        await self.waiting.broker.waiting_calls.ticket(self.call.name)

    async def unreached(self, *, after: float) -> str:
        """Why nobody can be reached, once that has been so for `after` seconds; for longer where a
        chat works and may yet show it. Does not return if somebody can have seen the ask: they may
        answer at any time."""
        clock = self.call.clock
        since = clock.monotonic()
        while not (reach := await self.waiting.reach(self.ask)).shown:
            if reach.nobody is None:
                since = clock.monotonic()  # it is on its way
            elif clock.monotonic() - since >= (UNREACHED_SECONDS if reach.coming else after):
                return reach.nobody
            await clock.sleep(LOOK_SECONDS)
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def _watched(
        self, limit: float | None, unless: Callable[[], Awaitable[object]] | None = None
    ) -> Ask | None:
        async def doing() -> str:
            places = (await self.waiting.reach(self.ask)).places
            return f"waiting on {places}" if places else "waiting for an answer"

        ending: Awaitable[Ask | None] = self.waiting.broker.ended(self.ask.id)
        if unless is not None:
            ending = race(ending, unless())
        return await self.call.watch(ending, self.caller.started_at, limit=limit, doing=doing)

    async def _count_by_its_timer(self, since: float) -> None:
        """Say until when the response counts, if the wall clock was set or the machine slept
        meanwhile: the client's own timer did not notice."""
        call, counts_until = self.call, self.caller.counts_until
        if counts_until is None or call.silent_after is None:
            return
        until = call.clock.time() + since + call.silent_after - call.clock.monotonic()
        if abs(until - counts_until) > CLOCK_STEP_SECONDS:
            await call.counts_until(self.waiting.broker.waiting_calls, until)


LONGEST_WAIT = 24 * 3600


@dataclass(frozen=True, slots=True)
class WaitForAnswer(ToolHandler):
    name = "wait_for_answer"
    title = "Wait for an answer"
    read_only = idempotent = True
    description = """\
Wait for the answer to a question that is still open: give the askId of a result with \
"pending": true. Returns what the question itself would have returned, or the same ticket again if \
nobody has answered within waitSeconds; then call it again. It can be called as often as needed."""
    schema = object_schema(
        "askId",
        askId=text_field("The askId of the ticket"),
        waitSeconds=number_field(
            "How long to wait at most; left out: as long as possible",
            minimum=0,
            maximum=LONGEST_WAIT,
        ),
    )

    waiting: Waiting
    renderers: Mapping[str, RenderResult]
    """By the name of the tool that asked: the result is the one that the ask would have had."""

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
        ask_id, limit = _parsed(arguments)
        try:
            wait = await self.waiting.follow(ask_id, call, tools=self.renderers.keys())
        except UnknownAsk as error:
            sentence = "no question with this id in this project"
            raise unknown_id(sentence, "askId", ask_id, error.known) from None
        return await wait.outcome(self.renderers[wait.ask.tool], limit=limit)


def _parsed(arguments: dict[str, Any]) -> tuple[str, float | None]:
    ask_id, wait = arguments.get("askId"), arguments.get("waitSeconds")
    if not isinstance(ask_id, str) or not ask_id:
        accepted = "the askId of a pending result"
        raise refused("askId is required", "askId", ask_id, accepted)
    number = isinstance(wait, int | float) and not isinstance(wait, bool)
    if wait is not None and not (number and 0 <= wait <= LONGEST_WAIT):
        accepted = f"a number from 0 to {LONGEST_WAIT}"
        raise refused("waitSeconds is out of range", "waitSeconds", wait, accepted)
    return ask_id, None if wait is None else float(wait)
