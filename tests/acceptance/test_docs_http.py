"""Requests of the documentation are sent to a real hub as they stand there."""

from __future__ import annotations

import json
import re
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import count
from typing import Any

import pytest

from chatbridge import lock_file
from tests.acceptance.bridge import new_home
from tests.acceptance.served import Served, served
from tests.documents.pages import Block, blocks, spans
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import COLOURS, House, house

Json = dict[str, Any]
REQUEST = re.compile(r"(GET|POST) (/\S+)")
REQUESTS = sorted({found.groups() for _, span in spans() if (found := REQUEST.fullmatch(span))})
ANSWER: Json = {"answers": [{"questionId": "c", "values": ["red"]}]}
BODIES: dict[str, Json] = {"/answer": ANSWER, "/cancel": {"reason": "not now"}}
OTHERS = ("/_synapse/",)
"""Requests to servers of others."""
NUMBERS = count(1)
"""No two questions are the same, or the answer to one would be kept for the other."""
ADDRESS = "agents.example.org"
INITIALIZE: Json = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "pages", "version": "1"},
    },
}
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


# ── the inbox ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as found:
        with found.agent() as agent:
            agent.initialize()
        found.asks()  # the inbox is up a moment later
        yield found


def new_ask(home: House) -> str:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1, {**COLOURS, "title": f"Number {next(NUMBERS)}", "wait": False})
        return str(agent.result()["askId"])


def sent(
    home: House, method: str, path: str, body: Json | None = None, *, token: bool = True
) -> tuple[int, str]:
    """The status, and what is read of the response; nothing of one that does not end."""
    info = lock_file.find_holder(str(home.state))
    assert info
    assert info.web
    secret = (home.state / "web-token").read_text().strip()
    headers = {"Authorization": f"Bearer {secret}"} if token else {}
    with closing(HTTPConnection(info.web.removeprefix("http://"), timeout=PATIENCE)) as line:
        given = None if body is None else json.dumps(body)
        line.request(method, path, given, {**headers, "Content-Type": "application/json"})
        with line.getresponse() as response:
            return response.status, "" if "events" in path else response.read().decode()


@pytest.mark.parametrize(
    ("method", "path"), REQUESTS, ids=[" ".join(request) for request in REQUESTS]
)
def test_a_request_is_answered_as_the_page_says(home: House, method: str, path: str) -> None:
    if path.startswith(OTHERS):
        return
    where = path.replace("{id}", new_ask(home))
    body = next((it for end, it in BODIES.items() if path.endswith(end)), None)
    assert (method == "POST") == (body is not None)
    no_longer_kept = "/operations/" in path
    assert sent(home, method, where, body)[0] == (404 if no_longer_kept else 200)
    if body:
        assert sent(home, method, where, body)[0] == 409


def test_an_answer_that_does_not_fit_is_422_with_the_fields_path(home: House) -> None:
    wrong = {"answers": [{"questionId": "c", "values": [7]}]}
    status, said = sent(home, "POST", f"/api/asks/{new_ask(home)}/answer", wrong)
    assert status == 422
    assert "answers[0].values[0]" in said


def test_health_needs_no_token_and_the_rest_does(home: House) -> None:
    new_ask(home)
    assert sent(home, "GET", "/healthz", token=False)[0] == 200
    assert sent(home, "GET", "/api/status", token=False)[0] == 401


# ── agents on other machines ──────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def hub() -> Iterator[Served]:
    with new_home(HTTP__HOSTS=ADDRESS) as home, served(home) as found:
        yield found


def entries() -> Iterator[tuple[Block, Json]]:
    """Of clients that connect over HTTP."""
    for block in blocks():
        read = {"toml": tomllib.loads, "json": json.loads}.get(block.language)
        if read is not None and f"https://{ADDRESS}/mcp" in block.text:
            found = read(block.text)
            keys = ("mcpServers", "servers", "mcp_servers")
            (servers,) = (found[key] for key in keys if key in found)
            yield block, servers["chatbridge"]


def authorisation(entry: Json, token: str) -> str:
    """What the client sends, once it has put in the token that it was given."""
    if name := entry.get("bearer_token_env_var"):
        assert name == "CHATBRIDGE_TOKEN"
        return f"Bearer {token}"
    return re.sub(r"\$\{[\w:-]+\}", token, entry["headers"]["Authorization"])


ENTRIES = list(entries())


@pytest.mark.parametrize(
    ("block", "entry"), ENTRIES, ids=[str(block.place) for block, _ in ENTRIES]
)
def test_an_agent_gets_in_with_the_entry_on_the_page(
    hub: Served, block: Block, entry: Json
) -> None:
    request = urllib.request.Request(
        hub.url,
        data=json.dumps(INITIALIZE).encode(),
        headers={
            "Host": ADDRESS,
            "Authorization": authorisation(entry, hub.token(f"page-{block.place.line}")),
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    with DIRECT.open(request, timeout=PATIENCE) as response:
        assert b'"serverInfo"' in response.read()
