"""The command that adds an extra, for each way in which chatbridge can have been installed."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import shutil
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import pytest

from chatbridge import extras
from chatbridge.channels.matrix.spec import EXTRA
from chatbridge.channels.slack.spec import EXTRA as SLACK_EXTRA
from chatbridge.cli.connect import machine
from chatbridge.core.errors import ExtraMissing
from tests.packages.licences import needed, requirements

PYTHON = "/opt/tools/bin/python"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", PYTHON)
    return tmp_path


def came_from(monkeypatch: pytest.MonkeyPatch, path: Path, noted: Any) -> None:
    """As if an installer had written this down beside the package."""
    folder = path / "chatbridge_mcp-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: chatbridge-mcp\nVersion: 1\n")
    if noted is not None:
        (folder / "direct_url.json").write_text(json.dumps(noted))
    found = importlib.metadata.PathDistribution(folder)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)


FOLDER = {"url": "file:///home/ada/my%20code/chatbridge", "dir_info": {}}
EDITABLE = {"url": "file:///code/chatbridge", "dir_info": {"editable": True}}
FROM_GIT = {
    "url": "https://ada:secret@example.org/chatbridge.git",
    "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "0" * 40},
}
WHEEL = {"url": "file:///tmp/chatbridge_mcp-1-py3-none-any.whl", "archive_info": {}}
UV = "uv tool install --with 'matrix-nio[e2e]'"


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (None, f"{UV} chatbridge-mcp"),
        (FOLDER, f"{UV} '/home/ada/my code/chatbridge'"),
        (EDITABLE, f"{UV} --editable /code/chatbridge"),
        (FROM_GIT, f"{UV} 'chatbridge-mcp @ git+https://example.org/chatbridge.git@v1'"),
        (WHEEL, f"{UV} 'chatbridge-mcp @ file:///tmp/chatbridge_mcp-1-py3-none-any.whl'"),
        (["not what it should be"], f"{UV} chatbridge-mcp"),
    ],
    ids=["index", "folder", "editable", "git", "wheel", "nonsense"],
)
def test_uv_is_told_where_this_chatbridge_came_from(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, noted: Any, command: str
) -> None:
    came_from(monkeypatch, prefix, noted)
    (prefix / "uv-receipt.toml").touch()
    assert extras.command(EXTRA) == command


@pytest.mark.parametrize(
    ("noted", "source"),
    [(None, "chatbridge-mcp"), (WHEEL, f"chatbridge-mcp @ {WHEEL['url']}")],
    ids=["index", "wheel"],
)
def test_what_uvx_runs_is_connected_with_uvx_since_its_own_folder_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Any, source: str
) -> None:
    came_from(monkeypatch, tmp_path, noted)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/usr/bin/{name}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0" / "ZdYxPfAIMOdFkzUM"))
    words = ("--from", source, "chatbridge")
    started = machine.program()
    assert started == machine.Program("/usr/bin/uvx", (*words, "mcp"))
    assert started.instead("hook") == ("/usr/bin/uvx", *words, "hook")
    assert extras.command(EXTRA) == f"{UV} {shlex.quote(source)}"
    assert extras.lasting_command() == f"uv tool install {shlex.quote(source)}"


def test_pipx_adds_it_to_its_own_installation(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    assert extras.command(EXTRA) == "pipx inject chatbridge-mcp 'matrix-nio[e2e]'"


def test_elsewhere_it_is_for_the_pip_of_this_python_or_for_uv_where_it_has_none(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = module_from_spec(ModuleSpec("pip", None))  # a virtual environment may have none
    monkeypatch.setitem(sys.modules, "pip", pip)
    assert extras.command(EXTRA) == f"{PYTHON} -m pip install 'matrix-nio[e2e]'"
    monkeypatch.setitem(sys.modules, "pip", None)
    assert extras.command(EXTRA) == f"uv pip install --python {PYTHON} 'matrix-nio[e2e]'"


def test_one_package_of_the_extra_has_all_others_among_its_requirements() -> None:
    assert set(requirements("matrix")) <= needed(["matrix-nio"])


def test_an_extra_of_several_packages_names_each(prefix: Path) -> None:
    assert set(requirements("slack")) <= needed(SLACK_EXTRA.package.split())
    (prefix / "pipx_metadata.json").touch()
    assert extras.command(SLACK_EXTRA) == "pipx inject chatbridge-mcp slack-sdk aiohttp"


@pytest.mark.parametrize("missing", EXTRA.modules)
def test_an_extra_of_which_one_package_is_missing_is_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    extras.need(EXTRA)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExtraMissing, match=r"Matrix are not installed\. Run: .*matrix"):
        extras.need(EXTRA)
