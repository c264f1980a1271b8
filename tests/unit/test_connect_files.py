"""Files as they are in life: linked, locked, spoilt, foreign, or changed under our hands."""

from __future__ import annotations

import codecs
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chatbridge.cli.connect.files import backups
from chatbridge.cli.connect.plans import plan, write
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.client_home import Home, after, before

ROOT = os.geteuid() == 0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def names(folder: Path) -> list[str]:
    return sorted(it.name for it in folder.iterdir())


def test_the_copy_beside_it_has_the_old_bytes_and_the_old_mode(home: Home) -> None:
    file = home.has("codex", before("codex"))
    file.chmod(0o640)
    home.connect("codex")
    copy = file.with_name("config.toml.bak")
    assert copy.read_bytes() == before("codex")
    assert file.stat().st_mode & 0o777 == copy.stat().st_mode & 0o777 == 0o640
    assert names(file.parent) == ["AGENTS.md", "config.toml", "config.toml.bak", "hooks.json"]


def test_an_older_copy_that_differs_is_kept_and_one_that_does_not_is_used_again(home: Home) -> None:
    file = home.has("codex", before("codex"))
    old = file.with_name("config.toml.bak")
    old.write_text("# from last year\n")
    home.connect("codex")
    assert old.read_text() == "# from last year\n"
    assert file.with_name("config.toml.bak.1").read_bytes() == before("codex")
    home.disconnect("codex")
    home.connect("codex")
    home.disconnect("codex")
    assert len(backups(file)) == 3
    assert file.read_bytes() == before("codex")


def test_a_link_stays_and_its_file_is_changed(home: Home, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "codex.toml"
    real.write_bytes(before("codex"))
    link = home.file("codex")
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(real, link.parent))
    home.connect("codex")
    assert link.is_symlink()
    assert real.read_bytes() == after("codex")
    assert names(dotfiles) == ["codex.toml"]
    home.disconnect("codex")
    assert real.read_bytes() == before("codex")


def test_a_link_to_a_file_that_is_missing_makes_that_file(home: Home, tmp_path: Path) -> None:
    link = home.file("cursor")
    link.parent.mkdir()
    link.symlink_to(tmp_path / "dotfiles" / "cursor.json")
    home.connect("cursor")
    assert link.is_symlink()
    assert b"chatbridge" in (tmp_path / "dotfiles" / "cursor.json").read_bytes()


def test_links_in_a_circle_are_refused(home: Home) -> None:
    link = home.file("cursor")
    link.parent.mkdir()
    link.symlink_to(link)
    with pytest.raises(ChatbridgeError, match="cannot be read"):
        home.connect("cursor")


def test_a_file_that_nobody_may_write_is_left_alone(home: Home) -> None:
    file = home.has("codex", before("codex"))
    file.chmod(0o444)
    with pytest.raises(ChatbridgeError, match="read-only"):
        home.connect("codex")
    assert file.read_bytes() == before("codex")
    assert names(file.parent) == ["config.toml"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused_at_once(home: Home, make: object) -> None:
    path = home.file("codex")
    path.parent.mkdir()
    assert callable(make)
    make(path)
    with pytest.raises(ChatbridgeError, match="is not a file"):
        home.connect("codex")


def test_a_file_that_changes_after_the_diff_was_shown_is_left_alone(home: Home) -> None:
    file = home.has("claude-code", before("claude-code"))
    planned = home.plan("claude-code")
    newer = before("claude-code").replace(b'"numStartups": 412', b'"numStartups": 413')
    file.write_bytes(newer)
    with pytest.raises(ChatbridgeError, match="changed by another program"):
        write(planned)
    assert file.read_bytes() == newer
    assert names(file.parent) == [".claude.json"]


def test_a_file_that_changes_at_the_last_moment_is_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.has("claude-code", before("claude-code"))
    planned = home.plan("claude-code")
    sync = os.fsync

    def slow_disk(number: int) -> None:
        file.write_bytes(b"{}")
        sync(number)

    monkeypatch.setattr("os.fsync", slow_disk)
    with pytest.raises(ChatbridgeError, match="changed by another program"):
        write(planned)
    assert file.read_bytes() == b"{}"
    assert names(file.parent) == [".claude.json", ".claude.json.bak"]


def test_a_projects_link_to_somewhere_else_is_not_followed(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "shop-api"
    project.mkdir()
    own = home.has("claude-code", before("claude-code"))
    for target in (own, tmp_path / "new.json"):
        link = project / ".mcp.json"
        link.symlink_to(target)
        with pytest.raises(ChatbridgeError, match="leads out of its project"):
            home.connect("claude-code", project=project)
        assert own.read_bytes() == before("claude-code")
        assert names(project) == [".mcp.json"]
        link.unlink()
    planned = home.plan("claude-code", project=project)
    (project / ".mcp.json").symlink_to(tmp_path / "new.json")
    with pytest.raises(ChatbridgeError, match="leads out of its project"):
        write(planned)
    assert not (tmp_path / "new.json").exists()


def test_a_file_that_appears_after_the_diff_was_shown_is_left_alone(home: Home) -> None:
    planned = home.plan("cursor")
    file = home.has("cursor", b"{}")
    with pytest.raises(ChatbridgeError, match="changed by another program"):
        write(planned)
    assert file.read_bytes() == b"{}"


def test_whoever_reads_meanwhile_sees_the_old_file_or_the_new_one(home: Home) -> None:
    file = home.has("claude-code", before("claude-code"))
    seen: set[bytes] = set()
    started, stop = threading.Event(), threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.add(file.read_bytes())
            started.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert started.wait(10)
    try:
        for _ in range(5):
            home.connect("claude-code")
            home.disconnect("claude-code")
    finally:
        stop.set()
        watcher.join(10)
    assert seen <= {before("claude-code"), after("claude-code")}


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("codex", b"[mcp_servers\n"),
        ("cursor", b'{"mcpServers": '),
        ("cursor", b'{"mcpServers": []}'),
        ("cursor", b'["mcpServers"]'),
        ("cursor", '{"mcpServers": {}}'.encode("utf-16")),
        ("cursor", b'{"a": "\xff"}'),
        ("goose", b"extensions: [\n"),
        ("goose", b"extensions: {a: {cmd: x}}\n"),
        ("codex", b'mcp_servers = { a = { command = "x" } }\n'),
        ("codex", b'[[mcp_servers]]\nname = "x"\n'),
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone_and_the_way_out_is_named(
    home: Home, client: str, content: bytes
) -> None:
    file = home.has(client, content)
    with pytest.raises(ChatbridgeError, match=f"chatbridge connect {client} --print") as refused:
        home.connect(client)
    assert str(file) in str(refused.value)
    assert file.read_bytes() == content
    assert names(file.parent) == [file.name]


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("cursor", b""),
        ("cursor", b"\n"),
        ("cursor", b"{}"),
        ("cursor", b"{ }"),
        ("cursor", b"{\r\n}\r\n"),
        ("cursor", b'{"mcpServers": {}}'),
        ("cursor", b'{"mcpServers": { /* none */ }}'),
        ("cursor", codecs.BOM_UTF8 + b'{\r\n\t"a": 1\r\n}'),
        ("codex", b""),
        ("codex", b"a = 1"),
        ("codex", b"[mcp_servers]\n"),
        ("codex", codecs.BOM_UTF8 + b"a = 1\r\n"),
        ("goose", b""),
        ("goose", b"A: 1"),
        ("goose", b"extensions:\nA: 1\n"),
        ("goose", b"extensions: {}\r\nA: 1\r\n"),
        ("goose", codecs.BOM_UTF8 + b"A: 1\n"),
    ],
)
def test_the_oddest_file_comes_back_to_the_byte(home: Home, client: str, content: bytes) -> None:
    file = home.has(client, content)
    home.connect(client)
    assert home.connect(client).changes == ()
    assert file.read_bytes().startswith(content[:3] if content.startswith(codecs.BOM_UTF8) else b"")
    home.disconnect(client)
    assert file.read_bytes() == content


