"""One tool call as a tool sees it: who calls, under which name, and a way to show that it waits."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from mcp_types import (
    CallToolResult,
    ElicitResult,
    Icon,
    InputRequiredResult,
    LoggingLevel,
    TextContent,
    Tool,
    ToolAnnotations,
)

from chatbridge.core.asks.waiting_calls import LearnedLimit, WaitingCalls
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.errors import ChatbridgeError, StoreError
from chatbridge.core.model import Agent, CallName, Project
from chatbridge.core.ports import Clock
from chatbridge.tools.clients import Client, soonest

log = logging.getLogger(__name__)

Json = dict[str, Any]
ToolResult = CallToolResult | InputRequiredResult
T = TypeVar("T")

HEARTBEAT = 15.0


class Caller(Protocol):
    """The link, or whatever else a session belongs to."""

    link: str
    project: Project
    limit: float | None
    """Seconds after which its client gives a call up, as the client says itself."""
    folder: str | None
    """Where on this machine it was started; None: elsewhere, or not known."""
    level: LoggingLevel
    """Lowest level of log messages that its client wants."""
    pid: int | None
    """Of the link's process, as the kernel knows it; None: elsewhere, or not known."""

    @property
    def present(self) -> bool:
        """Whether the connection is up; a call that is cut off then was cancelled by its client."""
        ...

    def age(self, request: object) -> float | None:
        """Seconds that this request has waited already at an earlier hub. Returned once."""
        ...


