"""The runner and its hubs: killed ones, two at once, strangers, and what is not from a hub."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.operations.runner_client import NotHandedOver
from chatbridge.commands.runner import PROTOCOL, service, start
from chatbridge.core.errors import RunnerUnavailable
from tests.fakes.runner_desk import (
    PATIENCE,
    Desk,
    alive,
    desk,
    end_runner,
    eventually,
    gone,
    open_gate,
)

PROC = Path("/proc")
OTHER_HUB = """
import asyncio, sys
from tests.fakes.runner_desk import desk

async def main():
    async with desk(sys.argv[1], linger=1.0) as hub:
        await hub.line.start(hub.shell("echo ran >> count; read -r _ < gate; exit 9"))
        await hub.line.start(hub.shell("exit 8", id="two"))
        await hub.end("two")
        print("started", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""
STRANGER = """
import os, socket, sys
os.setgid(61001)
os.setuid(61001)
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
sock.settimeout(20)
try:
    sock.sendall(b'{"hub": 1}\\n')
    print(sock.recv(100))
except (BrokenPipeError, ConnectionResetError):
    print(b"")
"""


@pytest.fixture
async def hub(state: str) -> AsyncIterator[Desk]:
    async with desk(state) as it:
        yield it
    await end_runner(state)


@pytest.fixture
def killed_hub(state: str) -> None:
    """A hub, as a process, that was killed with one command running and one ended."""
    os.mkfifo(f"{state}/gate")
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER_HUB, state], stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "started\n"
        other.kill()


async def hear(sock: socket.socket) -> bytes:
    """Until the runner has hung up."""
    found = b""
    async with asyncio.timeout(PATIENCE):
        while data := await asyncio.get_running_loop().sock_recv(sock, 4096):
            found += data
    return found


async def send(sock: socket.socket, data: bytes) -> None:
    try:
        await asyncio.get_running_loop().sock_sendall(sock, data)
    except OSError:
        pass  # it has hung up already


def knock(state: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(start.socket_path(state))
    sock.setblocking(False)
    return sock


async def test_commands_of_a_killed_hub_go_on_and_the_next_hears_of_each_end_once(
    killed_hub: None, hub: Desk, state: str
) -> None:
    known = await hub.line.known()
    assert known["one"] is None
    assert known["two"] is not None
    assert known["two"].exit_code == 8
    open_gate(state)
    assert (await hub.end("one")).exit_code == 9
    assert sorted(end.id for end in hub.told) == ["one", "two"]
    assert (hub.home / "count").read_text() == "ran\n"


async def test_it_ends_by_itself_when_nothing_runs_and_no_hub_is_there(
    killed_hub: None, state: str
) -> None:
    pid = start.holder(state)[1]
    assert pid is not None
    assert alive(pid), "a command of the killed hub goes on"
    open_gate(state)
    await gone(pid)
    async with desk(state) as hub:
        assert (await hub.line.known())["one"] == hub.told[0]
        assert hub.told[0].exit_code == 9


async def test_commands_of_a_killed_hub_can_be_stopped_by_the_next(
    killed_hub: None, hub: Desk
) -> None:
    await hub.line.stop("one")
    assert (await hub.end("one")).how == "stopped"


async def test_the_newer_of_two_hubs_counts_and_the_older_gives_up(hub: Desk, state: str) -> None:
    os.mkfifo(f"{state}/gate")
    await hub.line.start(hub.shell("read -r _ < gate"))
    async with desk(state) as newer:
        assert await newer.line.known() == {"one": None}
        open_gate(state)
        assert (await newer.end("one")).exit_code == 0
        with pytest.raises(RunnerUnavailable):
            await hub.line.start(hub.shell("true", id="two"))
        assert (await newer.run(newer.shell("true", id="three"))).exit_code == 0
    assert hub.told == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b"\xff\xfe\n",
        b'{"do": "start", "order": {}}\n',
        b'{"do": "stop", "id": "one"}\n',
        b'{"hub": %d}\n{"do": "start"}\n' % PROTOCOL,
        b'{"hub": %d}\n{"do": "start", "order": {"id": "x"}}\n' % PROTOCOL,
        b'{"hub": %d}\n{"do": "fly", "id": "one"}\n' % PROTOCOL,
        b'{"hub": %d}\n{"do": "stop", "id": ["one"]}\n' % PROTOCOL,
        b'{"hub": %d}\n{"do": ["stop"], "id": "one"}\n' % PROTOCOL,
        b"[" * 100_000 + b"\n",
        b'{"hub": ' + b"[" * 50_000 + b"]" * 50_000 + b"}\n",
        b"x" * (service.MAX_LINE + 10) + b"\n",
    ],
    ids=lambda it: repr(it[:40]),
)
async def test_garbage_is_hung_up_on_and_harms_nothing(
    hub: Desk, state: str, garbage: bytes
) -> None:
    await hub.line.start(hub.shell("sleep 300"))
    runner = hub.pid
    with knock(state) as sock:
        await send(sock, garbage)
        await hear(sock)
    assert alive(runner)
    log = hub.home / "hub.log"
    await eventually(lambda: "a connection was closed: " in log.read_text())
    async with desk(state) as hub:
        assert await hub.line.known() == {"one": None}
        assert (await hub.run(hub.shell("true", id="two"))).exit_code == 0


