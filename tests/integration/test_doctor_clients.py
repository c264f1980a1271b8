"""doctor looks at the clients' own files, and at what systemd says of the service."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.cli.connect.installed import installed_clients
from chatbridge.cli.connect.plans import plan, write
from chatbridge.cli.doctor.clients import clients
from chatbridge.cli.doctor.computer import service
from chatbridge.cli.doctor.run import Check
from chatbridge.cli.doctor.tonight import agents
from chatbridge.cli.service import unit_files
from chatbridge.hub.http import tokens
from tests.fakes.doctor import Machine, screen

CLIENTS = Check("agents", clients)
SERVICE = Check("service", service)
SYSTEMCTL = """\
#!/bin/sh
case "$*" in
  *"show --property=Version"*) exit 0;;
  *"show chatbridge.service"*) cat "$SAID";;
  *"--property=Linger"*) echo "$LINGER";;
esac
"""
BOOTED = "/run/systemd/system"
"""Only where systemd runs."""
ENABLED = {"LoadState": "loaded", "UnitFileState": "enabled", "ActiveState": "active"}


@pytest.fixture
def machine(state: str, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Machine(Path(state), monkeypatch)


async def test_none_that_is_connected_is_a_remark(machine: Machine) -> None:
    assert screen(await machine.look(CLIENTS)) == (
        "! agents           none is set up\n"
        "                   → chatbridge connect claude-code\n"
        "                   → for one on another machine: chatbridge token add NAME\n"
    )
    (machine.home / ".codex").mkdir()
    (found,) = await machine.look(CLIENTS)
    assert (found.what, found.fix) == (
        "none is set up; found here: Codex",
        ("chatbridge connect codex",),
    )


async def test_where_agents_have_tokens_nobody_is_told_to_connect_a_client(
    machine: Machine,
) -> None:
    both = (CLIENTS, Check("agents", agents))
    given = tokens.add(str(machine.state), "build-server", now=1.0)
    tokens.add(str(machine.state), "ci", now=1.0)
    unused = (Mark.REMARK, "no token has been used yet: build-server, ci")
    assert [(it.mark, it.what) for it in await machine.look(*both)] == [unused] * 2
    accepted = tokens.Tokens(str(machine.state))
    owner = accepted.owner(given)
    assert owner is not None
    await accepted.note_used(owner, now=100.0)
    used = (Mark.FINE, "over HTTP: build-server")
    assert [(it.mark, it.what) for it in await machine.look(*both)] == [used] * 2


async def test_tokens_that_cannot_be_read_are_a_problem(machine: Machine) -> None:
    machine.store_file("http-tokens.json", size=1)
    found = await machine.look(CLIENTS, Check("agents", agents))
    assert [it.mark for it in found] == [Mark.PROBLEM] * 2
    said = "their tokens cannot be read: no token is accepted, because "
    assert all(it.what.startswith(said) for it in found)


async def test_a_client_that_gives_up_too_early_is_a_remark_until_it_is_connected_anew(
    machine: Machine,
) -> None:
    machine.configure('max_timeout = "1h"')
    codex = machine.home / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_text('[mcp_servers.chatbridge]\ncommand = "chatbridge"\n')
    assert screen(await machine.look(CLIENTS)) == (
        "! codex            gives up after 300 s; your questions may wait 1 h\n"
        "                   → chatbridge connect codex    (sets it to 3600)\n"
    )
    write(plan("codex"))
    (found,) = await machine.look(CLIENTS)
    assert (found.mark, found.what) == (Mark.FINE, "connected in ~/.codex/config.toml")


@pytest.mark.parametrize("client", ["codex", "opencode", "goose"])
async def test_an_entry_for_a_program_that_has_gone_is_a_problem_until_it_is_connected_anew(
    machine: Machine, client: str
) -> None:
    """As where another installation has written it, which was removed since."""
    write(plan(client))
    (connected,) = installed_clients()
    text = connected.file.read_text()
    connected.file.write_text(text.replace(sys.prefix, "/home/ada/old"))
    (found,) = await machine.look(CLIENTS)
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("starts /home/ada/old/bin/")
    assert found.what.endswith(", which is not there any more")
    assert found.fix == (f"chatbridge connect {client}",)
    write(plan(client))
    (found,) = await machine.look(CLIENTS)
    assert found.mark is Mark.FINE


async def test_our_plugin_for_claude_code_connects_it_and_both_are_a_remark(
    machine: Machine,
) -> None:
    folder = machine.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"enabledPlugins": {"chatbridge@chatbridge": true}}')
    (found,) = await machine.look(CLIENTS)
    assert (found.mark, found.what) == (Mark.FINE, "connected by its plug-in")
    (ready,) = await machine.look(Check("agents", agents))
    assert (ready.mark, ready.what.partition("; ")[2]) == (Mark.FINE, "permission and hooks set")
    write(plan("claude-code"))
    (found,) = await machine.look(CLIENTS)
    assert found.mark is Mark.REMARK
    assert found.what.startswith("connected twice, because it has our plug-in, too")
    assert found.fix == ("claude plugin uninstall chatbridge@chatbridge",)


@pytest.mark.parametrize("said", ["false", "[]", '"true"'])
async def test_a_plugin_that_is_switched_off_does_not_count(machine: Machine, said: str) -> None:
    folder = machine.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(
        f'{{"enabledPlugins": {{"chatbridge@chatbridge": {said}}}}}'
    )
    (found,) = await machine.look(CLIENTS)
    assert found.what == "none is set up; found here: Claude Code"


async def test_one_that_is_connected_for_this_folder_alone_counts(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.configure('max_timeout = "1h"')
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"other": {}}}')
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text('[mcp_servers.chatbridge]\ncommand = "x"\n')
    (found,) = await machine.look(CLIENTS)
    assert found.fix == ("chatbridge connect codex --project    (sets it to 3600)",)
    write(plan("codex", project=tmp_path))
    (found,) = await machine.look(CLIENTS)
    assert (found.mark, found.what) == (
        Mark.FINE,
        f"connected in {tmp_path / '.codex/config.toml'}",
    )


async def test_in_the_home_folder_a_client_is_told_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.home)
    write(plan("gemini"))
    assert [found.name for found in await machine.look(CLIENTS)] == ["gemini"]


async def test_what_a_client_cannot_do_is_no_remark(machine: Machine) -> None:
    """Cline waits for an hour at most, whatever it is told."""
    machine.configure('max_timeout = "8h"\ndefault_timeout = "1h"')
    made = plan("cline")
    for change in made.changes:
        change.path.parent.mkdir(parents=True)
    write(made)
    (found,) = await machine.look(CLIENTS)
    assert (found.mark, found.name) == (Mark.FINE, "cline")


async def test_a_file_that_cannot_be_understood_is_a_remark(machine: Machine) -> None:
    (machine.home / ".claude.json").write_text("{ no json")
    (found,) = await machine.look(CLIENTS)
    assert (found.mark, found.name) == (Mark.REMARK, "claude-code")
    assert "cannot be understood" in found.what


# ── the service ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def systemd(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands that say what systemd's do; the file has what is said of the unit."""
    real = os.path.isdir
    monkeypatch.setattr("os.path.isdir", lambda path: path == BOOTED or real(path))
    commands = machine.home / "bin"
    commands.mkdir()
    for name in ("systemctl", "loginctl"):
        (commands / name).write_text(SYSTEMCTL)
        (commands / name).chmod(0o755)
    said = machine.home / "said"
    machine.set(PATH=f"{commands}:/usr/bin:/bin", SAID=str(said), LINGER="yes")
    say(said, **ENABLED)
    return said


