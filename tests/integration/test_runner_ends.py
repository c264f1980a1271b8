"""Commands that are ended, and runners that end: by time, by request, by force."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.commands.operations.runner_client import Order
from tests.fakes.runner_desk import Desk, alive, desk, end_runner, eventually, gone, open_gate

FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(name):
    with open(name + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(name + ".new", name)
    time.sleep(300)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            say("strayed")
        os._exit(0)
    say("grandchild")
say("first")
"""
"""Three processes that ignore SIGTERM; one of them has left the session and its parents."""

LARGE = """
import mmap, os, socket, time
if os.fork() == 0:
    os.setsid()
    held = mmap.mmap(-1, 512 << 20)
    for at in range(0, len(held), mmap.PAGESIZE):
        held[at] = 1
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        time.sleep(300)
time.sleep(300)
"""
"""Its child has left the session, holds much memory, and listens."""


@pytest.fixture
async def hub(state: str) -> AsyncIterator[Desk]:
    async with desk(state) as it:
        yield it
    await end_runner(state)


async def family(hub: Desk, order: Order) -> list[int]:
    """Their numbers, when all of them run."""
    await hub.line.start(order)
    files = [Path(hub.state, name) for name in ("first", "grandchild", "strayed")]
    await eventually(lambda: all(file.exists() for file in files))
    return [int(file.read_text()) for file in files]


async def test_a_time_out_ends_every_process_also_those_that_ignore_it(hub: Desk) -> None:
    script = "trap '' TERM; echo $$; (sleep 300 & echo $!; wait) & setsid sleep 300 & echo $!; wait"
    end = await hub.run(hub.shell(script, timeout=4.0))  # a busy machine has to start all three
    pids = [int(line) for line in hub.printed().split()]
    assert (end.how, end.exit_code, end.signal) == ("timed_out", None, signal.SIGKILL)
    assert len(pids) == 3
    assert not any(alive(pid) for pid in pids)


async def test_a_time_out_holds_while_no_hub_is_there(state: str) -> None:
    async with desk(state) as first:
        await first.line.start(first.shell("sleep 300", timeout=0.5))
    await eventually((first.outputs / "one.end").exists)
    async with desk(state) as second:
        await second.line.known()
        assert [end.how for end in second.told] == ["timed_out"]


async def test_stopping_ends_every_process_also_one_that_left_the_session(hub: Desk) -> None:
    pids = await family(hub, hub.python(FAMILY))
    await hub.line.stop("one")
    end = await hub.end("one")
    assert (end.how, end.signal) == ("stopped", signal.SIGKILL)
    assert not any(alive(pid) for pid in pids)


async def test_an_end_is_told_when_a_process_that_left_holds_nothing_any_more(hub: Desk) -> None:
    """While the kernel takes its memory back, it still has its files and ports."""
    await hub.line.start(hub.python(LARGE))
    await eventually(hub.printed)
    await hub.line.stop("one")
    assert (await hub.end("one")).how == "stopped"
    with socket.socket() as free:
        free.bind(("127.0.0.1", int(hub.printed())))


async def test_a_command_that_tidies_up_when_it_is_stopped_has_its_time_and_its_words(
    state: str,
) -> None:
    async with desk(state, grace=60.0) as hub:
        script = (
            "import signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: (print('tidied'), sys.exit(3)))\n"
            "print('ready', flush=True)\n"
            "time.sleep(300)"
        )
        await hub.line.start(hub.python(script))
        await eventually(lambda: hub.printed() == b"ready\n")
        await hub.line.stop("one")
        end = await hub.end("one")
        assert (end.how, end.exit_code) == ("stopped", 3)
        assert hub.printed() == b"ready\ntidied\n"
    await end_runner(state)


async def test_a_halted_command_can_be_stopped(state: str) -> None:
    async with desk(state, grace=60.0) as hub:
        await hub.line.start(hub.shell("kill -STOP $$"))
        await hub.line.stop("one")
        end = await hub.end("one")
        assert (end.how, end.signal) == ("stopped", signal.SIGTERM)
    await end_runner(state)


async def test_a_stop_right_after_the_start_is_not_missed(hub: Desk) -> None:
    starting = asyncio.create_task(hub.line.start(hub.shell("sleep 300")))
    await asyncio.sleep(0)
    await hub.line.stop("one")
    await starting
    assert (await hub.end("one")).how == "stopped"


