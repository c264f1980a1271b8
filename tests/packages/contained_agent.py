"""An agent over HTTP, and the person who answers it, inside a container: `contained_agent.py ask
TOKEN`, `answer`, `knock`. `contained.py` sends it to the image's own Python.

Nothing of the repository is imported, and nothing but what chatbridge itself needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx2

AGENTS, INBOX = "http://127.0.0.1:8788/mcp", "http://127.0.0.1:8787"
QUESTION = {"question": "Deploy?", "type": "confirm"}
WITHIN = 60.0


async def ask(token: str) -> None:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    bearer = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=WITHIN) as http,
        Client(streamable_http_client(AGENTS, http_client=http)) as client,
    ):
        result = await client.call_tool("ask_user", {"questions": [QUESTION]})
    sys.stdout.write(json.dumps(result.structured_content))


def answer() -> None:
    token = Path(os.environ["CHATBRIDGE_STATE_DIR"], "web-token").read_text().strip()
    bearer = {"authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=INBOX, headers=bearer, timeout=WITHIN) as api:
        (open_ask,) = api.get("/api/asks?status=open").json()
        yes = {"questionId": open_ask["questions"][0]["id"], "values": ["yes"]}
        done = api.post(f"/api/asks/{open_ask['id']}/answer", json={"answers": [yes]})
    assert done.status_code == 200, done.text
    sys.stdout.write(open_ask["id"])


def knock() -> None:
    """What a stranger gets, and what a page gets whose name leads here."""
    with httpx2.Client(timeout=WITHIN) as stranger:
        named = {"host": "agents.example.org"}
        statuses = [
            stranger.post(AGENTS, json={}).status_code,
            stranger.post(AGENTS, json={}, headers=named).status_code,
            stranger.get(f"{INBOX}/api/asks").status_code,
            stranger.get(f"{INBOX}/login", headers=named).status_code,
            stranger.get(f"{INBOX}/healthz").status_code,
        ]
    sys.stdout.write(json.dumps(statuses))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", given]:
            asyncio.run(ask(given))
        case ["answer"]:
            answer()
        case ["knock"]:
            knock()
