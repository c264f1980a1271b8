"""Definitions are files that an agent could write to: the owner hears of what they grant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chatbridge.commands.definitions.definition import Command, Definition, commands_of
from chatbridge.hub.wiring.change_alerts import tell_of_new_commands
from tests.fakes.core_env import World, world

DEPLOY = Definition.model_validate_json(
    """{"schema": 2, "name": "deploy", "command": ["deploy"], "subcommands": [
        {"name": "start", "description": "Deploy", "approve": "always"},
        {"name": "status", "description": "Show what is deployed"}]}"""
)


def commands(definition: Definition = DEPLOY) -> list[Command]:
    return commands_of(definition, Path("deploy.json"))


async def told(hub: World, found: list[Command]) -> list[str]:
    said: list[str] = []
    await tell_of_new_commands(found, hub.store, clock=hub.clock, tell=said.append)
    return said


async def test_new_commands_are_told_once_and_without_any_nothing_is_said(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        assert await told(hub, []) == []
        assert await told(hub, commands()) == [
            "Agents can use new commands: deploy_start, deploy_status. If that was not you, look "
            "at them with: chatbridge tools list"
        ]
        assert await told(hub, commands()) == []


async def test_a_command_that_no_longer_asks_is_told_and_one_that_goes_is_not(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        await told(hub, commands())
        start, status = DEPLOY.subcommands
        quiet = start.model_copy(update={"approve": "never"})
        changed = DEPLOY.model_copy(update={"subcommands": (quiet, status)})
        (said,) = await told(hub, commands(changed))
        assert said.startswith("Agents can use commands that were changed: deploy_start. ")
        assert await told(hub, commands(changed)[:1]) == []


async def test_many_new_commands_are_counted_instead_of_listed(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        many = [replace(commands()[0], tool=f"tool_{n}") for n in range(30)]
        (said,) = await told(hub, many)
        assert "tool_9 and 20 more." in said
        assert "tool_10" not in said
