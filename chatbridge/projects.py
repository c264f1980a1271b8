"""The project of a folder, and the settings in its `.chatbridge.toml`.

A repository may come from anybody, so that file can set a label, switch chatbridge off, change a
time-out and add quiet hours, but never grant anything.
"""

from __future__ import annotations

import logging
import os
import pwd
import tomllib
import unicodedata
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from chatbridge import bounded_read
from chatbridge.core.model import Project, QuietRule
from chatbridge.core.nights.hours import NO_HOURS, find_zone, read_hours
from chatbridge.core.text import one_line, shortened
from chatbridge.durations import LONGEST, seconds
from chatbridge.link.root import MAX_FILE_BYTES, PROJECT_FILE, find_root

log = logging.getLogger(__name__)

MIN_TIMEOUT_SECONDS = 30.0
MAX_REPORTED_PER_USER = 1_000
"""Limit for each user, or each hub."""
MAX_USER_CHARACTERS = 12
"""Chats show 18 characters of a project's name, and the folder needs some of them."""
_USER_PREFIX, _HUB_PREFIX = "uid:", "hub:"
_reported: dict[str, ProjectSettings] = {}
"""Project settings that links have reported, for folders that the hub cannot read."""


def _known_zone(name: str | None) -> str | None:
    find_zone(name or None)
    return name or None


class QuietTable(BaseModel):
    """What a project's file can say of quiet hours, beside what the owner says. It only makes
    things quieter."""

    model_config = ConfigDict(extra="forbid")

    hours: Annotated[tuple[str, ...] | None, BeforeValidator(read_hours)] = None
    """For each weekday from Monday on, as `QuietRule` has them."""
    zone: Annotated[str | None, AfterValidator(_known_zone)] = None
    """None: of a project the owner's, of the owner that of the computer."""
    mode: Literal["silent", "hold"] = "silent"

    @property
    def rule(self) -> QuietRule | None:
        """None: nothing is set. Without hours it counts for those that others set, or switch on."""
        hold = self.mode == "hold"
        if self.hours is None and self.zone is None and not hold:
            return None
        return QuietRule(hours=self.hours or NO_HOURS, zone=self.zone, hold=hold)


class ProjectSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: str | None = Field(default=None, max_length=40)
    enabled: bool = True
    default_timeout: Annotated[float, BeforeValidator(seconds)] | None = Field(
        default=None, ge=MIN_TIMEOUT_SECONDS, le=LONGEST
    )
    quiet: QuietTable = QuietTable()


def project_of(folder: str | None, *, link: str, label: str | None = None) -> Project:
    """Return the project of a link's folder. Without one, the link itself is the project."""
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
    """Return the project of a link of another user, as the link reports it: the machine's hub
    cannot read home directories. The key and the name include the user: `ada/shop-api`. `file` is
    the content of the project file, which is valid until another link reports it."""
    of = f"{_USER_PREFIX}{uid}:"
    return _reported_project(
        of, user_name(uid), root=root, folder=folder, link=link, label=label, file=file
    )


def project_of_hub(
    hub: str,
    *,
    root: str | None,
    folder: str | None,
    link: str,
    label: str | None = None,
    file: str | None = None,
) -> Project:
    """Return the project of a link at one hub of several, as the link reports it: whichever hub
    leads, it is the same. The key and the name include the hub: `laptop/shop-api`."""
    of = f"{_HUB_PREFIX}{hub}:"
    return _reported_project(of, hub, root=root, folder=folder, link=link, label=label, file=file)


def _reported_project(
    of: str,
    whose: str,
    *,
    root: str | None,
    folder: str | None,
    link: str,
    label: str | None,
    file: str | None,
) -> Project:
    where = root if root and root.startswith("/") else None
    key = f"{of}{where or f'link:{link}'}"
    _reported.pop(key, None)
    own = _reported[key] = _parse(file or "", one_line(key))
    mine = [told for told in _reported if told.startswith(of)]
    if len(mine) > MAX_REPORTED_PER_USER:
        del _reported[mine[0]]
    name = f"{shortened(whose, MAX_USER_CHARACTERS)}/{_base_name(where or folder or '')}"
    return Project(key=key, name=name, label=label or own.label)


def belongs_to(project: Project, uid: int) -> bool:
    """Whether the project belongs to this user of the machine's hub."""
    return project.key.startswith(f"{_USER_PREFIX}{uid}:")


def _display_name(folder: str) -> str:
    """Return the display name of a folder. A folder named like chatbridge itself gets a prefix, so
    that it cannot pose as chatbridge. Channels never cut the beginning of a name."""
    name = _base_name(folder)
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))
    return f"./{name}" if "chatbridge" in letters else name


def _base_name(folder: str) -> str:
    return os.path.basename(folder.rstrip("/")) or folder or "no project"


def user_name(uid: int) -> str:
    """The name that this computer knows, not one that a program could make up."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def settings_of(key: str) -> ProjectSettings:
    """Return the current settings of the project file. Unknown and invalid ones are ignored."""
    if not key.startswith("/"):
        return _reported.get(key) or ProjectSettings()
    path = Path(key) / PROJECT_FILE
    try:
        # The same limit as in a link: the parser takes seconds for keys with very many dots.
        return _parse(bounded_read.read(path, most=MAX_FILE_BYTES).decode(), path)
    except (FileNotFoundError, NotADirectoryError):
        return ProjectSettings()
    except (OSError, UnicodeDecodeError) as error:
        log.warning("%s is not used: %s", path, getattr(error, "strerror", None) or error)
        return ProjectSettings()


def _parse(text: str, where: object) -> ProjectSettings:
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for numbers that are too long
        log.warning("%s is not used: %s", where, error)
        return ProjectSettings()
    while True:
        try:
            return ProjectSettings.model_validate(found)
        except ValidationError as error:
            # Do not log values: one may be a token.
            for problem in error.errors(include_input=False, include_url=False):
                *tables, key = map(str, problem["loc"])
                table = reduce(lambda found, name: found[name], tables, found)
                name = one_line(".".join((*tables, key)))
                log.warning("%s: %s is ignored: %s", where, name, problem["msg"])
                table.pop(key, None)
