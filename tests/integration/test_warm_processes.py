"""Hubs and commands that are forked from a process with the imports behind it are like those that
are not."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import chatbridge
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.program import CHATBRIDGE, bare
from tests.fakes.warm.server import HEAVY
from tests.fakes.warm_processes import warm_environment, warm_hubs

PACKAGE = Path(chatbridge.__file__).parent


@pytest.fixture
def home() -> Iterator[House]:
    with house() as here:
        yield here


def connected(home: House) -> int:
    """The pid of the hub that an agent has started, with its inbox."""
    with home.agent() as agent:
        agent.initialize()
        assert home.asks() == []
        return home.hub()


def surroundings(pid: int) -> dict[str, object]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":\t", 1) for line in status)
    kept = ("Umask", "SigBlk", "SigIgn", "SigCgt", "PPid", "NoNewPrivs")
    return {
        "folder": os.readlink(f"/proc/{pid}/cwd"),
        "leads": os.getsid(pid) == os.getpgid(pid) and os.getsid(pid) not in (pid, os.getsid(0)),
        "standard input and output": [os.readlink(f"/proc/{pid}/fd/{it}") for it in (0, 1)],
        "descriptors": sorted(filter(_ours, map(_kind, Path(f"/proc/{pid}/fd").iterdir()))),
        **{name: fields[name] for name in kept},
    }


def alike(one: House, other: House) -> bool:
    return surroundings(one.hub()) == surroundings(other.hub())


def _ours(kind: str) -> bool:
    """Newer ones of libffi keep their own file open from the first callback on."""
    return not kind.startswith("libffi.")


def _kind(link: Path) -> str:
    """What a descriptor is of, without the numbers and folders that differ."""
    try:
        found = os.readlink(link)
    except FileNotFoundError:  # closed since it was listed
        return ""
    return Path(found).name if found.startswith("/") else found.partition("[")[0].partition(":")[0]


def test_what_a_hub_imports_when_it_runs_has_been_imported_before_it_is_forked() -> None:
    sources = (path.read_text() for path in PACKAGE.rglob("*.py"))
    found = {name for text in sources for name in re.findall(r'\(import_heavy, "(.+?)"', text)}
    assert found
    assert found <= {*HEAVY}


def test_a_warm_hub_has_nothing_of_its_parent_and_all_that_a_cold_one_has(home: House) -> None:
    nobody = warm_environment("nobody-listens-here")  # so that it starts alone
    with house(**nobody) as other, home.agent() as agent, other.agent() as its:
        for each in (agent, its):
            each.initialize()
        assert home.asks() == other.asks() == []  # both have their inbox then
        deadline = time.monotonic() + PATIENCE
        while not alike(home, other) and time.monotonic() < deadline:
            time.sleep(0.05)  # the connections that it was asked with are being closed
        assert surroundings(home.hub()) == surroundings(other.hub())
        assert warm_hubs(home.state) == [home.hub()]
        assert (warm_hubs(other.state), other.hubs()) == ([], [other.hub()])


def test_every_warm_hub_is_seeded_anew(home: House) -> None:
    connected(home)
    with house() as other:
        connected(other)
        tokens = [(it.state / "web-token").read_text() for it in (home, other)]
    assert tokens[0] != tokens[1]


def test_a_warm_hub_ends_on_a_signal_and_is_not_among_the_living_then(home: House) -> None:
    connected(home)
    home.kill_hub(signal.SIGTERM)
    assert home.hubs() == []
    log = (home.state / "hub.log").read_text(encoding="utf-8")
    assert "hub stops; open questions stay open" in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("words", "code"), [(["people"], 0), (["setup", "--non-interactive"], 2), (["nonsense"], 2)]
)
def test_a_warm_command_says_and_ends_as_a_cold_one(
    home: House, words: list[str], code: int
) -> None:
    warm, cold = (
        subprocess.run([*command, *words], capture_output=True, env=bare(home.environment))
        for command in (home.chatbridge, CHATBRIDGE)
    )
    assert (warm.returncode, warm.stdout, warm.stderr) == (code, cold.stdout, cold.stderr)
    assert cold.returncode == code


def test_a_warm_command_goes_along_with_whoever_ran_it(home: House) -> None:
    words = [*home.chatbridge, "mcp", "--standalone"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=bare(home.environment)) as process:
        assert home.asks() == []
        gone = os.pidfd_open(home.hub())
        process.kill()
        assert select.select([gone], [], [], PATIENCE)[0]
        os.close(gone)
