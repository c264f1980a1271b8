"""Projects: which one a folder belongs to, and the harmless settings it may carry.

A repository is not its owner: `.chatbridge.toml` can name, hide and slow down, never grant.
"""

from __future__ import annotations

import logging
import os
import pwd
import tomllib
import unicodedata
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chatbridge import bounded_read
from chatbridge.core.model import Project
from chatbridge.core.text import one_line, shortened
from chatbridge.durations import LONGEST, seconds
from chatbridge.link.root import MAX_FILE_BYTES, PROJECT_FILE, find_root

log = logging.getLogger(__name__)

MIN_TIMEOUT_SECONDS = 30.0
MAX_REPORTED_PER_USER = 1_000
"""Of one user."""
MAX_USER_CHARACTERS = 12
"""Chats show 18 characters of a project's name: some of them are for the folder."""
_USER_PREFIX = "uid:"
_reported: dict[str, ProjectSettings] = {}
"""What links have said of their projects' files, where the hub itself cannot look."""


class ProjectSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: str | None = Field(default=None, max_length=40)
    enabled: bool = True
    default_timeout: Annotated[float, BeforeValidator(seconds)] | None = Field(
        default=None, ge=MIN_TIMEOUT_SECONDS, le=LONGEST
    )


def project_of(folder: str | None, *, link: str, label: str | None = None) -> Project:
    """Where a link works. Without a project its asks stay within the link."""
    root = find_root(folder) if folder else None
    if root is None:
        return Project(key=f"link:{link}", name=_display_name(folder or ""), label=label)
    own = settings_of(root).label
    return Project(key=root, name=_display_name(root), label=label or own)


def project_of_user(
    uid: int,
    *,
    root: str | None,
    folder: str | None,
    link: str,
    label: str | None = None,
    file: str | None = None,
) -> Project:
    """Where a link of one of several users works, as it says itself: the hub of a machine cannot
    look into homes. The key keeps users apart, and the name says who it is wherever it is shown:
    `ada/shop-api`. `file` is what the project's own says, and counts until another link says
    otherwise."""
    where = root if root and root.startswith("/") else None
    key = f"{_USER_PREFIX}{uid}:{where or f'link:{link}'}"
    _reported.pop(key, None)
    own = _reported[key] = _parse(file or "", one_line(key))
    if (
        len(mine := [told for told in _reported if told.startswith(f"{_USER_PREFIX}{uid}:")])
        > MAX_REPORTED_PER_USER
    ):
        del _reported[mine[0]]
    user = shortened(_user_name(uid), MAX_USER_CHARACTERS)
    name = f"{user}/{_base_name(where or folder or '')}"
    return Project(key=key, name=name, label=label or own.label)


def belongs_to(project: Project, uid: int) -> bool:
    """Whether it is that of a link of this user, where a hub serves several."""
    return project.key.startswith(f"{_USER_PREFIX}{uid}:")


def _display_name(folder: str) -> str:
    """What a folder is called to people. One that is called like chatbridge itself must not pass
    for it. The mark is in front, where no channel cuts a name."""
    name = _base_name(folder)
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))
    return f"./{name}" if "chatbridge" in letters else name


def _base_name(folder: str) -> str:
    return os.path.basename(folder.rstrip("/")) or folder or "no project"


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def settings_of(key: str) -> ProjectSettings:
    """What the project's file says now. What it may not say, or says wrongly, changes nothing."""
    if not key.startswith("/"):
        return _reported.get(key) or ProjectSettings()
    path = Path(key) / PROJECT_FILE
    try:
        return _parse(_read(path), path)
    except (OSError, UnicodeDecodeError) as error:
        log.warning("%s is not used: %s", path, getattr(error, "strerror", None) or error)
        return ProjectSettings()


def _parse(text: str, where: object) -> ProjectSettings:
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number can be too long for Python, too
        log.warning("%s is not used: %s", where, error)
        return ProjectSettings()
    while True:
        try:
            return ProjectSettings.model_validate(found)
        except ValidationError as error:
            # Without the values: somebody may have put a token there.
            for problem in error.errors(include_input=False, include_url=False):
                name = str(problem["loc"][0])
                log.warning("%s: %s is ignored: %s", where, one_line(name), problem["msg"])
                found.pop(name, None)


def _read(path: Path) -> str:
    # As much as a link would tell: with more of them, dots in a key take TOML's reader seconds.
    try:
        return bounded_read.read(path, most=MAX_FILE_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
