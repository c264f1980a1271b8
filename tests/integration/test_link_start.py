"""A link that finds no hub starts one, and tells its client what became of it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from chatbridge import lock_file
from tests.fakes.link_client import LinkClient
from tests.fakes.program import ROOT
from tests.fakes.scripted_hub import scripted_hub

FAKE_HUB = ROOT / "tests" / "fakes" / "start_only_hub"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", directory)
        yield Path(os.path.realpath(directory))


@pytest.fixture
def environment(state: Path) -> dict[str, str]:
    return {
        "CHATBRIDGE_STATE_DIR": str(state),
        "CHATBRIDGE_RUNTIME_DIR": str(state),
        "PYTHONPATH": str(FAKE_HUB),
    }


def report(state: Path, **said: object) -> None:
    """What every hub that is started from now on reports."""
    (state / "report").write_text(json.dumps(said) + "\n")


def starts(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state / "starts").read_text().splitlines()]


def until_started(state: Path, client: LinkClient, *, times: int) -> None:
    while not (state / "starts").exists() or len(starts(state)) < times:
        assert client.hears_nothing(0.05)


def test_the_hubs_error_is_the_answer_to_every_call(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="telegram rejected the bot token (401)")
    with LinkClient(environment, cwd=state) as client:
        client.request(0, "initialize", {"protocolVersion": "2025-11-25"})
        assert client.receive()["result"]["serverInfo"]["name"] == "chatbridge"
        client.request(1, "tools/list")
        assert client.receive()["result"]["tools"][0]["name"] == "ask_user"
        client.call(2)
        client.call(3)
        for call in (2, 3):
            message = client.receive()
            assert (message["id"], message["result"]["isError"]) == (call, True)
            assert "telegram rejected" in message["result"]["content"][0]["text"]
        client.request(4, "resources/list")
        assert client.receive()["error"]["code"] == -32601


def test_a_client_that_has_closed_standard_error_gets_its_answers(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="broken")
    with LinkClient(environment, cwd=state) as client:
        assert client.process.stderr
        client.process.stderr.close()
        for call in (1, 2):
            client.call(call)
            assert client.receive()["result"]["isError"]


def test_the_next_call_tries_again_and_finds_the_hub_that_was_repaired(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="broken")
    with LinkClient(environment, cwd=state) as client:
        client.call(1)
        assert client.receive()["result"]["isError"]
        with scripted_hub(str(state)) as hub:
            client.call(2)
            connection, _ = hub.accept()
            connection.respond(connection.receive(), {"fine": True})
            assert client.receive()["result"] == {"fine": True}


def test_settings_that_are_broken_meanwhile_end_no_call_that_waits_and_refuse_new_ones(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="colour is not a setting")
    with LinkClient(environment, cwd=state) as client:
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            waiting = client.call(1)
            connection.receive()
        until_started(state, client, times=3)
        for new in (2, 3):
            client.call(new)
            refused = client.receive()
            assert (refused["id"], refused["result"]["isError"]) == (new, True)
            assert refused["result"]["content"][0]["text"] == "colour is not a setting"
        until_started(state, client, times=len(starts(state)) + 1)
        with scripted_hub(str(state)) as hub:  # it was repaired
            connection, _ = hub.accept()
            assert connection.receive() == waiting
            connection.respond(waiting, {"fine": True})
            assert client.receive()["result"] == {"fine": True}


def test_what_another_link_says_of_broken_settings_ends_no_call_that_waits(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, held=True, pid=1)
    with LinkClient(environment, cwd=state) as client:
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            waiting = client.call(1)
            connection.receive()
        until_started(state, client, times=1)
        client.call(2)
        client.until_read()
        lock = lock_file.acquire(str(state))
        info = lock_file.LockInfo(pid=1, version="1", socket=None, started_by="link", error="bad")
        lock_file.write(lock, info)
        os.close(lock)
        assert client.receive()["result"]["content"][0]["text"] == "bad"
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            assert connection.receive() == waiting


def test_without_a_call_that_waits_no_more_hubs_are_started_for_broken_settings(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="colour is not a setting")
    with LinkClient(environment, cwd=state) as client:
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            client.call(1)
            connection.receive()
        until_started(state, client, times=2)
        client.cancel(1)
        client.call(2)
        assert client.receive()["result"]["isError"]
        count = len(starts(state))
        client.request(3, "ping")
        assert client.receive() == {"jsonrpc": "2.0", "id": 3, "result": {}}
        assert len(starts(state)) == count


def test_a_hub_that_ends_without_a_word_is_started_three_times_and_its_last_line_shown(
    state: Path, environment: dict[str, str]
) -> None:
    with LinkClient(environment, cwd=state) as client:
        client.call(1)
        text = client.receive()["result"]["content"][0]["text"]
    assert "RuntimeError: no report today" in text
    assert str(state / "hub.log") in text
    assert len(starts(state)) == 3


def test_hubs_that_are_killed_as_they_start_end_no_call_that_has_waited_before(
    state: Path, environment: dict[str, str]
) -> None:
    with LinkClient(environment, cwd=state) as client:
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            call = client.call(1)
            connection.receive()
        until_started(state, client, times=4)
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            assert connection.receive() == call


def test_a_disk_that_is_full_while_the_hub_comes_back_is_waited_for(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="the disk is full", passing=True)
    with LinkClient(environment, cwd=state) as client:
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            call = client.call(1)
            connection.receive()
        until_started(state, client, times=2)
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            assert connection.receive() == call


def test_another_hub_that_holds_the_lock_is_waited_for(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, held=True, pid=1)
    with LinkClient(environment, cwd=state) as client:
        call = client.call(1)
        until_started(state, client, times=1)
        with scripted_hub(str(state)) as hub:
            connection, _ = hub.accept()
            assert connection.receive() == call


def test_the_error_of_a_hub_that_another_link_started_is_found_in_the_lock_file(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, held=True, pid=1)
    with LinkClient(environment, cwd=state) as client:
        client.call(1)
        until_started(state, client, times=1)
        client.call(2)
        client.until_read()
        lock = lock_file.acquire(str(state))
        info = lock_file.LockInfo(pid=1, version="1", socket=None, started_by="link", error="bad")
        lock_file.write(lock, info)
        os.close(lock)
        assert client.receive()["result"]["content"][0]["text"] == "bad"


def test_a_hub_is_started_detached_and_with_the_links_settings(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="enough")
    extra = {
        "CHATBRIDGE_TELEGRAM__TOKEN": "1:x",
        "CHATBRIDGE_CONFIG": "my.toml",
        "NOTIFY_SOCKET": "/n",
    }
    with LinkClient({**environment, **extra}, cwd=state) as client:
        client.request(0, "initialize")
        client.receive()
        (start,) = starts(state)
        assert start["argv"] == ["--started-by", "link", "--report-fd", "3"]
        assert start["cwd"] == "/"
        assert start["session"] not in (os.getsid(0), os.getsid(client.process.pid))
        assert start["parent"] != client.process.pid
        children = Path(f"/proc/{client.process.pid}/task/{client.process.pid}/children")
        assert children.read_text() == "", "the link has a child left"
    assert start["open"] == [0, 1, 2, 3]
    given = start["environment"]
    assert given["CHATBRIDGE_TELEGRAM__TOKEN"] == "1:x"
    assert given["CHATBRIDGE_CONFIG"] == str(state / "my.toml")
    assert "NOTIFY_SOCKET" not in given


def test_a_hub_gets_what_it_needs_and_nothing_else_of_the_clients_environment(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="enough")
    needed = {
        "HOME": str(state),
        "LANG": "C.UTF-8",
        "LC_TIME": "de_DE.UTF-8",
        "TZ": "Europe/Berlin",
        "XDG_CONFIG_HOME": str(state / "config"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "no_proxy": "localhost",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
        "CHATBRIDGE_LOG_LEVEL": "debug",
    }
    clients = {
        "PATH": f"{state}/.venv/bin:/usr/bin:/bin",
        "VIRTUAL_ENV": f"{state}/.venv",
        "PYTHONPATH": f"{FAKE_HUB}{os.pathsep}{state}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": str(state),
        "GIT_DIR": str(state),
        "NODE_OPTIONS": "--inspect",
        "BASH_ENV": f"{state}/env",
        "TMPDIR": str(state),
        "SHELL": f"{state}/shell",
        "SSH_AUTH_SOCK": f"{state}/agent",
        "XDG_DATA_HOME": str(state),
        "CHATBRIDGE_OPERATION": "1",
    }
    with LinkClient({**environment, **needed, **clients}, cwd=state) as client:
        client.request(0, "initialize")
        client.receive()
    (start,) = starts(state)
    given = start["environment"]
    assert given.pop("PATH").split(":")[:2] == ["/usr/local/bin", "/usr/bin"]
    assert given.pop("PYTHONPATH") == str(FAKE_HUB)
    given.pop("LC_CTYPE", None)  # Python's own
    own = {"CHATBRIDGE_STATE_DIR": str(state), "CHATBRIDGE_RUNTIME_DIR": str(state)}
    assert given == {**needed, **own}


def test_a_checkout_that_is_run_in_place_starts_its_own_hub(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="enough")
    with LinkClient({**environment, "PYTHONPATH": ""}, cwd=FAKE_HUB) as client:
        client.request(0, "initialize")
        client.receive()
    (start,) = starts(state)
    assert start["environment"]["PYTHONPATH"] == str(FAKE_HUB)


def test_a_long_log_is_put_aside_when_a_hub_starts(
    state: Path, environment: dict[str, str]
) -> None:
    report(state, error="enough")
    (state / "hub.log").write_bytes(b"x" * (6 * 1024 * 1024))
    with LinkClient(environment, cwd=state) as client:
        client.request(0, "initialize")
        client.receive()
    assert (state / "hub.log").stat().st_size < 1024
    assert (state / "hub.log.1").stat().st_size == 6 * 1024 * 1024


def test_an_unusable_state_directory_is_explained_in_the_answer(tmp_path: Path) -> None:
    open_to_all = tmp_path / "state"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with LinkClient({"CHATBRIDGE_STATE_DIR": str(open_to_all)}) as client:
        client.call(1)
        text = client.receive()["result"]["content"][0]["text"]
    assert f"chmod 700 {open_to_all}" in text


def test_a_switched_off_link_lists_no_tools_and_starts_nothing(
    state: Path, environment: dict[str, str]
) -> None:
    with LinkClient({**environment, "CHATBRIDGE_ENABLED": "False"}, cwd=state) as client:
        client.request(0, "initialize")
        assert "result" in client.receive()
        client.request(1, "tools/list")
        assert client.receive()["result"]["tools"] == []
        client.call(2)
        assert "CHATBRIDGE_ENABLED" in client.receive()["result"]["content"][0]["text"]
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_understands_a_link_without_a_hub(
    state: Path, environment: dict[str, str], mode: str
) -> None:
    report(state, error="no hub today")
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "chatbridge", "mcp"], env=environment, cwd=state
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["ask_user"]
        result = await client.call_tool("ask_user", {"questions": []})
        assert result.is_error