def say(file: Path, **properties: str) -> None:
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


async def test_without_systemd_nothing_is_wrong(machine: Machine) -> None:
    machine.set(PATH=str(machine.home))
    shown = screen(await machine.look(SERVICE))
    assert shown == "✓ service          There is no systemd on this computer\n"


async def test_a_service_that_runs_and_lingers_is_fine(machine: Machine, systemd: Path) -> None:
    assert screen(await machine.look(SERVICE)) == "✓ service          enabled, lingering on\n"


async def test_one_that_is_not_installed_is_fine(machine: Machine, systemd: Path) -> None:
    say(systemd, LoadState="not-found", ActiveState="inactive")
    (found,) = await machine.look(SERVICE)
    assert (found.mark, found.what) == (
        Mark.FINE,
        "not installed: the hub starts with the first agent",
    )


async def test_one_that_ends_with_the_log_out_is_a_remark(machine: Machine, systemd: Path) -> None:
    machine.set(LINGER="no")
    (found,) = await machine.look(SERVICE)
    assert (found.mark, found.fix) == (Mark.REMARK, ("chatbridge service install --linger",))


async def test_one_that_fails_is_a_problem_with_its_own_words(
    machine: Machine, systemd: Path
) -> None:
    say(systemd, **ENABLED | {"ActiveState": "failed", "StatusText": "colour is not a setting"})
    (found,) = await machine.look(SERVICE)
    assert (found.mark, found.what, found.fix) == (
        Mark.PROBLEM,
        "enabled, but not running: colour is not a setting",
        ("chatbridge service logs",),
    )


async def test_one_that_does_not_start_with_the_computer_is_a_remark(
    machine: Machine, systemd: Path
) -> None:
    say(systemd, **ENABLED | {"UnitFileState": "disabled"})
    (found,) = await machine.look(SERVICE)
    assert (found.mark, found.fix) == (Mark.REMARK, ("chatbridge service install",))


def installed() -> Path:
    folder = Path(unit_files.folder())
    folder.mkdir(parents=True)
    for name, content in unit_files.contents().items():
        (folder / name).write_text(content)
    return folder


async def test_unit_files_of_an_older_chatbridge_are_a_remark(
    machine: Machine, systemd: Path
) -> None:
    folder = installed()
    say(systemd, **ENABLED | {"FragmentPath": str(folder / "chatbridge.service")})
    assert [found.mark for found in await machine.look(SERVICE)] == [Mark.FINE]
    (folder / "chatbridge.service").write_text("[Service]\nExecStart=/old\n")
    (found,) = await machine.look(SERVICE)
    assert found.what == "its unit files are out of date"


async def test_unit_files_that_cannot_be_read_are_not_called_old(
    machine: Machine, systemd: Path
) -> None:
    folder = installed()
    say(systemd, **ENABLED | {"FragmentPath": str(folder / "chatbridge.service")})
    (folder / "chatbridge.service").write_bytes(b"\xff")
    assert [found.mark for found in await machine.look(SERVICE)] == [Mark.FINE]


async def test_details_are_json(machine: Machine, systemd: Path) -> None:
    found = await machine.look(SERVICE, CLIENTS)
    assert json.loads(json.dumps([finding.json() for finding in found]))
