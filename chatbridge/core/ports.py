"""The ports of the core, except the store: what channels and the clock implement.

Each channel implements these protocols and is tested by the suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.model import Ask, Attachment, Notice, Project
from chatbridge.core.nights.summary import Summary

if TYPE_CHECKING:
    from pathlib import Path

    from chatbridge.core.asks.ask_actions import AskActions
    from chatbridge.core.messages.message import OwnerMessage
    from chatbridge.core.store_port import Store


class Clock(Protocol):
    def time(self) -> float:
        """Wall time in seconds since the epoch, as used for deadlines."""

    def monotonic(self) -> float:
        """Time in seconds that never steps, and stops while the machine is suspended."""

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A picture without metadata, small enough for every service and model."""

    path: str
    type: str  # image/png or image/jpeg
    size: int
    width: int
    height: int


class Recipient(Protocol):
    """What a person's file is for: an ask, or a message to an agent."""

    @property
    def id(self) -> str: ...

    @property
    def project(self) -> Project: ...


class AttachmentStore(Protocol):
    """The bytes of attachments, on this machine."""

    @property
    def most(self) -> int:
        """How many files an ask, a notice or an answer may have."""

    @property
    def largest(self) -> int:
        """How many bytes they may have together."""

    def path(self, attachment: Attachment) -> str | None:
        """The file with its content, to be read as a stream; None: it has been removed."""

    async def preview(self, attachment: Attachment) -> Preview | None:
        """Decode a picture within limits, once. None: it is no picture, or cannot be shown."""

    async def receive(
        self, content: AsyncIterable[bytes], *, name: str | None, to: Recipient
    ) -> Attachment:
        """Store what a person sends.
        :raises AttachmentError: as a sentence for that person."""

    async def sweep(self, store: Store) -> None:
        """Remove files whose asks and notices are gone."""


class FileCopies(Protocol):
    """The bytes of attachments where every hub that may lead finds them, by their path in the state
    directory. Everything raises `StoreError`."""

    async def save(self, name: str, path: Path, *, now: float) -> None:
        """Return once the file is there durably, or has been there before."""

    async def names(self, *, of_open: bool = False) -> Sequence[str]:
        """`of_open`: only those of open asks, and of messages that wait."""

    def read(self, name: str) -> AsyncIterator[bytes]: ...

    async def sweep(self, *, before: float) -> None:
        """Remove those whose asks, notices and messages are gone, unless kept after that time."""


class Transcriber(Protocol):
    async def transcribe(self, path: str, *, type: str, name: str) -> str:
        """Return what is said in the recording at this path; empty if nothing is.
        :raises TranscriptionFailed:"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of showing an ask. `place` holds all that the surface needs to update it later;
    `handles` name its parts that a person can refer to, for instance by a reply."""

    place: str
    handles: tuple[str, ...] = ()
    messages: int = 0  # Number of new messages, including the card; an edit is none
    complete: bool = True  # If false, record this and show the same revision again
    cleanup_only: bool = False  # The remaining work can wait until other asks have been shown
    seen: bool = True
    """Whether somebody can see it: it is in a chat, or a page is open. Otherwise its `place` is
    kept as a note of the surface, with the revision 0."""


class Surface(Protocol):
    """A place where a channel shows cards: one chat, or the page."""

    name: str  # Unique among the surfaces of all channels. Posts are stored under it.
    persistent: bool  # Whether it keeps messages (a chat) or shows the current state
    pace: RateLimit
    idempotent: bool  # Whether the service takes what is sent again for the same message

    def wants(self, ask: Ask) -> bool:
        """Whether somebody here has asked to see this one, though it may be held back."""

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """Post the ask's card, or update the one at `place`. :raises RetryLater: not done; try
        again after its pause. :raises PostGone: there is no card at `place` any more."""

    async def announce(self, notice: Notice) -> Shown | bool:
        """Show a notice, which is never edited. Return which message shows it, or only whether
        somebody can see it now. :raises RetryLater: not done; try again after its pause."""

    async def report(self, message: OwnerMessage) -> Shown:
        """Say what has become of a message to an agent that was written here, at its `place` if
        that is set. :raises RetryLater: not done; try again after its pause. :raises PostGone:
        there is nothing at its place any more, which stays so."""

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        """Post a summary, or bring the one at `place` up to date. `again`: it may have been posted
        before. :raises RetryLater: not done; try again after its pause. :raises PostGone: there is
        none at `place` any more."""


@dataclass(slots=True, kw_only=True)
class Remark:
    """A message of chatbridge itself, sent once to each chat."""

    text: str
    id: str = field(default_factory=lambda: uuid4().hex)
    told: set[str] = field(default_factory=set)  # Surfaces that have it; kept across restarts


class Channel(Protocol):
    """A connection to people: shows cards, and turns taps and texts into form events."""

    name: str

    @property
    def surfaces(self) -> Sequence[Surface]:
        """May change while the channel runs, if it then calls `ready` again: new ones catch up, and
        nothing more is shown on one of a name that is gone."""

    @property
    def trouble(self) -> str | None:
        """Why the channel does not work now, and what to do, as text for the owner."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks for the owner about a working channel."""

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        """Receive input until cancelled. Call `ready` as soon as cards can be shown, and whenever
        `surfaces` has changed.
        :raises ChatbridgeError: the channel does not work now; run it again later."""

    async def tell(self, remark: Remark) -> None:
        """Send the remark to each chat that does not have it, and add these to `remark.told`. A
        channel that shows remarks otherwise does nothing. :raises RetryLater: some chats do not
        have it yet; try again after its pause."""

    async def drain(self) -> None:
        """Return once the backlog of the service has been processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of the hub. Each part is read when it is shown."""

    agents: Callable[[], Sequence[str]] = tuple  # The connected agents
    remarks: Callable[[], Sequence[str]] = tuple  # Remarks for the owner about them
    troubles: Callable[[], Mapping[str, str | None]] = dict  # Each channel, and what is wrong

    faults: Callable[[], Sequence[str]] = tuple  # Problems of the hub itself or its database

    def banners(self) -> list[str]:
        """Everything that should be shown on each page."""
        return [*self.faults(), *filter(None, self.troubles().values()), *self.remarks()]
