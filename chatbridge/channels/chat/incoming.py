"""What arrives in a chat, as a channel hands it to the kit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatbridge.channels.chat.received_files import IncomingFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message of a chat: one that somebody wrote, or whose button they tapped."""

    room: str
    id: str
    text: str | None = None
    """None: there is none. Of a message with files, the caption."""
    files: tuple[IncomingFile, ...] = ()
    at: float = 0.0
    """When it was written, by the service's clock."""
    topic: str | None = None
    ours: bool = False
    """The bot has sent it."""
    buttons: tuple[str, ...] = ()
    """What they carry."""
    replied: Incoming | None = None
    """The message that its writer chose to reply to."""
    quoted: bool = False
    """It may be somebody else's words."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """As the service has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who did something, as the service knows them."""

    id: int | str
    name: str
    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Modal:
    """A form with one field, which a service opens over the chat."""

    data: str
    """What it has to bring back."""
    project: str
    question: str
    """As one line."""
    label: str
    placeholder: str
