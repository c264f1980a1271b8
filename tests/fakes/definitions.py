"""Definition files, as an owner writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def definition(name: str, *subcommands: str, **more: Any) -> dict[str, Any]:
    return {
        "schema": 2,
        "name": name,
        "command": [name],
        "description": f"What {name} does.",
        "subcommands": [{"name": each, "description": f"Do {each}."} for each in subcommands],
        **more,
    }


def written(folder: Path, name: str, content: object) -> Path:
    """`name`.json, so that only its owner can write to it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    file.chmod(0o600)
    return file
