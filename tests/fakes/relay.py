"""A relay between a client and a homeserver: counts requests, and loses, holds or answers some. For
a while it may be as a homeserver that is down, or one that answers nobody.

What the server said to a request that is lost never arrives: it has done what was asked of it, and
the client does not know.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Self

PATIENCE = 20.0


@dataclass(slots=True, kw_only=True)
class Rule:
    """What happens to requests like this one, instead of what would."""

    like: re.Pattern[str]
    times: int
    answer: bytes | None = None
    """Comes from the relay; the server hears nothing."""
    hold: bool = False
    """Is neither passed on nor answered before `go`."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    met: asyncio.Event = field(default_factory=asyncio.Event)

    async def came(self) -> None:
        """Once there was such a request, and if it is lost, once the server has answered it."""
        async with asyncio.timeout(PATIENCE):
            await self.met.wait()


class Relay:
    def __init__(self, port: int) -> None:
        self.requests: list[str] = []
        """Method and path of each, oldest first."""
        self.port = 0
        self._to = port
        self._rules: list[Rule] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._down = False
        self._answering = asyncio.Event()
        self._answering.set()

    @classmethod
    @asynccontextmanager
    async def running(cls, port: int) -> AsyncIterator[Self]:
        """To the server at this port of this machine."""
        self = cls(port)
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for each in self._connections:
                each.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, like: str) -> int:
        return sum(re.search(like, each) is not None for each in self.requests)

    def lose(self, like: str) -> Rule:
        """The next request like this reaches the server, and its answer reaches nobody."""
        return self._add(Rule(like=re.compile(like), times=1))

    def hold(self, like: str) -> Rule:
        return self._add(Rule(like=re.compile(like), times=1, hold=True))

    def refuse(self, like: str, *, status: int, body: object, hold: bool = False) -> Rule:
        text = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\n"
        answer = f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text
        return self._add(Rule(like=re.compile(like), times=1, answer=answer, hold=hold))

    @contextmanager
    def down(self) -> Iterator[None]:
        """Every connection ends, new ones at once."""
        self._down = True
        for each in self._connections:
            each.cancel()
        yield
        self._down = False

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Requests are taken, and nothing is answered before the end."""
        self._answering.clear()
        yield
        self._answering.set()

    def _add(self, rule: Rule) -> Rule:
        self._rules.append(rule)
        return rule

    def _rule(self, request: str) -> Rule | None:
        for rule in self._rules:
            if rule.times > 0 and rule.like.search(request):
                rule.times -= 1
                return rule
        return None

    # ── one connection ────────────────────────────────────────────────────────────────────────────

    async def _accept(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self._down:
            back.close()
            return
        task = asyncio.ensure_future(self._serve(client, back))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait({task})

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        async with AsyncExitStack() as stack:
            stack.callback(back.close)
            try:
                server, on = await asyncio.open_connection("127.0.0.1", self._to)
                stack.callback(on.close)
                while await self._pass_on(client, back, server, on):
                    pass
            except (OSError, asyncio.IncompleteReadError):
                pass  # one of them has gone

    async def _pass_on(
        self,
        client: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        on: asyncio.StreamWriter,
    ) -> bool:
        """One request and its answer; whether another may follow."""
        head = await client.readuntil(b"\r\n\r\n")
        request = head.partition(b" HTTP/")[0].decode()
        body = await client.readexactly(_length(head))
        self.requests.append(request)
        rule = self._rule(request)
        if rule is not None and (rule.answer is not None or rule.hold):
            rule.met.set()
            if rule.hold:
                await rule.go.wait()
            if rule.answer is not None:
                back.write(rule.answer)
                return True
        await self._answering.wait()
        on.write(head + body)
        answer = await _answer(server)
        if rule is not None and not rule.hold:
            rule.met.set()
            return False
        await self._answering.wait()
        back.writelines(answer)
        await back.drain()
        return True


async def _answer(server: asyncio.StreamReader) -> Sequence[bytes]:
    head = await server.readuntil(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return [head, await server.readexactly(_length(head))]
    parts = [head]
    while True:
        size = await server.readuntil(b"\r\n")
        parts += [size, await server.readexactly(int(size, 16) + 2)]
        if int(size, 16) == 0:
            return parts


def _length(head: bytes) -> int:
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0
