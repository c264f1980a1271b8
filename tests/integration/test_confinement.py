"""A hub finds out that it has less of a network than its computer, in real network namespaces."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys

import pytest

from chatbridge.core.asks.reach import Reach
from chatbridge.hub.process.confinement import (
    ANOTHER,
    FORBIDDEN,
    LOOPBACK,
    OUTSIDE,
    SANDBOXED,
    confinement,
)
from chatbridge.system.processes import same_network
from tests.fakes.network import no_namespaces
from tests.fakes.program import bare

TOLD = "from chatbridge.hub.process.confinement import confinement; print(confinement([{pid}]))"
orphaned = pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces() or "")


def inside(*before: str) -> str:
    """What a process in a network of its own finds, after these commands."""
    code = TOLD.format(pid=os.getpid())
    script = " && ".join([*before, f'exec "{sys.executable}" -c "{code}"'])
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", script],
        env=bare({}),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@orphaned
def test_a_network_of_loopback_alone_is_told_with_what_to_do() -> None:
    said = inside()
    assert said.startswith(f"{SANDBOXED}: {LOOPBACK}. ")
    assert "chatbridge service install" in said


@orphaned
@pytest.mark.skipif(shutil.which("ip") is None, reason="there is no program ip")
def test_a_network_that_is_not_the_computers_is_told() -> None:
    assert inside("ip link add v0 type veth peer name v1").startswith(f"{SANDBOXED}: {ANOTHER}. ")


def test_a_process_that_may_open_no_socket_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> socket.socket:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refused)
    assert confinement() == f"{SANDBOXED}: {FORBIDDEN}. {OUTSIDE}."


@pytest.mark.skipif(
    {name for _, name in socket.if_nameindex()} <= {"lo"}, reason="there is no network here"
)
def test_the_computers_own_network_is_no_sandbox() -> None:
    assert same_network(os.getpid()) is True
    assert confinement([os.getpid()]) is None
    assert confinement([2**22 + 1]) is None  # no such process: nothing is claimed


def test_an_agent_is_told_where_nobody_could_be_reached() -> None:
    missing = (("telegram", "telegram cannot be reached (ConnectError)."),)
    said = Reach(missing=missing, confined="This hub runs inside a sandbox.").nobody
    assert said == (
        "Nobody could be reached. Telegram: telegram cannot be reached (ConnectError). "
        "This hub runs inside a sandbox."
    )
    assert Reach(shown=("telegram",), confined="This hub runs inside a sandbox.").nobody is None
