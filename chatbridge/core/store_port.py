"""The store as a port: transactions and queries that the core needs.

Each store implements these protocols and is tested by the suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from chatbridge.core.audit import Auditor, Entry, Line
from chatbridge.core.cards.row import Past, PastNotice, Row, Rows
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Call, CallName, ChannelState, Notice, Post, Status
from chatbridge.core.nights.summary import Tally
from chatbridge.core.operation import OperationStore
from chatbridge.core.statistics import AskTimes

T = TypeVar("T")

StandingGrant = tuple[str, str, str | None]
"""The id of the ask, its fingerprint, and the folder of `Grant`."""


class Transaction(Protocol):
    """The store inside one transaction. Reads see the transaction's own writes."""

    async def ask(self, ask_id: str) -> Ask | None: ...

    async def add_ask(self, ask: Ask) -> None: ...

    async def save_ask(self, ask: Ask, *, was: Status) -> bool:
        """Replace the row if its status is still `was`, in one statement. Return whether it was."""

    async def is_new(self, name: CallName, *, fingerprint: str) -> bool:
        """Whether there is no call of this name, no open ask and no kept answer with this content,
        and no live call of its link for it. This is the usual case, checked in one query."""

    async def open_twin(self, *, project: str, fingerprint: str) -> Ask | None:
        """The newest open ask with this content that has no live call."""

    async def kept_twin(self, *, project: str, fingerprint: str, now: float) -> Ask | None:
        """The newest ask with this content whose answer is kept: answered (in time or late), not
        delivered, not discarded, `kept_until` after `now`, and without a live call. A ticket counts
        as a live call until the answer is marked as kept."""

    async def count_open_asks(self, *, party: str | None = None) -> int:
        """Number of open asks, of all or of one party (`Project.party`)."""

    async def count_urgent_asks(self, *, party: str, since: float) -> int:
        """Number of urgent asks of one party (`Project.party`) that were opened at that time or
        later, open or ended."""

    async def open_asks_of(self, link: str) -> Sequence[Ask]:
        """The open asks that this link has called for, oldest first."""

    async def call(self, name: CallName) -> Call | None: ...

    async def save_call(self, call: Call) -> None:
        """Insert the call, or replace the one of the same name."""

    async def live_calls(self, ask_id: str) -> Sequence[Call]: ...

    async def newest_call(self, ask_id: str, *, link: str) -> CallName | None:
        """The last call of this link for the ask, live or not. Calls that ended before the ask are
        skipped, unless their client is known to give calls up silently."""

    async def live_calls_of(self, link: str, *, fingerprint: str | None = None) -> Sequence[Call]:
        """`fingerprint`: only calls for asks with this content."""

    async def live_links(self) -> Sequence[str]:
        """The links with a live call."""

    async def post(self, *, ask_id: str, surface: str) -> Post | None: ...

    async def save_post(self, post: Post, *, handles: Sequence[str] = ()) -> None:
        """Insert or replace the post, and add `handles` to those that belong to it."""

    async def save_note(self, note: ChannelState) -> None: ...

    async def drop_note(self, channel: str, key: str) -> None: ...

    async def add_notice(self, notice: Notice) -> Notice:
        """Store the notice and return it. If its call has one with the same text, return that."""

    async def count_notices(
        self, *, link: str | None = None, party: str | None = None, since: float, until: float
    ) -> int:
        """Number of notices after `since` and up to `until`, optionally of one link or one party
        (`Project.party`). Notices about operations do not count."""

    async def dismiss_notice(self, notice_id: str, *, and_older: bool = False) -> None:
        """Dismiss this notice, and those before it if `and_older`. An unknown one changes
        nothing."""

    async def save_notice_post(
        self, notice_id: str, *, surface: str, handle: str | None = None
    ) -> None:
        """`handle` names the message that shows it, which a person can reply to."""

    async def message(self, message_id: str) -> OwnerMessage | None: ...

    async def open_messages(self) -> Sequence[OwnerMessage]:
        """Messages that wait or are handed over, in the order of insertion."""

    async def add_message(self, message: OwnerMessage) -> None: ...

    async def save_message(self, message: OwnerMessage) -> None:
        """Replace its state, but not what its chat shows of it."""

    async def save_message_post(
        self, message_id: str, *, place: str | None, handle: str | None, shown: int
    ) -> None:
        """Record where its chat says what has become of it, and which revision that is."""


