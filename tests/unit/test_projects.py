"""Which project a folder belongs to, and what a project's own file can and cannot do."""

from __future__ import annotations

import logging
import os
import pwd
from pathlib import Path

import pytest

from chatbridge import projects
from chatbridge.core.model import QuietRule
from chatbridge.link.root import PROJECT_FILE, find_root, read_file
from chatbridge.projects import (
    MAX_REPORTED_PER_USER,
    ProjectSettings,
    belongs_to,
    project_of,
    project_of_user,
    settings_of,
)
from chatbridge.tools.journal.journal import Journal

LINK = "0123456789abcdef"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop-api"
    folder.mkdir()
    return folder


def write(project: Path, text: str) -> None:
    (project / PROJECT_FILE).write_text(text)


# ── which project ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["repository", "worktree", "file"])
def test_the_project_is_the_nearest_ancestor_with_a_mark(project: Path, kind: str) -> None:
    (project.parent / ".git").mkdir()
    if kind == "repository":
        (project / ".git").mkdir()
    elif kind == "worktree":
        (project / ".git").write_text("gitdir: elsewhere\n")
    else:
        write(project, "")
    inside = project / "src" / "deep"
    inside.mkdir(parents=True)
    assert find_root(str(inside)) == str(project)
    assert project_of(str(inside), link=LINK).key == str(project)
    assert project_of(str(inside), link=LINK).name == "shop-api"


def test_without_a_mark_the_link_is_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbridge.projects.find_root", lambda folder: None)
    found = project_of(str(project), link=LINK)
    assert (found.key, found.name) == (f"link:{LINK}", "shop-api")


def test_a_link_without_a_folder_has_a_project_of_its_own() -> None:
    found = project_of(None, link=LINK)
    assert (found.key, found.name) == (f"link:{LINK}", "no project")


def test_a_folder_that_is_gone_still_belongs_to_its_project(project: Path) -> None:
    (project / ".git").mkdir()
    assert find_root(str(project / "removed")) == str(project)


def test_the_links_label_wins_over_the_files(project: Path) -> None:
    write(project, 'label = "from the file"')
    assert project_of(str(project), link=LINK).label == "from the file"
    assert project_of(str(project), link=LINK, label="given").label == "given"


def test_the_name_is_the_folder_whatever_the_label_says(project: Path) -> None:
    write(project, 'label = "chatbridge"')
    assert project_of(str(project), link=LINK).name == "shop-api"


# ── what the file can say ─────────────────────────────────────────────────────────────────────────


def test_the_file_names_hides_and_slows_down(project: Path) -> None:
    write(project, 'label = "Shop"\nenabled = false\ndefault_timeout = "2h"\n')
    assert settings_of(str(project)) == ProjectSettings(
        label="Shop", enabled=False, default_timeout=7200.0
    )


def test_the_file_is_read_anew_each_time(project: Path) -> None:
    write(project, "enabled = false")
    assert not settings_of(str(project)).enabled
    (project / PROJECT_FILE).unlink()
    assert settings_of(str(project)).enabled


@pytest.mark.parametrize("key", [f"link:{LINK}", "", "relative"])
def test_what_is_no_folder_has_no_file(key: str) -> None:
    assert settings_of(key) == ProjectSettings()


