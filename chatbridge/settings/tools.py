"""Settings of single tools: who may approve, where answers are written down, how long a client
waits."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode

from chatbridge.durations import LONGEST, seconds
from chatbridge.settings.values import listed

Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, le=LONGEST)]


def _inside(folder: str) -> str:
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("accepted: a folder inside the project, such as .chatbridge/questions")
    return str(path)


def _somewhere(channels: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if channels == ():
        raise ValueError("name at least one channel, or leave it out; none could allow anything")
    return channels


ApprovalChannel = Literal["telegram", "matrix", "web"]


class Approvals(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    channels: Annotated[
        tuple[ApprovalChannel, ...] | None,
        NoDecode,
        BeforeValidator(listed),
        AfterValidator(_somewhere),
    ] = None
    """None: the chats that are set up, else the inbox's page."""
    timeout: Seconds | None = None
    """None: default_timeout."""


class Journal(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    folder: Annotated[str, AfterValidator(_inside)] = ".chatbridge/questions"
    other_tools: bool = True
    """Whether question_summary also has what was answered to the other tools."""


class ClientLimits(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    limit: Seconds | None = None
    idle: Seconds | None = None
    cancels: bool = True
