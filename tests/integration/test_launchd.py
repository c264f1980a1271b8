"""`chatbridge service` on macOS, before a stand-in for launchd that really runs the hub."""

from __future__ import annotations

import argparse
import asyncio
import os
import plistlib
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from chatbridge import lock_file, runtime_paths
from chatbridge.channels.checks import Finding, Mark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.tonight import night_service
from chatbridge.cli.hub.control import end_hub, restart_hub
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.service import launchd as ours
from chatbridge.cli.service.command import service
from chatbridge.cli.service.launchd import LABEL
from chatbridge.cli.service.manager import this_manager
from chatbridge.core.errors import ServiceFailed
from tests.acceptance.bridge import PATIENCE, until
from tests.acceptance.login import asking
from tests.fakes.launchd import Launchd
from tests.fakes.program import CHATBRIDGE, bare

PLIST = f"Library/LaunchAgents/{LABEL}.plist"


@pytest.fixture
def home(state: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CHATBRIDGE_CONFIG", "CHATBRIDGE_STATE_DIR", "CHATBRIDGE_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", state)
    monkeypatch.setenv("HOME", state)
    return Path(state)


@pytest.fixture
def mac(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launchd]:
    with Launchd(home).running() as launchd:
        monkeypatch.setenv("PATH", f"{launchd.bin}:/usr/bin:/bin")
        configure(home, "[web]\nenabled = false\n")
        yield launchd


def configure(home: Path, toml: str) -> None:
    path = home / ".config/chatbridge/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(toml)
    path.chmod(0o600)


def chatbridge_service(what: str, *rest: str, linger: bool | None = None) -> int:
    given = argparse.Namespace(what=what, rest=list(rest), linger=linger, force=False)
    return service(given, ours.Launchd())


def holder() -> lock_file.LockInfo:
    found = lock_file.find_holder(runtime_paths.state_dir())
    assert found is not None
    return found


def another_than(pid: int) -> int:
    """The pid of the service's next hub."""

    def look() -> int | None:
        found = lock_file.find_holder(runtime_paths.state_dir())
        is_next = found is not None and found.pid != pid and found.started_by == "service"
        return found.pid if found is not None and is_next else None

    return until(look, "another hub")


def one_asked() -> str:
    return str(until(lambda: ask_hub("pending")["asks"] or None, "a question")[0]["id"])


@asynccontextmanager
async def agent(home: Path) -> AsyncIterator[Client]:
    """An official client on the stdio of a link, with the little that clients pass on."""
    environment = {"HOME": str(home), "CHATBRIDGE_RUNTIME_DIR": str(home)}
    link = StdioServerParameters(
        command=CHATBRIDGE[0], args=[*CHATBRIDGE[1:], "mcp"], env=bare(environment), cwd=home
    )
    async with Client(stdio_client(link)) as client:
        yield client


def test_what_uvx_runs_from_its_cache_becomes_no_service(
    mac: Launchd, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ada/.cache/uv/archive-v0/ZdYxPfAIMOdFkzUM")
    assert chatbridge_service("install") == 1
    assert "Run: uv tool install " in capsys.readouterr().out
    assert not (home / PLIST).exists()


def test_an_installed_service_answers_and_installing_it_again_changes_nothing(
    mac: Launchd, capsys: pytest.CaptureFixture[str]
) -> None:
    mac.cold = True
    assert chatbridge_service("install") == 0
    said = capsys.readouterr().out
    assert f"~/{PLIST}  written" in said
    assert "✓ running; starts when you log in, and stops when you log out" in said
    assert ask_hub("status")["startedBy"] == "service"
    log = Path(runtime_paths.log_path(runtime_paths.state_dir()))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    pid = holder().pid
    assert pid == ours.Launchd().state().pid
    assert chatbridge_service("install") == 0
    assert "unchanged" in capsys.readouterr().out
    assert holder().pid == pid
    assert chatbridge_service("status") == 0
    assert "✓ service    running, enabled\n" in capsys.readouterr().out


async def test_a_waiting_agent_gets_its_answer_though_the_hub_crashes_and_is_restarted(
    mac: Launchd, home: Path
) -> None:
    await asyncio.to_thread(chatbridge_service, "install")
    async with agent(home) as client, asking(client) as call:
        ask = await asyncio.to_thread(one_asked)
        first = holder().pid
        os.kill(first, signal.SIGKILL)
        second = await asyncio.to_thread(another_than, first)
        mac.calls.clear()
        assert await asyncio.to_thread(restart_hub, manager=ours.Launchd())
        assert await asyncio.to_thread(another_than, second) not in (first, second)
        await asyncio.to_thread(ask_hub, "answer", id=ask, words=["Yes"])
        assert await asyncio.wait_for(call, PATIENCE) == "User selected: Yes"
    ended = ["kill", "SIGTERM", f"{mac.domain}/{LABEL}"]
    assert ended in mac.calls, "`kickstart -k` would kill it without a warning"


def test_a_changed_file_takes_effect_though_launchd_is_slow_to_let_go(
    mac: Launchd, home: Path
) -> None:
    chatbridge_service("install")
    before = holder().pid
    path = home / PLIST
    agent = plistlib.loads(path.read_bytes())
    path.write_bytes(plistlib.dumps(agent | {"ThrottleInterval": 1}))
    assert chatbridge_service("install") == 0
    assert holder().pid != before
    assert mac.jobs[LABEL].agent == agent


def test_stop_is_for_good_start_switches_it_on_and_uninstall_leaves_only_the_questions(
    mac: Launchd, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chatbridge_service("install")
    assert end_hub(runtime_paths.state_dir(), manager=ours.Launchd())
    assert mac.jobs == {}
    assert chatbridge_service("status") == 1
    assert "✗ service    stopped, enabled\n" in capsys.readouterr().out
    mac.disabled.add(LABEL)
    assert chatbridge_service("status") == 1
    assert "✗ service    stopped, not enabled\n" in capsys.readouterr().out
    assert chatbridge_service("start") == 0
    assert ours.Launchd().state().enabled
    assert chatbridge_service("uninstall") == 0
    assert "removed" in capsys.readouterr().out
    assert (mac.jobs, list((home / "Library/LaunchAgents").iterdir())) == ({}, [])
    assert lock_file.find_holder(runtime_paths.state_dir()) is None
    assert (Path(runtime_paths.state_dir()) / "chatbridge.db").exists()
    assert chatbridge_service("uninstall") == 0
    assert "not installed" in capsys.readouterr().out


def test_why_the_hub_does_not_start_is_told(mac: Launchd, home: Path) -> None:
    mac.throttle = PATIENCE
    configure(home, "max_open_ask = 3\n")
    with pytest.raises(ServiceFailed, match=r"did you mean max_open_asks.*chatbridge service logs"):
        chatbridge_service("install")
    state = ours.Launchd().state()
    assert not state.running
    assert "max_open_ask" in state.why


def test_who_is_not_logged_in_at_the_screen_is_told_so_and_nothing_is_written(
    mac: Launchd, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mac.session = False
    for what in ("install", "status"):
        assert chatbridge_service(what) == 1
        assert "is not logged in at the screen of this Mac" in capsys.readouterr().out
    assert chatbridge_service("uninstall") == 0
    assert not (home / "Library").exists()


def test_what_launchd_refuses_is_told_with_where_to_look(
    mac: Launchd, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "SETTLE_SECONDS", 0.2)
    path = home / PLIST
    path.parent.mkdir(parents=True)
    path.write_text("<plist><dict><key>Label</key></dict></plist>")
    with pytest.raises(
        ServiceFailed, match=r"Bootstrap failed: 5: Input/output error.*Login Items"
    ):
        ours.Launchd().start()


def test_the_agent_has_the_folders_and_no_token(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(home / "my <state>"))
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", "123:secret")
    ((path, content),) = ours.Launchd().files().items()
    assert path == str(home / PLIST)
    assert "secret" not in content
    agent = plistlib.loads(content.encode())
    variables = agent["EnvironmentVariables"]
    assert variables["CHATBRIDGE_STATE_DIR"] == str(home / "my <state>")
    assert variables["PATH"].split(":")[-1] == "/opt/homebrew/bin"
    assert agent["ProgramArguments"][-3:] == ["hub", "--started-by", "service"]
    assert os.path.isabs(agent["ProgramArguments"][0])
    assert agent["Umask"] == 0o077


PRINTED = """\
gui/501/chatbridge.hub = {{
\tactive count = 1
\tpath = /Users/ana/Library/LaunchAgents/chatbridge.hub.plist
\ttype = LaunchAgent
\tstate = {state}

\tinherited environment = {{
\t\tSSH_AUTH_SOCK => /private/tmp/com.apple.launchd.x/Listeners
\t}}

\tevent triggers = {{
\t\tcom.apple.example => {{
\t\t\tstate = 0
\t\t}}
\t}}

\texit timeout = 15
\truns = 3
{pid}\timmediate reason = speculative
\tlast exit code = {code}

\tresource coalition = {{
\t\tID = 1108
\t\tstate = active
\t\tpid = 1
\t}}
}}
"""


@pytest.mark.parametrize(
    ("state", "pid", "code", "expected"),
    [
        ("running", "\tpid = 913\n", "(never exited)", ours.Job(913, "running", 3, failed=False)),
        ("running", "\tpid = 913\n", "0", ours.Job(913, "running", 3, failed=False)),
        ("spawn scheduled", "", "78: EX_CONFIG", ours.Job(None, "spawn scheduled", 3, failed=True)),
    ],
)
def test_what_launchctl_prints_is_read(state: str, pid: str, code: str, expected: ours.Job) -> None:
    assert ours.parse_job(PRINTED.format(state=state, pid=pid, code=code)) == expected


@given(st.text())
def test_whatever_launchctl_prints_can_be_read(said: str) -> None:
    assert ours.parse_job(f"x = {{\n\truns = {said}\n\tpid = {said}\n}}\n").runs >= 0


def test_each_system_has_its_manager() -> None:
    titles = [this_manager(macos=macos).title for macos in (False, True)]
    assert titles == ["systemd user service", "launchd agent"]


def test_the_log_is_shown_by_tail(home: Path) -> None:
    with pytest.raises(ServiceFailed, match="there is no log yet"):
        ours.Launchd().log_command([])
    log = Path(runtime_paths.log_path(runtime_paths.state_dir()))
    log.parent.mkdir(parents=True)
    log.touch()
    assert ours.Launchd().log_command([]) == ["tail", "-n", "100", str(log)]
    assert ours.Launchd().log_command(["-f"]) == ["tail", "-f", str(log)]


def test_a_hub_is_not_stopped_for_a_service_whose_program_has_gone(
    mac: Launchd, home: Path
) -> None:
    path = home / PLIST
    path.parent.mkdir(parents=True)
    agent = plistlib.loads(ours.Launchd().files()[str(path)].encode())
    sleeper = agent | {"ProgramArguments": ["/bin/sleep", "600"]}
    for key in ("StandardOutPath", "StandardErrorPath"):
        del sleeper[key]
    path.write_bytes(plistlib.dumps(sleeper))
    mac.answer(["bootstrap", mac.domain, str(path)])
    before = ours.Launchd().state().pid
    path.write_bytes(plistlib.dumps(sleeper | {"ProgramArguments": ["/old/chatbridge", "hub"]}))
    with pytest.raises(ServiceFailed, match=r"Nothing was stopped.*chatbridge service install"):
        ours.Launchd().restart()
    assert ours.Launchd().state().pid == before


def doctor() -> Finding:
    context = DoctorContext.here()
    context.manager = ours.Launchd()
    (found,) = night_service(context)
    return found


def test_doctor_says_what_a_service_of_launchd_lacks(mac: Launchd, home: Path) -> None:
    found = doctor()
    assert found.mark is Mark.REMARK
    assert found.what == "not installed: nothing starts the hub again if it ends"
    path = home / PLIST
    for where, content in ours.Launchd().files().items():
        Path(where).parent.mkdir(parents=True)
        Path(where).write_text(content)
    found = doctor()
    assert (found.mark, found.what) == (Mark.PROBLEM, "enabled, but not running: stopped")
    assert found.fix == ("chatbridge service logs",)
    path.write_text("")
    assert doctor().fix == ("chatbridge service install",)
    path.write_text(ours.Launchd().files()[str(path)])
    agent = plistlib.loads(path.read_bytes())
    sleeper = agent | {"ProgramArguments": ["/bin/sleep", "600"]}
    for key in ("StandardOutPath", "StandardErrorPath"):
        del sleeper[key]
    path.write_bytes(plistlib.dumps(sleeper))
    mac.answer(["bootstrap", mac.domain, str(path)])
    assert doctor().what == "its file is out of date"
    path.write_text(ours.Launchd().files()[str(path)])
    found = doctor()
    assert (found.mark, found.what) == (Mark.FINE, "enabled; it stops when you log out")
    mac.disabled.add(LABEL)
    assert doctor().what == "running, but it does not start when you log in"
