"""What is known of clients: by which name, and when a call of theirs has to end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.tools.clients import KNOWN, Client, Clients, agent_of

SECONDS = st.floats(min_value=0.1, max_value=200_000, allow_nan=False)
LIMITS = st.none() | SECONDS


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("claude-code", "Claude Code"),
        ("codex-mcp-client", "Codex"),
        ("gemini-cli-mcp-client", "Gemini CLI"),
        ("gemini-cli-mcp-client-chatbridge", "Gemini CLI"),
        ("qwen-code-mcp-client", "Qwen Code"),
        ("qwen-cli-mcp-client-chatbridge", "Qwen Code"),
        ("opencode", "opencode"),
        ("Cline", "Cline"),
        ("Zed", "Zed"),
        ("zed 1.4.0", "Zed"),
        ("goose-desktop", "Goose"),
        ("Visual Studio Code", "VS Code"),
        ("Visual-Studio-Code", "VS Code"),
        ("Visual Studio Code - Insiders", "VS Code"),
        ("cursor-vscode", "Cursor"),
        ("windsurf-client", "Windsurf"),
    ],
)
def test_a_client_is_known_by_whatever_name_it_gives_itself(name: str, shown: str) -> None:
    assert Clients().of(name).shown == shown
    assert agent_of(name).name == shown
    assert agent_of(name).client == name


@pytest.mark.parametrize("name", ["", "zeda", "codexed", "my-zed", "visual studio", "---", "名前"])
def test_a_name_that_only_looks_alike_is_nobodys(name: str) -> None:
    assert Clients().of(name) == Client()


def test_a_client_without_a_name_has_no_limit() -> None:
    assert Clients().of(None) == Client()
    assert agent_of(None).name == "agent"


def test_an_unknown_client_is_called_by_its_title_or_else_its_name() -> None:
    assert agent_of("x-1", "X one").name == "X one"
    assert agent_of("x-1").name == "x-1"


@pytest.mark.parametrize(
    ("name", "unknown"),
    [("mcp", True), (None, True), ("Cursor", True), ("Visual Studio Code", False), ("zed", False)],
)
def test_a_limit_is_to_be_learned_where_nothing_is_known_of_it(
    name: str | None, unknown: bool
) -> None:
    assert Clients().unknown(name) is unknown
    assert not Clients({"mcp": Client(), "cursor": Client()}).unknown(name or "mcp")


def test_what_the_owner_sets_replaces_a_known_client_whole() -> None:
    clients = Clients({"Claude-Code": Client(limit=100.0)})
    assert clients.of("claude-code") == Client(limit=100.0)
    assert clients.of("claude-code").idle is None
    assert clients.of("codex-mcp-client") == KNOWN["codex"]


def test_the_owner_can_add_a_client_and_the_longest_name_that_fits_counts() -> None:
    clients = Clients({"mine": Client(limit=5.0), "mine too": Client(limit=7.0)})
    assert clients.of("Mine").limit == 5.0
    assert clients.of("mine_too (beta)").limit == 7.0
    assert clients.of("yours") == Client()


@pytest.mark.parametrize(
    ("name", "progress", "patience"),
    [
        ("claude-code", True, 27 * 3600 - 20.0),
        ("claude-code", False, 1780.0),
        ("codex-mcp-client", True, 280.0),
        ("gemini-cli-mcp-client", True, 580.0),
        ("opencode", True, None),
        ("opencode", False, 51.0),
        ("cline", True, 51.0),
        ("zed", False, 51.0),
        ("goose", False, 280.0),
        ("visual studio code", False, None),
        ("unheard-of", False, None),
    ],
)
def test_a_call_ends_a_little_before_its_client_would_give_up(
    name: str, progress: bool, patience: float | None
) -> None:
    assert Clients().of(name).patience(progress=progress) == patience


@given(limit=LIMITS, idle=LIMITS, progress=st.booleans())
def test_there_is_always_time_to_wait_and_always_time_left(
    limit: float | None, idle: float | None, progress: bool
) -> None:
    client = Client(limit=limit, idle=idle)
    gives_up, patience = client.gives_up(progress=progress), client.patience(progress=progress)
    if gives_up is None:
        assert patience is None
        assert limit is None
        assert progress or idle is None
    else:
        assert patience is not None
        assert gives_up / 2 <= patience < gives_up
        assert gives_up in (limit, idle)


@given(name=st.text(max_size=40))
def test_any_name_can_be_looked_up(name: str) -> None:
    assert Clients({name: Client(limit=1.0)}).of(name) in (
        Client(limit=1.0),
        Clients().of(name),
    )
