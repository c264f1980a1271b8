"""The hub of a machine: which socket a link believes, and whom the hub lets in."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chatbridge.cli.hub.commands import inbox
from chatbridge.core.errors import SocketUnusable
from chatbridge.hub.links.peers import Peers, may_request
from chatbridge.link import search as system_hub
from chatbridge.link.search import Search

pytestmark = pytest.mark.root

SOMEBODY, GROUP = 65534, 54321
KNOCK = """
import os, socket, sys
path, uid, groups = sys.argv[1], int(sys.argv[2]), [int(it) for it in sys.argv[3:]]
os.setgroups(groups)
os.setgid(uid)
os.setuid(uid)
sock = socket.socket(socket.AF_UNIX)
sock.connect(path)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen()
        yield sock


def test_a_socket_in_roots_folder_is_believed_whoever_listens(folder: Path) -> None:
    path = folder / "hub.sock"
    with listening(path) as sock:
        os.seteuid(SOMEBODY)
        try:
            sock.listen()  # from now on the kernel names this user as the one who listens
        finally:
            os.seteuid(0)
        with system_hub.connect_machine_hub(str(path)) as found:
            assert not found.getblocking()


def _others_write(folder: Path) -> None:
    folder.chmod(0o777)


def _others_folder(folder: Path) -> None:
    os.chown(folder, SOMEBODY, -1)


def _others_socket(folder: Path) -> None:
    os.chown(folder / "hub.sock", SOMEBODY, -1)


def _no_socket(folder: Path) -> None:
    (folder / "hub.sock").unlink()
    (folder / "hub.sock").touch()


@pytest.mark.parametrize("spoil", [_others_write, _others_folder, _others_socket, _no_socket])
def test_a_socket_that_others_could_have_put_there_is_not_believed(
    folder: Path, spoil: Callable[[Path], None]
) -> None:
    with listening(folder / "hub.sock"):
        spoil(folder)
        with pytest.raises(SocketUnusable):
            system_hub.connect_machine_hub(str(folder / "hub.sock"))


def test_a_folder_behind_a_link_is_not_believed(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    with listening(folder / "real" / "hub.sock"), pytest.raises(SocketUnusable):
        system_hub.connect_machine_hub(str(folder / "link" / "hub.sock"))


@pytest.mark.parametrize("named", [False, True])
def test_the_machines_hub_comes_first_unless_a_state_directory_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    state = folder / "state"
    state.mkdir(mode=0o700)
    monkeypatch.setattr(system_hub, "MACHINE_SOCKET", str(folder / "hub.sock"))
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", str(state))
    if named:
        monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(state))
    else:
        monkeypatch.delenv("CHATBRIDGE_STATE_DIR", raising=False)
    search = Search(str(state), time.monotonic(), start_after=None, limit=None)
    with listening(folder / "hub.sock"):
        found = search.step(time.monotonic())
    assert (found is None) is named
    if found is not None:
        found.close()


@pytest.mark.parametrize(
    ("uid", "groups", "admitted"),
    [
        (SOMEBODY, [GROUP], True),
        (SOMEBODY, [1, GROUP, 7], True),
        (GROUP, [], True),  # its first group
        (SOMEBODY, [1, 7], False),
        (SOMEBODY, [], False),
        (0, [], True),
    ],
)
def test_the_members_of_the_sockets_group_and_root_are_let_in(
    folder: Path, uid: int, groups: list[int], admitted: bool
) -> None:
    path = folder / "hub.sock"
    with listening(path) as listener:
        os.chown(path, 0, GROUP)
        path.chmod(0o666)  # so that it is the hub that decides here, and not the kernel
        words = [sys.executable, "-c", KNOCK, str(path), str(uid), *map(str, groups)]
        with subprocess.Popen(words, stdin=subprocess.PIPE):
            listener.settimeout(20)
            sock, _ = listener.accept()
            with sock:
                peers = Peers(path.stat().st_gid)
                assert peers.admits(sock) is admitted
                assert Peers().admits(sock) is (uid == 0)


def test_what_is_not_named_as_everybodys_is_the_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 63000)
    assert may_request("pending", 1000)
    for do in ("answer", "cancel", "snooze", "extend"):  # of their own asks
        assert may_request(do, 1000)
    assert not may_request("pair", 1000)
    assert not may_request("quiet", 1000)  # it counts for everybody
    assert not may_request("stats", 1000)  # they count the asks of all users
    assert not may_request("summary", 1000)  # likewise
    assert not may_request("whatever comes next", 1000)
    assert may_request("pair", 0)
    assert may_request("pair", 63000)


def test_the_inbox_of_a_machines_hub_is_roots_and_the_command_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_hub, "MACHINE_SOCKET", str(folder / "hub.sock"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CHATBRIDGE_STATE_DIR", raising=False)
    with listening(folder / "hub.sock"):
        assert inbox([]) == 1
    said = capsys.readouterr()
    assert "chatbridge pending" in said.err
    assert "sudo" in said.err
    assert said.out == ""
