"""The ports of the core, except the store: what it needs from channels and what it offers to them.

Each channel implements these protocols and is tested by the suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from chatbridge.core.cards.row import Past, Row, Rows
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.forms.form import Event, Step
from chatbridge.core.model import Answer, Ask, ChannelState, Notice, Person, Post


class Clock(Protocol):
    def time(self) -> float:
        """Wall time in seconds since the epoch, as used for deadlines."""
        ...

    def monotonic(self) -> float:
        """Time in seconds that never steps, and stops while the machine is suspended."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class AskActions(Protocol):
    """What a channel may do: read asks, and apply a person's input.

    `cursor` is committed in the same transaction as the effect.
    """

    async def ask(self, ask_id: str) -> Ask:
        """:raises UnknownAsk:"""
        ...

    async def open_asks(self) -> Sequence[Ask]: ...

    async def open_rows(self, *, limit: int, skip: int = 0) -> Rows: ...

    async def history(self, *, limit: int, search: str | None = None) -> Sequence[Ask]: ...

    async def past_rows(
        self, *, limit: int, before: Past | None = None, search: str | None = None
    ) -> Sequence[Row]: ...

    async def put(
        self,
        ask_id: str,
        *events: Event,
        person: Person,
        cursor: ChannelState | None = None,
        beside: Sequence[ChannelState] = (),
    ) -> Step:
        """Apply a person's input to the form, as one or more events. Return the step of the last
        event, or of the first that was refused; the events after it are dropped. `beside` is
        committed like the cursor.

        :raises UnknownAsk:
        :raises AskEnded: nothing was changed.
        :raises NotHere: it is an approval that this channel may not settle.
        """
        ...

    async def answer(self, ask_id: str, answers: tuple[Answer, ...], *, person: Person) -> Ask:
        """Answer all questions at once, in their order. `answers.check_answers` has checked them.

        :raises UnknownAsk:
        :raises AskEnded: it has a late answer already, or did not end by a time-out.
        """
        ...

    async def cancel(self, ask_id: str, *, reason: str | None, person: Person) -> Ask:
        """:raises UnknownAsk: :raises AskEnded:"""
        ...

    async def extend(
        self, ask_id: str, *, person: Person, cursor: ChannelState | None = None
    ) -> Ask:
        """Move the deadline by 15 minutes, at most to the latest one allowed.

        :raises UnknownAsk: :raises AskEnded:
        :raises NotHere: it is an approval that this channel may not settle.
        """
        ...

    async def discard(self, ask_id: str, *, cursor: ChannelState | None = None) -> Ask:
        """Discard a kept answer. Approvals have none. :raises UnknownAsk:"""
        ...

    async def redraw(self, ask_id: str) -> None:
        """Show an ask again with a new revision. An unknown one is ignored."""
        ...

    async def show_again(self, ask_id: str) -> None:
        """Let every surface check whether it shows the current revision, and send it if not."""
        ...

    async def behind(self, *, surface: str) -> Sequence[Ask]:
        """Asks that this surface may show in an old revision: open ones, and recently ended ones
        with a post there."""
        ...

    async def post(self, ask_id: str, *, surface: str) -> Post | None: ...

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        """The post that this handle belongs or belonged to."""
        ...

    async def adopt(self, post: Post, *, over: Post | None, handles: Sequence[str]) -> bool:
        """Record a card that was posted before a crash. Return False without a change if the
        recorded post is no longer `over`: then it was recorded after all."""
        ...

    async def note(self, channel: str, key: str) -> ChannelState | None: ...

    async def remember(self, note: ChannelState) -> None: ...

    async def forget(self, channel: str, key: str) -> None:
        """Delete a stored value, if there is one."""
        ...

    async def notices(self, *, since: float, limit: int) -> Sequence[Notice]:
        """Notices after `since`, newest first."""
        ...

    async def output(self, operation_id: str) -> bytes | None:
        """The stored output of an operation without escape sequences; it may be long. None: there
        is no such operation, or its output has been removed."""
        ...

    def only_on(self, ask: Ask | Row, channel: str) -> tuple[str, ...]:
        """The channels that can settle this approval, if `channel` cannot; for `build_card`."""
        ...

    def latest_deadline(self, ask: Ask) -> float:
        """The latest deadline to which `extend` can move this ask."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of showing an ask. `place` holds all that the surface needs to update it later;
    `handles` name its parts that a person can refer to, for instance by a reply."""

    place: str
    handles: tuple[str, ...] = ()
    messages: int = 0
    """Number of new messages, including the card; an edit is none."""
    complete: bool = True
    """If false, there is more to show: record this result and show the same revision again."""
    cleanup_only: bool = False
    """The remaining work can wait until other asks have been shown."""
    seen: bool = True
    """Whether somebody can see it: it is in a chat, or a page is open."""


class Surface(Protocol):
    """A place where a channel shows cards: one chat, or the page."""

    name: str
    """Unique among the surfaces of all channels. Posts are stored under it."""
    persistent: bool
    """Whether the service keeps messages (a chat) or shows the current state (a page)."""
    pace: RateLimit

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """Post the ask's card, or update the one at `place`.

        :raises RetryLater: not done; try again after its pause.
        :raises PostGone: there is no card at `place` any more.
        """
        ...

    async def announce(self, notice: Notice) -> bool:
        """Show a notice, which is never edited. Return whether somebody can see it now.

        :raises RetryLater: not done; try again after its pause.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Remark:
    """A message of chatbridge itself, sent once to each chat."""

    text: str
    id: str = field(default_factory=lambda: uuid4().hex)
    told: set[str] = field(default_factory=set)
    """The surfaces that have it already; kept when a channel is rebuilt."""


class Channel(Protocol):
    """A connection to people: shows cards, and turns taps and texts into form events."""

    name: str

    @property
    def surfaces(self) -> Sequence[Surface]: ...

    @property
    def trouble(self) -> str | None:
        """Why the channel does not work now, and what to do, as text for the owner."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks for the owner about a working channel."""
        ...

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        """Receive input until cancelled. Call `ready` as soon as cards can be shown.

        :raises ChatbridgeError: the channel does not work now; run it again later.
        """
        ...

    async def tell(self, remark: Remark) -> None:
        """Send the remark to each chat that does not have it, and add these to `remark.told`. A
        channel that shows remarks otherwise does nothing.

        :raises RetryLater: some chats do not have it yet; try again after its pause.
        """
        ...

    async def drain(self) -> None:
        """Return once the backlog of the service has been processed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of the hub. Each part is read when it is shown."""

    agents: Callable[[], Sequence[str]] = tuple
    """The connected agents."""
    remarks: Callable[[], Sequence[str]] = tuple
    """Remarks for the owner about them."""
    troubles: Callable[[], Mapping[str, str | None]] = dict
    """Each channel, and why it does not work now."""

    faults: Callable[[], Sequence[str]] = tuple
    """Problems of the hub itself or its database."""

    def banners(self) -> list[str]:
        """Everything that should be shown on each page."""
        return [*self.faults(), *filter(None, self.troubles().values()), *self.remarks()]
