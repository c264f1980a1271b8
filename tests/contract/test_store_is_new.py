"""Whether there is anything that a call could go on with, in one look."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from chatbridge.core.model import Ask, Call, CallName, Project
from chatbridge.core.store_port import Store, Transaction
from tests.contract.asks import (
    a_call,
    an_ask,
    answered,
    any_ask,
    anything_of,
    keep,
    timed_out,
)

NAME = CallName(link="link-1", request="1")
KEPT: dict[str, Any] = {"kept": True, "kept_until": 9000.0}


async def is_new(store: Store) -> bool:
    return await store.write(lambda tx: tx.is_new(NAME, fingerprint="same words"))


@pytest.mark.parametrize(
    ("ask", "changes"),
    [
        (an_ask(), {"link": "link-2", "ended_at": 1500.0}),
        (an_ask(project=Project(key="/src/other", name="other")), {"link": "link-2"}),
        (answered(an_ask(), **KEPT), {"link": "link-2", "ended_at": 1500.0}),
        (answered(an_ask(fingerprint="other words"), delivered_at=1500.0), {"ended_at": 1500.0}),
        (timed_out(an_ask()), {"request": "2", "ticket": True}),
    ],
    ids=["open", "open elsewhere", "kept", "the same call", "a ticket of the same link"],
)
async def test_a_call_is_not_new_where_its_name_or_content_may_lead_to_something(
    store: Store, ask: Ask, changes: dict[str, Any]
) -> None:
    await keep(store, ask, a_call(ask, **changes))
    assert not await is_new(store)


@pytest.mark.parametrize(
    ("ask", "changes"),
    [
        (an_ask(fingerprint="other words"), {"request": "2"}),
        (answered(an_ask(), delivered_at=1500.0), {"request": "2", "ended_at": 1500.0}),
        (answered(an_ask(), discarded=True, **KEPT), {"link": "link-2", "ended_at": 1500.0}),
        (timed_out(an_ask()), {"link": "link-2", "ticket": True}),
    ],
    ids=["other words", "delivered", "discarded", "a ticket of another link"],
)
async def test_a_call_is_new_where_nothing_is_left_of_the_same_content(
    store: Store, ask: Ask, changes: dict[str, Any]
) -> None:
    await keep(store, ask, a_call(ask, **changes))
    assert await is_new(store)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ask=any_ask(), call=anything_of(Call))
async def test_for_a_new_call_there_is_nothing_to_go_on_with(
    store: Store, ask: Ask, call: Call
) -> None:
    call = dataclasses.replace(call, ask_id=ask.id)
    await keep(store, ask, call)
    content = {"project": ask.project.key, "fingerprint": ask.fingerprint}

    async def found(tx: Transaction, name: CallName) -> bool:
        if await tx.is_new(name, fingerprint=ask.fingerprint):
            return bool(
                await tx.call(name)
                or await tx.live_calls_of(name.link, fingerprint=ask.fingerprint)
                or await tx.open_twin(**content)
                or await tx.kept_twin(**content, now=0.0)
            )
        return False

    for name in (call.name, NAME, CallName(link=call.name.link, request="another")):
        assert not await store.write(partial(found, name=name))
