"""The portable ways beside those of Linux, on Linux: they see the same, or let nobody in."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import queue
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatbridge.clock import SystemClock
from chatbridge.commands.definitions.watch import watch
from chatbridge.system import descriptors, processes, sockets
from chatbridge.system.file_changes import WatchfilesThread
from tests.fakes.core_env import world
from tests.fakes.link_server import door

PATIENCE = 30.0


def test_ps_says_of_a_process_what_proc_says(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = processes.find(os.getpid())
    monkeypatch.setattr(processes, "PROC", False)
    asked = processes.find(os.getpid())
    assert shown is not None
    assert asked is not None
    assert asked._replace(started=shown.started) == shown
    assert processes.all_processes()[os.getpid()] == asked


def test_a_process_that_has_gone_is_not_found_by_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROC", False)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert processes.find(child.pid) is None


def _forbidden(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def test_a_process_is_ended_where_the_kernel_has_no_handles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "pidfd_open", _forbidden)
    with subprocess.Popen(["sleep", "60"]) as child, processes.Handle(child.pid) as handle:
        assert not handle.wait(0.0)
        handle.terminate()
        assert handle.wait(PATIENCE)
        child.wait()
        with pytest.raises(ProcessLookupError):
            processes.Handle(child.pid)


def test_a_process_has_not_ended_because_ps_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "pidfd_open", _forbidden)
    monkeypatch.setattr(processes, "PROC", False)
    with subprocess.Popen(["sleep", "60"]) as child:
        monkeypatch.setattr(subprocess, "run", _forbidden)
        with processes.Handle(child.pid) as handle:
            assert not handle.wait(0.0)
            handle.terminate()
            child.wait()
            assert handle.wait(0.0)


async def test_where_the_kernel_says_of_nobody_who_it_is_nobody_is_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        monkeypatch.setattr(sockets, "_CREDENTIALS", None)  # and Linux has none of macOS
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        assert "whose it is cannot be seen" in caplog.text
        writer.close()
        with pytest.raises(OSError, match="not supported"):
            sockets.connect(str(tmp_path / "s"))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not sockets.is_own(ours)


def test_watchfiles_tells_of_a_file_that_was_written(tmp_path: Path) -> None:
    told = queue.Queue[set[str]]()
    with closing(WatchfilesThread([str(tmp_path)], told.put)):
        (tmp_path / "git.json").write_text("{}")
        assert told.get(timeout=PATIENCE) == {str(tmp_path / "git.json")}


def made_later(tools: Path) -> None:
    (tools / "later").mkdir()
    (tools / "later" / "npm.json").write_text("{}")


@pytest.mark.parametrize(
    "change",
    [
        lambda tools: (tools / "git.json").write_text("{}"),
        lambda tools: (tools.parent / "elsewhere.json").write_text("new"),
        made_later,
    ],
    ids=["a new file", "a definition that is a link", "a folder that was not there"],
)
async def test_without_inotify_changed_definitions_are_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    tools, told = tmp_path / "tools", asyncio.Queue[None]()
    tools.mkdir()
    (tmp_path / "elsewhere.json").write_text("old")
    (tools / "linked.json").symlink_to(tmp_path / "elsewhere.json")
    monkeypatch.setattr(ctypes.CDLL, "__getattr__", _no_function)
    dirs = (tools, tools / "later" / "deep", tools / "later")
    watching = asyncio.ensure_future(watch(dirs, lambda: told.put(None), clock=SystemClock()))
    try:
        await asyncio.wait_for(told.get(), PATIENCE)
        change(tools)
        await asyncio.wait_for(told.get(), PATIENCE)
    finally:
        watching.cancel()
        await asyncio.wait({watching})


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "in a bare chroot"])
def test_everything_above_a_descriptor_is_closed(
    monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if not listed:
            monkeypatch.setattr(os, "listdir", _refused)
        high = os.dup2(writing, 200)
        descriptors.close_above(max(reading, writing))
        try:
            os.fstat(high)
        except OSError:
            os.write(writing, b"closed")
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as file:
        assert file.read() == b"closed"


def _no_function(_library: ctypes.CDLL, name: str) -> None:
    raise AttributeError(name)


def _refused(path: str) -> list[str]:
    raise FileNotFoundError(path)
