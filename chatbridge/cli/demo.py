"""`chatbridge demo`: a hub, a web inbox and a pretend agent, on this machine only.

Owns a folder and a hub, and leaves nothing of them behind, however it ends. The agent is the MCP
SDK's client and speaks to a real `chatbridge mcp`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from chatbridge import __version__, lock_file, runtime_paths, sockets
from chatbridge.cli.hub.hub_client import HubClient
from chatbridge.cli.hub.stop import end_hub
from chatbridge.core.errors import ChatbridgeError
from chatbridge.sockets import MAX_SOCKET_PATH

if TYPE_CHECKING:
    import httpx2

HELP = """\
usage: chatbridge demo

A pretend agent asks you three questions. Answer in the browser or here in the terminal; the first
answer counts, and what the agent gets is printed. The demo has a hub and a folder of its own, and
both are gone afterwards. Without a terminal it answers by itself.
"""
HUB_WITHIN = 30.0
STOP_WITHIN = 10.0
SOCKET_NAME = len("/hub-12345678.sock")
ASK: dict[str, Any] = {
    "title": "Release 2.4",
    "timeout": 1_800_000,
    "questions": [
        {
            "id": "branch",
            "type": "select",
            "question": "Which branch is released?",
            "options": [
                {"label": "release/2.4 (recommended)", "description": "Frozen since Tuesday"},
                {"label": "main", "description": "Has two changes more"},
            ],
        },
        {
            "id": "checks",
            "type": "multi-select",
            "question": "Which checks must pass before the tag is pushed?",
            "options": ["Unit tests", "Contract tests", "Load test"],
        },
        {
            "id": "notes",
            "type": "text",
            "question": "Anything the release notes must mention?",
            "required": False,
            "placeholder": "One sentence is enough",
        },
    ],
}
OWN_ANSWERS = [
    {"questionId": "branch", "values": ["release/2.4 (recommended)"]},
    {"questionId": "checks", "values": ["Unit tests", "Contract tests"]},
    {"questionId": "notes", "values": ["Faster start"]},
]


def main(argv: list[str]) -> int:
    if "-h" in argv or "--help" in argv:
        _say(HELP, end="")
        return 0
    if argv:
        sys.stderr.write(f"chatbridge demo does not know {argv[0]!r}.\n\n{HELP}")
        return 2
    interrupt = Interrupt()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        with _folder() as folder, Stage(folder) as stage:
            return asyncio.run(_until(interrupt, stage))
    except asyncio.CancelledError:
        _say("\nThe demo has ended. Nothing of it is left running.")
        return 0
    except ChatbridgeError as error:
        sys.stderr.write(f"{error}\n")
        return 1


class Interrupt:
    """The first signal ends the demo in order; what comes while it tidies up changes nothing.

    It never raises where it hits: that could be between a process and the note of its pid."""

    def __init__(self) -> None:
        self.seen = False
        self.cancel: Callable[[], object] | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        first, self.seen = not self.seen, True
        if first and self.cancel is not None:
            self.cancel()


async def _until(interrupt: Interrupt, stage: Stage) -> int:
    task = asyncio.ensure_future(_play(stage))
    loop = asyncio.get_running_loop()
    interrupt.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
    if interrupt.seen:
        task.cancel()
    return await task


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Private (0700), and short enough for a Unix socket's path."""
    name = os.path.join(os.path.realpath(tempfile.gettempdir()), "chatbridge-demo-12345678")
    short = len(os.fsencode(name)) + SOCKET_NAME <= MAX_SOCKET_PATH
    return tempfile.TemporaryDirectory(
        prefix="chatbridge-demo-",
        dir=None if short else "/tmp",  # noqa: S108 - the folder itself has an unguessable name
        ignore_cleanup_errors=True,
    )


