"""What a definition file may say: the newest version of its schema, as models.

Owns names, types and defaults of fields. Rules between fields, older versions and the words in
which a problem is told are the neighbours' (`check`, `versions`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 2
"""The newest version. A file without one is of version 1."""

NAME = r"^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$"
OPTION_NAME = r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$"
FLAG = r"^--?[A-Za-z0-9][A-Za-z0-9._-]*$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"

Approve = Literal["never", "always", "once-per-session"]
Scalar = Literal["string", "integer", "number"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Value(_Part):
    """What one value must be like."""

    enum: tuple[str | int | float, ...] | None = Field(default=None, min_length=1)
    pattern: str | None = None
    """A regular expression that the whole of a string must match."""
    min_length: int | None = Field(default=None, alias="minLength", ge=0)
    max_length: int | None = Field(default=None, alias="maxLength", ge=0)
    minimum: float | None = None
    maximum: float | None = None
    within: tuple[str, ...] | None = Field(default=None, min_length=1)
    """It is a path, and must lie in one of these folders: `project`, or a whole path."""


class Items(Value):
    type: Scalar = "string"


class Option(Value):
    name: Annotated[str, Field(pattern=OPTION_NAME, max_length=64)]
    type: Literal["boolean", "string", "integer", "number", "array", "object"]
    description: str = ""
    required: bool = False
    positional: bool = False
    flag: Annotated[str, Field(pattern=FLAG)] | None = None
    """Default: `--` and the name, with dashes for underscores."""
    style: Literal["equals", "joined", "separate"] | None = None
    """How flag and value go together: `--flag=value`, `-fvalue`, or as two arguments. Default:
    `equals` for a flag with two dashes, `joined` for one with one."""
    items: Items | None = None
    min_items: int | None = Field(default=None, alias="minItems", ge=0)
    max_items: int | None = Field(default=None, alias="maxItems", ge=0)
    join: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """An array as one value with this between its items. Default: the flag is repeated."""
    encode: Literal["pairs", "json"] = "pairs"
    """An object as `key=value` for each of its members, the flag repeated, or as one JSON text."""


class _Rules(_Part):
    """What both a whole file and one subcommand can say; the subcommand's word counts."""

    synchronous: bool | None = None
    timeout: float | None = Field(default=None, gt=0, le=7 * 86400)
    """Seconds."""
    approve: Approve | None = None
    hints: tuple[str, ...] | None = None
    """What the model can do meanwhile."""
    output_limit: int | None = Field(default=None, alias="outputLimit", ge=1024, le=1 << 30)
    """Bytes of output that are kept in its file."""
    working_directory: str | None = Field(default=None, alias="workingDirectory", min_length=1)
    """`project` (the default), `argument` (a folder inside the project that the agent names), or a
    whole path."""


class Subcommand(_Rules):
    name: Annotated[str, Field(pattern=NAME, max_length=64)]
    """`default` stands for the bare command, whose tool is called like the definition."""
    argv: tuple[str, ...] | None = None
    """What comes after the command. Default: the name; for `default` nothing."""
    description: Annotated[str, Field(min_length=1)]
    enabled: bool = True
    options: tuple[Option, ...] = ()
    destructive: bool = False
    """It cannot be taken back: an approval takes a second tap, and clients are told."""
    read_only: bool = Field(default=False, alias="readOnly")
    separator: Annotated[str, Field(pattern=r"^--[a-z-]*$")] | None = "--"
    """What goes before positional values so that none is taken for an option. null: the command
    knows none, and a value that begins with a dash is refused."""


class Definition(_Rules):
    meta: str | None = Field(default=None, alias="$schema")
    """For editors."""
    schema_version: Literal[2] = Field(alias="schema")
    name: Annotated[str, Field(pattern=NAME, max_length=64)]
    enabled: bool = True
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    """The program, by its name or whole path, and what always comes after it."""
    description: str = ""
    environment: tuple[Annotated[str, Field(pattern=VARIABLE)], ...] = ()
    """Variables that it gets from the hub's environment, beside the usual ones."""
    concurrency: int | None = Field(default=None, ge=1, le=64)
    """How many of its commands may run at once."""
    subcommands: Annotated[tuple[Subcommand, ...], Field(min_length=1)]
