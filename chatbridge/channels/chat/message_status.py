"""Where a message to an agent was written in a chat, which says there what becomes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAt:
    """A place in a chat: what says what becomes of the message replies to it."""

    room: str
    message: str = ""
    """Empty: it was typed into a form of the service, or is a command that leaves no message."""
    topic: str | None = None
    root: str | None = None
    """What an answer belongs to: it replies to that, or is in its thread."""

    def to_text(self) -> str:
        return json.dumps([self.room, self.message, self.topic, self.root])

    @classmethod
    def from_text(cls, text: str) -> WrittenAt | None:
        """None: nothing that `to_text` has made."""
        try:
            room, message, topic, root = json.loads(text)
        except (ValueError, TypeError):
            return None
        return cls(room=room, message=message, topic=topic, root=root)
