"""What is allowed without asking: by the owner's rules, by nobody else's, and only as they say."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.approval_rules import Rule
from chatbridge.core.model import Project
from tests.fakes.approving import ClaudeCode, allow, verdict
from tests.fakes.core_env import World, world

Json = dict[str, Any]


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


def bash(command: str) -> Json:
    return {"tool_name": "Bash", "input": {"command": command}}


def write(path: Path, content: str = "x\n") -> Json:
    return {"tool_name": "Write", "input": {"file_path": str(path), "content": content}}


def claude_in(hub: World, shop: Path, **more: Any) -> ClaudeCode:
    project = Project(key=str(shop), name=shop.name)
    return ClaudeCode(hub, project=project, name="chatbridge-hook", **more)


def allowed(use: Json) -> Json:
    return {"behavior": "allow", "updatedInput": use["input"]}


# ── the owner's rules ─────────────────────────────────────────────────────────────────────────────


def rules_of(shop: Path) -> tuple[Rule, ...]:
    return (
        Rule(tools=("Bash",), project=str(shop), command=("npm", "test")),
        Rule(tools=("Write",), project=str(shop), path="src/**"),
    )


async def test_a_rule_allows_without_asking_and_the_log_says_which(
    hub: World, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    claude = claude_in(hub, shop, rules=rules_of(shop))
    for number, use in enumerate((bash("npm test --silent"), write(shop / "src" / "new.py")), 1):
        with caplog.at_level(logging.INFO):
            assert verdict(await claude.wants(use)) == allowed(use)
        tool = use["tool_name"]
        assert f"allowed by rule {number} of approvals.allow tool={tool}" in caplog.text
    assert await hub.store.open_asks() == []


async def test_what_no_rule_covers_is_asked_for(hub: World, shop: Path) -> None:
    (shop / "src" / "link.py").symlink_to(shop / "other.py")
    claude = claude_in(hub, shop, rules=rules_of(shop))
    for use in (
        bash("npm test; rm -rf ~"),
        bash("npm run evil"),
        write(shop / "other.py"),
        write(shop / "src" / ".." / ".." / ".bashrc"),
        write(shop / "src" / "link.py"),
        write(shop / "src" / "Makefile"),
        {"tool_name": "Edit", "input": write(shop / "src" / "new.py")["input"]},
    ):
        async with claude.wanting(use) as (_, ask):
            assert ask.approval, use


async def test_a_projects_own_file_allows_nothing(hub: World, shop: Path) -> None:
    (shop / ".chatbridge.toml").write_text(
        '[[approvals.allow]]\ntool = "Bash"\ncommand = "npm test"\nproject = "."\n'
    )
    async with claude_in(hub, shop).wanting(bash("npm test")) as (call, ask):
        await allow(hub, ask)
        assert verdict(await call) == allowed(bash("npm test"))


async def test_a_rule_is_for_no_agent_elsewhere(hub: World, shop: Path) -> None:
    for key in (f"uid:1000:{shop}", f"http:laptop:{shop}", f"link:{shop}"):
        project = Project(key=key, name="shop")
        claude = ClaudeCode(hub, project=project, folder=str(shop), rules=rules_of(shop))
        async with claude.wanting(bash("npm test")) as (_, ask):
            assert ask.approval
