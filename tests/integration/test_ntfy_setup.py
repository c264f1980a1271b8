"""ntfy in `chatbridge setup` and `chatbridge doctor`, against a server."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.channels.ntfy.spec import NTFY
from chatbridge.cli.doctor.run import channel_check
from chatbridge.cli.setup import commands
from tests.fakes.doctor import Machine, screen
from tests.fakes.ntfy_server import NtfyServer

CHECK = channel_check(NTFY)
TOKEN, TOPIC = "tk_0123456789", "agents-x7Kq2mPz"


@pytest.fixture
def server() -> Iterator[NtfyServer]:
    with NtfyServer.running() as found:
        yield found


@pytest.fixture
def flags(server: NtfyServer) -> list[str]:
    return ["--non-interactive", "--ntfy-topic", TOPIC, "--ntfy-server", server.address]


def test_a_topic_a_server_and_a_token_are_tried_and_written(
    machine: Machine, server: NtfyServer, flags: list[str], tmp_path: Path
) -> None:
    server.rights = {TOKEN: {TOPIC: "w", f"{TOPIC}-answers": "r"}}
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    flags += ["--ntfy-token-file", str(tmp_path / "token"), "--ntfy-answers"]
    assert commands.setup(flags) == 0
    assert [it["message"] for it in server.messages] == ["It rings here."]
    written = tomllib.loads(machine.config.read_text())
    assert written["ntfy"] == {"topic": TOPIC, "server": server.address, "answers": True}
    assert (
        machine.config.parent / "secrets" / "chatbridge_ntfy__token"
    ).read_text() == f"{TOKEN}\n"


def test_what_is_wrong_is_said_and_nothing_is_written(
    machine: Machine,
    server: NtfyServer,
    flags: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.rights = {TOKEN: {TOPIC: "w"}}
    assert commands.setup(flags) == 1
    assert "Let the token use the topic there" in " ".join(capsys.readouterr().err.split())
    for wrong in (["--ntfy-answers"], ["--ntfy-topic", "a/b"], [*flags, "--ntfy-server", "ntfy"]):
        with pytest.raises(SystemExit):
            commands.setup(["--non-interactive", *wrong])
    said = capsys.readouterr().err
    assert "--ntfy-topic is needed, too" in said
    assert "a topic has 1 to 64 letters" in said
    assert not machine.config.exists()


async def test_doctor_says_who_can_read_along_and_rings_nobody(
    machine: Machine, server: NtfyServer
) -> None:
    machine.configure(f'[ntfy]\nserver = "{server.address}"\ntopic = "{TOPIC}"\n')
    found = screen(await machine.look(CHECK))
    assert "who knows the topic can read the questions" in found
    assert TOPIC not in found
    assert not server.messages


async def test_doctor_looks_whether_answers_can_be_read(
    machine: Machine, server: NtfyServer
) -> None:
    server.rights = {TOKEN: {TOPIC: "w"}, "": {}}
    table = f'[ntfy]\nserver = "{server.address}"\ntopic = "{TOPIC}"\n'
    machine.configure(f'{table}token = "{TOKEN}"\nanswers = true\n')
    assert "forbidden (403)" in screen(await machine.look(CHECK))
    server.rights[TOKEN][f"{TOPIC}-answers"] = "r"
    assert "takes answers, never approvals" in screen(await machine.look(CHECK))
    del server.rights[TOKEN]
    assert "does not accept the token" in screen(await machine.look(CHECK))


async def test_doctor_says_that_the_server_cannot_be_reached(machine: Machine) -> None:
    machine.configure(f'[ntfy]\nserver = "http://127.0.0.1:9"\ntopic = "{TOPIC}"\n')
    assert "127.0.0.1 cannot be reached" in screen(await machine.look(CHECK))