class Store(Protocol):
    """Stores asks, calls, posts, notices and channel states. Reads return committed data only."""

    @property
    def operations(self) -> OperationStore: ...

    async def write(
        self,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` in one transaction and commit it durably before returning.

        `then` is called with the result after the commit, even if the caller is cancelled during
        the commit.

        Works run one after another. Several may share a commit, and `work` may run again if another
        one in its commit fails. It must have no effects outside its transaction.

        :raises StoreError: nothing of it was committed.
        """

    async def ask(self, ask_id: str) -> Ask | None: ...

    async def asks_by_prefix(self, *, project: str, prefix: str) -> Sequence[Ask]:
        """The asks of this project whose id has this prefix, open or ended, sorted by id."""

    async def open_asks(self) -> Sequence[Ask]:
        """All open asks, nearest deadline first, those without one last."""

    async def open_rows(self, *, limit: int, skip: int = 0) -> Rows:
        """The open asks as rows, in the order of `open_asks`, without the first `skip`."""

    async def history(self, *, limit: int, search: str | None = None) -> Sequence[Ask]:
        """Ended asks, newest first. `search` looks in titles, questions and answers."""

    async def past_rows(
        self, *, limit: int, before: Past | None = None, search: str | None = None
    ) -> Sequence[Row]:
        """Ended asks as rows, in the same order, starting after `before`."""

    async def answers_in(self, *, project: str, limit: int) -> Sequence[Ask]:
        """Asks of this project that a person answered, in time or late, newest first."""

    async def ask_times(self, *, since: float, until: float) -> Sequence[AskTimes]:
        """How long the asks took that were asked from `since` to `until`, which is now: those of
        each agent, by how they ended."""

    async def standing_grants(
        self, *, project: str, link: str, now: float
    ) -> Sequence[StandingGrant]:
        """What people have allowed beyond one use in this project: not taken back, and not over. If
        it has no time, only for the link that has called for its ask."""

    async def surfaces_of(self, ask_id: str) -> Sequence[str]:
        """The surfaces that have a post of this ask, which somebody can have seen: of revision 0 it
        is only a note."""

    async def notices(
        self,
        *,
        limit: int,
        since: float = 0.0,
        before: PastNotice | None = None,
        search: str | None = None,
        dismissed: bool = True,
    ) -> Sequence[Notice]:
        """Notices after `since`, newest first, starting after `before`. `search` looks in titles
        and messages. Without the `dismissed` ones, if that is false."""

    async def notice(self, notice_id: str) -> Notice | None: ...

    async def notices_behind(self, *, surface: str, since: float) -> Sequence[Notice]:
        """Notices after `since` that this surface has not shown, in the order of insertion, even if
        the clock was set back."""

    async def notice_at(self, handle: str, *, surface: str) -> Notice | None:
        """The newest notice that this message of the surface shows."""

    async def message(self, message_id: str) -> OwnerMessage | None:
        """A message of the owner to an agent."""

    async def open_messages(self) -> Sequence[OwnerMessage]:
        """Messages that wait or are handed over, in the order of insertion."""

    async def messages(self, *, limit: int) -> Sequence[OwnerMessage]:
        """Messages in any state, newest first."""

    async def messages_behind(self, *, surface: str) -> Sequence[OwnerMessage]:
        """Messages written in this chat, of which it shows no or an older revision."""

    async def message_at(self, handle: str, *, surface: str) -> OwnerMessage | None:
        """The message whose state this message of the chat shows."""

    async def open_asks_by_link(self) -> Mapping[str, int]:
        """The number of open asks that each link waits for, of the links with one."""

    async def newest_link(self, ask_id: str) -> str | None:
        """The link of the newest call of this ask, whether it still waits or not."""

    async def notice_surfaces(self, notice_id: str) -> Sequence[str]:
        """The surfaces that have shown this notice."""

    async def unsettled_delivery(self) -> Sequence[Ask]:
        """Ended asks whose answer is neither delivered, kept nor discarded."""

    async def behind(self, *, surface: str, since: float) -> Sequence[Ask]:
        """Asks whose post on this surface is missing or shows an older revision: open ones, and
        ended ones with a post that ended after `since`."""

    async def post(self, ask_id: str, *, surface: str) -> Post | None: ...

    async def post_at(self, handle: str, *, surface: str) -> Post | None:
        """The post that this handle belongs or belonged to."""

    async def note(self, channel: str, key: str) -> ChannelState | None: ...

    async def tally(self, *, since: float, until: float, now: float) -> Tally:
        """What has happened from `since` on: to asks until `now`, beside them until `until`."""

    async def attachment_digests(self) -> frozenset[str]:
        """The files that asks and notices have."""

    async def stored_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of these asks and messages are there, also if this version cannot read them."""

    async def record(self, entry: Callable[[Auditor], Entry]) -> None:
        """Add a line to the audit trail, if there is one, about what leaves nothing else behind.
        Lines about everything else are added with it. :raises StoreError:"""

    async def audit(
        self, *, since: float, until: float, after: int = 0, limit: int
    ) -> Sequence[Line]:
        """The lines of the audit trail with a time from `since` on and before `until`, in the order
        in which they were committed, starting after this number."""

    async def sweep_audit(self, *, before: float) -> int:
        """Remove older lines of the audit trail and return their number. Lines of the last day
        cannot be removed. :raises StoreError:"""

    def look(self) -> None:
        """Check for changes from outside. Called regularly while asks are open."""

    async def sweep(self, *, before: float) -> int:
        """Remove asks that ended before that time, with their calls and posts, and older notices.
        Return the number of asks."""