def test_what_others_have_written_since_is_kept_when_disconnecting(home: Home) -> None:
    file = home.has("cursor", b'{\n  "mcpServers": {}\n}\n')
    home.connect("cursor")
    file.write_bytes(file.read_bytes().replace(b"{", b'{\n  "theirs": 1,', 1))
    home.disconnect("cursor")
    assert file.read_bytes() == b'{\n  "theirs": 1,\n  "mcpServers": {}\n}\n'


def test_a_container_that_was_made_for_the_entry_goes_with_it(home: Home) -> None:
    file = home.has("cursor", b'{\n  "a": 1\n}\n')
    home.connect("cursor")
    file.write_bytes(file.read_bytes().replace(b'"a": 1', b'"a": 2'))
    home.disconnect("cursor")
    assert file.read_bytes() == b'{\n  "a": 2\n}\n'


def test_an_entry_that_somebody_wrote_by_hand_does_not_come_back_from_the_copy(home: Home) -> None:
    file = home.has("cursor", b'{"mcpServers": {"chatbridge": {"command": "chatbridge"}}}')
    home.connect("cursor")
    home.disconnect("cursor")
    assert b"chatbridge" not in file.read_bytes()


@pytest.mark.process
def test_a_disk_without_room_changes_nothing(home: Home) -> None:
    file = home.has("codex", before("codex"))
    planned = home.plan("codex")
    script = (
        "import resource, signal, sys, pickle\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from chatbridge.cli.connect.plans import write\n"
        "from chatbridge.core.errors import ChatbridgeError\n"
        "try:\n"
        "    write(pickle.loads(sys.stdin.buffer.read()))\n"
        "except ChatbridgeError as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-B", "-c", script], input=pickle.dumps(planned), capture_output=True
    )
    assert b"cannot be written" in ran.stdout, ran.stderr
    assert file.read_bytes() == before("codex")
    assert names(file.parent) == ["config.toml"]


@pytest.mark.skipif(not ROOT, reason="only root can give a file away")
def test_root_leaves_a_file_to_its_owner(home: Home) -> None:
    file = home.has("codex", before("codex"))
    os.chown(file, 12345, 12345)
    home.connect("codex")
    for it in (file, file.with_name("config.toml.bak")):
        assert (it.stat().st_uid, it.stat().st_gid) == (12345, 12345)


@contextmanager
def somebody_else() -> Iterator[None]:
    os.setegid(12345)
    os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("mode", "reason"), [(0o666, "belongs to another user"), (0o600, "cannot be read")]
)
def test_another_users_file_is_left_alone(mode: int, reason: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        Path(folder).chmod(0o711)
        home = Home(Path(folder))
        file = home.has("codex", before("codex"))
        file.chmod(mode)
        file.parent.chmod(0o777)
        with somebody_else(), pytest.raises(ChatbridgeError, match=reason):
            home.connect("codex")
        assert file.read_bytes() == before("codex")
        assert names(file.parent) == ["config.toml"]


def test_a_home_that_nobody_knows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 987654)
    with pytest.raises(ChatbridgeError, match="Set HOME"):
        plan("codex", environ={}, removal=True)