async def test_the_runner_itself_starts_no_id_twice(hub: Desk, state: str) -> None:
    await hub.run(hub.shell("true", id="zero"))
    order = asdict(hub.shell("echo ran >> count; exit 4"))
    start_it = json.dumps({"do": "start", "order": order}).encode() + b"\n"
    with knock(state) as sock:
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        writer.write(b'{"hub": %d}\n' % PROTOCOL + start_it + start_it)
        heard: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE):
            while len(heard) < 6:
                heard.append(json.loads(await reader.readline()))
                if heard[-1].get("ended", {}).get("id") == "one":
                    writer.write(start_it)
        writer.close()
        await writer.wait_closed()
    assert [it["has"] for it in heard if "has" in it] == ["one"] * 3
    ends = [it["ended"] for it in heard if "ended" in it]
    assert [(it["id"], it["exit_code"]) for it in ends] == [("zero", 0), ("one", 4)]
    assert (hub.home / "count").read_text() == "ran\n"


async def test_who_does_not_say_that_it_is_a_hub_takes_nothing_over(hub: Desk, state: str) -> None:
    await hub.run(hub.shell("true"))
    knocking = [knock(state) for _ in range(30)]
    assert (await hub.run(hub.shell("true", id="two"))).exit_code == 0
    for sock in knocking:
        sock.close()
    assert (await hub.run(hub.shell("true", id="three"))).exit_code == 0


@pytest.mark.root
async def test_another_user_is_not_listened_to(hub: Desk, state: str) -> None:
    await hub.run(hub.shell("true"))
    hub.home.chmod(0o711)
    path = start.socket_path(state)
    os.chmod(path, 0o666)  # noqa: S103 - so that only the runner itself can refuse it
    with tempfile.TemporaryFile() as said:
        stranger = await asyncio.create_subprocess_exec(
            sys.executable, "-c", STRANGER, path, stdout=said
        )
        assert await asyncio.wait_for(stranger.wait(), PATIENCE) == 0
        said.seek(0)
        assert said.read() == b"b''\n"
    assert (await hub.run(hub.shell("true", id="two"))).exit_code == 0


async def test_a_runner_of_another_protocol_ends_with_its_commands_and_then_a_new_one_starts(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(f"{state}/gate")
    async with desk(state) as older:
        await older.line.start(older.shell("read -r _ < gate; exit 2"))
        runner = older.pid
    monkeypatch.setattr("chatbridge.commands.operations.runner_client.PROTOCOL", PROTOCOL + 1)
    monkeypatch.setattr("chatbridge.commands.operations.runner_client.LOOK_AGAIN_SECONDS", 0.02)
    async with desk(state) as newer:
        assert await newer.line.known() == {"one": None}
        with pytest.raises(NotHandedOver, match="another version"):
            await newer.line.start(newer.shell("true", id="two"))
        open_gate(state)
        assert (await newer.end("one")).exit_code == 2
        await gone(runner)


async def test_a_runner_that_cannot_be_started_is_said_to_be_unavailable(hub: Desk) -> None:
    hub.socket.write_text("in the way")
    with pytest.raises(NotHandedOver, match="it is no socket"):
        await hub.line.start(hub.shell("true"))
    hub.socket.unlink()
    assert (await hub.run(hub.shell("true"))).exit_code == 0


@pytest.mark.parametrize("words", [b"hello\n", b"[1]\n", b"\xff"])
async def test_what_is_no_runner_is_not_talked_to(
    hub: Desk, words: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.commands.operations.runner_client.ATTEMPTS", 2)

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        writer.close()

    async with await asyncio.start_unix_server(answer, hub.socket):
        with pytest.raises(NotHandedOver, match="cannot be reached"):
            await hub.line.start(hub.shell("true"))


async def test_its_command_line_and_environment_say_nothing_of_the_hub(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", "secret")
    async with desk(state) as plain:
        await plain.run(plain.shell("true"))
        process = PROC / str(plain.pid)
        names = {it.split(b"=")[0] for it in (process / "environ").read_bytes().split(b"\0") if it}
        assert names <= {*map(str.encode, start.INHERITED), b"PYTHONUTF8"}
        words = (process / "cmdline").read_bytes().split(b"\0")
        assert words[2:5] == [b"-m", b"chatbridge.commands.runner", state.encode()]
        assert os.readlink(process / "cwd") == "/"


async def test_orders_from_callers_that_give_up_leave_the_line_in_order(
    hub: Desk,
) -> None:
    waiting = [
        asyncio.create_task(hub.line.start(hub.order("/bin/true", id=f"{n}"))) for n in range(40)
    ]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert (await hub.run(hub.shell("exit 3", id="last"))).exit_code == 3
    known = await hub.line.known()
    assert {f"{n}" for n in range(1, 40, 2)} <= set(known)


async def test_signals_to_the_hubs_group_do_not_reach_the_runner(hub: Desk) -> None:
    await hub.run(hub.shell("true"))
    assert os.getsid(hub.pid) not in (os.getsid(0), hub.pid)
    os.kill(hub.pid, signal.SIGHUP)
    assert (await hub.run(hub.shell("true", id="two"))).exit_code == 0
