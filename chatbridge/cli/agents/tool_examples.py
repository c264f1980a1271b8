"""The definitions that come with chatbridge, and copies of them in the owner's folder."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENDING = ".json"
SCHEMA = ".tools.schema.json"
"""What editors check files with, beside the copies: the examples' own is not where those are."""
_SCHEMA_HERE = "../tools.schema.json"
_EXAMPLES = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    "commands",
    "definitions",
    "examples",
)


def names() -> list[str]:
    found = (name for name in os.listdir(_EXAMPLES) if name.endswith(ENDING))
    return sorted(name.removesuffix(ENDING) for name in found)


def described() -> dict[str, str]:
    """What each is for, as it says itself."""
    return {name: _first_sentence(json.loads(_content(name))["description"]) for name in names()}


def copy(name: str, folder: Path) -> Path:
    """:raises FileExistsError: a file of this name is there, and stays as it is."""
    from chatbridge.commands.definitions.definition import published

    content, path = _content(name), folder / f"{name}{ENDING}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(own, "w", encoding="utf-8") as file:
        file.write(content.replace(f'"{_SCHEMA_HERE}"', f'"./{SCHEMA}"', 1))
    (folder / SCHEMA).write_text(published(), encoding="utf-8")
    return path


def _content(name: str) -> str:
    with open(os.path.join(_EXAMPLES, f"{name}{ENDING}"), encoding="utf-8") as file:
        return file.read()


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
