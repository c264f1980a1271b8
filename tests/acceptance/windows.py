"""Official clients with a window of their own: they declare elicitation, and a scripted person
fills in the forms, each by its message.

The connections of a test module are opened when a test first wants them and kept by a task each,
because a client must be left in the task that entered it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    Implementation,
)

from tests.acceptance.bridge import (
    PATIENCE,
    Connection,
    Home,
    Json,
    link_or_standalone,
    new_home,
)

Reply = ElicitResult | ErrorData
Script = Callable[[], Awaitable[Reply]]


@dataclass(slots=True)
class Form:
    """One form that the client was asked to show."""

    params: ElicitRequestFormParams
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)
    replied: asyncio.Event = field(default_factory=asyncio.Event)


class Window:
    def __init__(self) -> None:
        self.forms: dict[str, list[Form]] = {}
        self._scripts: dict[str, Script] = {}
        self._shown = asyncio.Condition()

    def on(self, message: str, script: Script) -> None:
        """What the person does with the form of this message; else they leave it open."""
        self._scripts[message] = script

    def fills_in(self, message: str, **content: Any) -> None:
        self.on(message, accepting(content))

    async def shown(self, message: str, *, times: int = 1) -> Form:
        """The form of this message, once it was shown so often."""
        async with asyncio.timeout(PATIENCE), self._shown:
            await self._shown.wait_for(lambda: len(self.forms.get(message, [])) >= times)
        return self.forms[message][-1]

    async def callback(self, context: Any, params: Any) -> Reply:
        assert isinstance(params, ElicitRequestFormParams)
        form = Form(params)
        async with self._shown:
            self.forms.setdefault(params.message, []).append(form)
            self._shown.notify_all()
        try:
            reply = await self._scripts.get(params.message, nobody)()
            form.replied.set()
            return reply
        except asyncio.CancelledError:
            form.withdrawn.set()
            raise


async def nobody() -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def accepting(content: Json) -> Script:
    async def accept() -> Reply:
        return ElicitResult(action="accept", content=content)

    return accept


async def at_once() -> Reply:
    """What a client without a person says."""
    return ElicitResult(action="decline")


async def a_person_declines() -> Reply:
    await asyncio.sleep(1.2)  # nobody is quicker than a second: quicker ones count as no person
    return ElicitResult(action="decline")


async def a_person_closes_it() -> Reply:
    await asyncio.sleep(1.2)
    return ElicitResult(action="cancel")


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent whose client has a window."""

    connection: Connection
    window: Window

    @property
    def project(self) -> Path:
        return self.connection.project

    def call(self, question: str) -> asyncio.Task[CallToolResult]:
        return self.tool("question_ask", {"question": question})

    def tool(self, name: str, arguments: Json) -> asyncio.Task[CallToolResult]:
        client = self.connection.client
        return asyncio.create_task(client.call_tool(name, arguments, read_timeout_seconds=PATIENCE))

    async def answers_on_the_web(self, question: str, text: str) -> None:
        ask = await self.connection.sees(question)
        await asyncio.to_thread(self.connection.person.answer, ask, {"values": [text]})

    def open_questions(self) -> list[str]:
        asks = self.connection.person.open_asks()
        return [ask["questions"][0]["question"] for ask in asks]

    def saved(self) -> dict[str, str]:
        """The texts of all files of the journal, by their path in the project."""
        folder = self.project / ".chatbridge" / "questions"
        return {
            str(path.relative_to(self.project)): path.read_text(encoding="utf-8")
            for path in sorted(folder.glob("*.yaml"))
        }


@asynccontextmanager
async def seated(
    home: Home, project: Path, *, carrier: str = "link", mode: str = "legacy"
) -> AsyncIterator[Seat]:
    """A new client with a window. Enter and leave it in one task."""
    window = Window()
    command, *words = link_or_standalone(carrier)
    server = StdioServerParameters(command=command, args=words, env=home.environment, cwd=project)
    with (home.folder / "stderr.log").open("a", encoding="utf-8") as errors:
        client = Client(
            stdio_client(server, errlog=errors),
            mode=mode,
            client_info=Implementation(name="acceptance", version="1"),
            elicitation_callback=window.callback,
        )
        async with client:
            yield Seat(Connection(client=client, home=home, project=project), window)


class Windows:
    """Seats of one test module, by the setting `elicit`, the carrier and the era."""

    def __init__(self) -> None:
        self._seats: dict[tuple[str, str, str], asyncio.Future[Seat]] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._homes: dict[tuple[str, str], Home] = {}
        self._stack = ExitStack()
        self._closing = asyncio.Event()

    async def get(
        self, elicit: str = "chats", *, carrier: str = "link", mode: str = "legacy"
    ) -> Seat:
        key = (elicit, carrier, mode)
        if key not in self._seats:
            self._seats[key] = asyncio.get_running_loop().create_future()
            self._keepers.append(asyncio.create_task(self._keep(elicit, carrier, mode)))
        return await self._seats[key]

    async def close(self) -> None:
        self._closing.set()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._stack.close()

    async def _keep(self, elicit: str, carrier: str, mode: str) -> None:
        found = self._seats[elicit, carrier, mode]
        # Links share a hub; each standalone is one.
        name = (elicit, "link" if carrier == "link" else mode)
        if name not in self._homes:
            self._homes[name] = self._stack.enter_context(
                new_home(ELICIT=elicit, LOG_LEVEL="debug")
            )
        home = self._homes[name]
        project = home.project(f"{carrier}-{mode}")
        try:
            async with seated(home, project, carrier=carrier, mode=mode) as seat:
                found.set_result(seat)
                await self._closing.wait()
        except BaseException as error:
            if not found.done():
                found.set_exception(error)
            raise
