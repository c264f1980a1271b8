"""No repository decides which programs the owner's commands run: real hubs that were started with
a repository's virtual environment in front of PATH, and real processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.definitions import definition, written
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import Agent, House, house
from tests.fakes.program import CHATBRIDGE, bare

FORGED = "forged by the repository"


@pytest.fixture
def here() -> Iterator[House]:
    with house() as found:
        yield found


def program(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def activated(project: Path) -> dict[str, str]:
    """A virtual environment of a repository, with programs of its own, as a shell activates it."""
    folder = project / ".venv" / "bin"
    for name in ("python3", "git"):
        program(folder / name, f"#!/bin/sh\necho {FORGED}\n")
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(folder.parent),
        "GIT_CONFIG_GLOBAL": str(project / "git-config"),
        "BASH_ENV": str(folder / "git"),
        "ENV": str(folder / "git"),
    }


def define(
    here: House, name: str, *, command: str, environment: Sequence[str] = (), **more: object
) -> None:
    folder = here.state.parent / ".config" / "chatbridge" / "tools"
    part = {"name": "default", "description": "Run it", "synchronous": True, **more}
    whole = definition(name, command=[command], environment=environment, subcommands=[part])
    written(folder, name, whole)


@contextmanager
def hub_by(who: str, here: House) -> Iterator[None]:
    """Started with what the house's environment says: by the first agent, or in a terminal."""
    if who == "agent":
        with here.agent() as first:
            first.initialize()
            yield
        return
    process = subprocess.Popen(
        [*CHATBRIDGE, "hub"], stderr=subprocess.DEVNULL, env=bare(here.environment)
    )
    try:
        here.until_hub(process.pid)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def ran(agent: Agent, tool: str) -> str:
    agent.request(tool, "tools/call", {"name": tool, "arguments": {}})
    return str(agent.receive()["result"]["content"][0]["text"])


@pytest.mark.parametrize("who", ["agent", "terminal"])
def test_neither_an_interpreter_nor_a_bare_name_is_taken_from_a_repository(
    here: House, who: str
) -> None:
    here.environment |= activated(here.project)
    bin_ = here.state.parent / "bin"
    program(bin_ / "deploy", "#!/usr/bin/env python3\nimport os; print(os.environ['PATH'])\n")
    define(here, "deploy", command="~/bin/deploy")
    define(here, "git", command="git", argv=["--version"])
    with hub_by(who, here), here.with_project("other").agent() as agent:
        agent.initialize()
        path = ran(agent, "deploy")
        assert "/usr/bin" in path.split(":")
        assert str(here.project) not in path
        assert ran(agent, "git").startswith("git version ")


def test_the_card_names_the_program_that_is_run(here: House) -> None:
    here.environment |= activated(here.project)
    define(here, "git", command="git", argv=["--version"], approve="always", synchronous=False)
    with hub_by("agent", here), here.with_project("other").agent() as agent:
        agent.initialize()
        ran(agent, "git")
        (question,) = here.until()["questions"]
        assert question["subject"]["code"] == f"{os.path.realpath('/usr/bin/git')} --version"


def test_what_an_agents_client_sets_does_not_reach_a_command(here: House) -> None:
    here.environment |= {
        **activated(here.project),
        "PYTHONPATH": f"{bare({})['PYTHONPATH']}{os.pathsep}{here.project}",
        "XDG_STATE_HOME": str(here.project),
        "XDG_RUNTIME_DIR": str(here.project),
    }
    script = program(here.state.parent / "bin" / "show", "#!/bin/sh\nenv\n")
    named = ["VIRTUAL_ENV", "GIT_CONFIG_GLOBAL", "PYTHONPATH", "HOME", "XDG_RUNTIME_DIR"]
    define(here, "show", command=str(script), environment=named)
    with hub_by("agent", here), here.with_project("other").agent() as agent:
        agent.initialize()
        shown = ran(agent, "show")
        assert str(here.project) not in shown
        assert f"HOME={here.environment['HOME']}\n" not in shown


def test_a_program_inside_any_project_is_refused_with_what_to_do(here: House) -> None:
    script = program(here.project / "scripts" / "deploy", "#!/bin/sh\necho deployed\n")
    define(here, "deploy", command=str(script))
    define(here, "git", command="git", argv=["--version"])
    with hub_by("agent", here), here.with_project("other").agent() as agent:
        agent.initialize()
        said = ran(agent, "deploy")
        assert f"it lies in the project {here.project}, where agents can write" in said
        assert ran(agent, "git").startswith("git version ")
        (here.project / ".git").rmdir()  # the hub knows it all the same, and so does the next one
        assert ran(agent, "deploy") == said
        here.kill_hub()
        assert ran(agent, "deploy") == said
