"""The tables of tools, commands, single clients, and agents over HTTP."""

from __future__ import annotations

import os
import re
from datetime import date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic_settings import NoDecode

from chatbridge import runtime_paths
from chatbridge.channels.registry import channel_specs
from chatbridge.core.approval_rules import (
    COMMAND_TOOL,
    EDIT_TOOLS,
    Rule,
    check_command,
    check_path,
)
from chatbridge.core.policy import DAY
from chatbridge.durations import LONGEST, seconds
from chatbridge.setting_rules import is_host, listed

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
        raise ValueError(f"accepted: {', '.join(first)} or {last}")
    return name


def _expanded(folder: object) -> object:
    return os.path.expanduser(folder) if isinstance(folder, str) else folder


def _whole(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("accepted: whole paths, such as ~/.config/chatbridge/tools")
    return folder


Folder = Annotated[Path, BeforeValidator(_expanded), AfterValidator(_whole)]
Folders = Annotated[tuple[Folder, ...], NoDecode, BeforeValidator(listed)]


class SettingsTable(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Messages(SettingsTable):
    """What the owner writes to agents."""

    expire_after: Seconds = 12 * 3600.0
    terminal: Literal["person", "anybody", "nobody"] = "person"
    """Who may write from a terminal."""


def _a_day_or_more(value: float) -> float:
    if value < DAY:
        raise ValueError("accepted: a day or more, such as 365d")
    return value


class Audit(SettingsTable):
    """The audit trail."""

    enabled: bool | Literal["team"] = "team"
    """`team`: on with a server as the store, or with people."""
    retention: Annotated[Seconds, AfterValidator(_a_day_or_more)] = 365 * DAY
    texts: bool = False
    """Whether it has what people type."""


class Claude(SettingsTable):
    """What happens when Claude Code has finished."""

    when_done: Literal["tell", "ask"] = "tell"
    wait: Seconds = 3600.0
    """How long to ask what is next."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known_tool(name: object) -> object:
    if name not in (COMMAND_TOOL, *EDIT_TOOLS):
        raise ValueError(f"accepted: {COMMAND_TOOL}, {', '.join(EDIT_TOOLS)}")
    return name


def _command_words(value: object) -> object:
    return value.split(" ") if isinstance(value, str) else value


def _last_moment(value: object) -> object:
    """A day lasts until its end, in the hub's time zone."""
    try:
        if isinstance(value, str):
            is_day = re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip(), re.ASCII) is not None
            value = (date if is_day else datetime).fromisoformat(value.strip())
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value + timedelta(days=1), time())
        if isinstance(value, datetime):
            return value.astimezone().timestamp()
    except (ValueError, OverflowError):
        pass
    raise ValueError("accepted: a day or a time, such as 2026-12-31 or 2026-12-31T18:00:00")


class AllowRule(SettingsTable):
    """What the owner lets agents do without asking."""

    tool: Annotated[
        tuple[Annotated[str, BeforeValidator(_known_tool)], ...], BeforeValidator(_as_list)
    ] = Field(min_length=1)
    project: Folder
    command: (
        Annotated[tuple[str, ...], BeforeValidator(_command_words), AfterValidator(check_command)]
        | None
    ) = None
    path: Annotated[str, AfterValidator(check_path)] | None = None
    expires: Annotated[float | None, BeforeValidator(_last_moment)] = None

    @model_validator(mode="after")
    def _fits_together(self) -> AllowRule:
        if (self.command is None) == (self.path is None):
            raise ValueError("needs a command or a path, and not both")
        for_command = self.command is not None
        if any((name == COMMAND_TOOL) != for_command for name in self.tool):
            raise ValueError(f"a command is for {COMMAND_TOOL}, a path for {', '.join(EDIT_TOOLS)}")
        return self

    @property
    def rule(self) -> Rule:
        return Rule(
            tools=self.tool,
            project=str(self.project),
            command=self.command or (),
            path=self.path or "",
            expires=self.expires,
        )


class Approvals(SettingsTable):
    channels: Annotated[
        tuple[Annotated[str, BeforeValidator(_approval_channel)], ...] | None,
        NoDecode,
        BeforeValidator(listed),
        AfterValidator(_somewhere),
    ] = None
    """None: the chats that are set up, else the inbox's page."""
    timeout: Seconds | None = None
    """None: default_timeout."""
    allow: tuple[AllowRule, ...] = ()
    """Only in the file: nothing that an agent can set adds to them."""

    def rules(self) -> tuple[Rule, ...]:
        return tuple(each.rule for each in self.allow)


class Journal(SettingsTable):
    folder: Annotated[str, AfterValidator(_inside)] = ".chatbridge/questions"
    other_tools: bool = True
    """Whether question_summary also has what was answered to the other tools."""


class ClientLimits(SettingsTable):
    limit: Seconds | None = None
    idle: Seconds | None = None
    cancels: bool = True


class Commands(SettingsTable):
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
    usable = found and is_host(found["host"]) and 1 <= int(found["port"]) <= 65535
    if not found or not usable:
        raise ValueError("accepted: an address and a port, such as 127.0.0.1:8788 or [::1]:8788")
    return found["host"].strip("[]"), int(found["port"])


def _address(value: str | None) -> str | None:
    given = (value or "").strip()
    if given:
        host_and_port(given)
    return given or None


ListenAddress = Annotated[str | None, AfterValidator(_address)]


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    if any(not NAME.fullmatch(value) for value in values):
        raise ValueError("accepted: names as in an address, such as agents.example.org")
    return values


class Http(SettingsTable):
    address: ListenAddress = None
    """None: no MCP over HTTP."""
    hosts: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(listed), AfterValidator(_names)
    ] = ()
    limit: Seconds = 60.0
