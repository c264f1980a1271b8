"""The newest version of the definition schema as models, and `Command`, made of a definition.

The models own names, types, defaults and descriptions of fields; the published JSON schema is made
of them. Rules between fields are in `rules`, older versions in `versions`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from chatbridge.digests import sha256_hex
from chatbridge.durations import seconds

SCHEMA = 2
"""The newest version. A file without one is of version 1."""

NAME = r"^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$"
OPTION_NAME = r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$"
FLAG = r"^--?[A-Za-z0-9][A-Za-z0-9._-]*$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
SEPARATOR = r"^--[a-z-]*$"
MAX_TIMEOUT_SECONDS = 7 * 86400

BARE = "default"
"""The subcommand that stands for the command alone."""
PROJECT, ARGUMENT = "project", "argument"
WORKING_DIRECTORY = "working_directory"
"""The argument in which the agent names a folder, where the definition says `argument`."""
_DEFAULTS = {
    "synchronous": False,
    "timeout": 600.0,
    "approve": "never",
    "hints": (),
    "output_limit": 10_000_000,
    "working_directory": PROJECT,
}
"""Where neither the subcommand nor the file says it."""

Approve = Literal["never", "always", "once-per-session"]
Scalar = Literal["string", "integer", "number"]
Seconds = Annotated[
    float,
    Field(gt=0, le=MAX_TIMEOUT_SECONDS),
    BeforeValidator(seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT_SECONDS},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(s|m|min|h|d)?\s*$"},
            ]
        }
    ),
]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        populate_by_name=True,
        alias_generator=to_camel,
        defer_build=True,  # with the first definition: a hub without commands starts sooner
    )


def _optional(description: str, *examples: Any, default: Any = None, **limits: Any) -> Any:
    return Field(
        default=default, description=description, examples=list(examples) or None, **limits
    )


class Value(_Part):
    """What one value must be like."""

    enum: tuple[str | int | float, ...] | None = _optional(
        "The only values there are.", ["auto", "long", "short"], min_length=1
    )
    pattern: str | None = _optional(
        "A regular expression that the whole of a text must match.", "[A-Za-z0-9][A-Za-z0-9._/-]*"
    )
    min_length: int | None = _optional("Characters, at least.", 1, ge=0)
    max_length: int | None = _optional("Characters, at most.", 200, ge=0)
    minimum: float | None = _optional("The smallest number.", 1)
    maximum: float | None = _optional("The largest number.", 100)
    within: tuple[str, ...] | None = _optional(
        "It is a path and must lie in one of these folders: `project`, or a whole "
        "path such as `/srv/data` or `~/notes`.",
        ["project"],
        min_length=1,
    )


class Items(Value):
    """What each item of an array must be like."""

    type: Scalar = _optional("What each item is.", default="string")


class Option(Value):
    """One argument of a tool, and how it becomes arguments of the program."""

    name: Annotated[str, Field(pattern=OPTION_NAME, max_length=64)] = Field(
        description="The argument's name for the agent: small letters, digits and underscores.",
        examples=["message"],
    )
    type: Literal["boolean", "string", "integer", "number", "array", "object"] = Field(
        description="What the agent gives. A boolean is its flag or nothing.", examples=["string"]
    )
    description: str = _optional("For the agent.", "The commit's message.", default="")
    required: bool = _optional("It must be given.", default=False)
    positional: bool = _optional(
        "A value without a flag, after all flags and the separator.", default=False
    )
    flag: Annotated[str, Field(pattern=FLAG)] | None = _optional(
        "The program's option. Default: `--` and the name, with dashes for underscores.",
        "--message",
        "-m",
    )
    style: Literal["equals", "joined", "separate"] | None = _optional(
        "How flag and value go together: `--flag=value`, `-fvalue`, or as two "
        "arguments. Default: `joined` for a dash and one letter, otherwise `equals`."
    )
    items: Items | None = _optional("What each item of an array is.")
    min_items: int | None = _optional("Items, at least.", 1, ge=0)
    max_items: int | None = _optional("Items, at most.", 20, ge=0)
    join: Annotated[str, Field(min_length=1, max_length=1)] | None = _optional(
        "An array as one value with this between its items. Default: the flag is repeated.", ","
    )
    encode: Literal["pairs", "json"] = _optional(
        "An object as `key=value` for each of its members, the flag repeated, or as one JSON text.",
        default="pairs",
    )


class _Rules(_Part):
    """What both a whole file and one subcommand can say; the subcommand's word counts."""

    synchronous: bool | None = _optional(
        "The call waits for the end and returns the result. Default: false, it "
        "returns an operation's id at once."
    )
    timeout: Seconds | None = _optional(
        'Seconds, or a text such as "10min"; then the command is ended. Default: 10 minutes.',
        60,
        "10min",
    )
    approve: Approve | None = _optional(
        "Whether the owner is asked before it runs. Default: never."
    )
    hints: tuple[str, ...] | None = _optional(
        "What the model can do while the command runs.", ["Write the next test."]
    )
    output_limit: int | None = _optional(
        "Bytes of output that are kept in its file. Default: 10,000,000.",
        1_000_000,
        ge=1024,
        le=1 << 30,
    )
    working_directory: str | None = _optional(
        "Where it runs: `project` (the default), `argument` (a folder inside the "
        "project that the agent names), or a whole path.",
        "project",
        "argument",
        "~/work",
        min_length=1,
    )


