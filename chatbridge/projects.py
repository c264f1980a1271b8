"""Projects: which one a folder belongs to, and the harmless settings it may carry.

A repository is not its owner: `.chatbridge.toml` can name, hide and slow down, never grant.
"""

from __future__ import annotations

import logging
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chatbridge.core.model import Project
from chatbridge.core.text import one_line
from chatbridge.durations import LONGEST, seconds

log = logging.getLogger(__name__)

FILE = ".chatbridge.toml"
SHORTEST_TIMEOUT = 30.0
MAX_FILE = 64 * 1024


class ProjectSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: str | None = Field(default=None, max_length=40)
    enabled: bool = True
    default_timeout: Annotated[float, BeforeValidator(seconds)] | None = Field(
        default=None, ge=SHORTEST_TIMEOUT, le=LONGEST
    )


def find_root(folder: str) -> str | None:
    """The nearest ancestor with `.git` or a project file."""
    path = Path(folder)
    for candidate in (path, *path.parents):
        try:
            if (candidate / ".git").exists() or (candidate / FILE).is_file():
                return str(candidate)
        except OSError:
            return None
    return None


def project_of(folder: str | None, *, link: str, label: str | None = None) -> Project:
    """Where a link works. Without a project its asks stay within the link."""
    root = find_root(folder) if folder else None
    if root is None:
        name = os.path.basename((folder or "").rstrip("/")) or folder or "no project"
        return Project(key=f"link:{link}", name=name, label=label)
    own = settings_of(root).label
    return Project(key=root, name=os.path.basename(root) or root, label=label or own)


def settings_of(key: str) -> ProjectSettings:
    """What the project's file says now. What it may not say, or says wrongly, changes nothing."""
    if not key.startswith("/"):
        return ProjectSettings()
    path = Path(key) / FILE
    try:
        found = _read(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        log.warning("%s is not used: %s", path, error)
        return ProjectSettings()
    while True:
        try:
            return ProjectSettings.model_validate(found)
        except ValidationError as error:
            # Without the values: somebody may have put a token there.
            for problem in error.errors(include_input=False, include_url=False):
                name = str(problem["loc"][0])
                log.warning("%s: %s is ignored: %s", path, one_line(name), problem["msg"])
                found.pop(name, None)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():  # a named pipe would never end
        return {}
    with path.open("rb") as file:
        content = file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise OSError(f"it is larger than {MAX_FILE} bytes")
    return tomllib.loads(content.decode())