class Stage:
    """The demo's hub, with a folder for everything it keeps."""

    def __init__(self, folder: str) -> None:
        self.state = os.path.realpath(folder)
        self.project = Path(self.state) / "demo"
        (self.project / ".git").mkdir(parents=True)
        # A checkout that is run in place is importable only by its path.
        checkout = str(Path(__file__).parents[2])
        self.environment = {
            "CHATBRIDGE_STATE_DIR": self.state,
            "CHATBRIDGE_RUNTIME_DIR": self.state,
            "CHATBRIDGE_CONFIG": os.path.join(self.state, "none.toml"),
            "PYTHONPATH": os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH")])),
        }

    def __enter__(self) -> Self:
        # The owner's own settings and hub have nothing to do with the demo.
        own = {k: v for k, v in os.environ.items() if not k.startswith("CHATBRIDGE_")}
        own.pop("CREDENTIALS_DIRECTORY", None)
        with open(runtime_paths.log_path(self.state), "ab") as log:
            self.hub = subprocess.Popen(
                [sys.executable, "-m", "chatbridge", "hub"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.state,
                env=own | self.environment,
                start_new_session=True,  # Ctrl-C is for us; the hub ends after its agent
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.hub.terminate()
        try:
            self.hub.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.hub.kill()
            self.hub.wait()
        # Had it died in between, the agent's link would have started another one.
        end_hub(self.state)

    async def inbox(self) -> str:
        """The inbox's address, once it is there.

        :raises ChatbridgeError: with the last thing the hub said.
        """
        until = time.monotonic() + HUB_WITHIN
        while self.hub.poll() is None and time.monotonic() < until:
            info = lock_file.read(self.state)
            if info is not None and info.web is not None and info.socket is not None:
                return info.web
            await asyncio.sleep(0.02)
        raise ChatbridgeError(f"The demo's hub did not come up: {self._last_words()}")

    def login_code(self) -> str:
        """As `chatbridge inbox` gets one."""
        info = lock_file.read(self.state)
        with sockets.connect((info and info.socket) or "") as sock:
            line = HubClient(sock)
            line.greet()
            return str(line.ask("login-code")["code"])

    def token(self) -> str:
        return Path(runtime_paths.token_path(self.state)).read_text(encoding="ascii").strip()

    def _last_words(self) -> str:
        log = Path(runtime_paths.log_path(self.state)).read_text(errors="replace")
        return log.strip().rpartition("\n")[2]


class Inbox:
    """The web inbox's API, as any script would use it."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def first_ask(self, *, unless: asyncio.Future[Any]) -> dict[str, Any] | None:
        """The open ask, once there is one; None if the call ends without."""
        while not unless.done():
            found = await self._http.get("/api/asks", params={"status": "open"})
            for ask in found.raise_for_status().json():
                return dict(ask)
            await asyncio.sleep(0.02)
        return None

    async def answer(self, ask_id: str, answers: list[dict[str, Any]]) -> bool:
        """Whether these answers were the first."""
        sent = await self._http.post(f"/api/asks/{ask_id}/answer", json={"answers": answers})
        if sent.status_code == 409:
            return False
        sent.raise_for_status()
        return True


async def _play(stage: Stage) -> int:
    _say("A pretend agent is about to ask you something. Nothing leaves this computer.")
    import httpx2  # like the agent's SDK, heavy; while the hub starts, it costs no time
    import mcp.client.client  # noqa: F401

    address = await stage.inbox()
    headers = {"authorization": f"Bearer {stage.token()}"}
    # No proxy is asked for the way to this computer.
    async with httpx2.AsyncClient(base_url=address, headers=headers, trust_env=False) as http:
        inbox = Inbox(http)
        link = f"{address}/login/{await asyncio.to_thread(stage.login_code)}"
        agent = asyncio.ensure_future(_ask(stage))
        answering: asyncio.Future[bool] | None = None
        try:
            ask = await inbox.first_ask(unless=agent)
            if ask is not None:
                _say(f"\nAnswer in the browser (the link works once, 10 minutes):\n  {link}\n")
                answering = asyncio.ensure_future(_answer(inbox, ask))
                await asyncio.wait({agent, answering}, return_when=asyncio.FIRST_COMPLETED)
            result = await agent
            if answering is not None and not (answering.done() and answering.result()):
                _say(f"\n\n{_elsewhere(result.structured_content or {})}")
        finally:
            tasks = [task for task in (agent, answering) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    _say("\nThe agent's call has returned:")
    for block in result.content:
        _say(block.text)
    _say("\nThat is all. Next: connect an agent of yours; README.md says how.")
    return 1 if result.is_error else 0


async def _answer(inbox: Inbox, ask: dict[str, Any]) -> bool:
    """Answer in the terminal, or without one by ourselves. Whether that was the first answer."""
    if not sys.stdin.isatty():
        _say("There is no terminal here, so the demo answers by itself, through the inbox's API.")
        return await inbox.answer(ask["id"], OWN_ANSWERS)
    from chatbridge.cli.questions.terminal_form import Lines, TerminalForm

    _say("or here. The first answer counts; Ctrl-C ends the demo.\n")
    form = TerminalForm(ask)
    _say(f"❓ {ask['agent']['project']} · {ask['agent']['name']}\n{form.screen()}")
    with Lines(sys.stdin.fileno()) as lines:
        while True:
            _say("> ", end="")
            line = await lines.next()
            if line is None:
                _say("\nNo more from the terminal; the browser's answer still counts.")
                return False
            reply = form.take(line)
            if reply.answers is None:
                _say(f"\n{reply.text}")
                continue
            first = await inbox.answer(ask["id"], form.as_json(reply.answers))
            if first:
                _say("\n✓ Sent from here.")
            return first


def _elsewhere(outcome: dict[str, Any]) -> str:
    """How the question ended without the terminal."""
    if outcome.get("answered"):
        return "✓ Answered in the web inbox."
    if outcome.get("cancelled"):
        return "✓ Cancelled in the web inbox."
    return "Nobody answered."


async def _ask(stage: Stage) -> Any:
    """What an agent does: start `chatbridge mcp`, call its tool, wait."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp_types import Implementation

    link = StdioServerParameters(
        command=sys.executable,
        args=["-m", "chatbridge", "mcp"],
        cwd=stage.project,
        env=stage.environment,
    )
    me = Implementation(name="chatbridge-demo", title="Demo agent", version=__version__)
    async with Client(stdio_client(link), client_info=me) as client:
        return await client.call_tool("ask_user", ASK)


def _say(text: str, *, end: str = "\n") -> None:
    print(text, end=end, flush=True)
