"""doctor looks at the configuration, and at who else can get at files, by their real modes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.cli.doctor.files import attachments, configuration, files
from chatbridge.cli.doctor.run import Check, all_checks
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.doctor import Machine, screen

CONFIGURATION = Check("configuration", configuration)
FILES = Check("files", files)
ATTACHMENTS = Check("attachments", attachments)
TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
A_TOKEN = f'[telegram]\ntoken = "{TOKEN}"\nallowed_users = [1]\n'


async def test_a_private_configuration_is_fine(machine: Machine) -> None:
    machine.configure(A_TOKEN)
    assert screen(await machine.look(CONFIGURATION)) == (
        "✓ configuration    ~/config.toml, mode 0600\n"
    )


async def test_no_configuration_is_fine_too(machine: Machine) -> None:
    assert screen(await machine.look(CONFIGURATION)) == (
        "✓ configuration    no ~/config.toml: defaults apply\n"
    )


async def test_a_token_that_others_can_read_is_a_problem_and_is_not_shown(machine: Machine) -> None:
    machine.configure(A_TOKEN, mode=0o644)
    shown = screen(await machine.look(CONFIGURATION))
    assert shown == (
        "✗ configuration    others can read ~/config.toml (mode 0644), and a secret is in\n"
        "                   it\n"
        f"                   → chmod 600 {machine.config}\n"
    )


async def test_without_a_secret_in_it_that_is_a_remark(machine: Machine) -> None:
    machine.configure('default_timeout = "10min"', mode=0o644)
    (found,) = await machine.look(CONFIGURATION)
    assert found.mark is Mark.REMARK


async def test_a_configuration_that_others_can_write_is_a_problem(machine: Machine) -> None:
    machine.configure("", mode=0o660)
    (found,) = await machine.look(CONFIGURATION)
    assert (found.mark, found.fix) == (Mark.PROBLEM, (f"chmod 600 {machine.config}",))


async def test_a_key_that_is_no_setting_is_named_and_the_rest_goes_on(machine: Machine) -> None:
    machine.configure(f'colour = "blue"\n{A_TOKEN}')
    found = await machine.look(CONFIGURATION, FILES)
    assert [finding.mark for finding in found] == [Mark.PROBLEM, Mark.REMARK, Mark.FINE]
    assert found[0].what == "colour is not a setting (line 1)"
    assert found[1].what == "everything below was checked with the default settings"


async def test_what_is_no_file_is_said_at_once(machine: Machine) -> None:
    os.mkfifo(machine.config, 0o600)
    first, _ = await machine.look(CONFIGURATION)
    assert first.what.endswith("cannot be read: it is not a file")


async def test_what_is_nested_too_deeply_is_said(machine: Machine) -> None:
    machine.configure(f"x = {'[' * 9_000}")
    first, _ = await machine.look(CONFIGURATION)
    assert first.what.endswith("cannot be read: it is nested too deeply")


@pytest.mark.parametrize(
    "broken",
    [
        f"token = {TOKEN}\n",
        f'[telegram]\ntoken = "{TOKEN} "x\n',
        f'[telegram]\ntoken = ["{TOKEN}"]',
    ],
)
async def test_whatever_is_wrong_with_it_what_is_in_it_is_not_shown(
    machine: Machine, broken: str
) -> None:
    machine.configure(broken)
    found = await machine.look(CONFIGURATION)
    assert found[0].mark is Mark.PROBLEM
    assert "AAHdqTcv" not in screen(found) + str([finding.json() for finding in found])


async def test_a_mistake_in_a_variable_is_told_as_well(machine: Machine) -> None:
    machine.set(CHATBRIDGE_WEB__PORT="none")
    found = await machine.look(*(check for check in all_checks() if check.name != "agents"))
    assert found[0].what.startswith("web.port: ")


async def test_a_secret_of_its_own_file_that_others_can_read_is_a_problem(
    machine: Machine,
) -> None:
    machine.configure("")
    secrets = machine.home / "secrets"
    secrets.mkdir(mode=0o700)
    token = secrets / "chatbridge_telegram__token"
    token.write_text(TOKEN)
    token.chmod(0o640)
    found = await machine.look(CONFIGURATION)
    assert found[0].mark is Mark.PROBLEM
    assert found[0].what == f"others can read the secret {token} (mode 0640)"
    assert f"chmod 600 '{token}'" in found[0].fix[0]
    token.chmod(0o600)
    assert [f.mark for f in await machine.look(CONFIGURATION)] == [Mark.FINE]


async def test_approvals_that_nobody_could_give_are_a_problem(machine: Machine) -> None:
    machine.configure('[approvals]\nchannels = ["matrix"]\n')
    (found,) = await machine.look(CONFIGURATION)
    assert found.what == (
        "No approval can be given: approvals.channels is matrix, and that is not set up"
    )


async def test_a_private_state_directory_is_fine(machine: Machine) -> None:
    machine.state.mkdir(mode=0o700)
    await (await SqliteStore.open(machine.state / "chatbridge.db")).close()
    assert screen(await machine.look(FILES)) == "✓ files            only you can read ~/s\n"


async def test_a_state_directory_that_others_can_enter_is_a_problem(machine: Machine) -> None:
    machine.state.mkdir()
    machine.state.chmod(0o755)
    (machine.state / "hub.log").write_text("")
    (machine.state / "hub.log").chmod(0o644)
    assert screen(await machine.look(FILES)) == (
        "✗ files            others can access ~/s (mode 0755)\n"
        f"                   → chmod 700 {machine.state}\n"
        "✗ files            others can read ~/s/hub.log\n"
        f"                   → chmod -R go-rwx {machine.state}\n"
    )


async def test_every_file_in_it_is_looked_at(machine: Machine) -> None:
    machine.state.mkdir(mode=0o700)
    deep = machine.state / "matrix" / "DEVICE"
    deep.mkdir(parents=True)
    for path in (deep, deep.parent):
        path.chmod(0o700)
    (deep / "crypto.db").write_text("")
    (deep / "crypto.db").chmod(0o604)
    (found,) = await machine.look(FILES)
    assert found.mark is Mark.REMARK  # the folder above still keeps others out
    assert "~/s/matrix/DEVICE/crypto.db" in found.what


async def test_a_socket_that_others_could_connect_to_is_a_problem(machine: Machine) -> None:
    with machine.hub():
        (socket,) = machine.state.glob("hub-*.sock")
        assert [f.mark for f in await machine.look(FILES)] == [Mark.FINE]
        socket.chmod(0o666)
        found = await machine.look(FILES)
    assert f"others can access ~/s/{socket.name} (mode 0666)" in [f.what for f in found]


async def test_a_state_directory_that_cannot_be_written_is_a_problem(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.state.mkdir(mode=0o500)
    if os.getuid() == 0:  # who can write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != machine.state)
    (found,) = await machine.look(FILES)
    assert found.what == "~/s cannot be written, so no hub can start"


async def test_files_of_questions_are_mentioned_once_there_are_some(machine: Machine) -> None:
    assert ATTACHMENTS in all_checks()
    assert await machine.look(ATTACHMENTS) == []
    machine.store_file("attachments/abc", size=700)
    machine.store_file("received/ask/abc.png", size=300)
    assert screen(await machine.look(ATTACHMENTS)) == (
        "✓ attachments      1 KB of pictures and files\n"
    )


@pytest.mark.parametrize(
    ("name", "whose"),
    [("attachments/a", "agents' files"), ("received/ask/a", "the files you sent")],
)
async def test_room_that_is_nearly_used_up_is_a_warning(
    machine: Machine, name: str, whose: str
) -> None:
    machine.configure('[attachments]\nlargest = "1KB"\nquota = "10KB"\n')
    machine.store_file(name, size=9_000)
    assert [it.mark for it in await machine.look(ATTACHMENTS)] == [Mark.FINE]
    machine.store_file(name, size=9_100)
    (found,) = await machine.look(ATTACHMENTS)
    assert (found.mark, found.what) == (Mark.REMARK, f"{whose} take 9 KB of 10 KB")
    assert "raise quota under [attachments]" in found.fix[0]


async def test_without_pillow_the_command_that_adds_it_is_shown(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert await machine.look(ATTACHMENTS) == []
    machine.store_file("attachments/abc", size=700)
    (found,) = await machine.look(ATTACHMENTS)
    assert found.mark is Mark.REMARK
    assert found.what.startswith("pictures are sent as files")
    assert found.fix[0].endswith("pillow")


async def test_looking_changes_nothing(machine: Machine) -> None:
    machine.configure('[web]\nhost = "0.0.0.0"\n')
    machine.state.mkdir(mode=0o700)
    await (await SqliteStore.open(machine.state / "chatbridge.db")).close()
    before = machine.tree()
    found = await machine.look(*all_checks())
    assert len(found) > 5
    assert machine.tree() == before
