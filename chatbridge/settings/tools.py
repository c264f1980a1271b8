"""The tables of tools, commands, single clients, and agents over HTTP."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode

from chatbridge import runtime_paths
from chatbridge.channels.registry import channel_specs
from chatbridge.core.policy import DAY
from chatbridge.durations import LONGEST, seconds
from chatbridge.setting_rules import listed

Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, le=LONGEST)]


def _inside(folder: str) -> str:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("accepted: a folder inside the project, such as .chatbridge/questions")
    return str(path)


def _somewhere(channels: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if channels == ():
        raise ValueError("name at least one channel, or leave it out; none could allow anything")
    return channels


def _approval_channel(name: object) -> object:
    names = [spec.name for spec in channel_specs() if spec.approvals]
    if name not in names:
        *first, last = map(repr, names)
        raise ValueError(f"Input should be {', '.join(first)} or {last}")
    return name


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Approvals(_Table):
    channels: Annotated[
        tuple[Annotated[str, BeforeValidator(_approval_channel)], ...] | None,
        NoDecode,
        BeforeValidator(listed),
        AfterValidator(_somewhere),
    ] = None
    """None: the chats that are set up, else the inbox's page."""
    timeout: Seconds | None = None
    """None: default_timeout."""


class Journal(_Table):
    folder: Annotated[str, AfterValidator(_inside)] = ".chatbridge/questions"
    other_tools: bool = True
    """Whether question_summary also has what was answered to the other tools."""


class ClientLimits(_Table):
    limit: Seconds | None = None
    idle: Seconds | None = None
    cancels: bool = True


def _expanded(folder: object) -> object:
    return os.path.expanduser(folder) if isinstance(folder, str) else folder


def _whole(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("accepted: whole paths, such as ~/.config/chatbridge/tools")
    return folder


Folder = Annotated[Path, BeforeValidator(_expanded), AfterValidator(_whole)]
Folders = Annotated[tuple[Folder, ...], NoDecode, BeforeValidator(listed)]


class Commands(_Table):
    enabled: bool = True
    dirs: Folders = Field(
        default_factory=lambda: (Path(runtime_paths.config_path()).parent / "tools",)
    )
    """Where definitions are. A project's folder is never among them by itself."""
    path: Folders = ()
    """Folders with programs, before the system's."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables for commands whose definitions name them."""
    concurrency: int = Field(default=8, ge=1, le=256)
    """How many commands run at once; synchronous ones have as many places of their own."""
    announce_after: Seconds = 60.0
    """The chats are told of the end of what ran for longer."""
    retention: Seconds = 7 * DAY
    """How long results and outputs are kept."""
    max_disk: int = Field(default=500, ge=1)
    """Megabytes of outputs; the oldest go first."""


ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
NAME = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


def host_and_port(address: str) -> tuple[str, int]:
    """:raises ValueError: with what is accepted."""
    found = ADDRESS.fullmatch(address.strip())
    if not found or not 1 <= int(found["port"]) <= 65535:
        raise ValueError("accepted: an address and a port, such as 127.0.0.1:8788 or [::1]:8788")
    return found["host"].strip("[]"), int(found["port"])


def _address(value: str | None) -> str | None:
    given = (value or "").strip()
    if given:
        host_and_port(given)
    return given or None


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    if any(not NAME.fullmatch(value) for value in values):
        raise ValueError("accepted: names as in an address, such as agents.example.org")
    return values


class Http(_Table):
    address: Annotated[str | None, AfterValidator(_address)] = None
    """None: no MCP over HTTP."""
    hosts: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(listed), AfterValidator(_names)
    ] = ()
    limit: Seconds = 60.0