@pytest.mark.parametrize(
    "text",
    [
        "default_timeout = 29.9",
        'default_timeout = "1s"',
        "default_timeout = inf",
        "default_timeout = nan",
        "default_timeout = true",
        'default_timeout = "soon"',
        f'label = "{"x" * 41}"',
        "label = 5",
        'enabled = "perhaps"',
    ],
)
def test_a_wrong_value_is_ignored_alone_and_with_a_warning(
    project: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = text.partition(" ")[0]
    good = 'label = "Shop"' if key != "label" else 'default_timeout = "30s"'
    write(project, f"{text}\n{good}\n")
    found = settings_of(str(project))
    assert getattr(found, key) == getattr(ProjectSettings(), key)
    assert (found.label, found.default_timeout) in (("Shop", None), (None, 30.0))
    assert f"{key} is ignored" in caplog.text
    assert str(project / PROJECT_FILE) in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        '[web]\ntoken = "hunter2"\nhost = "0.0.0.0"',
        '[telegram]\ntoken = "hunter2"\nallowed_users = [666]',
        'store = "sqlite:///hunter2.db"',
        'on_timeout = "declared"',
        "max_timeout = 99999",
        'tools = ["ask_user"]',
    ],
)
def test_a_repository_cannot_set_what_is_its_owners(
    project: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(project, f"enabled = false\n{text}\n")
    found = settings_of(str(project))
    assert found == ProjectSettings(enabled=False)
    assert "is ignored" in caplog.text
    assert "hunter2" not in caplog.text


# ── quiet hours ───────────────────────────────────────────────────────────────────────────────────


def test_the_file_adds_quiet_hours(project: Path) -> None:
    write(project, '[quiet]\nhours = {sat-sun = "00:00-10:00"}\nzone = "Asia/Tokyo"\nmode = "hold"')
    hours = ("", "", "", "", "", "00:00-10:00", "00:00-10:00")
    rule = settings_of(str(project)).quiet.rule
    assert rule == QuietRule(hours=hours, zone="Asia/Tokyo", hold=True)


def test_without_hours_it_can_hold_what_the_owners_quiet_hours_silence(project: Path) -> None:
    write(project, '[quiet]\nmode = "hold"')
    assert settings_of(str(project)).quiet.rule == QuietRule(hours=("",) * 7, hold=True)
    write(project, '[quiet]\nmode = "silent"')
    assert settings_of(str(project)).quiet.rule is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('hours = "00:00-24:00"', "quiet.hours"),
        ('hours = "at night"', "quiet.hours"),
        ("hours = {monday = '1:00-2:00'}", "quiet.hours"),
        (f'hours = "{",".join(["0:00-0:01"] * 300)}"', "quiet.hours"),
        ('zone = "../../etc/passwd"', "quiet.zone"),
        ('zone = "Mars/Base"', "quiet.zone"),
        ('mode = "loud"', "quiet.mode"),
        ("let_through = []", "quiet.let_through"),
        ("max_urgent = 1000", "quiet.max_urgent"),
        ('deadlines = "run"', "quiet.deadlines"),
        ("hours = 5\nmode = 7\nzone = []", "quiet.hours"),
    ],
)
def test_what_is_wrong_or_would_be_louder_is_ignored_alone(
    project: Path, text: str, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    rest = {"hours": '"22:00-06:00"', "mode": '"hold"', "zone": '"Asia/Tokyo"'}
    good = [f"{name} = {value}" for name, value in rest.items() if f"{name} =" not in text]
    write(project, "\n".join(("[quiet]", text, *good)))
    found = settings_of(str(project)).quiet
    assert f"{key} is ignored" in caplog.text
    assert (found.hours is not None) == ("hours =" not in text)
    assert (found.mode == "hold") == ("mode =" not in text)
    assert (found.zone is not None) == ("zone =" not in text)


def test_quiet_that_is_no_table_is_ignored(project: Path) -> None:
    write(project, 'label = "Shop"\nquiet = true')
    assert settings_of(str(project)) == ProjectSettings(label="Shop")


def test_the_file_of_another_users_link_adds_quiet_hours_too() -> None:
    text = '[quiet]\nhours = "22:00-06:00"'
    key = project_of_user(7, root="/home/ada/x", folder=None, link=LINK, file=text).key
    assert settings_of(key).quiet.rule == QuietRule(hours=("22:00-06:00",) * 7)


@pytest.mark.parametrize("content", [b"enabled = ", b"\xff\xfe", b"#" * 70_000])
def test_a_file_that_cannot_be_read_changes_nothing(
    project: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (project / PROJECT_FILE).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert settings_of(str(project)) == ProjectSettings()
    assert f"{project / PROJECT_FILE} is not used" in caplog.text


def test_a_named_pipe_does_not_hang_the_hub(project: Path) -> None:
    os.mkfifo(project / PROJECT_FILE)
    assert settings_of(str(project)) == ProjectSettings()


# ── the projects of several users ─────────────────────────────────────────────────────────────────


def test_the_same_folder_is_another_project_for_another_user() -> None:
    hers, his = (
        project_of_user(uid, root="/srv/shop", folder="/srv/shop/src", link=LINK)
        for uid in (1001, 1002)
    )
    assert hers.key != his.key
    assert (hers.name, his.name) == ("uid 1001/shop", "uid 1002/shop")
    assert belongs_to(hers, 1001)
    assert not belongs_to(hers, 1002)
    assert not belongs_to(hers, 100)


@pytest.mark.parametrize("root", [None, "", "uid:1002:/srv/shop", "relative"])
def test_a_user_without_a_project_has_that_of_the_link(root: str | None) -> None:
    found = project_of_user(1001, root=root, folder="/home/her", link=LINK)
    assert found.key == f"uid:1001:link:{LINK}"
    assert found.name == "uid 1001/her"


def test_the_name_says_whose_agent_it_is_and_nothing_can_say_otherwise() -> None:
    user = pwd.getpwuid(0).pw_name
    found = project_of_user(0, root="/srv/shop", folder=None, link=LINK, label="alice")
    assert (found.name, found.label) == (f"{user}/shop", "alice")
    slashes = project_of_user(0, root="/srv/alice/", folder=None, link=LINK)
    assert slashes.name == f"{user}/alice"
    unknown = project_of_user(4_000_111, root=None, folder=None, link=LINK)
    assert unknown.name == "uid 4000111/no project"


def test_a_users_long_name_leaves_room_for_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "user_name", lambda _uid: "bartholomew.winterbottom")
    found = project_of_user(1001, root="/srv/shop", folder=None, link=LINK)
    assert found.name == "bartholomew…/shop"


# ── a folder that is called like chatbridge itself ────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["chatbridge", "ChatBridge", "Message from chatbridge", "chat-bridge", "ｃｈａｔｂｒｉｄｇｅ"],
)
def test_a_folder_that_is_called_like_chatbridge_is_marked_as_a_folder(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name / ".git").mkdir(parents=True)
    assert project_of(str(tmp_path / name), link=LINK).name == f"./{name}"
    (tmp_path / "alone" / name).mkdir(parents=True)
    assert project_of(str(tmp_path / "alone" / name), link=LINK).name == f"./{name}"


