"""`chatbridge tools`: what it says of real files, without a hub."""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from chatbridge.cli.agents import commands, definition_files
from chatbridge.cli.agents.definition_files import SCHEMA
from chatbridge.commands.definitions.library import Library
from tests.fakes.definitions import definition, written
from tests.fakes.program import ROOT

PROCESS = """
import sys
from chatbridge.__main__ import main
code = main(sys.argv[1:])
sys.stderr.write(" ".join(sys.modules))
sys.exit(code)
"""
HEAVY = {"aiosqlite", "httpx", "mcp", "nio", "starlette", "telegram", "uvicorn"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The usual folder of an owner, which is not there yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    owner = SimpleNamespace(pw_dir=str(tmp_path))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: owner)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "chatbridge" / "config.toml"))
    return tmp_path / "chatbridge" / "tools"


def configure(folder: Path, toml: str) -> None:
    folder.parent.mkdir(exist_ok=True)
    (folder.parent / "config.toml").write_text(toml)


def done(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = commands.tools(list(words))
    return code, *capsys.readouterr()


# ── check ─────────────────────────────────────────────────────────────────────────────────────────


def test_files_without_a_problem_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "git", definition("git", "status", "push"))
    written(folder, "off", definition("off", "x", enabled=False))
    assert done(capsys, "check") == (
        0,
        "✓ git.json         2 tools\n"
        "! off.json         no tools: nothing in it is enabled\n"
        "\nAll is well.\n",
        "",
    )


def test_every_problem_is_told_with_its_line_and_how_to_mend_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "git", definition("git", "status"))
    written(
        folder,
        "npm",
        """{
  "schema": 2,
  "name": "npm",
  "command": ["npm"],
  "approve": "sometimes",
  "subcommands": [{"name": "test", "description": "Test.", "timeout": -1}]
}""",
    )
    written(folder, "other", definition("git", "status"))
    code, out, err = done(capsys, "check")
    assert (code, err) == (1, "")
    assert "✓ git.json         1 tool\n" in out
    assert "✗ npm.json         line 5, approve: " in out
    assert "✗ npm.json         line 6, subcommands[0].timeout: " in out
    assert "✗ other.json" in out
    assert "the tool git_status is already defined in" in " ".join(out.split())
    kinds = re.findall(r"\[(\w+)\] \(accepted: ", " ".join(out.split()))
    assert kinds == ["not_allowed", "range", "collision"]
    assert out.count("→") == 3
    assert out.endswith("\n3 problems. A file with a problem has no tools; the others do.\n")


def test_the_name_that_one_client_has_for_ask_user_is_taken(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "human", definition("ask_human", "default"))
    code, out, _ = done(capsys, "check")
    assert code == 1
    assert "the tool ask_human is one of chatbridge's own [collision]" in " ".join(out.split())


def test_what_has_no_effect_is_a_remark_that_says_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {"name": "git", "description": "x", "command": "git", "guidance_key": "k"}
    written(folder, "git", old)
    code, out, err = done(capsys, "check")
    assert (code, err) == (0, "")
    assert " ".join(out.split()).startswith(
        '! git.json line 5, guidance_key: "guidance_key" [ignored] (chatbridge writes the guidance '
        "for the model itself) → take it out if you like ✓ git.json 1 tool"
    )


def test_what_is_wrong_with_a_folder_is_told_with_its_path(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, f'[commands]\ndirs = ["{folder}"]\n')
    code, out, _ = done(capsys, "check")
    assert code == 1
    assert "✗ ~/chatbridge/tools there is no such folder" in out


def test_files_of_the_same_name_are_told_apart_by_their_folders(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, f'[commands]\ndirs = ["{folder}", "{folder.parent}/more"]\n')
    written(folder, "git", definition("git", "status"))
    written(folder.parent / "more", "git", definition("other", "x"))
    code, out, _ = done(capsys, "check")
    assert code == 0
    assert "✓ ~/chatbridge/tools/git.json 1 tool\n" in out
    assert "✓ ~/chatbridge/more/git.json 1 tool\n" in out


def test_without_definitions_it_says_how_to_begin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "No definitions in ~/chatbridge/tools. An example to begin with: "
    assert done(capsys, "check") == (0, f"{said}chatbridge tools add git\n", "")
    assert done(capsys, "list") == (0, f"{said}chatbridge tools add git\n", "")


def test_files_that_are_named_are_checked_alone_and_wherever_they_are(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "broken", "{")
    one = written(tmp_path / "project", "one", definition("git", "status"))
    one.chmod(0o666)
    two = written(tmp_path / "project", "two", definition("git", "status"))
    assert done(capsys, "check", str(one))[0] == 0
    code, out, _ = done(capsys, "check", str(one), str(two))
    assert code == 1
    assert "✗ two.json" in out
    assert "broken" not in out
    assert done(capsys, "check", str(tmp_path / "gone.json"))[0] == 1


