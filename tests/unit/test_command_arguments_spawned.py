"""Real programs get exactly these arguments: no shell is in between, and nothing is added."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.arguments.environment import environment_of
from chatbridge.commands.arguments.executable import Programs
from chatbridge.commands.definitions.definition import Command
from tests.fakes.made_commands import made

pytestmark = pytest.mark.process

PYTHON = os.path.realpath(sys.executable)
"""Outside of the project whose tests these are."""
NASTY = [
    "a b",
    "$(touch made_by_a_shell)",
    "`touch made_by_a_shell`",
    "; touch made_by_a_shell #",
    "| touch made_by_a_shell",
    "*",
    "~",
    "$HOME",
    "\n--force\n",
    "--force",
    "'\"\\",
    "é \U0001f600 \u202e",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: Command, folder: Path, **given: Any) -> tuple[int, bytes]:
    """As the runner does: posix_spawn with this list and nothing else. Exit code and output."""
    argv = argv_of(command, given, project=folder)
    programs = Programs()
    environment = environment_of((), secrets=(), path=programs.path())
    reading, writing = os.pipe()
    with open(reading, "rb") as output:
        to = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)]
        file = programs.find(argv[0])
        pid = os.posix_spawn(file, argv, environment, file_actions=to)
        os.close(writing)
        printed = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), printed


def test_a_program_receives_every_argument_to_the_letter(folder: Path) -> None:
    probe = made(
        {"name": "note", "type": "string", "flag": "-n"},
        {"name": "all", "type": "array"},
        {"name": "set", "type": "object"},
        {"name": "files", "type": "array", "positional": True},
        program=PYTHON,
        argv=["-c", "import json, sys; print(json.dumps(sys.argv[1:]))"],
    )
    given = {"note": NASTY[1], "all": NASTY, "set": {"k": NASTY[2]}, "files": NASTY}
    code, printed = run(probe, folder, **given)
    assert code == 0
    assert json.loads(printed) == [
        f"-n{NASTY[1]}",
        *(f"--all={each}" for each in NASTY),
        f"--set=k={NASTY[2]}",
        "--",
        *NASTY,
    ]
    assert list(folder.iterdir()) == []


def test_a_program_in_the_owners_home_is_told_where_it_is(folder: Path) -> None:
    bin_ = folder / "venv" / "bin"
    bin_.mkdir(parents=True)
    home = Path(os.path.realpath(sys.executable))
    (bin_ / "python").symlink_to(home)
    (folder / "venv" / "pyvenv.cfg").write_text(f"home = {home.parent}\n")
    shown = made(program="~/venv/bin/python", argv=["-c", "import sys; print(sys.prefix)"])
    assert run(shown, folder) == (0, f"{folder}/venv\n".encode())


def test_printf_prints_what_was_given(folder: Path) -> None:
    texts = {"name": "texts", "type": "array", "positional": True}
    printf = made(texts, program="printf", argv=["%s\\0"], separator=None)
    given = [each for each in NASTY if not each.startswith("-")]
    code, printed = run(printf, folder, texts=given)
    assert (code, printed.decode().split("\0")[:-1]) == (0, given)


def test_git_takes_messages_and_files_that_look_like_options_as_what_they_are(folder: Path) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
        return done.stdout.decode()

    git("init", "-q")
    git("config", "user.name", "Somebody")
    git("config", "user.email", "somebody@example.org")
    names = ["--force", "-A", "a b", "$(id)"]
    for name in [*names, "other"]:
        (folder / name).touch()
    files = {"name": "files", "type": "array", "positional": True}
    message = {"name": "message", "type": "string"}

    assert run(made(files, program="git", argv=["add"]), folder, files=names) == (0, b"")
    commit = made(message, program="git", argv=["commit", "--quiet"])
    assert run(commit, folder, message="--amend; $(id)") == (0, b"")

    assert git("log", "--format=%B").strip() == "--amend; $(id)"
    assert sorted(git("ls-files", "-z").split("\0")[:-1]) == sorted(names)