def test_a_project_of_several_users_has_its_journal_in_the_state_directory(tmp_path: Path) -> None:
    found = project_of_user(1001, root=str(tmp_path / "shop"), folder=None, link=LINK)
    where = Journal(folder=".chatbridge/questions", state=tmp_path / "state").where(found)
    assert where.startswith(str(tmp_path / "state"))
    assert settings_of(found.key) == ProjectSettings()


def test_the_hub_of_several_users_believes_what_a_link_says_of_its_projects_file() -> None:
    told = 'label = "Shop"\nenabled = false\ntoken = "123:secret"\n'
    found = project_of_user(0, root="/srv/a", folder=None, link=LINK, file=told)
    assert found.label == "Shop"
    assert not settings_of(found.key).enabled
    other = project_of_user(1001, root="/srv/a", folder=None, link=LINK)
    assert settings_of(other.key).enabled
    project_of_user(0, root="/srv/a", folder=None, link=LINK, file="[" * 4000)
    assert settings_of(found.key).enabled


def test_what_is_remembered_of_other_users_files_has_an_end() -> None:
    keys = [
        project_of_user(0, root=f"/srv/{n}", folder=None, link=LINK, file="enabled = false").key
        for n in range(MAX_REPORTED_PER_USER + 1)
    ]
    assert settings_of(keys[0]).enabled
    assert not settings_of(keys[-1]).enabled


def test_the_files_of_one_user_push_nobody_elses_out() -> None:
    hers = project_of_user(1001, root="/srv/a", folder=None, link=LINK, file="enabled = false")
    for n in range(MAX_REPORTED_PER_USER + 1):
        project_of_user(1002, root=f"/srv/{n}", folder=None, link=LINK)
    assert not settings_of(hers.key).enabled


def test_a_link_tells_the_file_of_its_project_if_it_is_one_to_tell(project: Path) -> None:
    assert read_file(str(project)) is None
    write(project, "enabled = false")
    assert read_file(str(project)) == "enabled = false"
    write(project, "#" * 5000)
    assert read_file(str(project)) is None
    (project / PROJECT_FILE).unlink()
    os.mkfifo(project / PROJECT_FILE)
    assert read_file(str(project)) is None
