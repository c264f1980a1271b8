"""A real chatbridge from end to end: official MCP clients in front, a person with HTTP behind.

Only the link or the standalone is a process of its own; a hub that a link started is found by the
lock that it holds, and ended with the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Implementation, TextContent

from chatbridge import lock_file
from tests.fakes.program import CHATBRIDGE
from tests.fakes.warm_processes import warm_chatbridge, warm_environment

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
MODES = ("legacy", "auto", "2026-07-28")
CARRIERS = ("link", "standalone")

Json = dict[str, Any]
T = TypeVar("T")


def until(found: Callable[[], T | None], what: str, *, every: float = 0.02) -> T:
    """What `found` returns, once it returns something."""
    deadline = time.monotonic() + PATIENCE
    while (value := found()) is None:
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(every)
    return value


# ── one state directory and whatever runs with it ─────────────────────────────────────────────────


class Home:
    """A home directory with nothing in it but the state and the projects of one test."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, cold: bool = False) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.settings = dict(settings)
        self.person = Person(self.state)
        self._python = {"PYTHONPATH": str(ROOT)} if cold else warm_environment()

    @property
    def environment(self) -> dict[str, str]:
        """All that a client gives its server, beside PATH."""
        return {
            "HOME": str(self.folder),
            **self._python,
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self.state),
            **self.settings,
        }

    def project(self, name: str, *, file: str | None = None) -> Path:
        """A folder that counts as a project, with this `.chatbridge.toml`."""
        folder = self.folder / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        if file is not None:
            (folder / ".chatbridge.toml").write_text(file, encoding="utf-8")
        return folder

    def lock_holder(self) -> int | None:
        """The process that holds the hub's lock, as the kernel knows it."""
        try:
            inode = (self.state / "hub.lock").stat().st_ino
        except FileNotFoundError:
            return None
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            row = line.split()
            if "FLOCK" in row and "->" not in row and row[5].endswith(f":{inode}"):
                return int(row[4])
        return None

    def stop_hub(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + PATIENCE
            while (pid := self.lock_holder()) is not None and time.monotonic() < deadline:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
                time.sleep(0.05)


@overload
def new_home(*, cold: Literal[True], **settings: str) -> AbstractContextManager[Home]: ...
@overload
def new_home(**settings: str) -> AbstractContextManager[Home]: ...
@contextmanager
def new_home(*, cold: Any = False, **settings: str) -> Iterator[Home]:
    """Whatever runs in it at the end is stopped, and everything in it removed. What `cold` hubs do
    without: `warm_processes`."""
    # Not pytest's own: a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="chatbridge-")).resolve()
    named = {f"CHATBRIDGE_{name}": value for name, value in settings.items()}
    home = Home(folder, named, cold=cold)
    try:
        yield home
    finally:
        home.stop_hub()
        shutil.rmtree(folder)


# ── the person ────────────────────────────────────────────────────────────────────────────────────


class Refused(Exception):
    """The web inbox answered with an error."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class Person:
    """Sees and answers asks through the web inbox's API."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def address(self) -> str:
        def found() -> str | None:
            info = lock_file.read(str(self.state))
            return info.web if info else None

        return until(found, "the inbox's address")

    @property
    def token(self) -> str:
        return (self.state / "web-token").read_text(encoding="ascii").strip()

    def request(self, path: str, body: Json | None = None) -> Any:
        """:raises Refused:"""
        request = urllib.request.Request(
            self.address() + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, json.load(error)) from None

    def open_asks(self) -> list[Json]:
        found: list[Json] = self.request("/api/asks?status=open")
        return found

    def sees(self, text: str, *, project: str) -> Json:
        """The open ask that begins with this question, once it is there."""

        def found() -> Json | None:
            for ask in self.open_asks():
                if ask["agent"]["project"] == project and ask["questions"][0]["question"] == text:
                    return ask
            return None

        return until(found, f"the ask {text[:60]!r} in {project}")

    def answer(self, ask: Json, *answers: Json) -> Json:
        """One answer for each question, in their order: `{"values": […], "customText": …}`."""
        named = [
            {"questionId": question["id"], **answer}
            for question, answer in zip(ask["questions"], answers, strict=True)
        ]
        given: Json = self.request(f"/api/asks/{ask['id']}/answer", {"answers": named})
        return given

    def cancel(self, ask_id: str, *, reason: str | None = None) -> Json:
        body = {} if reason is None else {"reason": reason}
        given: Json = self.request(f"/api/asks/{ask_id}/cancel", body)
        return given


# ── the agent ─────────────────────────────────────────────────────────────────────────────────────


def text_of(result: CallToolResult) -> str:
    """The text of a result, which is all of its content."""
    (text,) = texts_of(result)
    return text


def texts_of(result: CallToolResult) -> list[str]:
    blocks = [block for block in result.content if isinstance(block, TextContent)]
    assert len(blocks) == len(result.content)
    return [block.text for block in blocks]


def refusal_of(result: CallToolResult) -> tuple[str, str]:
    """The two lines of a refusal."""
    assert result.is_error, text_of(result)
    assert result.structured_content is None
    sentence, details = text_of(result).split("\n")
    return sentence, details


def told(result: CallToolResult) -> Json:
    """A result of the questions form: its JSON, which is its structured content, too."""
    assert not result.is_error
    found: Json = json.loads(text_of(result))
    assert result.structured_content == found
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An agent in its project, and the person that it asks."""

    client: Client
    home: Home
    project: Path

    @property
    def person(self) -> Person:
        return self.home.person

    async def ask(self, arguments: Json) -> CallToolResult:
        return await self.client.call_tool("ask_user", arguments, read_timeout_seconds=PATIENCE)

    async def wait_for(self, ask_id: str, **arguments: object) -> CallToolResult:
        return await self.client.call_tool(
            "wait_for_answer", {"askId": ask_id, **arguments}, read_timeout_seconds=PATIENCE
        )

    @asynccontextmanager
    async def asking(self, arguments: Json) -> AsyncIterator[tuple[asyncio.Task[Any], Json]]:
        """The waiting call, and what the person sees of it."""
        call = asyncio.create_task(self.ask(arguments))
        try:
            yield call, await self.sees(question_of(arguments))
        finally:
            call.cancel()
            await asyncio.wait({call})

    async def sees(self, text: str) -> Json:
        return await asyncio.to_thread(self.person.sees, text, project=self.project.name)

    async def answered(self, arguments: Json, *answers: Json) -> CallToolResult:
        """The result after the person gave these answers."""
        async with self.asking(arguments) as (call, ask):
            await asyncio.to_thread(self.person.answer, ask, *answers)
            result: CallToolResult = await call
        return result

    async def cancelled(self, arguments: Json, *, reason: str | None = None) -> CallToolResult:
        async with self.asking(arguments) as (call, ask):
            await asyncio.to_thread(self.person.cancel, ask["id"], reason=reason)
            result: CallToolResult = await call
        return result

    async def ticket(self, arguments: Json) -> str:
        """The id of an ask in the questions form that nobody waits for yet."""
        ask_id = told(await self.ask({**arguments, "wait": False}))["askId"]
        assert isinstance(ask_id, str)
        return ask_id


def question_of(arguments: Json) -> str:
    text = arguments.get("question") or arguments["questions"][0]["question"]
    assert isinstance(text, str)
    return text


def link_or_standalone(carrier: str) -> list[str]:
    """The words that a client runs as its server."""
    if carrier == "standalone":
        return [*warm_chatbridge(), "mcp", "--standalone"]
    return [*CHATBRIDGE, "mcp"]


@asynccontextmanager
async def connected(
    home: Home,
    project: Path,
    *,
    carrier: str = "link",
    mode: str = "auto",
    command: Sequence[str] | None = None,
    name: str = "acceptance",
) -> AsyncIterator[Connection]:
    """An official client on the stdio of a new link or standalone. Enter and leave it in one task.

    `command` is what the client runs instead, with no environment of ours; `name` is what it calls
    itself."""
    words = link_or_standalone(carrier)
    parameters = StdioServerParameters(
        command=command[0] if command else words[0],
        args=list(command[1:]) if command else words[1:],
        env={} if command else home.environment,
        cwd=project,
    )
    with (home.folder / "stderr.log").open("a", encoding="utf-8") as errors:
        transport = stdio_client(parameters, errlog=errors)
        info = Implementation(name=name, version="1")
        async with Client(transport, mode=mode, client_info=info) as client:
            yield Connection(client=client, home=home, project=project)
