"""Whether an installed chatbridge works, as its user would notice. `.ci/packages` runs it with the
Python of the installation, in an empty home: `installed.py CHATBRIDGE [matrix]`.

Nothing of the repository is imported, and nothing but what chatbridge itself needs.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOBODY = "http://127.0.0.1:9"
"""Where no chat service listens: the channels are imported, and say that they cannot reach it."""
CHATS = {
    "CHATBRIDGE_TELEGRAM__TOKEN": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "CHATBRIDGE_TELEGRAM__ALLOWED_USERS": "1",
    "CHATBRIDGE_TELEGRAM__API_BASE": NOBODY,
    "CHATBRIDGE_MATRIX__HOMESERVER": NOBODY,
    "CHATBRIDGE_MATRIX__USER_ID": "@bot:example.org",
    "CHATBRIDGE_MATRIX__ACCESS_TOKEN": "secret",
    "CHATBRIDGE_MATRIX__ALLOWED_USERS": "@ada:example.org",
}
FILES = (
    "py.typed",
    "channels/web/static/inbox.css",
    "channels/web/static/inbox.js",
    "channels/web/static/icon-192.png",
    "channels/web/templates/list.html",
    "cli/service/units/chatbridge.service",
    "cli/service/units/chatbridge-system.socket",
    "commands/definitions/examples/git.json",
    "settings/example.toml",
    "store/sqlite/schema/0001_initial.sql",
)
WITHIN = 60.0


class Installation:
    def __init__(self, command: str, *, matrix: bool) -> None:
        self.command, self.matrix = command, matrix
        self.env = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        self.env |= CHATS

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [self.command, *words], env=self.env, capture_output=True, text=True, timeout=WITHIN
        )
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def eventually(self, look: Callable[[], Any], what: str) -> Any:
        give_up = time.monotonic() + WITHIN
        while time.monotonic() < give_up:
            if found := look():
                return found
            time.sleep(0.1)
        raise AssertionError(what)

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json")))


def it_says_what_it_is(it: Installation) -> None:
    version = importlib.metadata.version("chatbridge-mcp")
    assert it.run("--version") == f"chatbridge {version}\n"
    assert "usage: chatbridge" in it.run("--help")


def its_files_are_there(it: Installation) -> None:
    import chatbridge

    package = Path(chatbridge.__file__).parent
    missing = [name for name in FILES if not (package / name).is_file()]
    assert not missing, missing
    licences = importlib.metadata.files("chatbridge-mcp") or []
    assert any(file.name == "LICENSE" for file in licences)


def its_units_and_definitions_can_be_used(it: Installation) -> None:
    from chatbridge.cli.service import unit_files

    script = Path(sys.executable).with_name("chatbridge")
    assert f"ExecStart={script} hub" in unit_files.contents()["chatbridge.service"]
    it.run("tools", "add", "git")
    assert (Path(it.env["HOME"]) / ".config/chatbridge/tools/git.json").is_file()
    it.run("tools", "check")


def an_agent_sees_the_tools(it: Installation) -> None:
    from mcp import StdioServerParameters
    from mcp.client.session import ClientSession
    from mcp.client.stdio import stdio_client

    async def listed() -> set[str]:
        server = StdioServerParameters(command=it.command, args=["mcp"], env=it.env)
        async with (
            asyncio.timeout(WITHIN),
            stdio_client(server) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return {tool.name for tool in (await session.list_tools()).tools}

    assert {"ask_user", "notify_user", "git_status"} <= asyncio.run(listed())


def a_question_is_answered_through_the_api(it: Installation) -> None:
    import httpx2

    asking = subprocess.Popen(
        [it.command, "ask", "Deploy?", "-o", "Yes", "-o", "No"],
        env=it.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    url = it.eventually(lambda: it.status()["web"], "the inbox has an address").rstrip("/")
    token = Path(it.env["HOME"], ".local/state/chatbridge/web-token").read_text().strip()
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as api:
        (ask,) = it.eventually(lambda: api.get("/api/asks?status=open").json(), "the ask is open")
        answer = {"questionId": ask["questions"][0]["id"], "values": ["Yes"]}
        done = api.post(f"/api/asks/{ask['id']}/answer", json={"answers": [answer]})
        assert done.status_code == 200, done.text
        assert "chatbridge" in api.get("/login").text
        assert api.get("/static/inbox.css").status_code == 200
    assert asking.communicate(timeout=WITHIN)[0] == "Yes\n"
    assert asking.returncode == 0


def each_channel_is_there_or_says_what_to_install(it: Installation) -> None:
    def troubles() -> dict[str, str] | None:
        found = {each["name"]: each["trouble"] for each in it.status()["channels"]}
        return found if found["telegram"] and found["matrix"] else None

    found = it.eventually(troubles, "the chats cannot be reached")
    assert found["web"] is None
    assert "cannot be reached" in found["telegram"], found
    said = "cannot be reached" if it.matrix else "packages for Matrix are not installed. Run: "
    assert said in found["matrix"], found
    if not it.matrix:
        sys.stderr.write(found["matrix"].partition("Run: ")[2] + "\n")


@contextmanager
def a_hub_of_its_own(it: Installation) -> Iterator[None]:
    try:
        yield
    finally:
        subprocess.run([it.command, "stop"], env=it.env, capture_output=True, timeout=WITHIN)


def main(command: str, *extras: str) -> None:
    it = Installation(command, matrix="matrix" in extras)
    with a_hub_of_its_own(it):
        for check in (
            it_says_what_it_is,
            its_files_are_there,
            its_units_and_definitions_can_be_used,
            an_agent_sees_the_tools,
            a_question_is_answered_through_the_api,
            each_channel_is_there_or_says_what_to_install,
        ):
            check(it)
            sys.stdout.write(f"    {check.__name__.replace('_', ' ')}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
