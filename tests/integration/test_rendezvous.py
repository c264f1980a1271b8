"""Directories, the lock and the socket: who may have them, and what the others are told."""

from __future__ import annotations

import errno
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge import lock_file, runtime_paths
from chatbridge.core.errors import HubAlreadyRunning, SettingsError, SocketUnusable
from chatbridge.system import sockets


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory with a name that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        yield Path(os.path.realpath(directory))


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("CHATBRIDGE_", "XDG_")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CHATBRIDGE_STATE_DIR": "/a/b", "XDG_STATE_HOME": "/x"}, "/a/b"),
        ({"XDG_STATE_HOME": "/x/state"}, "/x/state/chatbridge"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/chatbridge"),
        ({"HOME": "/h"}, "/h/.local/state/chatbridge"),
        ({"CHATBRIDGE_STATE_DIR": "~/cb", "HOME": "/h"}, "/h/cb"),
    ],
)
def test_the_state_directory_comes_from_the_first_variable_that_names_one(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert runtime_paths.state_dir() == expected


def test_a_relative_state_directory_is_that_of_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, short: Path
) -> None:
    monkeypatch.chdir(short)
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", "state")
    assert runtime_paths.state_dir() == str(short / "state")


@pytest.mark.parametrize("home", [None, ""])
def test_without_home_the_user_database_is_asked(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    import pwd

    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", home)
    real = os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    assert runtime_paths.state_dir() == f"{real}/.local/state/chatbridge"


def test_the_configuration_is_found_where_the_variables_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert runtime_paths.config_path() == "/h/.config/chatbridge/config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")
    assert runtime_paths.config_path() == "/x/chatbridge/config.toml"
    monkeypatch.setenv("CHATBRIDGE_CONFIG", "/c.toml")
    assert runtime_paths.config_path() == "/c.toml"


def test_a_new_directory_is_private(short: Path) -> None:
    before = os.umask(0)
    try:
        runtime_paths.make_private(str(short / "a" / "b"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((short / "a" / "b").stat().st_mode) == 0o700


def test_a_directory_that_others_can_write_to_is_refused(short: Path) -> None:
    short.chmod(0o770)
    with pytest.raises(SettingsError, match=r"mode 0770.*chmod 700"):
        lock_file.acquire(str(short))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(short: Path) -> None:
    theirs = short / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, -1)
    with pytest.raises(SettingsError, match="belongs to another user"):
        runtime_paths.make_private(str(theirs))


def test_a_directory_that_cannot_be_made_is_named(short: Path) -> None:
    (short / "file").touch()
    with pytest.raises(SettingsError, match="file/state cannot be made"):
        runtime_paths.make_private(str(short / "file" / "state"))


def test_the_lock_is_held_by_one_and_the_next_hears_by_whom(short: Path) -> None:
    state = str(short)
    lock = lock_file.acquire(state)
    info = lock_file.LockInfo(pid=os.getpid(), version="1", socket="/s", started_by="person")
    lock_file.write(lock, info)
    with pytest.raises(HubAlreadyRunning, match=f"pid {os.getpid()}"):
        lock_file.acquire(state)
    info.web = "http://127.0.0.1:8787"
    lock_file.write(lock, info)
    found = lock_file.read(state)
    assert found is not None
    assert (found.pid, found.socket, found.web) == (os.getpid(), "/s", info.web)
    os.close(lock)
    os.close(lock_file.acquire(state))


def test_a_full_disk_does_not_take_away_what_the_lock_file_says(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    state = str(short)
    lock = lock_file.acquire(state)
    info = lock_file.LockInfo(pid=17, version="1", socket="/s", started_by="person")
    lock_file.write(lock, info)
    size = os.fstat(lock).st_size
    info.web = "http://127.0.0.1:8787"
    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space"):
            lock_file.write(lock, info)
    found = lock_file.read(state)
    assert found is not None
    assert found.pid == 17
    lock_file.write(lock, info)
    assert os.fstat(lock).st_size == size, "it needs room that may not be there"
    os.close(lock)


def test_a_lock_is_known_to_be_held_without_trying_it(short: Path) -> None:
    state = str(short)
    assert lock_file.find_holder(state) is None
    lock = lock_file.acquire(state)
    info = lock_file.LockInfo(pid=os.getpid(), version="1", socket=None, started_by="person")
    lock_file.write(lock, info)
    holder = lock_file.find_holder(state)
    assert holder is not None
    assert holder.pid == os.getpid()
    os.close(lock)
    assert lock_file.find_holder(state) is None


@pytest.mark.parametrize(
    "content", [b"", b'{"pid":1', b"[]", b'{"pid":"x"}', b"\xff", b'{"pid":true}', b"null"]
)
def test_a_half_written_lock_file_says_nothing(short: Path, content: bytes) -> None:
    (short / "hub.lock").write_bytes(content)
    assert lock_file.read(str(short)) is None


def test_a_socket_path_that_is_too_long_is_refused_with_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", "/" + "ä" * 60)
    with pytest.raises(SocketUnusable, match=r"has 139 bytes; a Unix socket takes at most 107"):
        runtime_paths.socket_path("/state")


def test_two_state_directories_have_two_sockets(
    monkeypatch: pytest.MonkeyPatch, short: Path
) -> None:
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", str(short))
    one, two = runtime_paths.socket_path("/one"), runtime_paths.socket_path("/two")
    assert one != two
    assert os.path.dirname(one) == str(short)


def test_the_socket_is_for_its_user_alone_and_a_dead_ones_place_is_taken(short: Path) -> None:
    path = str(short / "run" / "hub.sock")
    runtime_paths.bind_socket(path).close()
    listener = runtime_paths.bind_socket(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with sockets.connect(path) as connection:
        assert sockets.peer(connection) == (os.getpid(), os.getuid())
    listener.close()


def test_a_socket_that_accepts_is_never_taken(short: Path) -> None:
    path = str(short / "hub.sock")
    listener = runtime_paths.bind_socket(path)
    with pytest.raises(SocketUnusable, match="already listens"):
        runtime_paths.bind_socket(path)
    sockets.connect(path).close()
    listener.close()


def test_a_living_socket_with_a_full_queue_is_not_taken_either(short: Path) -> None:
    path = str(short / "hub.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        waiting = sockets.connect(path)
        with pytest.raises(SocketUnusable, match="already listens"):
            runtime_paths.bind_socket(path)
        waiting.close()


def test_a_file_in_the_sockets_place_is_left_alone(short: Path) -> None:
    path = short / "hub.sock"
    path.write_text("precious")
    with pytest.raises(SocketUnusable, match="no socket"):
        runtime_paths.bind_socket(str(path))
    assert path.read_text() == "precious"
