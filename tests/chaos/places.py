"""What agents and the person need of the world: where things are. The world builds it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.fakes.discord.server import Discord
from tests.fakes.discord.world import Room, User


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlace:
    """The person's own login, at the homeserver itself: not through the relay of the hub."""

    address: str
    room: str
    person: str
    token: str
    bot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramPlace:
    """The Bot API server's other side: the person's phone, as HTTP (tests/chaos/bot_api.py)."""

    control: str
    chat: int
    person: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPlace:
    """The service itself, in this process, with the person's chat with the bot."""

    server: Discord
    person: User
    room: Room
    acted: asyncio.Event = field(default_factory=asyncio.Event)
    """The person has done something there."""


class World(Protocol):
    telegram: TelegramPlace
    matrix: MatrixPlace
    discord: DiscordPlace

    def project(self, agent: str) -> Path:
        """The folder that this agent works in."""
        ...

    def project_name(self, agent: str) -> str:
        """What people call the project of this agent."""
        ...

    def files_by_path(self) -> bool:
        """Whether agents name their files by paths; else they send what is in them."""
        ...

    def link_environment(self, agent: str) -> dict[str, str]:
        """What a link gets from the client of this agent; PATH is added."""
        ...

    def command_environment(self) -> dict[str, str]:
        """The same for a command that the person gives, on one computer or another."""
        ...

    def link_command(self) -> list[str]:
        """What a client spawns."""
        ...

    def born(self, pid: int, what: str) -> None:
        """A process that the faults may strike, and that must not be left at the end."""
        ...

    def stderr_of(self, what: str) -> Path:
        """Where a process of this name writes its errors; searched for secrets at the end."""
        ...

    def inbox(self) -> tuple[str, str] | None:
        """The inbox's address and token now, or None while no hub is there."""
        ...
