"""The watchdog of the benchmark: what hangs says where, and is ended."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from tests.bench.machine import MARK
from tests.bench.watchdog import Hung, processes, watchdog


async def waits_for_ever() -> None:
    await asyncio.Event().wait()


async def test_a_part_that_hangs_is_ended_and_its_stack_told(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Hung, match="burst"), watchdog("burst", 0.05):
        await waits_for_ever()
    said = capfd.readouterr().err
    assert "burst has taken more than" in said
    assert "waits_for_ever" in said
    await asyncio.sleep(0)  # and whoever watched can go on


async def test_a_part_that_ends_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    with watchdog("burst", 30.0):
        await asyncio.sleep(0)
    assert capfd.readouterr().err == ""


def waiting(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process that has begun, and ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.readline()
    return process


@pytest.mark.process
def test_the_processes_of_a_run_are_known_by_their_mark() -> None:
    here = dict(os.environ)
    with waiting({**here, MARK: str(os.getpid())}) as ours, waiting(here) as other:
        found = processes()
        ours.communicate(b"\n")
        other.communicate(b"\n")
    assert found == [ours.pid]
