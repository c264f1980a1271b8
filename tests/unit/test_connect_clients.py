"""Each client's own file, with comments and other servers in it, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbridge.cli.connect.catalogue import CATALOGUE, CLIENTS
from chatbridge.cli.connect.installed import InstalledClient, installed_clients
from chatbridge.cli.connect.machine import Program
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.client_home import START, WAIT, Home, after, before

WITH_PROJECTS = [name for name in CLIENTS if CATALOGUE[name].project]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def found(home: Home, client: str) -> InstalledClient:
    return next(it for it in installed_clients(home.environ) if it.client.name == client)


@pytest.mark.parametrize("client", CLIENTS)
def test_connecting_adds_the_entry_and_leaves_every_other_byte(home: Home, client: str) -> None:
    file = home.has(client, before(client))
    home.connect(client)
    assert file.read_bytes() == after(client)


@pytest.mark.parametrize("client", CLIENTS)
def test_connecting_twice_is_the_same_as_once(home: Home, client: str) -> None:
    file = home.has(client, before(client))
    home.connect(client)
    assert home.connect(client).changes == ()
    assert file.read_bytes() == after(client)


@pytest.mark.parametrize("client", CLIENTS)
def test_disconnecting_gives_the_file_back_to_the_byte(home: Home, client: str) -> None:
    file = home.has(client, before(client))
    home.connect(client)
    home.disconnect(client)
    assert file.read_bytes() == before(client)
    assert home.disconnect(client).changes == ()


@pytest.mark.parametrize("client", CLIENTS)
def test_disconnecting_without_a_backup_gives_the_same_bytes(home: Home, client: str) -> None:
    file = home.has(client, after(client))
    home.disconnect(client)
    assert file.read_bytes() == before(client)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_missing_file_is_made_for_its_owner_alone_and_gone_afterwards(
    home: Home, client: str
) -> None:
    file = home.file(client)
    home.connect(client)
    assert file.stat().st_mode & 0o777 == 0o600
    assert found(home, client).connected
    home.disconnect(client)
    assert not file.exists()
    assert list(file.parent.glob("*.bak*")) == []


@pytest.mark.parametrize("client", WITH_PROJECTS)
def test_a_project_has_an_entry_of_its_own(home: Home, client: str, tmp_path: Path) -> None:
    project = tmp_path / "shop-api"
    project.mkdir()
    home.connect(client, project=project)
    file = project / CATALOGUE[client].project[0]
    assert "/opt/chatbridge/bin/chatbridge" in file.read_text()
    assert not home.file(client).exists()
    home.disconnect(client, project=project)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - set(WITH_PROJECTS)))
def test_a_client_without_projects_says_so(home: Home, client: str, tmp_path: Path) -> None:
    with pytest.raises(ChatbridgeError, match="has no MCP servers by project"):
        home.connect(client, project=tmp_path)


def test_an_entry_of_another_installation_is_brought_up_to_date_and_keeps_what_is_its_owners(
    home: Home,
) -> None:
    text = """\
[mcp_servers.chatbridge]
command = "/old/chatbridge"  # from last year
args = ["mcp", "--label", "night"]
tool_timeout_sec = 90000
default_tools_approval_mode = "prompt"
enabled = false

