"""Rows of lists, made of asks as the store makes them."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.core.cards.row import Row, Rows
from chatbridge.core.model import Ask
from chatbridge.store.rows import summary_of


def a_row(ask: Ask, *, seq: int = 1) -> Row:
    return Row(
        id=ask.id,
        seq=seq,
        project=ask.project,
        agent=ask.agent,
        status=ask.status,
        created_at=ask.created_at,
        deadline=ask.deadline,
        settled_at=ask.settled_at,
        delivered_at=ask.delivered_at,
        late=ask.late is not None,
        orphaned=ask.orphaned,
        attention=ask.attention,
        summary=summary_of(ask),
    )


def listed(asks: Sequence[Ask], *, limit: int = 20) -> Rows:
    return Rows(tuple(a_row(ask) for ask in asks[:limit]), len(asks))
