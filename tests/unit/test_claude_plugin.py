"""The plug-in for Claude Code is what `connect` writes, with the version of the package, and its
skill names tools that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from chatbridge import __version__
from chatbridge.cli.connect.catalogue import PLUGIN
from chatbridge.cli.connect.machine import Program
from chatbridge.tool_names import TOOLS
from tests.documents.claude_plugin import FOLDER, MANIFEST, MARKETPLACE, SKILL, files
from tests.documents.pages import ROOT
from tests.fakes.client_home import Home


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.name)
def test_the_files_are_as_they_are_generated(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found == files()[path], "python -m tests.documents.claude_plugin writes it anew"


def test_nothing_else_is_in_the_folder() -> None:
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == {*files(), SKILL}


def test_its_name_version_and_place_are_ours() -> None:
    marketplace, manifest = (json.loads(path.read_text()) for path in (MARKETPLACE, MANIFEST))
    (entry,) = marketplace["plugins"]
    assert f"{entry['name']}@{marketplace['name']}" == PLUGIN
    assert ROOT / entry["source"] / ".claude-plugin" / "plugin.json" == MANIFEST
    assert (manifest["name"], manifest["version"]) == (entry["name"], __version__)


def test_it_has_the_server_and_the_hooks_that_connect_writes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.connect("claude-code", wait=12 * 3600.0, start=Program("chatbridge", ("mcp",)))
    written = json.loads((tmp_path / ".claude/settings.json").read_text())
    server = json.loads((tmp_path / ".claude.json").read_text())
    manifest = json.loads(
        MANIFEST.read_text().replace("chatbridge hook --plugin", "chatbridge hook")
    )
    assert manifest["hooks"] == written["hooks"]
    assert manifest["mcpServers"] == server["mcpServers"]
    assert MANIFEST.read_text().count("chatbridge hook --plugin") == len(written["hooks"])


def test_the_skill_says_when_it_is_for_and_names_tools_that_there_are() -> None:
    _, head, text = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    front = yaml.safe_load(head)
    assert front.keys() == {"name", "description"}
    assert front["name"] == SKILL.parent.name
    assert len(front["description"]) < 400
    assert len(text.split()) < 450
    named = {word for word in re.findall(r"`([a-z_]+)`", text) if "_" in word}
    assert {"ask_user", "wait_for_answer", "notify_user", "check_messages"} <= named <= {*TOOLS}
