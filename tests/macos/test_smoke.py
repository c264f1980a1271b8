"""The program where nothing is that macOS lacks, in a few seconds. `make macos` tries the rest.

Tests of other folders are run in a masked environment: they are about the same outcomes.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.fakes.program import ROOT
from tests.macos.environment import make

PATIENCE = 240.0
OUTCOMES = (
    "acceptance/test_restart.py::test_a_call_that_waits_through_a_restart_gets_its_answer_once"
    "[handshake-9]",
    "acceptance/test_command_tools.py::test_a_new_file_is_a_new_tool_and_clients_of_both_eras_hear"
    "_of_it",
    "integration/test_runner_ends.py::test_a_time_out_ends_every_process_also_those_that_ignore_it",
    "integration/test_runner_ends.py::test_a_halted_command_can_be_stopped",
    "integration/test_links.py::test_a_process_of_another_user_is_turned_away_without_a_word",
    "integration/test_link_faults.py::test_nothing_is_said_to_a_socket_of_another_user",
    "integration/test_command_line.py::test_stop_ends_the_hub_and_waits_for_it",
    "integration/test_command_line.py::test_stop_never_signals_a_process_that_only_has_the_pid_of_a"
    "_dead_hub",
    "integration/test_launchd.py::test_a_waiting_agent_gets_its_answer_though_the_hub_crashes_and_is"
    "_restarted",
    "integration/test_agent_processes.py::test_a_person_in_a_shell_counts_while_an_agent_works_in"
    "_another_terminal",
)
SEEN = """
import os, select, socket, sys
from chatbridge.system import platform
names = ((os, "waitid"), (os, "pidfd_open"), (os, "O_PATH"), (select, "epoll"))
print(sys.platform, platform.MACOS, platform.PROC, any(hasattr(*each) for each in names))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("macos") / "environment")


def run(python: Path, *words: str) -> str:
    """In an environment with nothing that would tell Python of the mask."""
    done = subprocess.run(
        [python, *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(python.parent)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_mask_takes_away_what_macos_lacks(python: Path) -> None:
    assert run(python, "-I", "-c", SEEN).split() == ["darwin", "True", "False", "False"]


@pytest.mark.early
@pytest.mark.process
def test_asks_commands_recovery_and_refusals_work_without_what_macos_lacks(python: Path) -> None:
    tests = [f"tests/{each}" for each in OUTCOMES]
    said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert re.search(r"^\d+ passed in", said.splitlines()[-1]), said
