"""The person at the computer: the web inbox by its API, and the terminal's `chatbridge answer`."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.places import World

Json = dict[str, Any]

LOOK_EVERY = 1.0
COMMAND_WITHIN = 60.0


@dataclass
class Desk:
    world: World
    http: httpx.AsyncClient
    asks: dict[str, Json] = field(default_factory=dict)
    """What is open, as the inbox said last."""
    commands: int = 0

    async def watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> bool:
        status, found = await self._request("GET", "/api/asks?status=open")
        if status != 200:
            return False
        self.asks = {ask["id"]: ask for ask in found}
        return True

    async def notices(self) -> list[str] | None:
        """What the inbox lists of them, the newest first."""
        status, found = await self._request("GET", "/api/notices")
        return [notice["message"] for notice in found] if status == 200 else None

    async def answer(self, ask: Json, values: list[tuple[str, ...]]) -> tuple[bool | None, str]:
        """Whether the inbox took it, and what it said."""
        named = [
            {"questionId": question["id"], "values": list(each)}
            for question, each in zip(ask["questions"], values, strict=True)
        ]
        status, said = await self._request(
            "POST", f"/api/asks/{ask['id']}/answer", {"answers": named}
        )
        if status is None or status >= 500:
            return None, str(said)
        return status == 200, str(said)[:200]

    async def type_answer(self, ask: str, words: tuple[str, ...]) -> tuple[bool | None, str]:
        """On the terminal. A command that failed may still have been heard."""
        return await self._typed("answer", ask, *words)

    async def tell(self, agent: str, text: str) -> bool:
        """On the terminal. Whether it said that the message is taken."""
        return (await self._typed("tell", agent, text))[0] is True

    async def list_open(self) -> None:
        """On the terminal; what it says is only searched for secrets."""
        await self._typed("pending")

    async def _typed(self, *words: str) -> tuple[bool | None, str]:
        self.commands += 1
        file = self.world.stderr_of(f"{words[0]}-{self.commands}")
        with file.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "chatbridge", *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env={"PATH": os.environ["PATH"], **self.world.command_environment()},
            )
        try:
            async with asyncio.timeout(COMMAND_WITHIN):
                code = await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            return None, "it did not end"
        said = file.read_text(errors="replace")
        return True if code == 0 else None, said[:200]

    async def _request(
        self, method: str, path: str, body: Json | None = None
    ) -> tuple[int | None, Any]:
        """The status: 0 if nobody was there, None if the connection broke."""
        where = self.world.inbox()
        if where is None:
            return 0, "no hub"
        address, token = where
        try:
            reply = await self.http.request(
                method, address + path, json=body, headers={"Authorization": f"Bearer {token}"}
            )
            return reply.status_code, reply.json()
        except httpx.ConnectError as error:
            return 0, str(error)
        except (httpx.HTTPError, ValueError) as error:
            return None, repr(error)
