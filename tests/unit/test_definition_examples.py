"""The definitions that come along: careful, and right about the programs that they are for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.definition import Command, commands_of
from chatbridge.commands.tools.tool import schema_of
from chatbridge.core.errors import ToolInputError

pytestmark = pytest.mark.process

FOLDER = Path(__file__).parents[2] / "config" / "tools"
FILES = sorted(FOLDER.glob("*.json"))
NAMED = ("NAME", "EMAIL")
SHIPPED = ["cargo", "git", "make", "npm", "pytest", "systemctl"]


def commands(file: Path) -> dict[str, Command]:
    definition = check(file.read_text(), file=file).definition
    assert definition is not None
    return {command.tool: command for command in commands_of(definition, file)}


ALL = {tool: command for file in FILES for tool, command in commands(file).items()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit of one file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "a.txt")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def run(tool: str, project: Path, **given: object) -> subprocess.CompletedProcess[str]:
    return called(argv_of(ALL[tool], given, project=project), project)


def called(argv: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    owner = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in NAMED}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), **owner}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True)


def git(folder: Path, *arguments: str) -> str:
    done = called(("git", *arguments), folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_shipped_ones_are_there() -> None:
    assert [file.stem for file in FILES] == SHIPPED


@pytest.mark.parametrize("file", FILES, ids=SHIPPED)
def test_an_example_has_neither_problems_nor_remarks(file: Path) -> None:
    checked = check(file.read_text(), file=file)
    assert [problem.text() for problem in (*checked.problems, *checked.remarks)] == []


def test_every_argument_is_described() -> None:
    for command in ALL.values():
        schema = schema_of(command)
        assert all("description" in each for each in schema["properties"].values()), command.tool


def test_what_leaves_the_machine_or_brings_code_of_others_asks_every_time() -> None:
    always = {tool for tool, command in ALL.items() if command.approve == "always"}
    assert always == {"git_push", "git_discard", "npm_add", "cargo_add"}
    assert {tool for tool, command in ALL.items() if command.destructive} == {"git_discard"}


def test_what_runs_a_projects_code_asks_at_least_once() -> None:
    hooks = ("git_add", "git_commit", "git_switch", "git_new_branch")
    for tool, command in ALL.items():
        if command.group in ("cargo", "make", "npm", "pytest") or tool in hooks:
            assert command.approve != "never", tool


def test_what_never_asks_changes_nothing_that_cannot_be_taken_back() -> None:
    free = {tool for tool, command in ALL.items() if command.approve == "never"}
    assert {tool for tool in free if not ALL[tool].read_only} == {"git_unstage"}


def test_read_only_ones_wait_and_long_ones_do_not() -> None:
    assert all(command.synchronous for command in ALL.values() if command.read_only)
    for tool in ("make", "pytest", "cargo_build", "npm_install", "git_push", "git_fetch"):
        assert not ALL[tool].synchronous
        assert ALL[tool].hints


def test_git_records_what_was_staged(project: Path) -> None:
    (project / "-n.txt").write_text("new\n")
    (project / "a.txt").write_text("two\n")
    assert run("git_status", project).stdout.splitlines() == ["## main", " M a.txt", "?? -n.txt"]
    assert run("git_add", project, paths=["-n.txt", "a.txt"]).returncode == 0
    assert run("git_unstage", project, paths=["a.txt"]).returncode == 0
    assert "a.txt" in run("git_diff", project, stat=True).stdout
    assert "-n.txt" in run("git_diff", project, staged=True, paths=["-n.txt"]).stdout
    message = "--amend\n\n$(touch pwned) `id`"
    assert run("git_commit", project, message=message).returncode == 0
    assert git(project, "log", "--format=%B", "-1") == message
    assert git(project, "rev-list", "--count", "HEAD") == "2"
    assert git(project, "status", "--short") == "M a.txt"
    assert not (project / "pwned").exists()


def test_git_compares_and_lists_commits(project: Path) -> None:
    (project / "a.txt").write_text("two\n")
    run("git_commit", project, message="second", all=True)
    listed = run("git_log", project, oneline=True, max_count=5, revision="HEAD")
    assert [line.split()[1] for line in listed.stdout.splitlines()] == ["second", "first"]
    assert "+two" in run("git_compare", project, revision="HEAD~1..HEAD").stdout
    assert "+two" in run("git_show", project, revision="HEAD").stdout
    assert run("git_show", project, revision="HEAD~1:a.txt").stdout == "one\n"


@pytest.mark.parametrize("tool", ["git_log", "git_compare", "git_show"])
@pytest.mark.parametrize("revision", ["--output=stolen", "--all", "-p", "--no-index"])
def test_git_takes_no_revision_for_an_option(tool: str, revision: str, project: Path) -> None:
    with pytest.raises(ToolInputError):
        run(tool, project, revision=revision)


def test_git_looks_at_a_nested_repository_without_running_what_that_says(project: Path) -> None:
    """Where an agent may not write to the project's own .git, it may to one in a folder."""
    nested, ran = project / "nested", project.parent / "ran"
    nested.mkdir()
    (nested / "f").write_text("1\n")
    git(nested, "init", "--quiet")
    git(nested, "add", "f")
    git(nested, "commit", "--quiet", "--message=first")
    git(project, "add", "nested")
    git(nested, "config", "filter.x.clean", f"touch {ran}; cat")
    (nested / ".gitattributes").write_text("* filter=x\n")
    (nested / "f").write_text("2\n")  # as long as before, so that it has to be read
    (project / ".gitmodules").write_text('[submodule "n"]\npath = nested\nignore = none\n')
    for tool, given in (("status", {}), ("diff", {}), ("compare", {"revision": "HEAD"})):
        assert run(f"git_{tool}", project, **given).returncode == 0
        assert not ran.exists(), tool
    git(nested, "commit", "--quiet", "--all", "--message=second")
    assert "AM nested" in run("git_status", project).stdout


