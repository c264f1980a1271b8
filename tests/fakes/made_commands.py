"""Commands made for a test, from definitions as a file has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chatbridge.commands.definitions.definition import Command, Definition, commands_of

FILE = Path("/definitions/made.json")


def made(*options: dict[str, Any], program: str = "tool", **fields: Any) -> Command:
    """`tool run` with these options; `fields` are those of its subcommand."""
    part = {"name": "run", "description": "Run it", "options": list(options), **fields}
    whole = {"schema": 2, "name": "tool", "command": [program], "subcommands": [part]}
    (command,) = commands_of(Definition.model_validate_json(json.dumps(whole)), FILE)
    return command
