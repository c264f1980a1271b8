"""The file that a change is about: where its path leads, and when a long change has to be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import Project, Subject
from chatbridge.tools.approvals.subject import Json, subject_of

LONG = "x\n" * 5_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


def question(tool: str, given: Json, project: Path | str) -> str:
    where = Project(key=str(project), name="shop")
    return subject_of(tool, given, where, folder=str(project))[0]


def change(path: Path | str, project: Path | str, content: str = LONG) -> Subject:
    where = Project(key=str(project), name="shop")
    given = {"file_path": str(path), "content": content}
    return subject_of("Write", given, where, folder=str(project))[1]


@pytest.mark.parametrize(
    ("tool", "more"),
    [("Write", {"content": "x\n"}), ("Edit", {"old_string": "", "new_string": "x\n"})],
)
def test_a_file_that_is_not_there_yet_is_created(shop: Path, tool: str, more: Json) -> None:
    (shop / "old.py").write_text("")
    (shop / "no-folder").write_text("")
    (shop / "to-old.py").symlink_to(shop / "old.py")
    (shop / "to-new.py").symlink_to(shop / "new.py")
    asked = {
        name: question(tool, {"file_path": str(shop / name), **more}, shop)
        for name in ("old.py", "to-old.py", "new.py", "to-new.py", "far/new.py", "no-folder/x.py")
    }
    assert [name for name, text in asked.items() if text == "Create this file?"] == [
        *("new.py", "to-new.py", "far/new.py", "no-folder/x.py")
    ]
    assert asked["old.py"] == asked["to-old.py"] == "Change this file?"


def test_where_the_hub_cannot_look_nothing_is_said_of_a_file_being_new(shop: Path) -> None:
    given = {"file_path": str(shop / "new.py"), "content": "x\n"}
    for key in ("http:laptop:/src/shop", f"uid:1000:{shop}"):
        assert question("Write", given, key) == "Write this file?"
    looped = shop / "loop"
    looped.symlink_to(looped)
    given["file_path"] = str(looped)
    assert question("Write", given, shop) == "Change this file?"
    given["file_path"] = str(shop / ("x" * 300))  # no file can be called so
    assert question("Write", given, shop) == "Write this file?"


def test_an_edit_of_a_text_that_is_not_there_creates_nothing(shop: Path) -> None:
    given = {"file_path": str(shop / "new.py"), "old_string": "a", "new_string": "b"}
    assert question("Edit", given, shop) == "Change this file?"


def test_a_link_is_shown_with_where_it_leads(shop: Path, tmp_path: Path) -> None:
    hook = tmp_path / "hooks" / "pre-commit"
    (shop / "docs").symlink_to(tmp_path / "hooks")
    subject = change(shop / "docs" / "pre-commit", shop, "x\n")
    assert subject.file == "docs/pre-commit"
    assert subject.leads_to == str(hook)


def test_a_link_in_the_project_that_leads_out_of_it_has_to_be_read(
    shop: Path, tmp_path: Path
) -> None:
    (shop / "notes.txt").symlink_to(tmp_path / "elsewhere.txt")
    subject = change(shop / "notes.txt", shop)
    assert subject.leads_to == str(tmp_path / "elsewhere.txt")
    assert subject.whole_first


def test_a_link_to_what_is_no_text_is_refused(shop: Path) -> None:
    (shop / "notes.txt").symlink_to(os.fsdecode(b"/tmp/\xff"))
    with pytest.raises(ToolInputError, match="A path is no text"):
        change(shop / "notes.txt", shop)


def test_a_path_without_links_leads_nowhere_else(shop: Path) -> None:
    assert change(shop / "src" / "new.py", shop).leads_to is None


def test_a_long_change_in_the_project_can_be_allowed_unread(shop: Path) -> None:
    (shop / "src" / "old.py").write_text("x = 1\n")
    for name in ("src/old.py", "src/new.py", "README.md", "git/hooks.txt"):
        assert not change(shop / name, shop).whole_first, name


def test_what_the_folders_above_the_project_are_called_says_nothing(tmp_path: Path) -> None:
    shop = tmp_path / ".cache" / "ci" / "shop"
    shop.mkdir(parents=True)
    assert not change(shop / "src" / "prices.py", shop).whole_first
    assert change(shop / ".envrc", shop).whole_first


@pytest.mark.parametrize(
    "root",
    [".claude", ".config/systemd/user", ".config/nvim", "shop/.git/hooks", "shop/.GIT/info", "ci"],
)
def test_a_project_that_is_itself_a_folder_of_what_others_run_has_to_be_read(
    tmp_path: Path, root: str
) -> None:
    (tmp_path / root).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / root)
    assert change(tmp_path / root / "a.txt", tmp_path / root).whole_first
    assert change(tmp_path / "link" / "a.txt", tmp_path / "link").whole_first


def test_a_short_change_is_on_the_card_and_needs_no_more(shop: Path) -> None:
    assert not change(shop / ".git" / "config", shop, "x\n" * 22).whole_first
    assert change(shop / ".git" / "config", shop, "x\n" * 23).whole_first


@pytest.mark.parametrize(
    "name",
    [
        "../shop-of-another/a.txt",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "vendor/lib/.git/config",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".husky/pre-push",
        ".claude/settings.json",
        ".vscode/tasks.json",
        "Makefile",
        "web/package.json",
        "Jenkinsfile",
        "deploy.sh",
        "hooks/pre-commit",
        ".hooks/pre-commit",
        ".git-hooks/pre-push",
        "Githooks/pre-push",
        "lefthook.yaml",
        ".pre-commit-config.yml",
        ".azure-pipelines/main.yml",
        ".semaphore/semaphore.yml",
        ".builds/alpine.yml",
        ".teamcity/settings.kts",
        ".jenkins/steps.groovy",
        "ci/build.py",
        ".appveyor.yml",
        "appveyor.yml",
        ".cirrus.yml",
        "cloudbuild.yaml",
        ".gitlab-ci.yaml",
        "tox.ini",
        "noxfile.py",
        "pyproject.toml",
        "setup.py",
        "build.gradle.kts",
        "settings.gradle",
        "Vagrantfile",
        "compose.override.yaml",
        "docker-compose.yml",
        "src/Makefile.am",
        "Dockerfile.prod",
        "prod.Dockerfile",
        "vite.config.ts",
    ],
)
def test_what_others_run_or_lies_outside_has_to_be_read(shop: Path, name: str) -> None:
    assert change(shop / name, shop).whole_first


def test_an_executable_file_or_one_that_becomes_a_script_has_to_be_read(shop: Path) -> None:
    run, script, none = shop / "src" / "run", shop / "src" / "script", shop / "src" / "new"
    run.write_text("x")
    run.chmod(0o755)
    script.write_text("#!/bin/sh\n")
    assert change(run, shop).whole_first
    assert change(script, shop).whole_first
    assert change(none, shop, "#!/usr/bin/env python3\n" + LONG).whole_first
    assert change(shop / "src", shop).whole_first, "a folder is no text"


def test_a_file_with_a_second_name_has_to_be_read(shop: Path, tmp_path: Path) -> None:
    (shop / "notes.txt").write_text("x")
    (tmp_path / "pre-commit").hardlink_to(shop / "notes.txt")
    assert change(shop / "notes.txt", shop).whole_first


@pytest.mark.parametrize("key", ["link:1", "http:laptop:x", "uid:1000:/src/shop"])
def test_where_the_project_is_not_known_it_has_to_be_read(shop: Path, key: str) -> None:
    assert change(shop / "src" / "a.txt", key).whole_first


def test_the_path_of_another_computer_is_not_looked_up_on_this_one(
    shop: Path, tmp_path: Path
) -> None:
    (shop / "docs").symlink_to(tmp_path)
    assert change(shop / "docs" / "a", "http:laptop:x").leads_to is None


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "{}", "content": "x", "mode": 1}),
        ("Edit", {"file_path": "{}", "old_string": "a", "new_string": "b", "expected": 1}),
        ("NotebookEdit", {"file_path": "a.txt", "notebook_path": "{}", "new_source": "x"}),
        ("mcp__files__save", {"path": "{}", "text": "x"}),
    ],
)
@pytest.mark.parametrize("relative", [False, True])
def test_an_input_that_is_shown_as_it_came_says_where_its_path_leads(
    shop: Path, tool: str, given: dict[str, object], relative: bool
) -> None:
    (shop / "notes.txt").symlink_to("/etc/passwd")
    path = "notes.txt" if relative else str(shop / "notes.txt")
    given = {name: path if value == "{}" else value for name, value in given.items()}
    where = Project(key=str(shop), name="shop")
    subject = subject_of(tool, given, where, folder=str(shop))[1]
    assert (subject.language, subject.leads_to) == ("json", "/etc/passwd")


def test_all_paths_of_an_input_that_lead_elsewhere_are_shown(shop: Path) -> None:
    for name in ("a", "b"):
        (shop / name).symlink_to(f"/etc/{name}")
    given = {"file_path": str(shop / "a"), "notebook_path": "b", "path": "\0"}
    where = Project(key=str(shop), name="shop")
    subject = subject_of("NotebookEdit", given, where, folder=str(shop))[1]
    assert subject.leads_to == "/etc/a, /etc/b"


@pytest.mark.parametrize("path", ["a.txt", "", 7, "\0", "\udcff\ud800"])
def test_an_input_whose_path_leads_nowhere_else_is_shown_by_itself(
    shop: Path, path: object
) -> None:
    for key in (str(shop), "http:laptop:x"):
        where = Project(key=key, name="shop")
        assert subject_of("Save", {"path": path}, where, folder=str(shop))[1].leads_to is None
