"""A hub's limit on descriptors, and that of the programs that it starts."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chatbridge import lock_file
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.program import CHATBRIDGE, bare

SOFT_LIMIT = 64
LIMITED = ("/bin/sh", "-c", f'ulimit -Sn {SOFT_LIMIT} && exec "$@"', "sh")
DEFINITION = {
    "schema": 2,
    "name": "limit",
    "command": ["/bin/sh", "-c", "ulimit -Sn"],
    "subcommands": [{"name": "default", "argv": [], "description": "Say it", "synchronous": True}],
}


@pytest.fixture(scope="module")
def here() -> Iterator[House]:
    """Where a hub runs that was started with few descriptors."""
    with house(cold=True) as found:
        folder = Path(found.environment["HOME"], ".config", "chatbridge", "tools")
        folder.mkdir(mode=0o700, parents=True)
        (folder / "limit.json").write_text(json.dumps(DEFINITION), encoding="utf-8")
        process = subprocess.Popen(
            [*LIMITED, *CHATBRIDGE, "hub", "--started-by", "service"],
            stderr=subprocess.DEVNULL,
            env=bare(found.environment),
        )
        try:
            found.until_hub(process.pid)
            yield found
        finally:
            process.terminate()
            process.wait(PATIENCE)


def soft_limit(pid: int) -> int:
    limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    found = re.search(r"^Max open files +(\d+)", limits, re.MULTILINE)
    assert found
    return int(found[1])


def test_a_hub_answers_more_connections_than_it_was_started_with_descriptors(here: House) -> None:
    with ExitStack() as opened:
        info = lock_file.read(str(here.state))
        assert info
        assert info.web
        at = urlsplit(info.web)
        for _ in range(2 * SOFT_LIMIT):
            address = (str(at.hostname), int(at.port or 0))
            connection = opened.enter_context(socket.create_connection(address, PATIENCE))
            connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
            assert connection.recv(1024).startswith(b"HTTP/1.1 200")
        assert here.asks() == []
        assert soft_limit(info.pid) > 2 * SOFT_LIMIT


def test_a_command_gets_the_limit_that_the_hub_was_started_with(here: House) -> None:
    with here.agent() as agent:
        agent.initialize()
        agent.request(1, "tools/call", {"name": "limit", "arguments": {}})
        (said,) = agent.receive()["result"]["content"]
        assert said["text"].strip() == str(SOFT_LIMIT)
