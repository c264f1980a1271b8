"""A real `chatbridge serve`, and official clients that reach it over HTTP."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from chatbridge.hub.http import tokens
from tests.acceptance.bridge import PATIENCE, Connection, Home, until
from tests.acceptance.windows import Seat, Window
from tests.fakes.network import free_port
from tests.fakes.warm_processes import warm_chatbridge


@dataclass(slots=True)
class Served:
    home: Home
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def token(self, name: str) -> str:
        return tokens.add(str(self.home.state), name, now=1.0)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        until(lambda: self.home.lock_holder() is None or None, "its end")

    def start_again(self) -> None:
        self.process = _started(self.home, self.port)

    @asynccontextmanager
    async def client(
        self, token: str, name: str, mode: str, *, window: Window | None = None
    ) -> AsyncIterator[Seat]:
        """An agent with the token of this name. Enter and leave it in one task."""
        bearer = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=PATIENCE, verify=False) as http:
            client = Client(
                streamable_http_client(self.url, http_client=http),
                mode=mode,
                client_info=Implementation(name="acceptance", version="1"),
                elicitation_callback=window.callback if window else None,
            )
            async with client:
                # The name is the project; there is no folder of it.
                here = Connection(client=client, home=self.home, project=self.home.folder / name)
                yield Seat(here, window or Window())


@contextmanager
def served(home: Home) -> Iterator[Served]:
    port = free_port()
    made = Served(home, port, _started(home, port))
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.terminate()
        made.process.wait(PATIENCE)


def _started(home: Home, port: int) -> subprocess.Popen[bytes]:
    with (home.folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            [*warm_chatbridge(), "serve", "--http", f"127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], **home.environment},
            cwd=home.folder,
        )

    def listens() -> bool | None:
        assert process.poll() is None, (home.folder / "serve.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return None
        return True

    until(listens, "chatbridge serve to listen")
    return process
