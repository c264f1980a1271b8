"""One command that agents may use: a subcommand with everything that its file says about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from chatbridge.commands.definitions.definition import Approve, Definition, Option, Subcommand
from chatbridge.digests import sha256_hex

T = TypeVar("T")

BARE = "default"
"""The subcommand that stands for the command alone."""
PROJECT, ARGUMENT = "project", "argument"
WORKING_DIRECTORY = "working_directory"
"""The argument in which the agent names a folder, where the definition says `argument`."""
DEFAULT_TIMEOUT = 600.0
DEFAULT_OUTPUT_LIMIT = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    tool: str
    """The MCP tool's name: `git_commit`."""
    title: str
    """As people say it: `git commit`."""
    group: str
    """The definition's name."""
    argv: tuple[str, ...]
    """What every run begins with, the program first."""
    description: str
    options: tuple[Option, ...]
    separator: str | None
    synchronous: bool
    timeout: float
    approve: Approve
    destructive: bool
    read_only: bool
    hints: tuple[str, ...]
    output_limit: int
    working_directory: str
    environment: tuple[str, ...]
    concurrency: int | None
    grant: str
    """Changes with everything that its file says about it: what an approval once per session is an
    approval of."""
    file: Path


def commands_of(definition: Definition, file: Path) -> list[Command]:
    """Those that are enabled, in the file's order."""
    if not definition.enabled:
        return []
    return [_command(definition, each, file) for each in definition.subcommands if each.enabled]


def tool_name(definition: str, subcommand: str) -> str:
    """What the tool of a subcommand is called."""
    name = definition if subcommand == BARE else f"{definition}_{subcommand}"
    return name.replace("-", "_")


def _command(whole: Definition, part: Subcommand, file: Path) -> Command:
    bare = part.name == BARE
    own = part.argv if part.argv is not None else () if bare else (part.name,)
    said = json.dumps(
        [whole.model_dump(mode="json", exclude={"subcommands"}), part.model_dump(mode="json")]
    )
    return Command(
        tool=tool_name(whole.name, part.name),
        title=whole.name if bare else f"{whole.name} {part.name.replace('_', ' ')}",
        group=whole.name,
        argv=(*whole.command, *own),
        description=part.description,
        options=part.options,
        separator=part.separator,
        synchronous=_first(part.synchronous, whole.synchronous, False),
        timeout=_first(part.timeout, whole.timeout, DEFAULT_TIMEOUT),
        approve=_first(part.approve, whole.approve, "never"),
        destructive=part.destructive,
        read_only=part.read_only,
        hints=_first(part.hints, whole.hints, ()),
        output_limit=_first(part.output_limit, whole.output_limit, DEFAULT_OUTPUT_LIMIT),
        working_directory=_first(part.working_directory, whole.working_directory, PROJECT),
        environment=whole.environment,
        concurrency=whole.concurrency,
        grant=sha256_hex(said.encode()),
        file=file,
    )


def _first(part: T | None, whole: T | None, usual: T) -> T:
    """The subcommand's word, else the file's, else the usual."""
    return part if part is not None else whole if whole is not None else usual
