"""Files of a project: what an agent can attach, and what it cannot reach by any name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from chatbridge.attachments import project_files
from chatbridge.attachments.project_files import open_in_project, own_folders
from chatbridge.attachments.received_copies import STALE_SECONDS, copy_into_project
from chatbridge.core.errors import AttachmentError

NOW = 1_794_782_460.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "layout.txt").write_text("A or B")
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """chatbridge's own, inside the project of somebody who works on his home directory."""
    folder = tmp_path / "shop" / ".local" / "chatbridge"
    folder.mkdir(parents=True)
    (folder / "web-token").write_text("secret")
    return folder


def read(root: Path, path: str, *, folder: Path | None = None, own: tuple[Path, ...] = ()) -> bytes:
    with open_in_project(
        path, folder=str(folder or root), root=str(root), own=[*map(str, own)]
    ) as file:
        return b"".join(iter(lambda: file.read(4), b""))


def refusal(root: Path, path: str, **given: object) -> str:
    with pytest.raises(AttachmentError) as refused:
        read(root, path, **given)  # type: ignore[arg-type]
    return str(refused.value)


# ── what can be read ──────────────────────────────────────────────────────────────────────────────


def test_a_file_of_the_project_is_read_by_either_path(root: Path) -> None:
    assert read(root, "docs/layout.txt") == b"A or B"
    assert read(root, str(root / "docs" / "layout.txt")) == b"A or B"
    assert read(root, "layout.txt", folder=root / "docs") == b"A or B"
    assert read(root, "../docs/./layout.txt", folder=root / "docs") == b"A or B"


def test_hidden_files_and_links_within_the_project_are_fine(root: Path) -> None:
    (root / ".env.example").write_text("X=1")
    (root / "latest").symlink_to("docs/layout.txt")
    (root / "pages").symlink_to("docs")
    assert read(root, ".env.example") == b"X=1"
    assert read(root, "latest") == read(root, "pages/layout.txt") == b"A or B"


def test_a_project_that_is_itself_behind_a_link_is_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "work").symlink_to(root)
    assert read(tmp_path / "work", "docs/layout.txt") == b"A or B"


# ── what cannot ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["../other.txt", "/etc/passwd", "out", "outside/other.txt", "../shop-2/a", "docs/../.."]
)
def test_nothing_outside_of_the_project_is_read_by_whatever_path(
    root: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "other.txt").write_text("other")
    (tmp_path / "shop-2").mkdir()
    (tmp_path / "shop-2" / "a").write_text("other")
    (root / "out").symlink_to(tmp_path / "other.txt")
    (root / "outside").symlink_to(tmp_path)
    assert refusal(root, path) == project_files.OUTSIDE


@pytest.mark.parametrize(
    "path", ["missing", "docs/layout.txt/x", "", "a\0b", "x" * 300, "dangling"]
)
def test_what_is_not_there_is_said_so(root: Path, path: str) -> None:
    (root / "dangling").symlink_to("nowhere")
    said = refusal(root, path)
    assert said in (project_files.MISSING, project_files.NOT_A_FILE) or "name too long" in said


