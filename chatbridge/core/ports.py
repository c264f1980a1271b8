"""What the core needs from outside, and what it offers to channels.

An adapter implements one of these protocols and is tested by the suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from chatbridge.core.form import Event, Step
from chatbridge.core.model import Answer, Ask, Call, CallName, Note, Person, Post, Status
from chatbridge.core.notice import Notice
from chatbridge.core.operation import OperationStore
from chatbridge.core.pacing import Pace

T = TypeVar("T")


class Clock(Protocol):
    def time(self) -> float:
        """Wall time in seconds since the epoch: deadlines are in it."""
        ...

    def monotonic(self) -> float:
        """Time that stands still while the machine is suspended, and never steps."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Transaction(Protocol):
    """The store inside one transaction. Reads see the transaction's own writes."""

    async def ask(self, ask_id: str) -> Ask | None: ...

    async def add_ask(self, ask: Ask) -> None: ...

    async def save_ask(self, ask: Ask, *, was: Status) -> bool:
        """Replace the row if its status still is `was`, in one statement. False: it was not."""
        ...

    async def open_twin(self, *, project: str, fingerprint: str) -> Ask | None:
        """The newest open ask with this content that has no live call."""
        ...

    async def kept_twin(self, *, project: str, fingerprint: str, now: float) -> Ask | None:
        """The newest ask with this content whose answer is kept: answered (in time or late),
        not delivered, not discarded, `kept_until` after `now`, and without a live call. The
        holder of a ticket counts as one until the answer is called kept."""
        ...

    async def count_open_asks_of(self, *, project: str, client: str) -> int:
        """How many open asks one agent has."""
        ...

    async def open_asks_of(self, *, project: str, client: str) -> Sequence[Ask]:
        """One agent's open asks, oldest first."""
        ...

    async def call(self, name: CallName) -> Call | None: ...

    async def save_call(self, call: Call) -> None:
        """Insert it, or replace the one of the same name."""
        ...

    async def live_calls(self, ask_id: str) -> Sequence[Call]: ...

    async def live_calls_of(self, link: str) -> Sequence[Call]: ...

    async def live_links(self) -> Sequence[str]:
        """The links that have a live call."""
        ...

    async def save_post(self, post: Post, *, handles: Sequence[str] = ()) -> None:
        """Insert or replace the post. `handles` are added to what is known to belong to it."""
        ...

    async def save_note(self, note: Note) -> None: ...

    async def drop_note(self, *, channel: str, key: str) -> None: ...

    async def add_notice(self, notice: Notice) -> Notice:
        """Keep it, unless its call has left one with these words before: then that one."""
        ...

    async def count_notices_of(self, *, project: str, client: str, since: float) -> int:
        """How many notices one agent has sent after `since`; those of operations are ours."""
        ...

    async def save_notice_post(self, notice_id: str, *, surface: str) -> None: ...


