"""What the core needs of a store.

One implements these protocols and is tested by the suite in `tests/contract/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from chatbridge.core.cards.row import Past, Row, Rows
from chatbridge.core.model import Ask, Call, CallName, ChannelState, Notice, Post, Status
from chatbridge.core.operation import OperationStore

T = TypeVar("T")


class Transaction(Protocol):
    """The store inside one transaction. Reads see the transaction's own writes."""

    async def ask(self, ask_id: str) -> Ask | None: ...

    async def add_ask(self, ask: Ask) -> None: ...

    async def save_ask(self, ask: Ask, *, was: Status) -> bool:
        """Replace the row if its status still is `was`, in one statement. False: it was not."""
        ...

    async def is_new(self, name: CallName, *, fingerprint: str) -> bool:
        """Whether there is no call of this name, no open ask and no kept answer with this content,
        and no live call of its link for it: as nearly always, so that one look is enough."""
        ...

    async def open_twin(self, *, project: str, fingerprint: str) -> Ask | None:
        """The newest open ask with this content that has no live call."""
        ...

    async def kept_twin(self, *, project: str, fingerprint: str, now: float) -> Ask | None:
        """The newest ask with this content whose answer is kept: answered (in time or late),
        not delivered, not discarded, `kept_until` after `now`, and without a live call. The
        holder of a ticket counts as one until the answer is called kept."""
        ...

    async def count_open_asks(self, *, party: str | None = None) -> int:
        """How many open asks there are, or one party (`Project.party`) has."""
        ...

    async def open_asks_of(self, link: str) -> Sequence[Ask]:
        """The open asks that this link has made a call for, oldest first."""
        ...

    async def call(self, name: CallName) -> Call | None: ...

    async def save_call(self, call: Call) -> None:
        """Insert it, or replace the one of the same name."""
        ...

    async def live_calls(self, ask_id: str) -> Sequence[Call]: ...

    async def newest_call(self, ask_id: str, *, link: str) -> Call | None:
        """The last call that this link has made for the ask, live or not. One that ended before the
        ask did is passed over, unless its client is known to give calls up without a word."""
        ...

    async def live_calls_of(self, link: str, *, fingerprint: str | None = None) -> Sequence[Call]:
        """`fingerprint`: only those of asks with it."""
        ...

    async def live_links(self) -> Sequence[str]:
        """The links that have a live call."""
        ...

    async def post(self, *, ask_id: str, surface: str) -> Post | None: ...

    async def save_post(self, post: Post, *, handles: Sequence[str] = ()) -> None:
        """Insert or replace the post. `handles` are added to what is known to belong to it."""
        ...

    async def save_note(self, note: ChannelState) -> None: ...

    async def drop_note(self, *, channel: str, key: str) -> None: ...

    async def add_notice(self, notice: Notice) -> Notice:
        """Keep it, unless its call has left one with these words before: then that one."""
        ...

    async def count_notices(
        self,
        *,
        link: str | None = None,
        party: str | None = None,
        since: float,
        until: float,
    ) -> int:
        """How many notices there were after `since`, and not after `until`, of this link or this
        party (`Project.party`) only; those of operations are ours and do not count."""
        ...

    async def save_notice_post(self, notice_id: str, *, surface: str) -> None: ...


class Store(Protocol):
    """Keeps asks, calls, posts and notes. What a read returns has been committed."""

    @property
    def operations(self) -> OperationStore: ...

    async def write(
        self,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` in one transaction and commit it durably before returning.

        What others have to be told of the result, `then` tells them: the caller may be cancelled
        in the middle of the commit.

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

    async def open_rows(self, *, limit: int, skip: int = 0) -> Rows:
        """The open asks as rows, in the order of `open_asks`, without the first `skip`."""
        ...

    async def history(self, *, limit: int, search: str | None = None) -> Sequence[Ask]:
        """Ended asks, the newest first. `search` looks into title, questions and answers."""
        ...

    async def past_rows(
        self, *, limit: int, before: Past | None = None, search: str | None = None
    ) -> Sequence[Row]:
        """The same as rows; those that come after `before` in this order."""
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
        """Notices of after `since` that this surface has not shown, in the order in which they
        came, however the clock was set."""
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

    async def note(self, *, channel: str, key: str) -> ChannelState | None: ...

    def look(self) -> None:
        """Notice what has happened to it from outside. Called now and then while asks are open."""
        ...

    async def sweep(self, *, before: float) -> int:
        """Remove asks that ended before that time, with their calls and posts; how many. Notices
        of before it go too."""
        ...
