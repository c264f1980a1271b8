"""A user who is logged in to the container: their terminal, their service, their agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation

from tests.acceptance.bridge import PATIENCE, Json, text_of, until
from tests.fakes.container import CHATBRIDGE, Container

ASK_HUB = """
import json, sys
from chatbridge.cli.hub.hub_client import ask_hub
print(json.dumps(ask_hub(sys.argv[1], **json.loads(sys.argv[2]))))
"""
SEES_ONE = """
import json, time
from chatbridge.cli.hub.hub_client import ask_hub
while not (asks := ask_hub("pending")["asks"]):
    time.sleep(0.05)
print(json.dumps(asks))
"""
QUESTION: Json = {"question": "Deploy?", "options": ["Yes", "No"]}
WAITS = 4 * PATIENCE
"""For an answer, while one hub after another comes up; each of them has its own patience."""
EVERY = 0.2
"""Seconds between looks into the container: each is several processes."""


@dataclass(frozen=True, slots=True)
class Login:
    container: Container
    user: str

    # ── at the terminal ───────────────────────────────────────────────────────────────────────────

    def chatbridge(self, *words: str) -> str:
        return self.container.run(CHATBRIDGE, *words, user=self.user)

    def ask_hub(self, do: str, **given: object) -> Json:
        said = self.container.python(ASK_HUB, do, json.dumps(given), user=self.user)
        found: Json = json.loads(said)
        return found

    def pending(self) -> list[Json]:
        asks: list[Json] = self.ask_hub("pending")["asks"]
        return asks

    def sees_one(self) -> Json:
        """The only open question there is, once it is there."""
        (ask,) = json.loads(self.container.python(SEES_ONE, user=self.user))
        found: Json = ask
        return found

    # ── the service ───────────────────────────────────────────────────────────────────────────────

    def systemctl(self, *words: str) -> str:
        uid = self.container.run("id", "-u", self.user).strip()
        at = f"XDG_RUNTIME_DIR=/run/user/{uid}"
        return self.container.run("env", at, "systemctl", "--user", *words, user=self.user)

    def shown(self, name: str) -> str:
        return self.systemctl("show", "chatbridge.service", f"--property={name}", "--value").strip()

    def pid(self) -> int:
        return int(self.shown("MainPID"))

    def another_than(self, pid: int) -> int:
        """The service's new process, once it is ready."""

        def found() -> int | None:
            both = self.systemctl("show", "chatbridge.service", "--property=MainPID,ActiveState")
            now = dict(line.split("=", 1) for line in both.splitlines())
            new = int(now["MainPID"]) not in (0, pid) and now["ActiveState"] == "active"
            return int(now["MainPID"]) if new else None

        return until(found, "a new process of the service", every=EVERY)

    def holder(self) -> Json:
        """What the lock file says about the hub."""
        path = f"/home/{self.user}/.local/state/chatbridge/hub.lock"
        found: Json = json.loads(self.container.run("cat", path, user=self.user))
        return found

    # ── an agent ──────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def agent(self, folder: str, errors: Path) -> AsyncIterator[Client]:
        """An official client on the stdio of a new link that works in this folder."""
        words = self.container.words(
            "sh", "-c", f"cd {folder} && exec {CHATBRIDGE} mcp", user=self.user
        )
        parameters = StdioServerParameters(command=words[0], args=words[1:], env={})
        with errors.open("a", encoding="utf-8") as log:
            info = Implementation(name="acceptance", version="1")
            async with Client(stdio_client(parameters, errlog=log), client_info=info) as client:
                yield client


async def asked(client: Client) -> str:
    """The text of the result, when somebody has answered."""
    return text_of(await client.call_tool("ask_user", QUESTION, read_timeout_seconds=WAITS))


@asynccontextmanager
async def asking(client: Client) -> AsyncIterator[asyncio.Task[str]]:
    call = asyncio.create_task(asked(client))
    try:
        yield call
    finally:
        call.cancel()
        await asyncio.wait({call})
