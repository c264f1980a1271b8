"""What every store keeps of messages to agents, and of the posts that a person can reply to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.errors import StoreError
from chatbridge.core.messages.message import MessageState, OwnerMessage, Way
from chatbridge.core.model import Agent, Attachment, CallName, Notice, Person, Project, Status
from chatbridge.core.store_port import Store, Transaction
from tests.contract.asks import a_call, an_ask, keep
from tests.contract.test_store_notices import DONE

CALL = CallName(link="link-1", request="7")
FILE = Attachment(
    digest="a" * 64,
    name="layout.png",
    type="image/png",
    size=12,
    ask_id="m-1",
    path="/state/received/m-1/layout.png",
)
TABS = OwnerMessage(
    id="m-1",
    project=Project(key="/src/shop", name="shop", label="laptop"),
    agent=Agent(client="claude-code", name="Claude Code"),
    link="link-1",
    text="use tabs\nand  spaces",
    attachments=(FILE,),
    by=Person(name="Ada", channel="telegram"),
    at=1000.0,
    expires_at=5000.0,
    surface="telegram:1",
    reply_to='["1", "7", null, null]',
)


async def add(store: Store, *messages: OwnerMessage) -> None:
    async def work(tx: Transaction) -> None:
        for message in messages:
            await tx.add_message(message)

    await store.write(work)


async def show(store: Store, notice: Notice, handle: str | None) -> None:
    surface = "telegram:1"
    await store.write(lambda tx: tx.save_notice_post(notice.id, surface=surface, handle=handle))


async def save(store: Store, message: OwnerMessage) -> None:
    await store.write(lambda tx: tx.save_message(message))


async def post(
    store: Store, message_id: str, place: str | None, handle: str | None, shown: int
) -> None:
    await store.write(
        lambda tx: tx.save_message_post(message_id, place=place, handle=handle, shown=shown)
    )


def settled(message: OwnerMessage, state: MessageState, at: float = 2000.0) -> OwnerMessage:
    return replace(message, state=state, settled_at=at, revision=message.revision + 1)


async def test_a_message_comes_back_as_it_was_kept(store: Store) -> None:
    await add(store, TABS)
    assert await store.message(TABS.id) == TABS
    assert await store.message("unknown") is None
    assert await store.write(lambda tx: tx.message(TABS.id)) == TABS
    assert await store.write(lambda tx: tx.message("unknown")) is None


async def test_of_two_with_one_id_the_second_is_refused(store: Store) -> None:
    await add(store, TABS)
    with pytest.raises(StoreError):
        await add(store, replace(TABS, text="another"))
    assert await store.message(TABS.id) == TABS


async def test_open_ones_come_in_the_order_of_insertion_whatever_the_clock_said(
    store: Store,
) -> None:
    earlier = replace(TABS, id="m-2", at=10.0)
    handed = replace(
        earlier, id="m-3", state=MessageState.HANDED_OVER, handed_to=CALL, way=Way.CHECK
    )
    over = settled(replace(TABS, id="m-4"), MessageState.EXPIRED)
    await add(store, TABS, earlier, handed, over)
    assert list(await store.open_messages()) == [TABS, earlier, handed]
    assert list(await store.write(lambda tx: tx.open_messages())) == [TABS, earlier, handed]
    assert [each.id for each in await store.messages(limit=3)] == ["m-4", "m-3", "m-2"]


async def test_a_change_keeps_what_its_chat_shows(store: Store) -> None:
    await add(store, TABS)
    await post(store, TABS.id, "place", "1:9", 1)
    after = settled(TABS, MessageState.DELIVERED)
    after = replace(after, handed_to=CALL, way=Way.TOOL_HOOK)
    await save(store, after)
    assert await store.message(TABS.id) == replace(after, place="place", shown=1)


async def test_a_chat_is_behind_with_what_it_does_not_show_in_its_newest_state(
    store: Store,
) -> None:
    second, elsewhere = replace(TABS, id="m-2"), replace(TABS, id="m-3", surface="slack:C1")
    unwatched = replace(TABS, id="m-4", surface="")
    await add(store, TABS, second, elsewhere, unwatched)
    assert list(await store.messages_behind(surface="telegram:1")) == [TABS, second]
    assert list(await store.messages_behind(surface="")) == []
    await post(store, TABS.id, "place", "1:9", 1)
    assert list(await store.messages_behind(surface="telegram:1")) == [second]
    await save(store, settled(TABS, MessageState.DELIVERED))
    found = await store.messages_behind(surface="telegram:1")
    assert [(each.id, each.shown, each.place) for each in found] == [
        ("m-1", 1, "place"),
        ("m-2", 0, None),
    ]


async def test_a_message_is_found_by_what_shows_its_state_now(store: Store) -> None:
    await add(store, TABS)
    assert await store.message_at("1:9", surface="telegram:1") is None
    await post(store, TABS.id, "place", "1:9", 1)
    found = await store.message_at("1:9", surface="telegram:1")
    assert found is not None
    assert found.id == TABS.id
    assert await store.message_at("1:9", surface="slack:C1") is None
    await post(store, TABS.id, "another", "1:10", 2)
    assert await store.message_at("1:9", surface="telegram:1") is None


async def test_the_newest_notice_is_found_by_the_message_that_shows_it(store: Store) -> None:
    later = replace(DONE, id="n-2", call=CallName(link="link-2", request="8"), at=900.0)
    await keep(store, DONE, later)
    await show(store, later, "1:9")
    await show(store, DONE, "1:9")
    assert await store.notice_at("1:9", surface="telegram:1") == later
    assert await store.notice_at("1:9", surface="slack:C1") is None
    assert await store.notice_at("1:8", surface="telegram:1") is None


async def test_a_notice_that_is_noted_again_keeps_its_message(store: Store) -> None:
    await keep(store, DONE)
    await show(store, DONE, "1:9")
    await show(store, DONE, None)
    assert await store.notice_at("1:9", surface="telegram:1") == DONE
    assert list(await store.notice_surfaces(DONE.id)) == ["telegram:1"]


async def test_the_open_asks_of_each_link_are_counted_once(store: Store) -> None:
    first, second, over = an_ask(), an_ask(), an_ask()
    calls = [
        a_call(first, link="link-1", request="1"),
        a_call(first, link="link-1", request="2"),
        a_call(second, link="link-1", request="3"),
        a_call(second, link="link-2", request="4"),
        a_call(over, link="link-3", request="5"),
    ]
    await keep(store, first, second, over, *calls)
    ended = replace(over, status=Status.CANCELLED, settled_at=2000.0)
    await store.write(lambda tx: tx.save_ask(ended, was=Status.OPEN))
    assert dict(await store.open_asks_by_link()) == {"link-1": 2, "link-2": 1}
    gone = replace(calls[3], ended_at=1500.0)
    await store.write(lambda tx: tx.save_call(gone))
    assert dict(await store.open_asks_by_link()) == {"link-1": 2}


async def test_a_sweep_removes_what_is_over_and_nothing_that_waits(store: Store) -> None:
    old = settled(replace(TABS, id="m-2"), MessageState.DELIVERED, at=1500.0)
    new = settled(replace(TABS, id="m-3"), MessageState.TAKEN_BACK, at=2500.0)
    await add(store, TABS, old, new)
    await store.sweep(before=2000.0)
    assert [each.id for each in await store.messages(limit=9)] == ["m-3", "m-1"]
    assert await store.stored_ids(["m-1", "m-2", "m-3"]) == {"m-1", "m-3"}
