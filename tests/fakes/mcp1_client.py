# mypy: ignore-errors
"""A program with the Python SDK before 2.0: it asks until it has an answer, on one session.

    python mcp1_client.py '<limits, in seconds>' <server> <argument> …

Each call has the next of the limits, the last one for good. It says what happens to each, one line
of JSON a call: `{"gaveUp": true}`, or its result. A ticket is turned in with wait_for_answer.
"""

import asyncio
import json
import os
import sys
from datetime import timedelta

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client

QUESTION = {
    "questions": [{"id": "c", "question": "Blue?", "type": "select", "options": ["red", "blue"]}]
}


async def main(limits: list[float], command: str, *arguments: str) -> None:
    server = StdioServerParameters(command=command, args=list(arguments), env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tool, given = "ask_user", QUESTION
        while True:
            limit = timedelta(seconds=limits.pop(0) if len(limits) > 1 else limits[0])
            try:
                result = await session.call_tool(tool, given, read_timeout_seconds=limit)
            except McpError:
                say({"gaveUp": True})
                continue
            told = result.structuredContent
            say(told)
            if not told.get("pending"):
                return
            tool, given = "wait_for_answer", {"askId": told["askId"]}


def say(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), *sys.argv[2:]))