async def test_stopping_what_has_ended_or_never_was_changes_nothing(hub: Desk) -> None:
    end = await hub.run(hub.shell("exit 4"))
    await hub.line.stop("one")
    await hub.line.stop("unheard of")
    assert dict(await hub.line.known()) == {"one": end}
    assert hub.told == [end]


async def test_a_runner_that_is_killed_takes_its_commands_along_and_that_is_told(
    hub: Desk,
) -> None:
    await hub.run(hub.shell("exit 5", id="before"))
    pids = await family(hub, hub.python("print('so far', flush=True)\n" + FAMILY))
    await eventually(lambda: hub.printed() == b"so far\n")
    os.kill(hub.pid, signal.SIGKILL)
    end = await hub.end("one")
    assert (end.how, end.exit_code, end.size) == ("lost", None, len("so far\n"))
    await asyncio.gather(*(gone(pid) for pid in pids))
    known = await hub.line.known()
    assert {it.id: it.how for it in known.values() if it} == {"before": "exited", "one": "lost"}
    assert [it.id for it in hub.told] == ["before", "one"]
    assert (await hub.run(hub.shell("exit 6", id="after"))).exit_code == 6, "there is a new one"


async def test_a_runner_that_is_killed_takes_along_what_has_cleaned_its_environment(
    hub: Desk,
) -> None:
    script = "echo $$; env -i sleep 300 & echo $!; exec env -i sleep 300"
    await hub.line.start(hub.shell(script))
    await eventually(lambda: len(hub.printed().split()) == 2)
    pids = [int(line) for line in hub.printed().split()]
    await eventually(lambda: all(cleaned(pid) for pid in pids))
    os.kill(hub.pid, signal.SIGKILL)
    assert (await hub.end("one")).how == "lost"
    await asyncio.gather(*(gone(pid) for pid in pids))


def cleaned(pid: int) -> bool:
    return not Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_runner_that_died_while_no_hub_was_there_is_noticed_by_the_next(state: str) -> None:
    async with desk(state) as first:
        pids = await family(first, first.python(FAMILY))
        runner = first.pid
    os.kill(runner, signal.SIGKILL)
    await gone(runner)
    async with desk(state) as second:
        known = await second.line.known()
        assert [end.how for end in known.values() if end] == ["lost"]
        await asyncio.gather(*(gone(pid) for pid in pids))
        assert [end.id for end in second.told] == ["one"]
        await second.line.forget("one")
    async with desk(state) as third:
        assert not await third.line.known()


async def test_a_runner_that_is_ended_ends_its_commands_and_says_so(hub: Desk) -> None:
    pids = await family(hub, hub.python(FAMILY))
    runner = hub.pid
    os.kill(runner, signal.SIGTERM)
    end = await hub.end("one")
    assert (end.how, end.error) == ("stopped", "what runs commands was ended")
    assert not any(alive(pid) for pid in pids)
    await gone(runner)
    record = json.loads((hub.outputs / "one.end").read_text())
    assert record["how"] == "stopped"
    assert not hub.socket.exists()


async def test_a_hub_that_leaves_an_idle_runner_lets_it_end_at_once(state: str) -> None:
    async with desk(state, linger=3600.0) as hub:
        await hub.run(hub.shell("true"))
        runner = hub.pid
    await gone(runner)


async def test_looking_what_is_known_starts_no_runner(hub: Desk) -> None:
    assert not await hub.line.known()
    await hub.line.stop("one")
    assert not hub.socket.exists()


async def test_a_log_that_cannot_be_written_ends_neither_the_runner_nor_what_runs(
    hub: Desk,
) -> None:
    """As on a full disk, where the record of an end cannot be written either."""
    (hub.home / "hub.log").symlink_to("/dev/full")
    os.mkfifo(hub.home / "gate")
    await hub.line.start(hub.shell("read go < gate; exit 7"))
    runner = hub.pid
    (hub.outputs / "one.end.new").mkdir()
    open_gate(hub.state)
    assert (await hub.end("one")).exit_code == 7
    assert (await hub.run(hub.shell("exit 8", id="two"))).exit_code == 8
    assert hub.pid == runner


async def test_an_end_that_could_not_be_recorded_is_known_to_the_next_hub_at_once(
    hub: Desk, state: str
) -> None:
    os.mkfifo(hub.home / "gate")
    await hub.line.start(hub.shell("read go < gate; exit 7"))
    (hub.outputs / "one.end.new").mkdir()
    open_gate(state)
    await hub.end("one")
    async with desk(state) as following:
        end = (await following.line.known())["one"]
        assert end is not None
        assert end.exit_code == 7
        assert [each.id for each in following.told] == ["one"]
