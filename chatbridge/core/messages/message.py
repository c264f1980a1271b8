"""A message of the owner to an agent: what is stored of it, and how it is put into words."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import uuid4

from chatbridge.core.cards import markup
from chatbridge.core.cards.attached import format_size, shown_name
from chatbridge.core.cards.outcome_text import where
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.model import Agent, Attachment, CallName, Person, Project
from chatbridge.core.text import one_line

MAX_TEXT = 10_000  # Characters of one message
GO_ON = "Your owner has given you the next task, so go on."
"""What an agent is told first that was about to stop: its client shows this as an error."""


Sentence = tuple[str | markup.Name | markup.Time, ...]


class MessageState(StrEnum):
    WAITING = "waiting"
    HANDED_OVER = "handed_over"  # It is in a response that its agent has not confirmed
    DELIVERED = "delivered"
    EXPIRED = "expired"
    TAKEN_BACK = "taken_back"


class Way(StrEnum):
    """How a message reaches the model."""

    RESULT = "result"  # Beside the result of a tool
    CHECK = "check"  # The agent looked for messages
    TOOL_HOOK = "tool_hook"  # A hook of its client, after it used a tool
    STOP_HOOK = "stop_hook"  # A hook of its client, when it was about to stop


HOW = {
    Way.RESULT: "with its next result",
    Way.CHECK: "when it looked for messages",
    Way.TOOL_HOOK: "after its last step",
    Way.STOP_HOOK: "when it had finished",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is about to be written, and that files are received for."""

    id: str = field(default_factory=lambda: str(uuid4()))
    project: Project


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMessage:
    """`revision` counts the changes that people see."""

    id: str
    project: Project
    agent: Agent
    link: str  # Of the agent that it was written to
    text: str
    attachments: tuple[Attachment, ...] = ()
    by: Person
    at: float
    expires_at: float
    state: MessageState = MessageState.WAITING
    handed_to: CallName | None = None  # The call whose response has it, or had it last
    way: Way | None = None
    settled_at: float | None = None  # When it was delivered, expired or was taken back
    revision: int = 1
    surface: str = ""  # The chat in which it was written, which is told what becomes of it
    reply_to: str = ""  # Where in that chat, as its channel notes it
    place: str | None = None  # Where that chat says what has become of it
    shown: int = 0  # The revision that it says

    @property
    def open(self) -> bool:
        return self.state in (MessageState.WAITING, MessageState.HANDED_OVER)


def format_for_model(message: OwnerMessage, *, now: float, files: bool = True) -> str:
    """What the agent reads. `files`: name them here, with their paths."""
    sent = f"sent {format_time(message.at, now=now)} {where(message.by)}"
    text = message.text
    lines = [
        f"Message from the owner of this computer, {sent}:"
        + (f"\n{text}" if "\n" in text else f" {text}" if text else "")
    ]
    for each in message.attachments if files else ():
        about = f"{shown_name(each)} ({each.type}, {format_size(each.size)})"
        lines.append(f"Attached: {about}{f': {each.path}' if each.path else ''}")
    return "\n".join(lines)


def state_sentence(message: OwnerMessage) -> Sentence:
    """What has become of it, for the person who wrote it."""
    name = markup.Name(message.project.name)
    match message.state:
        case MessageState.WAITING | MessageState.HANDED_OVER:
            return name, " gets it with its next step."
        case MessageState.DELIVERED:
            agent, at = markup.Name(message.agent.name), message.settled_at or message.at
            how = HOW[message.way or Way.RESULT]
            return "Delivered to ", agent, " in ", name, ", ", markup.Time(at), f", {how}."
        case MessageState.EXPIRED:
            return name, " did not collect your message in time. It was not delivered."
        case MessageState.TAKEN_BACK:
            return "Taken back. ", name, " does not get it."


def format_state(message: OwnerMessage, *, now: float) -> str:
    """The same as one line of text."""
    return "".join(_plain(part, now) for part in state_sentence(message))


def _plain(part: str | markup.Name | markup.Time, now: float) -> str:
    if isinstance(part, markup.Time):
        return format_time(part.at, now=now)
    return one_line(part.text) if isinstance(part, markup.Name) else part