[mcp_servers.chatbridge.env]
CHATBRIDGE_STATE_DIR = "/srv/x"
"""
    file = home.has("codex", text.encode())
    home.connect("codex")
    expected = text.replace("/old/chatbridge", START.command).replace(
        "enabled = false\n", "enabled = true\nstartup_timeout_sec = 30\n"
    )
    assert file.read_text() == expected.replace('"mcp",', '"mcp", "--limit", "90000",')


def test_the_hub_is_told_of_the_clients_limit_as_it_is_and_no_longer_as_it_was(home: Home) -> None:
    old = {"command": START.command, "args": ["mcp", "--limit=60", "--label", "a"], "timeout": 9000}
    file = home.has("cline", json.dumps({"mcpServers": {"chatbridge": old}}).encode())
    home.connect("cline")
    entry = json.loads(file.read_text())["mcpServers"]["chatbridge"]
    assert entry["args"] == ["mcp", "--limit", "3600", "--label", "a"]
    assert entry["timeout"] == 9000


def test_a_command_in_one_list_keeps_its_further_words(home: Home) -> None:
    old = {"type": "local", "command": ["/old/chatbridge", "mcp", "--label", "a"], "enabled": False}
    file = home.has("opencode", json.dumps({"mcp": {"chatbridge": old}}).encode())
    home.connect("opencode")
    entry = json.loads(file.read_text())["mcp"]["chatbridge"]
    assert entry == {
        "type": "local",
        "command": [START.command, "mcp", "--label", "a"],
        "enabled": True,
        "timeout": WAIT * 1000,
    }


def test_an_entry_that_leads_to_another_machine_is_left_alone(home: Home) -> None:
    content = b'{"mcpServers": {"chatbridge": {"url": "https://hub.example.com/mcp"}}}'
    file = home.has("cursor", content)
    with pytest.raises(ChatbridgeError, match="leads elsewhere"):
        home.connect("cursor")
    assert file.read_bytes() == content


def test_a_longer_wait_raises_the_time_out_and_a_shorter_one_leaves_it(home: Home) -> None:
    home.connect("codex", wait=3600)
    assert found(home, "codex").timeout == 3600
    home.connect("codex", wait=7200)
    assert found(home, "codex").timeout == 7200
    assert home.connect("codex", wait=3600).changes == ()


@pytest.mark.parametrize(
    ("client", "wait", "timeout"),
    [
        ("claude-code", 3600, 100_000),
        ("claude-code", 200_000, 200_000),
        ("codex", 3600, 3600),
        ("gemini", 3600, 3600),
        ("opencode", 3600, 3600),
        ("opencode", 90 * 86400, 2_147_483),
        ("cline", 7200, 3600),
        ("zed", 7200, 600),
        ("goose", 7200, 7200),
        ("cursor", 7200, None),
        ("vscode", 7200, None),
        ("windsurf", 7200, None),
    ],
)
def test_the_time_out_is_in_seconds_for_all_and_within_what_the_client_can_do(
    home: Home, client: str, wait: float, timeout: float | None
) -> None:
    home.connect(client, wait=wait)
    assert found(home, client).timeout == timeout


def test_only_clients_that_are_here_are_found(home: Home) -> None:
    assert installed_clients(home.environ) == []
    (home.path / ".codex").mkdir()
    assert [it.client.name for it in installed_clients(home.environ)] == ["codex"]
    assert found(home, "codex") == InstalledClient(
        client=CATALOGUE["codex"],
        file=home.path / ".codex/config.toml",
        connected=False,
        timeout=None,
    )


def test_a_client_that_says_nothing_of_time_gives_up_after_its_default(home: Home) -> None:
    home.has("codex", b'[mcp_servers.chatbridge]\ncommand = "x"\n')
    here = found(home, "codex")
    assert (here.connected, here.timeout, here.gives_up) == (True, None, 300.0)


def test_zeds_time_out_for_all_servers_counts_where_the_entry_has_none(home: Home) -> None:
    home.has("zed", b'{"context_server_timeout": 90, "context_servers": {"chatbridge": {}}}')
    assert found(home, "zed").timeout == 90


def test_an_entry_that_is_switched_off_is_no_connection(home: Home) -> None:
    home.has("cline", b'{"mcpServers": {"chatbridge": {"command": "x", "disabled": true}}}')
    assert not found(home, "cline").connected
    home.connect("cline")
    assert found(home, "cline").connected


def test_a_file_that_cannot_be_understood_is_a_problem_with_its_line(home: Home) -> None:
    home.has("cursor", b'{\n  "mcpServers": oops\n}')
    problem = found(home, "cursor").problem
    assert problem is not None
    assert "~/.cursor/mcp.json, line 2" in problem


def test_an_interpreter_and_a_module_take_the_place_of_a_program(home: Home) -> None:
    start = Program("/usr/bin/python3", ("-m", "chatbridge", "mcp"))
    home.connect("opencode", start=start)
    entry = json.loads(home.file("opencode").read_text())["mcp"]["chatbridge"]
    assert entry["command"] == ["/usr/bin/python3", "-m", "chatbridge", "mcp"]
