"""What people copy from the pages into files is read by what will read it there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from chatbridge.cli.connect.catalogue import CLIENTS
from chatbridge.commands.definitions.check import check
from chatbridge.settings import load, settings_type
from chatbridge.tools.ask_user import Limits, input_schema
from tests.documents.pages import SHELL, Block, blocks, pages

UNDER = {"allowed_users = [987654321]": "[telegram]"}
"""Lines that are added to a table which is there already."""
LANGUAGES = {*SHELL, "caddy", "json", "nginx", "text", "toml", "yaml"}
CODEX = {
    *("command", "args", "env", "url", "bearer_token_env_var"),
    *("startup_timeout_sec", "tool_timeout_sec", "default_tools_approval_mode"),
}
"""Keys of a server in Codex's own configuration."""
PORTS = {"docs/remote-agents.md": "127.0.0.1:8788", "docs/phone.md": "127.0.0.1:8787"}
AROUND = """\
pid nginx.pid;
error_log nginx.log;
events {{}}
http {{
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:1; {snippet} }}
}}
"""


def of(language: str) -> list[Block]:
    return [block for block in blocks() if block.language == language]


def named(block: Block) -> str:
    return str(block.place)


def test_every_block_is_of_a_language_that_a_test_reads() -> None:
    assert {block.language for block in blocks()} <= LANGUAGES


@pytest.mark.parametrize("block", of("toml"), ids=named)
def test_settings_are_taken_by_the_hub_or_by_their_client(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tomllib.loads(block.text)
    if "mcp_servers" in found:
        assert set(found["mcp_servers"]["chatbridge"]) <= CODEX
        return
    for name in settings_type().model_fields:
        monkeypatch.delenv(f"CHATBRIDGE_{name.upper()}", raising=False)
    file = tmp_path / "config.toml"
    file.write_text(f"{UNDER.get(block.first, '')}\n{block.text}", encoding="utf-8")
    file.chmod(0o600)
    load(file)


@pytest.mark.parametrize("block", of("json"), ids=named)
def test_json_is_a_clients_entry_a_definition_a_call_or_a_result(block: Block) -> None:
    found = json.loads(block.text)
    if "subcommands" in found:
        assert not check(block.text, file=Path("x.json")).problems
    elif {"hooks", "oauth_config"} & set(found) or block.place.page.startswith("docs/clients/"):
        pass  # test_hook_docs.py, test_slack_setup.py and test_connect_command.py look at these
    elif "question" in found:
        schema = input_schema(Limits(default=300.0, longest=1800.0))
        assert Draft202012Validator(schema).is_valid(found)
    elif "operationId" in found:
        assert {"status", "next"} <= set(found)
    else:
        (servers,) = (found[key] for key in ("mcpServers", "servers") if key in found)
        assert servers["chatbridge"]["type"] == "http"
        assert servers["chatbridge"]["url"].endswith("/mcp")


def test_every_client_has_a_page_with_its_entry() -> None:
    assert {f"docs/clients/{client}.md" for client in CLIENTS} - set(pages()) == {
        "docs/clients/claude-code.md"  # docs/claude-code.md
    }


@pytest.mark.parametrize("block", [*of("caddy"), *of("nginx")], ids=named)
def test_a_proxys_snippet_is_whole_and_leads_to_the_usual_port(
    block: Block, tmp_path: Path
) -> None:
    assert block.text.count("{") == block.text.count("}")
    assert re.findall(r"127\.0\.0\.1:\d+", block.text) == [PORTS[block.place.page]]
    program = shutil.which(block.language)
    if program is None:
        return  # where there is one, it has the last word
    file = tmp_path / "conf"
    if block.language == "caddy":
        file.write_text(block.text, encoding="utf-8")
        words = ["adapt", "--adapter", "caddyfile", "--config", str(file)]
    else:
        file.write_text(AROUND.format(snippet=block.text), encoding="utf-8")
        words = ["-t", "-q", "-p", str(tmp_path), "-c", str(file)]
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