class Subcommand(_Rules):
    """One tool."""

    name: Annotated[str, Field(pattern=NAME, max_length=64)] = Field(
        description="The tool is called after definition and subcommand: `git_commit`. `default` "
        "stands for the bare command, whose tool is called like the definition.",
        examples=["commit"],
    )
    argv: tuple[str, ...] | None = _optional(
        "What comes after the command. Default: the name; for `default` nothing.",
        ["stash", "list"],
    )
    description: Annotated[str, Field(min_length=1)] = Field(
        description="What it does, for the agent, in the imperative.",
        examples=["Record the staged changes."],
    )
    enabled: bool = _optional("false: there is no such tool.", default=True)
    options: tuple[Option, ...] = _optional("What the agent can give.", default=())
    destructive: bool = _optional(
        "It cannot be taken back: an approval takes a second tap, and clients are told.",
        default=False,
    )
    read_only: bool = _optional("It changes nothing; clients are told.", default=False)
    separator: Annotated[str, Field(pattern=SEPARATOR)] | None = _optional(
        "What goes before positional values so that none is taken for an option. "
        "null: the command knows none, and a value that begins with a dash is refused.",
        "--",
        "--end-of-options",
        default="--",
    )


class Definition(_Rules):
    """A command-line tool for agents, as chatbridge offers it."""

    meta: str | None = Field(default=None, alias="$schema", description="For editors.")
    schema_version: Literal[2] = Field(
        alias="schema", description="The version of this format.", examples=[2]
    )
    name: Annotated[str, Field(pattern=NAME, max_length=64)] = Field(
        description="What its tools' names begin with.", examples=["git"]
    )
    enabled: bool = _optional("false: the file has no tools.", default=True)
    command: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="The program, by its name or whole path, and what always comes after it.",
        examples=[["git"], ["git", "--no-pager"]],
    )
    description: str = _optional("What it is, for people.", "Version control.", default="")
    environment: tuple[Annotated[str, Field(pattern=VARIABLE)], ...] = _optional(
        "Variables that it gets beside the usual ones, from commands.environment or "
        "else from the hub's environment.",
        ["SSH_AUTH_SOCK"],
        default=(),
    )
    concurrency: int | None = _optional("How many of its commands may run at once.", 1, ge=1, le=64)
    subcommands: Annotated[tuple[Subcommand, ...], Field(min_length=1)] = Field(
        description="Its tools.",
        examples=[[{"name": "status", "description": "Show what has changed."}]],
    )


@cache
def schema() -> dict[str, Any]:
    made = _tidy(Definition.model_json_schema(by_alias=True))
    made["title"] = "chatbridge: a command-line tool for agents"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def published() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(node: Any, *, named: bool = False) -> Any:
    """Without titles that repeat names, and defaults that say that there is none. `named`: the
    keys of this one are fields' names."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _tidy(value, named=not named and key in ("properties", "$defs"))
        for key, value in node.items()
        if named or not (key == "title" or (key == "default" and value is None))
    }


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
    name = definition if subcommand == BARE else f"{definition}_{subcommand}"
    return name.replace("-", "_")


def _command(whole: Definition, part: Subcommand, file: Path) -> Command:
    bare = part.name == BARE
    own = part.argv if part.argv is not None else () if bare else (part.name,)
    said = json.dumps(
        [whole.model_dump(mode="json", exclude={"subcommands"}), part.model_dump(mode="json")]
    )
    inherited: dict[str, Any] = {}
    for name, value in _DEFAULTS.items():
        words = (getattr(part, name), getattr(whole, name), value)
        inherited[name] = next(word for word in words if word is not None)
    return Command(
        tool=tool_name(whole.name, part.name),
        title=whole.name if bare else f"{whole.name} {part.name.replace('_', ' ')}",
        group=whole.name,
        argv=(*whole.command, *own),
        description=part.description,
        options=part.options,
        separator=part.separator,
        destructive=part.destructive,
        read_only=part.read_only,
        environment=whole.environment,
        concurrency=whole.concurrency,
        grant=sha256_hex(said.encode()),
        file=file,
        **inherited,
    )