class Store(Protocol):
    """Keeps asks, calls, posts and notes. What a read returns has been committed."""

    @property
    def operations(self) -> OperationStore: ...

    async def write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `work` in one transaction and commit it durably before returning.

        Works run one after another. Several may share a commit, and a work may be run again when
        another one in its commit failed: it must have no effect but through its transaction.

        :raises StoreError: nothing of it was committed.
        """
        ...

    async def ask(self, ask_id: str) -> Ask | None: ...

    async def asks_by_prefix(self, *, project: str, prefix: str) -> Sequence[Ask]:
        """The asks of this project whose id begins like this, open or ended, in the ids' order."""
        ...

    async def open_asks(self) -> Sequence[Ask]:
        """All open asks, the nearest deadline first, those without one last."""
        ...

    async def history(
        self, *, limit: int, before: float | None = None, search: str | None = None
    ) -> Sequence[Ask]:
        """Ended asks, the newest first. `search` looks into title, questions and answers."""
        ...

    async def answers_in(self, *, project: str, limit: int) -> Sequence[Ask]:
        """What a person answered in this project, in time or late, the newest first."""
        ...

    async def allowed_in_session(self, *, link: str, fingerprint: str) -> bool:
        """Whether a call of this link was answered with "session" for the same content."""
        ...

    async def surfaces_of(self, ask_id: str) -> Sequence[str]:
        """The surfaces that have a post of this ask."""
        ...

    async def notices(self, *, since: float, limit: int) -> Sequence[Notice]:
        """Notices of after `since`, the newest first."""
        ...

    async def notices_behind(self, *, surface: str, since: float) -> Sequence[Notice]:
        """Notices of after `since` that this surface has not shown, oldest first."""
        ...

    async def notice_surfaces(self, notice_id: str) -> Sequence[str]:
        """The surfaces that have shown this notice."""
        ...

    async def unsettled_delivery(self) -> Sequence[Ask]:
        """Ended asks whose answer is neither delivered, kept nor discarded."""
        ...

    async def behind(self, *, surface: str, since: float) -> Sequence[Ask]:
        """Asks whose post on this surface is missing or shows an older revision: the open ones,
        and of the ended ones those that have a post and ended after `since`."""
        ...

    async def post(self, *, ask_id: str, surface: str) -> Post | None: ...

    async def post_at(self, *, surface: str, handle: str) -> Post | None:
        """The post that this handle belongs to, or belonged to."""
        ...

    async def note(self, *, channel: str, key: str) -> Note | None: ...

    async def sweep(self, *, before: float) -> int:
        """Remove asks that ended before that time, with their calls and posts; how many. Notices
        of before it go too."""
        ...


class Inbox(Protocol):
    """What a channel may do: read asks, and put in what a person did.

    `cursor` is committed in the same transaction as the effect.
    """

    async def ask(self, ask_id: str) -> Ask:
        """:raises UnknownAsk:"""
        ...

    async def open_asks(self) -> Sequence[Ask]: ...

    async def history(
        self, *, limit: int, before: float | None = None, search: str | None = None
    ) -> Sequence[Ask]: ...

    async def put(
        self,
        ask_id: str,
        *events: Event,
        person: Person,
        cursor: Note | None = None,
        beside: Sequence[Note] = (),
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

    async def extend(self, ask_id: str, *, cursor: Note | None = None) -> Ask:
        """Move the deadline by 15 minutes, at most to the latest one allowed.

        :raises UnknownAsk: :raises AskEnded:
        """
        ...

    async def discard(self, ask_id: str, *, cursor: Note | None = None) -> Ask:
        """Forget a kept answer. :raises UnknownAsk:"""
        ...

    async def redraw(self, ask_id: str) -> None:
        """Have an ask shown anew, though nothing in it changed. An unknown one is passed over."""
        ...

    async def post(self, ask_id: str, *, surface: str) -> Post | None: ...

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        """The post that this handle belongs to, or belonged to."""
        ...

    async def adopt(self, post: Post, *, handles: Sequence[str]) -> None:
        """Note a card that is there, though nobody lived to note it when it was posted."""
        ...

    async def note(self, channel: str, key: str) -> Note | None: ...

    async def remember(self, note: Note) -> None: ...

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

    def only_on(self, ask: Ask, channel: str) -> tuple[str, ...]:
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
    tidying: bool = False
    """What is left to be done can wait until others have been shown."""
    seen: bool = True
    """Somebody can see it: a chat has it, or a page is open."""


class Surface(Protocol):
    """Where a channel shows cards: one chat, or the page."""

    name: str
    """Unique among the surfaces of all channels: posts are kept under it."""
    keeps_posts: bool
    """Whether the service keeps what was shown (a chat), or shows it live (a page)."""
    pace: Pace

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

    async def run(self, inbox: Inbox, *, ready: Callable[[], None]) -> None:
        """Receive until cancelled. Calls `ready` once it can show cards.

        :raises ChatbridgeError: it cannot work now, and should be tried again later.
        """
        ...

    async def tell(self, text: str) -> None:
        """Say something to the owner that belongs to no ask, where it would not be seen
        otherwise."""
        ...

    async def drain(self) -> None:
        """Return once everything the service had kept until now has been put in."""
        ...