def test_a_program_that_the_hub_would_not_find_is_told_with_what_to_set(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / ".cargo" / "bin" / "no-such-program"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    written(folder, "own", definition("own", "run", command=["no-such-program"]))
    code, out, _ = done(capsys, "check")
    out = " ".join(out.split())
    assert code == 0
    assert (
        "! programs the program no-such-program was not found: ~/chatbridge/tools/own.json" in out
    )
    assert f'add "{program.parent}" to commands.path in config.toml' in out
    assert out.endswith("The files are fine, but not every program can be run.")
    configure(folder, f'[commands]\npath = ["{program.parent}"]\n')
    assert done(capsys, "check")[1].endswith("All is well.\n")
    (tmp_path / ".cargo" / ".git").mkdir()  # a hidden folder of the home: no project by itself
    assert done(capsys, "check")[0] == 0
    program.parent.chmod(0o777)
    code, out, _ = done(capsys, "check", "--json")
    assert code == 1
    first, second = json.loads(out)["programs"]
    assert first["fix"] == [f"chmod go-w {program.parent}"]
    assert second["what"].startswith("the program no-such-program was not found")


def test_programs_get_the_same_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = written(folder, "git", definition("git", "status"))
    bad = written(folder, "npm", definition("npm", "test") | {"approve": "sometimes"})
    code, out, err = done(capsys, "check", "--json")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert found["ok"] is False
    assert found["files"][0] == {
        "file": str(good),
        "tools": ["git_status"],
        "problems": [],
        "remarks": [],
    }
    (problem,) = found["files"][1]["problems"]
    assert (problem["file"], problem["path"], problem["line"]) == (str(bad), "approve", 14)
    assert problem["mend"]


def test_a_broken_configuration_is_told_and_not_taken_for_an_empty_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, '[commands]\ndirs = ["tools"]\n')
    code, out, err = done(capsys, "check")
    assert (code, out) == (1, "")
    assert "commands.dirs" in err


# ── list ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_shows_what_needs_an_approval(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "git", definition("git", "status", synchronous=True))
    written(folder, "npm", definition("npm", "test", approve="once-per-session"))
    written(folder, "zz", "{")
    assert done(capsys, "list") == (
        0,
        "TOOL         APPROVE            RUNS           FILE\n"
        "git_status   never              synchronous    git.json\n"
        "npm_test     once-per-session   asynchronous   npm.json\n",
        "1 problem in your files: chatbridge tools check\n",
    )
    code, out, _ = done(capsys, "list", "--json")
    assert code == 0
    first, second = json.loads(out)
    assert first == {
        "tool": "git_status",
        "argv": ["git", "status"],
        "description": "Do status.",
        "approve": "never",
        "synchronous": True,
        "destructive": False,
        "readOnly": False,
        "file": str(folder / "git.json"),
    }
    assert second["tool"] == "npm_test"


def test_the_list_says_if_commands_are_switched_off(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "[commands]\nenabled = false\n")
    written(folder, "git", definition("git", "status"))
    code, out, err = done(capsys, "list")
    assert code == 0
    assert "git_status" in out
    assert "commands.enabled" in err


# ── add ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_example_is_copied_into_the_owners_folder_and_works(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = done(capsys, "add", "git", "npm", "git")
    assert (code, err) == (0, "")
    assert out.startswith(
        "Added ~/chatbridge/tools/git.json\nAdded ~/chatbridge/tools/npm.json\nLook through"
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.glob("[!.]*")} == {0o600}
    library = Library([folder])
    library.load()
    assert library.problems == ()
    assert {"git_status", "npm_test"} <= set(library.commands)


def test_a_copy_names_the_schema_that_lies_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in definition_files.example_names():
        assert done(capsys, "add", name)[0] == 0
        said = json.loads((folder / f"{name}.json").read_text())["$schema"]
        assert said == f"./{SCHEMA}"
    assert (folder / SCHEMA).read_text() == (ROOT / "config" / "tools.schema.json").read_text()
    assert done(capsys, "check")[0] == 0


def test_a_file_that_is_there_is_never_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = written(folder, "git", definition("mine", "x"))
    before = own.read_text()
    code, out, err = done(capsys, "add", "git", "npm")
    assert code == 1
    assert "Added ~/chatbridge/tools/npm.json" in out
    assert err == "~/chatbridge/tools/git.json already exists and was not changed.\n"
    assert own.read_text() == before
    assert done(capsys, "add", "git") == (1, "", err)


def test_what_makes_the_copy_useless_is_said_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "a", definition("git", "status"))
    code, out, _ = done(capsys, "add", "git")
    assert code == 1
    assert "the tool git_status is already defined in" in " ".join(out.split())
    folder.chmod(0o777)
    code, out, _ = done(capsys, "add", "npm")
    assert code == 1
    assert "others can write to it" in out


def test_without_a_name_the_examples_are_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = done(capsys, "add")
    assert code == 0
    names = ["cargo", "git", "make", "npm", "pytest", "systemctl"]
    assert [line.split(" ")[0] for line in out.splitlines()[1:7]] == names
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../tools.schema", "GIT", "", "git.json"])
def test_what_is_no_example_is_refused_before_anything_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with pytest.raises(SystemExit) as end:
        commands.tools(["add", "git", name])
    assert end.value.code == 2
    assert f"there is no example {name!r}" in capsys.readouterr().err
    assert not folder.exists()


def test_the_package_has_the_very_examples_of_the_repository() -> None:
    packaged = ROOT / "chatbridge" / "commands" / "definitions" / "examples"
    assert os.path.samefile(packaged, ROOT / "config" / "tools")


# ── a process of its own ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code"),
    [(["check"], 0), (["check", "bad.json"], 1), (["check", "--jsonn"], 2), ([], 2)],
    ids=["fine", "problem", "option", "nothing"],
)
def test_a_script_gets_the_code_and_no_hub_is_started_or_imported(
    folder: Path, tmp_path: Path, words: list[str], code: int
) -> None:
    written(folder, "git", definition("git", "status"))
    written(tmp_path, "bad", "[]")
    state = tmp_path / "state"
    ran = subprocess.run(
        [sys.executable, "-c", PROCESS, "tools", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CHATBRIDGE_STATE_DIR": str(state)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.returncode == code, ran.stderr
    assert not HEAVY & set(ran.stderr.split())
    assert not state.exists()
