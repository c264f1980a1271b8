"""A bot belongs to one hub of a user, and the lock says to which."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chatbridge import runtime_paths
from chatbridge.channels.telegram.spec import account_lock
from chatbridge.core.errors import BotInUse, SettingsError
from chatbridge.hub.process import lock as bot_lock
from tests.fakes.link_client import PATIENCE
from tests.fakes.program import ROOT

HOLDER = """
import sys
from chatbridge import runtime_paths
from chatbridge.channels.telegram.spec import account_lock
from chatbridge.hub.process import lock as bot_lock
bot_lock.TEMPORARY = sys.argv[1]
runtime_paths.user_runtime_dir = lambda: None
bot_lock.hold_account(account_lock("42"))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A system's temporary directory, on a machine where nobody is logged in."""
    monkeypatch.setattr(bot_lock, "TEMPORARY", str(tmp_path))
    monkeypatch.setattr(runtime_paths, "user_runtime_dir", lambda: None)
    return tmp_path / f"chatbridge-{os.getuid()}"


def test_a_bot_is_held_by_one_hub_and_the_next_hears_by_which(shared: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(shared.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT), "CHATBRIDGE_STATE_DIR": "/the/others"},
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BotInUse) as refused:
            bot_lock.hold_account(account_lock("42"))
        assert refused.value.pid == other.pid
        assert f"(pid {other.pid})" in str(refused.value)
        assert "CHATBRIDGE_STATE_DIR='/the/others' chatbridge stop" in str(refused.value)
        os.close(bot_lock.hold_account(account_lock("43")))
        other.kill()
        other.wait(PATIENCE)
        os.close(bot_lock.hold_account(account_lock("42")))


def test_a_bots_lock_whose_holder_has_not_yet_said_its_name_is_held_too(shared: Path) -> None:
    lock = bot_lock.hold_account(account_lock("42"))
    os.ftruncate(lock, 0)
    with pytest.raises(BotInUse, match=r"an unknown process.*Stop it; or make another bot"):
        bot_lock.hold_account(account_lock("42"))
    os.close(lock)


def test_the_bots_lock_is_in_one_place_whatever_the_variables_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = bot_lock.account_lock_path("42")
    for name in ("CHATBRIDGE_STATE_DIR", "CHATBRIDGE_RUNTIME_DIR", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    assert bot_lock.account_lock_path("42") == before
    uid = os.getuid()
    assert before in (
        f"/run/user/{uid}/chatbridge/bot-42.lock",
        f"/tmp/chatbridge-{uid}/bot-42.lock",
    )


def test_where_the_user_is_logged_in_the_bots_lock_is_in_the_runtime_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runtime_paths, "user_runtime_dir", lambda: str(tmp_path / "chatbridge"))
    os.close(bot_lock.hold_account(account_lock("42")))
    assert [file.name for file in (tmp_path / "chatbridge").iterdir()] == ["bot-42.lock"]


def test_the_folder_of_the_bots_lock_is_private(shared: Path) -> None:
    before = os.umask(0)
    try:
        os.close(bot_lock.hold_account(account_lock("42")))
    finally:
        os.umask(before)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    assert stat.S_IMODE((shared / "bot-42.lock").stat().st_mode) == 0o600


def test_a_link_in_the_place_of_that_folder_is_refused(shared: Path) -> None:
    mine = shared.parent / "mine"
    mine.mkdir(mode=0o700)
    shared.symlink_to(mine)
    with pytest.raises(SettingsError, match=f"{shared} has to be a directory of yours"):
        bot_lock.hold_account(account_lock("42"))
    assert list(mine.iterdir()) == []


def test_that_folder_is_refused_if_others_can_write_to_it(shared: Path) -> None:
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(SettingsError, match=r"It is: drwxrwxrwx"):
        bot_lock.hold_account(account_lock("42"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_that_folder_is_refused_if_it_belongs_to_another_user(shared: Path) -> None:
    shared.mkdir(mode=0o700)
    os.chown(shared, 65534, -1)
    with pytest.raises(SettingsError, match="of uid 65534"):
        bot_lock.hold_account(account_lock("42"))


def test_that_folder_is_named_if_it_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    monkeypatch.setattr(bot_lock, "TEMPORARY", str(shared / "nowhere"))
    with pytest.raises(SettingsError, match=r"nowhere/chatbridge-\d+ cannot be made"):
        bot_lock.hold_account(account_lock("42"))
