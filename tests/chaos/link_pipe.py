"""One link process and an agent's end of its pipes: requests out, responses in, until it ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]

LONGEST_LINE = 4 * 1024 * 1024
ENDS_WITHIN = 20.0


class LinkGone(Exception):
    """The link has ended, and what it had written has been read."""


class LinkPipe:
    """Not made by hand: `LinkPipe.start`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        name: str,
        heard: Callable[[int, Json], None] = lambda number, response: None,
    ) -> None:
        """`heard` is told of every response, also of one that nobody waits for."""
        self.name = name
        self.process = process
        self._heard = heard
        self.private_lines = 0
        """Lines of its own that must never reach a client."""
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        command: list[str],
        *,
        name: str,
        cwd: Path,
        environment: dict[str, str],
        stderr: Path,
        born: Callable[[int, str], None],
        heard: Callable[[int, Json], None] = lambda number, response: None,
    ) -> LinkPipe:
        with stderr.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=cwd,
                env={"PATH": os.environ["PATH"], **environment},
                limit=LONGEST_LINE,
            )
        born(process.pid, name)
        return cls(process, name, heard)

    @property
    def gone(self) -> bool:
        return self._reading.done()

    async def initialize(self, client: str, capabilities: Json) -> Json:
        """:raises LinkGone:"""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": client, "version": "1"},
        }
        _, reply = self.request("initialize", params)
        found = await reply
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def request(self, method: str, params: Json) -> tuple[int, asyncio.Future[Json]]:
        """Its number, and the response when it comes. :raises LinkGone:"""
        number = next(self._numbers)
        reply: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        if self.gone:
            self._fail()
        else:
            self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number, reply

    def cancel(self, number: int) -> None:
        params = {"requestId": number, "reason": "waited long enough"}
        self._write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def barrier(self) -> None:
        """Once it returns, nothing more comes of what was cancelled before. :raises LinkGone:"""
        _, reply = self.request("ping", {})
        await reply

    async def close(self) -> None:
        """As a client ends: it closes the pipe, and waits a while before it kills."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                await self.process.wait()
                await asyncio.wait({self._reading})
        except TimeoutError:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
            raise AssertionError(f"{self.name} did not end when its client went") from None

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await asyncio.wait({self._reading})

    # ── lines ─────────────────────────────────────────────────────────────────────────────────────

    def _write(self, message: Json) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended; the reading end says so
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            async for line in self.process.stdout:
                message = json.loads(line)
                if "chatbridge" in message:
                    self.private_lines += 1
                elif "method" not in message:
                    self._heard(message.get("id"), message)
                    reply = self._waiting.pop(message.get("id"), None)
                    if reply is not None and not reply.done():
                        reply.set_result(message)
        except ValueError:
            pass  # killed in the middle of a line
        finally:
            asyncio.get_running_loop().call_soon(self._fail)

    def _fail(self) -> None:
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(LinkGone(self.name))
                reply.exception()  # who has stopped waiting for it need not look
        self._waiting.clear()
