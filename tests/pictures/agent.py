"""The agent in the animated picture: takes an order on its terminal, and asks with `ask_user`.

What it says is pretence. Client, link, call and result are real, and the result is shown whole.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation, TextContent

PROMPT = "> "
WAITING = "waiting for the answer"
WIDTH = 46
DIM, BOLD, GREEN, PLAIN = "\x1b[90m", "\x1b[1m", "\x1b[32m", "\x1b[0m"
OPTIONS = [
    {"label": "PostgreSQL in Docker (recommended)", "description": "A container for each run"},
    {"label": "Keep SQLite", "description": "And skip the two tests"},
]
QUESTION = {
    "id": "database",
    "type": "select",
    "question": "Which database should the integration tests use?\n\nTwo need `SKIP LOCKED`.",
    "options": OPTIONS,
}


async def main() -> int:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "chatbridge", "mcp"], env=dict(os.environ)
    )
    told = Implementation(name="your-agent", title="Your agent", version="1")
    async with Client(stdio_client(server), client_info=told) as client:
        await asyncio.to_thread(input, PROMPT)
        _say("")
        _say("Two of them need SKIP LOCKED, and SQLite does not have it. I'd better ask.")
        _say("")
        _say("ask_user", "● ", BOLD)
        _say(str(QUESTION["question"]).partition("\n")[0], "  ")
        for option in OPTIONS:
            _say(option["label"], "  · ")
        print(f"\n  {DIM}{WAITING} …{PLAIN}", end="", flush=True)
        result = await client.call_tool("ask_user", {"questions": [QUESTION], "timeout": 1_800_000})
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert not result.is_error, block.text
        print("\r\x1b[K", end="")
        _say(block.text, "  ", GREEN)
        _say("")
        (answer,) = json.loads(block.text)["answers"]
        _say(f"{answer['values'][0].removesuffix(' (recommended)')}: I'll go on with that.")
    return 0


def _say(text: str, margin: str = "", style: str = "") -> None:
    for line in textwrap.wrap(text, WIDTH - len(margin)) or [""]:
        print(f"{margin}{style}{line}{PLAIN}", flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
