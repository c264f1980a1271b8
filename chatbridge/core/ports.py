"""What the core needs from outside, but for its store, and what it offers to channels.

An adapter implements one of these protocols and is tested by the suite in `tests/contract/`.
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
        """Wall time in seconds since the epoch: deadlines are in it."""
        ...

    def monotonic(self) -> float:
        """Time that stands still while the machine is suspended, and never steps."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class AskActions(Protocol):
    """What a channel may do: read asks, and put in what a person did.

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
        """What a person did to the form, a tap or a text, as one or more events. What the last of
        them led to, or the first that was refused: none after that one counts. `beside` is
        committed like the cursor.

        :raises UnknownAsk:
        :raises AskEnded: nothing was changed.
        :raises NotHere: an approval, and this channel may not settle it.
        """
        ...

    async def answer(self, ask_id: str, answers: tuple[Answer, ...], *, person: Person) -> Ask:
        """All answers at once, in the questions' order, already checked by `answers.check_answers`.

        :raises UnknownAsk:
        :raises AskEnded: it ended otherwise than by a time-out, or has its late answer already.
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
        :raises NotHere: an approval, and this channel may not settle it.
        """
        ...

    async def discard(self, ask_id: str, *, cursor: ChannelState | None = None) -> Ask:
        """Forget a kept answer. Approvals have none. :raises UnknownAsk:"""
        ...

    async def redraw(self, ask_id: str) -> None:
        """Have an ask shown anew, though nothing in it changed. An unknown one is passed over."""
        ...

    async def show_again(self, ask_id: str) -> None:
        """Let every surface look whether it shows the ask as it is; one that does sends nothing."""
        ...

    async def behind(self, *, surface: str) -> Sequence[Ask]:
        """Asks that this surface may not show as they are: open ones, and of those that ended
        lately the ones that have a post there."""
        ...

    async def post(self, ask_id: str, *, surface: str) -> Post | None: ...

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        """The post that this handle belongs to, or belonged to."""
        ...

    async def adopt(self, post: Post, *, over: Post | None, handles: Sequence[str]) -> bool:
        """Note a card that is there, though nobody lived to note it when it was posted; unless what
        is noted is not `over` any more: then whoever posted it did live. Whether it was noted."""
        ...

    async def note(self, channel: str, key: str) -> ChannelState | None: ...

    async def remember(self, note: ChannelState) -> None: ...

    async def forget(self, channel: str, key: str) -> None:
        """Drop a note, if there is one."""
        ...

    async def notices(self, *, since: float, limit: int) -> Sequence[Notice]:
        """What agents told their owner after `since`, the newest first."""
        ...

    async def output(self, operation_id: str) -> bytes | None:
        """All that an operation printed and that is kept, without a terminal's escape sequences;
        it may be long. None: there is no such operation, or its output has been swept."""
        ...

    def only_on(self, ask: Ask | Row, channel: str) -> tuple[str, ...]:
        """The channels that can settle this approval, if this one is none of them; for `draw`."""
        ...

    def latest_deadline(self, ask: Ask) -> float:
        """How far `extend` can move this ask's deadline."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How an ask is shown now. `place` is all that the surface needs to bring it up to date;
    `handles` are its parts that a person can point at, by replying to them for instance."""

    place: str
    handles: tuple[str, ...] = ()
    messages: int = 0
    """How many new messages it took, the card included; an edit takes none."""
    complete: bool = True
    """Otherwise there is more to be shown: note this, and show the same again."""
    cleanup_only: bool = False
    """What is left to be done can wait until others have been shown."""
    seen: bool = True
    """Somebody can see it: a chat has it, or a page is open."""


class Surface(Protocol):
    """Where a channel shows cards: one chat, or the page."""

    name: str
    """Unique among the surfaces of all channels: posts are kept under it."""
    persistent: bool
    """Whether the service keeps what was shown (a chat), or shows it live (a page)."""
    pace: RateLimit

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """Post the ask's card, or bring the one at `place` up to date.

        :raises RetryLater: not done; try again after its pause.
        :raises PostGone: there is nothing at `place` any more.
        """
        ...

    async def announce(self, notice: Notice) -> bool:
        """Show a notice, which is never edited. Whether somebody can see it now.

        :raises RetryLater: not done; try again after its pause.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Remark:
    """Something that the owner is told once in each chat, and that belongs to no ask."""

    text: str
    id: str = field(default_factory=lambda: uuid4().hex)
    told: set[str] = field(default_factory=set)
    """The surfaces that need not be told any more: it survives a channel that is built anew."""


class Channel(Protocol):
    """A way to a person: shows cards, turns taps and texts into form events."""

    name: str

    @property
    def surfaces(self) -> Sequence[Surface]: ...

    @property
    def trouble(self) -> str | None:
        """Why it does not work now, and what to do, in words for the owner."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """What the owner should know though it works, in words for the owner."""
        ...

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        """Receive until cancelled. Calls `ready` once it can show cards.

        :raises ChatbridgeError: it cannot work now, and should be tried again later.
        """
        ...

    async def tell(self, remark: Remark) -> None:
        """Say it in each chat that has not been told, and note which ones have; nothing where it
        would be seen otherwise.

        :raises RetryLater: some have not been told yet; try again after its pause.
        """
        ...

    async def drain(self) -> None:
        """Return once everything the service had kept until now has been put in."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Each part is asked for when it is shown."""

    agents: Callable[[], Sequence[str]] = tuple
    """The agents that are connected."""
    remarks: Callable[[], Sequence[str]] = tuple
    """What the owner should know about them."""
    troubles: Callable[[], Mapping[str, str | None]] = dict
    """Each channel, and why it does not work now."""

    faults: Callable[[], Sequence[str]] = tuple
    """What is wrong with the hub itself, or its database."""

    def banners(self) -> list[str]:
        """What deserves to be seen without being looked for."""
        return [*self.faults(), *filter(None, self.troubles().values()), *self.remarks()]
