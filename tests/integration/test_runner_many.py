"""Many commands at once, and what the runner holds meanwhile and afterwards."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.runner.records import TAIL_BYTES, Output
from chatbridge.commands.runner.service import MAX_RUNNING
from tests.fakes.runner_desk import Desk, desk, end_runner, eventually

PROC = Path("/proc")
LIMIT = 200_000
BEGINNING = LIMIT - TAIL_BYTES
MEGABYTES = 80
"""More than the runner may weigh while two hundred commands have printed more than is kept."""


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def weight(pid: int) -> float:
    """Megabytes: its own memory and its share of what it shares."""
    rollup = (PROC / str(pid) / "smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) / 1024


def children(pid: int) -> list[str]:
    return (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()


async def run_many(hub: Desk, count: int, script: str) -> None:
    """All of them run at the same time, and end when the last one is there."""
    orders = [hub.shell(script, id=f"{n}", limit=LIMIT) for n in range(count)]
    await asyncio.gather(*(hub.line.start(order) for order in orders))
    known = await hub.line.known()
    assert all(known[order.id] is None for order in orders)


async def test_two_hundred_at_once_all_end_and_nothing_of_them_stays(state: str) -> None:
    count = 200
    os.mkfifo(f"{state}/gate")
    async with desk(state) as hub:
        await hub.run(hub.shell("true"))
        before = descriptors(hub.pid)
        await run_many(hub, count, "head -c 300000 /dev/zero; read -r _ < gate; exit 3")
        files = [hub.outputs / f"{n}" for n in range(count)]
        await eventually(lambda: {file.stat().st_size for file in files} == {BEGINNING})
        assert weight(hub.pid) < MEGABYTES
        # Opened for both, so that nobody who comes later waits for a writer.
        gate = os.open(f"{state}/gate", os.O_RDWR)
        os.write(gate, b"\n" * count)
        for n in range(count):
            assert (await hub.end(f"{n}")).exit_code == 3
        os.close(gate)
        assert {(end.size, end.left_out) for end in hub.told[1:]} == {(300_000, 300_000 - LIMIT)}
        assert len(hub.told) == count + 1
        assert descriptors(hub.pid) == before
        assert not children(hub.pid), "no zombie is left"
        for end in hub.told:
            await hub.line.forget(end.id)
        assert not await hub.line.known()
    await end_runner(state)


async def test_orphans_are_not_left_as_zombies(state: str) -> None:
    async with desk(state) as hub:
        await hub.line.start(hub.shell("sleep 300", id="long"))
        await hub.run(hub.shell("for i in 1 2 3; do (sh -c 'exit 1' & sleep 0.01 &) ; done"))
        await eventually(lambda: len(children(hub.pid)) == 1)
    await end_runner(state)


async def test_more_than_it_takes_are_not_started_and_told(state: str) -> None:
    async with desk(state) as hub:
        await run_many(hub, MAX_RUNNING, "exec sleep 300")
        end = await hub.run(hub.shell("true", id="one too many"))
        assert end.how == "not_started"
        assert "no more commands" in (end.error or "")
        await asyncio.gather(*(hub.line.stop(f"{n}") for n in range(MAX_RUNNING)))
        for n in range(MAX_RUNNING):
            assert (await hub.end(f"{n}")).how == "stopped"
    await end_runner(state)


@given(chunks=st.lists(st.binary(max_size=300)), limit=st.integers(0, 500))
def test_whatever_is_printed_its_beginning_and_its_end_are_kept(
    chunks: list[bytes], limit: int
) -> None:
    whole = b"".join(chunks)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "output")
        output = Output(path, limit=limit)
        for chunk in chunks:
            output.write(chunk)
        output.close()
        kept = Path(path).read_bytes()
    assert output.size == len(whole)
    line = f"\n[… {output.left_out} bytes left out …]\n".encode() if output.left_out else b""
    head = len(kept) - len(line) - min(limit // 2, len(whole))
    if not line:
        assert kept == whole
    else:
        assert kept == whole[:head] + line + whole[len(whole) - limit // 2 :]
        assert len(kept) - len(line) == limit
        assert output.left_out == len(whole) - limit


def test_a_full_disk_is_told_and_holds_nothing_up(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "output"), limit=1000)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, output._file)
    os.close(full)
    for _ in range(100):
        output.write(b"x" * 1000)
    output.close()
    assert (output.size, output.left_out) == (100_000, 100_000)
    assert "No space left" in (output.error or "")
