"""Settings of the command-line tools that agents may use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode

from chatbridge import runtime_paths
from chatbridge.core.policy import DAY
from chatbridge.settings.tools import Seconds
from chatbridge.settings.values import listed

MEGABYTE = 1_000_000


def _expanded(folder: object) -> object:
    return os.path.expanduser(folder) if isinstance(folder, str) else folder


def _whole(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("accepted: whole paths, such as ~/.config/chatbridge/tools")
    return folder


Folder = Annotated[Path, BeforeValidator(_expanded), AfterValidator(_whole)]
Folders = Annotated[tuple[Folder, ...], NoDecode, BeforeValidator(listed)]


def _beside_the_configuration() -> tuple[Path, ...]:
    return (Path(runtime_paths.config_path()).parent / "tools",)


class Commands(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    enabled: bool = True
    dirs: Folders = Field(default_factory=_beside_the_configuration)
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
