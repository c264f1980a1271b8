"""Where clients keep their files, and how this chatbridge is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatbridge.cli.connect.catalogue import CATALOGUE, CLIENTS, client_of
from chatbridge.cli.connect.installed import installed_clients
from chatbridge.cli.connect.machine import Program, UserFolders, program, user_folders
from chatbridge.core.errors import ChatbridgeError

USUAL = {
    "claude-code": "/home/ana/.claude.json",
    "codex": "/home/ana/.codex/config.toml",
    "cursor": "/home/ana/.cursor/mcp.json",
    "vscode": "/home/ana/.config/Code/User/mcp.json",
    "gemini": "/home/ana/.gemini/settings.json",
    "opencode": "/home/ana/.config/opencode/opencode.json",
    "cline": "/home/ana/.cline/data/settings/cline_mcp_settings.json",
    "zed": "/home/ana/.config/zed/settings.json",
    "goose": "/home/ana/.config/goose/config.yaml",
    "windsurf": "/home/ana/.codeium/windsurf/mcp_config.json",
}


ON_MACOS = {"vscode": "/home/ana/Library/Application Support/Code/User/mcp.json"}
"""Where that differs."""


def file(client: str, **variables: str) -> str:
    return _file(client, variables, mac=False)


def file_on_macos(client: str, **variables: str) -> str:
    return _file(client, variables, mac=True)


def _file(client: str, variables: dict[str, str], *, mac: bool) -> str:
    environ = {"HOME": "/home/ana", **variables}
    return str(CATALOGUE[client].file(UserFolders(Path("/home/ana"), environ, mac=mac)))


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_has_its_usual_file(client: str) -> None:
    assert file(client) == USUAL[client]
    assert file_on_macos(client) == {**USUAL, **ON_MACOS}[client]


@pytest.mark.parametrize(
    ("client", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/moved/.claude.json"),
        ("codex", "CODEX_HOME", "/moved/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "/moved/.gemini/settings.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "/moved/opencode.json"),
        ("opencode", "XDG_CONFIG_HOME", "/moved/opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "/moved/Code/User/mcp.json"),
        ("zed", "XDG_CONFIG_HOME", "/moved/zed/settings.json"),
        ("zed", "FLATPAK_XDG_CONFIG_HOME", "/moved/zed/settings.json"),
        ("goose", "XDG_CONFIG_HOME", "/moved/goose/config.yaml"),
        ("goose", "GOOSE_PATH_ROOT", "/moved/config/config.yaml"),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "/moved"),
        ("cline", "CLINE_DATA_DIR", "/moved/settings/cline_mcp_settings.json"),
        ("cline", "CLINE_DIR", "/moved/data/settings/cline_mcp_settings.json"),
    ],
)
def test_a_variable_moves_a_clients_file(client: str, variable: str, expected: str) -> None:
    assert file(client, **{variable: "/moved"}) == expected
    assert file(client, **{variable: ""}) == USUAL[client]


def test_a_relative_configuration_folder_does_not_count() -> None:
    assert file("zed", XDG_CONFIG_HOME="etc") == USUAL["zed"]


def test_on_macos_zed_stays_where_it_is_and_the_programs_of_electron_are_elsewhere() -> None:
    assert file_on_macos("zed", XDG_CONFIG_HOME="/moved") == USUAL["zed"]
    assert file_on_macos("vscode", XDG_CONFIG_HOME="/moved") == ON_MACOS["vscode"]
    assert file_on_macos("goose", XDG_CONFIG_HOME="/moved") == "/moved/goose/config.yaml"


@pytest.mark.parametrize(
    ("mac", "folder"), [(False, ".config"), (True, "Library/Application Support")]
)
def test_an_older_clines_file_is_used_until_there_is_a_newer_one(
    tmp_path: Path, mac: bool, folder: str
) -> None:
    here = UserFolders(tmp_path, {"HOME": str(tmp_path)}, mac=mac)
    older = tmp_path / folder / "Code/User/globalStorage/saoudrizwan.claude-dev"
    older.mkdir(parents=True)
    name = "settings/cline_mcp_settings.json"
    assert CATALOGUE["cline"].file(here) == older / name
    assert CATALOGUE["cline"].folder(here).is_dir(), "it counts as installed"
    (tmp_path / ".cline/data").mkdir(parents=True)
    assert CATALOGUE["cline"].file(here) == tmp_path / ".cline/data" / name


@pytest.mark.parametrize("name", ["opencode.jsonc", "opencode.json", "config.json"])
def test_opencodes_file_is_the_one_that_is_there(tmp_path: Path, name: str) -> None:
    here = user_folders({"HOME": str(tmp_path)})
    folder = tmp_path / ".config/opencode"
    folder.mkdir(parents=True)
    (folder / name).write_text("{}")
    assert CATALOGUE["opencode"].file(here) == folder / name


def test_a_name_that_is_no_client_gets_the_list() -> None:
    with pytest.raises(ChatbridgeError, match=r"no client 'emacs'.*claude-code, codex.*--print"):
        client_of("emacs")


def test_without_a_home_no_client_is_found() -> None:
    assert installed_clients({"HOME": "nowhere"}) == []


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_program_beside_the_interpreter_is_started(tmp_path: Path) -> None:
    script = executable(tmp_path / "venv/bin/chatbridge")
    python = str(script.with_name("python"))
    assert program(called="pytest", python=python, path="") == Program(str(script), ("mcp",))


def test_a_link_on_path_to_this_installation_is_preferred(tmp_path: Path) -> None:
    script = executable(tmp_path / "venv/bin/chatbridge")
    link = tmp_path / "bin/chatbridge"
    link.parent.mkdir()
    link.symlink_to(script)
    python = str(script.with_name("python"))
    found = program(called=str(link), python=python, path=str(link.parent))
    assert found == Program(str(link), ("mcp",))


def test_another_installation_on_path_is_not_taken(tmp_path: Path) -> None:
    script = executable(tmp_path / "venv/bin/chatbridge")
    other = executable(tmp_path / "bin/chatbridge")
    python = str(script.with_name("python"))
    found = program(called="x", python=python, path=str(other.parent))
    assert found.command == str(script)


def test_a_relative_name_becomes_a_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "chatbridge")
    monkeypatch.chdir(tmp_path)
    found = program(called="./chatbridge", python="/nowhere/python", path="")
    assert found == Program(os.path.join(os.getcwd(), "chatbridge"), ("mcp",))


def test_without_a_program_the_interpreter_runs_the_module() -> None:
    found = program(called="-c", python="/nowhere/python", path="")
    assert found == Program("/nowhere/python", ("-m", "chatbridge", "mcp"))