def test_git_makes_branches_and_goes_to_them(project: Path) -> None:
    assert run("git_new_branch", project, branch="topic/x", start="main").returncode == 0
    assert git(project, "branch", "--show-current") == "topic/x"
    assert run("git_new_branch", project, branch="other").returncode == 0
    assert run("git_switch", project, branch="main").returncode == 0
    assert "topic/x" in run("git_branches", project, all=True).stdout


def test_git_discards_only_what_was_named(project: Path) -> None:
    (project / "b.txt").write_text("new\n")
    (project / "a.txt").write_text("two\n")
    assert run("git_discard", project, paths=["a.txt"]).returncode == 0
    assert (project / "a.txt").read_text() == "one\n"
    assert (project / "b.txt").exists()
    with pytest.raises(ToolInputError):
        run("git_discard", project, paths=["../elsewhere"])


def test_git_publishes_one_branch_and_cannot_delete_or_force(project: Path) -> None:
    git(project, "init", "--quiet", "--bare", "../remote")
    git(project, "remote", "add", "origin", "../remote")
    done = run("git_push", project, remote="origin", branch="main", set_upstream=True)
    assert done.returncode == 0, done.stderr
    assert git(project, "ls-remote", "--heads", "origin").endswith("refs/heads/main")
    assert run("git_fetch", project, remote="origin").returncode == 0
    assert run("git_fetch", project).returncode == 0
    for branch in (":main", "+main", "main:other", "--delete", "-f"):
        with pytest.raises(ToolInputError):
            run("git_push", project, remote="origin", branch=branch)
    for remote in ("ext::sh -c id", "--upload-pack=id", "/somewhere", "https://x.example/y"):
        with pytest.raises(ToolInputError):
            run("git_fetch", project, remote=remote)


def test_make_takes_targets_and_no_variables_or_options(project: Path) -> None:
    (project / "Makefile").write_text("X = kept\nall:\n\t@echo all $(X)\none:\n\t@echo one\n")
    assert run("make", project).stdout == "all kept\n"
    assert run("make", project, targets=["one", "all"], jobs=1).stdout == "one\nall kept\n"
    assert run("make", project, keep_going=True, always_make=True).returncode == 0
    for target in ("X=changed", "SHELL=/bin/false", "--eval=all:;id", "-f", "$(shell id)"):
        with pytest.raises(ToolInputError):
            run("make", project, targets=[target])


def test_pytest_runs_the_named_tests_and_reads_no_options_from_files(project: Path) -> None:
    (project / "test_x.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    (project / "@options").write_text("--collect-only\n")
    (project / "pytest.ini").write_text("[pytest]\n")  # none of a folder above counts

    def outcome(**given: object) -> subprocess.CompletedProcess[str]:
        program, *rest = argv_of(ALL["pytest"], given, project=project)
        assert program == "pytest"
        here = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *rest)
        return called(here, project)

    assert "1 passed" in outcome(keyword="test_a and not slow", tests=["test_x.py::test_a"]).stdout
    failed = outcome(tb="line", maxfail=1, quiet=True)
    assert "1 failed, 1 passed" in failed.stdout
    lost = outcome(tests=["@options", "--version", "-h"])
    assert (lost.returncode, lost.stdout.count("file or directory not found")) == (4, 0)
    assert "file or directory not found" in lost.stderr


def test_systemctl_and_npm_take_names_and_nothing_else(project: Path) -> None:
    assert argv_of(
        ALL["systemctl_status"], {"units": ["-.mount"], "lines": 0}, project=project
    ) == (
        *("systemctl", "--no-pager", "--no-ask-password", "status", "--lines=0", "--", "-.mount"),
    )
    elsewhere = ("../evil", "git+ssh://x/y", "a/b", "https://x.example/y.tgz")
    files = ("evil.tgz", "evil.tar.gz@1", "a@x.TAR", "a@.", "a@..", "a@.hidden")
    for package in ("--global", *elsewhere, *files):
        with pytest.raises(ToolInputError):
            argv_of(ALL["npm_add"], {"packages": [package]}, project=project)
    argv = argv_of(ALL["npm_add"], {"packages": ["@a/b@^1.2", "left-pad"]}, project=project)
    assert argv[-2:] == ("@a/b@^1.2", "left-pad")
    with pytest.raises(ToolInputError):
        argv_of(ALL["npm_run"], {"script": "--eval"}, project=project)


def test_cargo_hands_no_argument_on_to_the_test_programs(project: Path) -> None:
    argv = argv_of(ALL["cargo_test"], {"filter": "a::b", "package": "x"}, project=project)
    assert argv == ("cargo", "--color=never", "test", "--package=x", "a::b")
    with pytest.raises(ToolInputError):
        argv_of(ALL["cargo_test"], {"filter": "--nocapture"}, project=project)
