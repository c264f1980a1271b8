"""Nothing that a hub writes has a secret in it, whatever fails and however much is logged."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from chatbridge.redaction import HIDDEN
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import house
from tests.fakes.program import bare

LETTERS = "AAF-x_yz0123456789abcdefghijklmnopq"
BOT = f"123456789:{LETTERS}"

HUB = """
import asyncio, gc, json, logging, os, sys, threading, warnings
import httpx, telegram
from chatbridge.core.errors import StoreError
from chatbridge import redaction
from chatbridge.hub.process import log as hub_log, standalone, start
from chatbridge.hub.wiring import serving as wiring

folder, call, token, server, nobody = sys.argv[1:]
letters = token.partition(":")[2]
log = logging.getLogger("chatbridge.channels.telegram")

class Broken:
    def __del__(self):
        raise ValueError("deleted " + token)

class Failure(Exception):
    pass

def fail(*texts):
    try:
        if len(texts) > 1:
            fail(*texts[1:])
    except Exception as error:
        raise Failure(texts[0]) from error
    raise Failure(texts[0])

async def failing(text):
    raise Failure(text)

async def everything_fails(lock, *_, **__):
    redaction.hide(token)
    hub_log.set_level("debug")
    async with httpx.AsyncClient() as client:
        await client.get(f"{server}/bot{token}/getMe")
        try:
            await client.get(f"{nobody}/bot{token}/getMe", params={"also": token})
        except httpx.ConnectError:
            log.exception("no network for %s", client.build_request("GET", f"{nobody}/{token}"))
    for base in (server, nobody):
        try:
            async with telegram.Bot(token, base_url=f"{base}/bot"):
                pass
        except telegram.error.TelegramError:
            log.exception("the bot failed")
    try:
        fail("outer " + token, "middle", f"inner {letters}", f"innermost {token.encode()}")
    except Failure as error:
        log.warning("nested", exc_info=ExceptionGroup(f"group {token}", [error]))
    log.error("%d is no number", token)
    log.debug({"url": f"https://host/bot{token}/x".replace(":", "%3A")})
    warnings.warn(f"a warning of {token}")
    thread = threading.Thread(target=fail, args=[f"thread {token}"], name=f"thread-{token}")
    thread.start()
    thread.join()
    Broken()
    asyncio.get_running_loop().call_soon(fail, f"callback {token}")
    task = asyncio.ensure_future(failing(f"task {token}"))
    await asyncio.wait([task])
    del task
    gc.collect()
    try:
        fail(f"cause {token}")
    except Failure as error:
        kind = StoreError if end == "problem" else RuntimeError
        raise kind(f"end {token}") from error

def forked(command, end):
    # True in the fork, whose output is in a folder of its own.
    state = f"{folder}/{command}-{end}"
    os.mkdir(state)
    if child := os.fork():
        with open(f"{state}/code", "w") as file:
            file.write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
        return False
    os.environ["HOME"] = os.environ["CHATBRIDGE_STATE_DIR"] = state
    reading, writing = os.pipe()
    os.write(writing, call.encode() + b"\\n")
    os.close(writing)
    os.dup2(reading, 0)
    for place, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{state}/{name}", os.O_WRONLY | os.O_CREAT), place)
    return True

wiring.run_hub = standalone._serve = everything_fails
cases = ((command, end) for command in ("hub", "standalone") for end in ("mistake", "problem"))
for command, end in cases:
    if forked(command, end):
        break
else:
    raise SystemExit(0)
run = start.main if command == "hub" else start.standalone_main
raise SystemExit(run(["--report-fd", "1"] if command == "hub" else []))
"""
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_user"}}


class Refusing(BaseHTTPRequestHandler):
    """A Bot API that does not know the bot."""

    def do_GET(self) -> None:
        body = json.dumps({"ok": False, "error_code": 401, "description": "Unauthorized"}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """The test's output is not the hub's."""


@contextmanager
def refusing_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each command and end, with what it wrote there."""
    folder = tmp_path_factory.mktemp("failed")
    # Bound but not listening: whoever connects is refused, and nobody else gets the port.
    with refusing_server() as server, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        subprocess.run(
            [sys.executable, "-c", HUB, folder, json.dumps(CALL), BOT, server, nobody],
            timeout=PATIENCE * 2,
            check=True,
            env=bare({}),
        )
    return folder


@pytest.mark.parametrize("end", ["mistake", "problem"])
@pytest.mark.parametrize("command", ["hub", "standalone"])
def test_whatever_fails_the_token_is_in_nothing_that_is_written(
    command: str, end: str, failed: Path
) -> None:
    state = failed / f"{command}-{end}"
    out, said, lock, code = (
        (state / name).read_text(encoding="utf-8") for name in ("out", "err", "hub.lock", "code")
    )
    for sign in (
        f"/bot{HIDDEN}/getMe",
        "DEBUG httpcore",
        "INFO httpx: HTTP Request",
        "DEBUG telegram",
        "httpx.ConnectError",
        "telegram.error.InvalidToken",
        f"outer {HIDDEN}",
        f"inner {HIDDEN}",
        f"innermost b'{HIDDEN}'",
        f"group {HIDDEN}",
        "a log line of chatbridge.channels.telegram could not be written",
        f"https%3A//host/bot{HIDDEN}/x",
        f"a warning of {HIDDEN}",
        f"thread-{HIDDEN} ended with an error",
        f"deleted {HIDDEN}",
        f"callback {HIDDEN}",
        f"task {HIDDEN}",
        f"end {HIDDEN}",
    ):
        assert sign in said, sign
    assert LETTERS not in said
    assert LETTERS not in out
    assert LETTERS not in lock
    if end == "mistake":
        assert f"cause {HIDDEN}" in said
        assert "CRITICAL chatbridge.hub.process.log: ends because of an unexpected error" in said
    elif command == "hub":
        # Its report to the link; what the database has may pass.
        assert json.loads(out) == {"error": f"end {HIDDEN}", "passing": True}
    else:
        assert f"end {HIDDEN}" in out  # its answer to the client
    assert code == ("0" if (command, end) == ("standalone", "problem") else "1")


def test_a_hub_at_debug_shows_what_libraries_do_and_no_token() -> None:
    with house(CHATBRIDGE_LOG_LEVEL="debug") as home:
        with home.agent() as agent:
            agent.initialize()
            agent.ask(1)
            home.answer(home.until())
            agent.result()
            token = (home.state / "web-token").read_text(encoding="ascii").strip()
            assert home.status(f"/api/nowhere?token={token}") == 404
        said = (home.state / "hub.log").read_text(encoding="utf-8")
    assert "DEBUG aiosqlite" in said
    assert "DEBUG mcp" in said
    assert token not in said


def test_a_hub_says_nothing_of_its_libraries_unless_it_is_told_to() -> None:
    with house() as home:
        with home.agent() as agent:
            agent.initialize()
        said = (home.state / "hub.log").read_text(encoding="utf-8")
    assert [line for line in said.splitlines() if " INFO chatbridge." not in line] == []