def test_a_circle_of_links_ends(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert refusal(root, "a")


def test_only_regular_files_are_read_and_a_pipe_holds_nobody_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(root)  # a socket's path is short
        listener.bind("socket")
        for path in ("pipe", "socket", "docs", "."):
            assert refusal(root, path) == project_files.NOT_A_FILE


def test_chatbridges_own_files_are_never_read(root: Path, state: Path) -> None:
    path = ".local/chatbridge/web-token"
    assert read(root, path) == b"secret"
    assert refusal(root, path, own=(state,)) == project_files.OWN
    assert refusal(root, path, own=(state / "web-token",)) == project_files.OWN
    (root / "link").symlink_to(state)
    assert refusal(root, "link/web-token", own=(state,)) == project_files.OWN
    assert refusal(root, path, own=(root / "link",)) == project_files.OWN


def test_they_are_not_read_under_a_second_name_either(root: Path, state: Path) -> None:
    os.link(state / "web-token", root / "notes.txt")
    assert refusal(root, "notes.txt", own=(state / "web-token",)) == project_files.OWN


@pytest.mark.parametrize("swapped", ["docs", "docs/layout.txt"])
def test_a_link_that_is_put_there_after_the_check_is_not_followed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    secret = tmp_path / "docs"
    secret.mkdir()
    (secret / "layout.txt").write_text("secret")
    real = os.open

    def late(path: str, *given: int, **named: int) -> int:
        if path == "/":
            (root / swapped).rename(root / "away")
            (root / swapped).symlink_to(tmp_path / swapped)
        return real(path, *given, **named)

    monkeypatch.setattr(os, "open", late)
    assert refusal(root, "docs/layout.txt") in (project_files.LINK, project_files.MISSING)
    assert (root / swapped).is_symlink()


# ── files that change ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("content", ["A or B or C", "A", "B or A"])
def test_a_file_that_changes_while_it_is_read_is_refused(root: Path, content: str) -> None:
    path = root / "docs" / "layout.txt"
    os.utime(path, (NOW, NOW))
    with open_in_project(str(path), folder="/", root=str(root), own=()) as file:
        assert file.read(3) == b"A o"
        path.write_text(content)
        with pytest.raises(AttachmentError, match="changed while it was read"):
            list(iter(lambda: file.read(3), b""))


def test_a_file_that_is_replaced_meanwhile_is_read_as_it_was(root: Path) -> None:
    path = root / "docs" / "layout.txt"
    with open_in_project(str(path), folder="/", root=str(root), own=()) as file:
        (root / "new").write_text("something else")
        (root / "new").rename(path)
        assert file.read() == b"A or B"


# ── chatbridge's own folders ──────────────────────────────────────────────────────────────────────


def test_own_folders_are_the_states_and_what_belongs_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/ada/.config")
    usual = own_folders(
        state="/s", config="/home/ada/.config/chatbridge/config.toml", database="/d"
    )
    assert {"/s", str(tmp_path / "run"), "/home/ada/.config/chatbridge"} <= {*usual}
    in_project = own_folders(state="/s", config="/src/chatbridge/a.toml", database="/s/d.db")
    assert "/src/chatbridge" not in in_project
    assert {"/src/chatbridge/a.toml", "/src/chatbridge/secrets", "/s/d.db-wal"} <= {*in_project}


def test_a_configuration_that_is_a_link_into_the_project_is_not_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = tmp_path / "chatbridge" / "config.toml"
    config.parent.mkdir()
    (root / "dotfile.toml").write_text("token")
    config.symlink_to(root / "dotfile.toml")
    own = own_folders(state=str(tmp_path / "s"), config=str(config), database=str(tmp_path / "d"))
    assert refusal(root, "dotfile.toml", own=own) == project_files.OWN


# ── copies of what a person sent ──────────────────────────────────────────────────────────────────


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    file = tmp_path / "0123456789ab.png"
    file.write_bytes(b"picture")
    return file


def test_a_copy_goes_into_the_project_where_git_ignores_it(root: Path, stored: Path) -> None:
    path = Path(copy_into_project(stored, root=str(root), now=NOW))
    assert path == root / ".chatbridge" / "received" / stored.name
    assert path.read_bytes() == b"picture"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / ".gitignore").read_text() == "*\n"
    assert copy_into_project(stored, root=str(root), now=NOW) == str(path)
    assert sorted(it.name for it in path.parent.iterdir()) == [".gitignore", stored.name]


@pytest.mark.parametrize("name", [".chatbridge", ".chatbridge/received"])
def test_a_link_out_of_the_project_is_not_followed(
    root: Path, tmp_path: Path, stored: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "received").mkdir(parents=True)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        copy_into_project(stored, root=str(root), now=NOW)
    assert [it.name for it in elsewhere.rglob("*")] == ["received"]


def test_links_at_the_files_own_names_are_replaced_and_not_followed(
    root: Path, tmp_path: Path, stored: Path
) -> None:
    folder = root / ".chatbridge" / "received"
    folder.mkdir(parents=True)
    for name in (stored.name, ".gitignore"):
        (folder / name).symlink_to(tmp_path / "target")
    path = Path(copy_into_project(stored, root=str(root), now=NOW))
    assert not path.is_symlink()
    assert path.read_bytes() == b"picture"
    assert not (tmp_path / "target").exists()


def test_what_a_crash_left_in_the_project_goes_with_the_next_copy(root: Path, stored: Path) -> None:
    folder = root / ".chatbridge" / "received"
    folder.mkdir(parents=True)
    for name, age in ((".new-old", STALE_SECONDS + 1), (".new-running", 1)):
        (folder / name).touch()
        os.utime(folder / name, (NOW - age, NOW - age))
    copy_into_project(stored, root=str(root), now=NOW)
    assert sorted(it.name for it in folder.glob(".new-*")) == [".new-running"]
