"""What differs between systems: parsers of what macOS says, and where the differences may stand."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chatbridge
from chatbridge.system import descriptors, sockets
from chatbridge.system.processes import UNKNOWN, Process, parse_ps

PACKAGE = Path(chatbridge.__file__).parent
LINUX_ALONE = re.compile(
    r"sys\.platform|/proc\b|pidfd|epoll|SO_PEER|inotify_|prctl|waitid|O_PATH|\bps -"
)
IDS = st.integers(0, 2**32 - 1)


def session(pid: int) -> int:
    return pid + 1


def test_only_one_package_knows_on_which_system_it_runs() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "system" and LINUX_ALONE.search(path.read_text(encoding="utf-8"))
    }
    assert found == set()


# ── peers ─────────────────────────────────────────────────────────────────────────────────────────


@given(uid=IDS, groups=st.lists(IDS, max_size=16))
def test_the_credentials_of_a_mac_are_read_as_its_header_lays_them_out(
    uid: int, groups: list[int]
) -> None:
    padded = groups + [0] * (16 - len(groups))
    raw = struct.pack("IIhxx16I", 0, uid, len(groups), *padded)
    assert len(raw) == 76
    assert sockets.parse_xucred(raw) == (uid, set(groups))


def test_credentials_as_the_kernel_of_a_mac_writes_them() -> None:
    if sys.byteorder != "little":
        pytest.skip("written down on a machine that begins with the lowest byte")
    raw = bytes.fromhex("00000000 f5010000 0300 0000 14000000 0c000000 50000000") + bytes(13 * 4)
    assert sockets.parse_xucred(raw) == (501, {20, 12, 80})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        bytes(11),
        struct.pack("IIhxx16I", 1, 501, 1, *range(16)),
        struct.pack("IIhxx16I", 0, 501, 17, *range(16)),
        struct.pack("IIhxx16I", 0, 501, -1, *range(16)),
    ],
    ids=["nothing", "half", "another version", "more groups than fit", "fewer than none"],
)
def test_credentials_that_cannot_be_read_are_nobodys(raw: bytes) -> None:
    with pytest.raises(OSError, match="cannot be read"):
        sockets.parse_xucred(raw)


@given(st.binary(max_size=100))
def test_whatever_the_kernel_says_is_read_or_refused(raw: bytes) -> None:
    try:
        uid, groups = sockets.parse_xucred(raw)
    except OSError:
        return
    assert raw[:4] == bytes(4)
    assert 0 <= uid < 2**32
    assert len(groups) <= (len(raw) - 12) // 4


# ── processes ─────────────────────────────────────────────────────────────────────────────────────


def test_processes_are_read_as_a_mac_lists_them() -> None:
    said = """\
    1     0     1        0     0 ??       Ss   Mon Mar  2 08:00:01 2026 launchd
  612   598   612      700   501 ttys001  S+   Mon Mar  2 09:15:59 2026 Claude Code
  700   612   700      700   501 ttys001  Z+   Tue Dec 31 23:59:59 2024 (zsh)
"""
    found = parse_ps(said.splitlines(), session=session)
    assert found[1] == Process(1, "launchd", 0, 1, 2, False, UNKNOWN, 1772438401, False, 0)
    assert found[612] == Process(
        612, "Claude Code", 598, 612, 613, True, 700, 1772442959, False, 501
    )
    assert found[700].over
    assert found[700].started == 1735689599


@given(st.text())
def test_a_line_that_is_none_of_ps_is_no_process(text: str) -> None:
    for pid, process in parse_ps(text.splitlines(), session=session).items():
        assert process.pid == pid


# ── descriptors ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("hard", "refused", "raised"),
    [(-1, (), [65_536]), (-1, (65_536,), [10_240]), (4_096, (), [4_096]), (256, (), [])],
    ids=["no limit", "a limit that is not told", "a low limit", "nothing to raise"],
)
def test_the_limit_of_open_files_is_raised_as_far_as_the_system_lets_it(
    monkeypatch: pytest.MonkeyPatch, hard: int, refused: tuple[int, ...], raised: list[int]
) -> None:
    limits: list[int] = []

    def setrlimit(_: int, both: tuple[int, int]) -> None:
        if both[0] in refused:
            raise ValueError("current limit exceeds maximum limit")
        limits.append(both[0])

    monkeypatch.setattr("resource.getrlimit", lambda _: (256, hard))
    monkeypatch.setattr("resource.setrlimit", setrlimit)
    monkeypatch.setattr(descriptors, "_original_limits", [])
    descriptors.raise_limit()
    assert limits == raised
