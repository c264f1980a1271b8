"""Paths that agents name stay where the definition says, whatever links are in the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.core.errors import ToolInputError
from tests.fakes.made_commands import made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, folders, and links of every kind; `outside` lies beside it."""
    top = tmp_path_factory.mktemp("paths").resolve()
    (top / "outside" / "deep").mkdir(parents=True)
    (top / "outside" / "secret").touch()
    root = top / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").touch()
    links: dict[str, str | Path] = {
        "out": top / "outside",
        "up": "..",
        "in": "src/deep",
        "missing_out": top / "outside" / "new",
        "missing_in": "src/new",
        "loop": "loop",
        "top": "/",
        "proc": "/proc/self/cwd",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (top / "project_evil").mkdir()
    (top / "alias").symlink_to(root)
    for i in range(1500):  # from the first one on more than the system follows
        (root / f"chain{i}").symlink_to(f"chain{i + 1}")
    return root


def path_of(text: str, root: Path, *, folder: Path | None = None, **fields: Any) -> Path | None:
    """The path that the command gets; None: it was refused."""
    option = {"name": "it", "type": "string", "positional": True, "within": ["project"], **fields}
    try:
        argv = argv_of(made(option), {"it": text}, project=root, folder=folder)
    except ToolInputError as error:
        return None if "after all links are followed" in str(error) else Path(str(error))
    return Path(argv[-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/a.py", "src/a.py"),
        (".", "."),
        ("src/../src/./a.py", "src/a.py"),
        ("in", "src/deep"),
        ("in/../a.py", "src/a.py"),
        ("new/er/file", "new/er/file"),
        ("new/../src", "src"),
        ("missing_in", "src/new"),
        ("src/a.py/below", "src/a.py/below"),
        ("-rf", "-rf"),
        ("~", "~"),
        ("~root/x", "~root/x"),
        ("../project/src", "src"),
        ("$HOME", "$HOME"),
        ("chain1470", "chain1500"),
    ],
)
def test_a_path_inside_becomes_the_whole_path_that_is_meant(
    project: Path, text: str, expected: str
) -> None:
    assert path_of(text, project) == project / expected
    assert path_of(str(project / text), project) == project / expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "/",
        "/etc/passwd",
        "../outside/secret",
        "../project_evil",
        "src/../../outside",
        "new/../../outside",
        "out",
        "out/secret",
        "out/new",
        "up/outside",
        "up",
        "in/../../../outside",
        "missing_out",
        "top/etc",
        "proc",
        "loop",
        "loop/x",
        "chain0",
        "chain1400",
        "a" * 300,
        "a/" * 3000,
    ],
)
def test_a_path_elsewhere_or_nowhere_is_refused(project: Path, text: str) -> None:
    assert path_of(text, project) is None


def test_a_relative_path_is_meant_from_the_folder_that_the_command_runs_in(project: Path) -> None:
    assert path_of("a.py", project, folder=project / "src") == project / "src" / "a.py"
    assert path_of("../..", project, folder=project / "src") is None


def test_a_project_reached_by_a_link_is_the_same_project(project: Path) -> None:
    alias = project.parent / "alias"
    assert path_of("src/a.py", alias) == project / "src" / "a.py"
    assert path_of(str(alias / "src"), project) == project / "src"


def test_the_owners_folders_are_taken_with_their_home(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.parent))
    outside = project.parent / "outside"
    assert path_of(str(outside / "secret"), project, within=["~/outside"]) == outside / "secret"
    assert path_of("out/secret", project, within=["~/outside"]) == outside / "secret"
    assert path_of("src", project, within=["~/outside"]) is None
    assert path_of("src", project, within=["~/outside", "project"]) == project / "src"


def test_each_path_of_an_array_is_looked_at(project: Path) -> None:
    for where in ({"within": ["project"]}, {"items": {"within": ["project"]}}):
        command = made({"name": "it", "type": "array", "positional": True, **where})
        argv = argv_of(command, {"it": ["src", "in"]}, project=project)
        assert argv[-2:] == (str(project / "src"), str(project / "src/deep"))
        with pytest.raises(ToolInputError, match=r"it\[1\]"):
            argv_of(command, {"it": ["src", "out"]}, project=project)


def test_without_a_separator_a_path_may_begin_with_a_dash_as_the_command_gets_the_whole_one(
    project: Path,
) -> None:
    option = {"name": "it", "type": "string", "positional": True, "within": ["project"]}
    argv = argv_of(made(option, separator=None), {"it": "-rf"}, project=project)
    assert argv == ("tool", "run", str(project / "-rf"))


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "", "src", "deep", "in", "out", "up", "loop", "top", "new", "missing_in",
             "missing_out", "project", "outside", "alias", "a.py", "-x"]
        ),
        max_size=7,
    )
)  # fmt: skip
def test_what_is_taken_opens_inside_the_project_however_it_was_written(
    project: Path, parts: list[str]
) -> None:
    found = path_of("/".join(parts) or ".", project)
    if found is None:
        return
    assert found.is_relative_to(project)
    assert os.path.realpath(found) == str(found)
    if os.path.exists(found):  # the kernel agrees on where that is
        descriptor = os.open(found, os.O_PATH)
        try:
            assert os.readlink(f"/proc/self/fd/{descriptor}") == str(found)
        finally:
            os.close(descriptor)
