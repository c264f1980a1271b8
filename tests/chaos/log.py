"""What happened, as agents and the person saw it: all that the checker goes by.

A *riddle* is one thing that an agent wants to know. Its key is in the words of the question, so
that it can be told from every other one on every channel; each answer that the person gives is
unlike every other, so that an answer that goes to the wrong place is recognised.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path


class Way(StrEnum):
    """How an answer was given."""

    TELEGRAM_TAP = "telegram tap"
    TELEGRAM_REPLY = "telegram reply"
    TELEGRAM_TEXT = "telegram plain text"
    TELEGRAM_FILE = "telegram file"
    MATRIX_REACTION = "matrix reaction"
    MATRIX_REPLY = "matrix reply"
    MATRIX_TEXT = "matrix plain text"
    DISCORD_TAP = "discord tap"
    DISCORD_FORM = "discord form"
    DISCORD_REPLY = "discord reply"
    DISCORD_TEXT = "discord plain text"
    WEB = "web inbox"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An agent wrote a call to its link. Asked again (another attempt) if its link was killed."""

    at: float
    agent: str
    riddle: str
    attempt: int
    call: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CameBack:
    """A call ended. `values` are the answers, by question."""

    at: float
    agent: str
    riddle: str
    attempt: int
    call: str
    status: str
    values: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    files: tuple[str, ...] = ()
    """What is in the files that came with the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gave:
    """The person answered, and whether the chat service (or the inbox) took it.

    `accepted` is None where the person cannot know: the connection broke before the reply.
    """

    at: float
    riddle: str
    question: int
    way: Way
    values: tuple[str, ...]
    accepted: bool | None
    whole: bool
    """Whether the riddle is answered by it, or a later step is needed."""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The person was told in words that this was not taken: another was first, the step is over."""

    at: float
    riddle: str
    way: Way
    values: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault came, or went."""

    at: float
    fault: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """An agent wrote a call that tells the person something."""

    at: float
    agent: str
    notice: str
    call: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """That call ended: which channels have shown the notice, and which will, as the result says."""

    at: float
    agent: str
    notice: str
    call: str
    status: str
    sent: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A chat service has had a request with this notice in it, and did not refuse it."""

    at: float
    notice: str
    channel: str
    method: str
    """What the request's path ends with: a method of Telegram's, a transaction of Matrix's."""
    heard: bool
    """Whether the service's answer went back to the hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The person wrote to an agent of a project."""

    at: float
    message: str
    project: str
    way: str
    text: str
    taken: bool
    """Whether the person was told at once that it was taken; chats say so later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A result that an agent got had this message in it."""

    at: float
    agent: str
    project: str
    link: str
    message: str
    text: str
    late: bool
    """The agent had cancelled its call, or was about to drop it without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TookOver:
    """So long after a fault of the hub that led, or of the database, another hub led."""

    at: float
    fault: str
    seconds: float
    due: bool
    """Whether it had to be quick: a hub and the database were there all the time, and nothing else
    happened to who leads."""


Event = (
    Asked
    | CameBack
    | Gave
    | Refused
    | Struck
    | Notified
    | Told
    | Carried
    | Wrote
    | Heard
    | TookOver
)


class Log:
    """Kept in memory and, line by line, in a file, for whoever looks into a failure."""

    def __init__(self, file: Path) -> None:
        self.events: list[Event] = []
        self._file = file.open("a", encoding="utf-8")

    def add(self, event: Event) -> None:
        self.events.append(event)
        self._file.write(json.dumps({"kind": type(event).__name__, **asdict(event)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