Elicit = Callable[[str, Json], Awaitable[ElicitResult]]
"""Shows a message and a form of this schema in the client's own window, and waits for the reply.
Cancelling it withdraws the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The client of a session: who it is, and what it can do."""

    agent: Agent
    client: Client = field(default_factory=Client)
    elicits: bool = False
    """It can show a form in its own window."""
    stateless: bool = False
    """It speaks the protocol era in which a form ends the call, and the client calls again."""
    local: bool = False
    """It runs on this machine, in a folder that is known."""
    unknown: bool = False
    """Nothing is known of how long a call of it may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    name: CallName
    id: str
    project: Project
    peer: Peer
    report: Callable[[float, str], Awaitable[None]] | None
    """Sends progress; None if the client did not ask for it."""
    clock: Clock
    folder: str | None = None
    """Where on this machine its agent was started; None: elsewhere, or not known."""
    pid: int | None = None
    """Of the link's process; None: elsewhere, or not known."""
    elicit: Elicit | None = None
    """None if the client cannot, or only by ending the call."""
    replies: Mapping[str, ElicitResult] = field(default_factory=dict)
    """Replies of the client's window, where this call follows one that showed a form."""
    state: str | None = None
    """State that we gave the client for this call. It comes from outside: check its signature."""
    age: float | None = None
    """How long it had waited when it came to this hub, where its link says so."""
    shared_link: bool = False
    """Several agents use its link, and nothing tells them apart."""
    learned: Callable[[], LearnedLimit | None] = lambda: None
    """What earlier calls have shown of its client's limit. The call itself may add to that."""
    cancelled: Callable[[], bool] = lambda: False
    """Whether its client has said that it does not wait for the response."""
    began: float = field(init=False)
    """When it came to this hub, or to the first one if its age is known, in monotonic time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "began", self.clock.monotonic() - (self.age or 0.0))

    @property
    def agent(self) -> Agent:
        return self.peer.agent

    @property
    def _client(self) -> Client:
        learned = self.learned()
        if learned is None:
            return self.peer.client
        limit = soonest(self.peer.client.limit, learned.seconds)
        return replace(self.peer.client, limit=limit, cancels=learned.cancels)

    @property
    def patience(self) -> float | None:
        """How long this call may wait before its client gives up."""
        return self._client.patience(progress=self.report is not None)

    @property
    def given_up_after(self) -> float | None:
        """Seconds after which its client gives the call up; None: never, as far as is known."""
        return self._client.gives_up(progress=self.report is not None)

    @property
    def silent_after(self) -> float | None:
        """Seconds after which its client has given the call up without a word; None: never."""
        return None if self._client.cancels else self.given_up_after

    @property
    def counts_for(self) -> float | None:
        """Seconds from now for which a response still reaches the client; None: until the client
        says otherwise."""
        limit = self.silent_after
        return None if limit is None else limit - (self.clock.monotonic() - self.began)

    def since(self, started_at: float) -> float:
        """When the client's call began, also to an earlier hub at this wall time, in monotonic
        time: that stands still while the machine sleeps, as the timers of clients do, and cannot
        be set. The wall time only counts where the link has not said it."""
        clock = self.clock
        if self.age is not None:
            return self.began
        return min(self.began, clock.monotonic() - max(clock.time() - started_at, 0.0))

    async def counts_until(self, waiting_calls: WaitingCalls, until: float) -> None:
        """Note that after this wall time a response reaches nobody. If that cannot be stored, what
        was noted before stands."""
        try:
            began = until - (self.silent_after or 0.0)
            await waiting_calls.set_counts_until(self.name, until, began=began)
        except StoreError as error:
            log.warning("call %s: its client's limit is not known: %s", self.id, error)

    async def watch(
        self,
        waiting: Awaitable[T],
        started_at: float,
        *,
        limit: float | None,
        doing: Callable[[], Awaitable[str]],
    ) -> T | None:
        """Wait for a result; None if the limit comes first, counted from the call's own beginning
        at this wall time. Meanwhile tell the client that the call is alive, and what it is
        `doing`."""
        task: asyncio.Future[T] = asyncio.ensure_future(waiting)
        clock, began = self.clock, self.since(started_at)
        beat = None if self.report is None else self.peer.client.beat(HEARTBEAT)
        try:
            while not task.done():
                left = None if limit is None else began + limit - clock.monotonic()
                if left is not None and left <= 0:
                    return None
                pause = soonest(beat, left)
                ends: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                if pause is not None:
                    ends = asyncio.ensure_future(clock.sleep(pause))
                try:  # not a `race`, which waits for what it cancels: an answer must not
                    await asyncio.wait({task, ends}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    ends.cancel()
                if self.report is not None and not task.done():
                    said = await doing()
                    waited = clock.monotonic() - began
                    await self.report(waited, f"{said}, {format_duration(waited)}")
            return task.result()
        finally:
            task.cancel()


_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><path fill='#0A6A50' d='M4 3h16a2 "
    "2 0 0 1 2 2v10a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z'/></svg>"
)
ICON = Icon(
    src=f"data:image/svg+xml;base64,{b64encode(_SVG.encode()).decode()}",
    mime_type="image/svg+xml",
    sizes=["any"],
)


class ToolHandler:
    """One MCP tool, and how it describes itself to clients."""

    name: str
    title: str
    description: str
    schema: Json
    """Of its arguments."""
    always = False
    """Whether it is there even where the project has switched asking off."""
    read_only = idempotent = False
    destructive = False
    """Only a command of the owner's can be."""
    for_hook = False
    """Whether only our own hook can call it."""
    reaches_model = True
    """Whether a model reads its results, and not only its client."""
    open_world = True

    def definition(self, project: Project, peer: Peer) -> Tool | None:
        """As this client in this project sees it; None: not at all."""
        return self._described()

    def _described(self, *, schema: Json | None = None, description: str | None = None) -> Tool:
        return Tool(
            name=self.name,
            title=self.title,
            description=description or self.description,
            input_schema=schema or self.schema,
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.read_only,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=self.open_world,
            ),
            icons=[ICON],
        )

    async def run(self, arguments: Json, call: ToolCall) -> ToolResult:
        """:raises ChatbridgeError: becomes the result of `failed`."""
        raise NotImplementedError

    def failed(self, error: ChatbridgeError) -> CallToolResult:
        return text_result(str(error), is_error=True)


def text_result(*texts: str, is_error: bool = False) -> CallToolResult:
    blocks = [TextContent(type="text", text=text) for text in texts]
    return CallToolResult(content=[*blocks], is_error=is_error)


def json_result(value: Json) -> CallToolResult:
    """JSON as text, and the same as structured content: some clients show only the one, some only
    the other."""
    text = json.dumps(value, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


REMOTE = "chatbridge.remote"
"""Where the scope of an HTTP request says who makes it."""


@dataclass(slots=True, kw_only=True)
class Remote:
    link: str
    project: Project
    usual: float
    """How long a call may take where nothing is known of its client."""
    limit: float | None = None
    folder: str | None = None
    request: str | None = None
    """The call's name, where the client's own ids name nothing: without a session, each of a
    token's clients begins to count anew."""
    present: bool = True
    level: LoggingLevel = "info"
    pid: int | None = None

    def age(self, request: object) -> float | None:
        """Nobody repeats a call over HTTP."""
        return None
