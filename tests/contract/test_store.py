"""What every store keeps and finds again. Posts are in `test_store_posts.py`; how it commits is in
`test_store_writes.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from chatbridge.core.asks import transitions
from chatbridge.core.cards.build import state_of
from chatbridge.core.cards.card import State
from chatbridge.core.cards.row import Past, Row
from chatbridge.core.errors import UnknownAsk
from chatbridge.core.model import (
    Ask,
    Attention,
    Call,
    CallName,
    ChannelState,
    Outcome,
    Post,
    Priority,
    Project,
    Status,
)
from chatbridge.core.store_port import Store
from tests.contract.asks import (
    a_call,
    a_late_answer,
    an_ask,
    answered,
    any_ask,
    anything_of,
    keep,
    timed_out,
)
from tests.contract.stores import takes

NOW = 4000.0

one_store_for_all_examples = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def save(store: Store, ask: Ask, *, was: Status = Status.OPEN) -> bool:
    return await store.write(lambda tx: tx.save_ask(ask, was=was))


def open_twin(store: Store, ask: Ask) -> Awaitable[Ask | None]:
    return store.write(
        lambda tx: tx.open_twin(project=ask.project.key, fingerprint=ask.fingerprint)
    )


def kept_twin(store: Store, ask: Ask, *, now: float = NOW) -> Awaitable[Ask | None]:
    return store.write(
        lambda tx: tx.kept_twin(project=ask.project.key, fingerprint=ask.fingerprint, now=now)
    )


@one_store_for_all_examples
@given(ask=any_ask())
async def test_an_ask_comes_back_as_it_was_added(store: Store, ask: Ask) -> None:
    await keep(store, ask)
    assert await store.ask(ask.id) == ask
    assert await store.write(lambda tx: tx.ask(ask.id)) == ask


@one_store_for_all_examples
@given(before=any_ask(), after=any_ask())
async def test_a_saved_ask_replaces_every_field(store: Store, before: Ask, after: Ask) -> None:
    after = dataclasses.replace(after, id=before.id)
    await keep(store, before)
    assert await save(store, after, was=before.status)
    assert await store.ask(before.id) == after


@one_store_for_all_examples
@given(call=anything_of(Call))
async def test_a_call_comes_back_as_it_was_saved(store: Store, call: Call) -> None:
    call = dataclasses.replace(call, ask_id=(ask := an_ask()).id)
    await keep(store, ask, a_call(ask, link=call.name.link, request=call.name.request), call)
    assert await store.write(lambda tx: tx.call(call.name)) == call


async def test_what_is_not_there_is_none(store: Store) -> None:
    assert await store.ask("nobody's") is None
    assert await store.post(ask_id="nobody's", surface="telegram") is None
    assert await store.note(channel="telegram", key="1") is None
    assert await store.write(lambda tx: tx.call(CallName(link="a", request="1"))) is None


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("naïve 日本 🎉 \u202e\u200b\x1b", "naïve 日本 🎉 \u202e\u200b\x1b"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("\udc00", "\ufffd"),
        ("a whole pair: \ud83c\udf89", "a whole pair: 🎉"),
    ],
)
async def test_text_is_kept_and_half_a_surrogate_pair_becomes_a_replacement_sign(
    store: Store, written: str, kept: str
) -> None:
    ask = answered(an_ask(text=written, title=written), written)
    await keep(store, ask)
    found = await store.ask(ask.id)
    assert found == answered(an_ask(text=kept, title=kept, id=ask.id), kept)


async def test_a_text_with_nul_is_taken(store: Store) -> None:
    ask = an_ask(title="a\0b")
    await keep(store, ask)
    found = await store.ask(ask.id)
    assert found is not None
    assert found.title == ("a\0b" if takes(store, ask) else "a\ufffdb")


async def test_an_ask_is_saved_only_from_the_status_it_was_read_in(store: Store) -> None:
    ask = an_ask()
    await keep(store, ask)
    assert await save(store, answered(ask, "the first"))
    assert not await save(store, answered(ask, "the second"))
    assert await store.ask(ask.id) == answered(ask, "the first")


async def test_an_open_twin_is_the_newest_without_a_live_call(store: Store) -> None:
    older, newer, waited_for = an_ask(), an_ask(), an_ask()
    await keep(store, older, newer, waited_for, a_call(newer, ended_at=1500.0), a_call(waited_for))
    assert await open_twin(store, older) == newer


@pytest.mark.parametrize(
    "other",
    [
        answered(an_ask()),
        an_ask(fingerprint="other words"),
        an_ask(project=Project(key="/src/other", name="other")),
    ],
)
async def test_an_ask_with_another_state_content_or_project_is_no_open_twin(
    store: Store, other: Ask
) -> None:
    await keep(store, other)
    assert await open_twin(store, an_ask()) is None


KEPT: dict[str, Any] = {"kept": True, "kept_until": NOW + 1}


@pytest.mark.parametrize(
    "ask", [answered(an_ask(), **KEPT), timed_out(an_ask(), late=a_late_answer(), **KEPT)]
)
async def test_a_kept_answer_is_found_by_its_words(store: Store, ask: Ask) -> None:
    await keep(store, ask, a_call(ask, ended_at=1500.0))
    assert await kept_twin(store, ask) == ask


async def test_of_two_kept_answers_the_newest_is_found(store: Store) -> None:
    older, newer = answered(an_ask(), "80", **KEPT), answered(an_ask(), "81", **KEPT)
    await keep(store, older, newer)
    assert await kept_twin(store, older) == newer


@pytest.mark.parametrize(
    "ask",
    [
        an_ask(),
        answered(an_ask()),
        answered(an_ask(), kept=True, kept_until=NOW),
        answered(an_ask(), **KEPT, delivered_at=2500.0),
        answered(an_ask(), **KEPT, discarded=True),
        answered(an_ask(fingerprint="other words"), **KEPT),
        answered(an_ask(project=Project(key="/src/other", name="other")), **KEPT),
        timed_out(an_ask(), **KEPT),
    ],
)
async def test_an_answer_that_is_not_kept_is_not_handed_over(store: Store, ask: Ask) -> None:
    await keep(store, ask)
    assert await kept_twin(store, an_ask()) is None


async def test_a_kept_answer_with_a_live_call_is_not_handed_over_twice(store: Store) -> None:
    ask = answered(an_ask(), **KEPT)
    await keep(store, ask, a_call(ask))
    assert await kept_twin(store, ask) is None


async def test_a_ticket_holds_an_answer_back_only_until_it_is_called_kept(store: Store) -> None:
    fresh = answered(an_ask(), kept_until=KEPT["kept_until"])
    await keep(store, fresh, a_call(fresh, ticket=True))
    assert await kept_twin(store, fresh) is None
    kept = answered(an_ask(), **KEPT)
    await keep(store, kept, a_call(kept, link="link-2", ticket=True))
    assert await kept_twin(store, kept) == kept


async def test_open_asks_come_by_deadline_and_those_without_one_last(store: Store) -> None:
    never, late, soon = an_ask(deadline=None), an_ask(deadline=9.5), an_ask(deadline=3.25)
    await keep(store, never, late, answered(an_ask()), soon)
    assert await store.open_asks() == [soon, late, never]


async def test_the_open_asks_of_a_link_are_those_it_has_made_a_call_for_oldest_first(
    store: Store,
) -> None:
    first, second = an_ask(deadline=9.0), an_ask(deadline=3.0)
    ended, others = answered(an_ask()), an_ask(client="codex")
    given_up = a_call(second, request="2", ended_at=2000.0)
    calls = a_call(first), given_up, a_call(ended, request="3"), a_call(others, link="link-2")
    await keep(store, first, ended, others, second, *calls)
    assert await store.write(lambda tx: tx.open_asks_of("link-1")) == [first, second]


@pytest.mark.parametrize(
    ("party", "keys"),
    [
        ("/src/shop", ["/src/shop", "/src/shop"]),
        ("http:ci:", ["http:ci"]),
        ("uid:7:", ["uid:7:/a", "uid:7:link:b"]),
        ("link:", ["link:a", "link:b"]),
    ],
)
async def test_open_asks_are_counted_by_party(store: Store, party: str, keys: list[str]) -> None:
    others = ["/src/shop/inner", "http:cirrus", "uid:70:/a", "/uid:7:/a", "/link:a"]
    made = [an_ask(project=Project(key=key, name="x")) for key in (*keys, *others)]
    await keep(store, *made, answered(an_ask()))
    assert {ask.project.party for ask in made[: len(keys)]} == {party}
    assert await store.write(lambda tx: tx.count_open_asks(party=party)) == len(keys)
    assert await store.write(lambda tx: tx.count_open_asks()) == len(made)


@pytest.mark.parametrize(
    ("party", "count"), [("/src/shop", 3), ("uid:7:", 1), ("link:", 0), ("/src/docs", 1)]
)
async def test_urgent_asks_are_counted_by_party_since_a_time_open_or_ended(
    store: Store, party: str, count: int
) -> None:
    def urgent(key: str = "/src/shop", *, at: float = 1000.0) -> Ask:
        attention = Attention(priority=Priority.URGENT)
        project = Project(key=key, name="x")
        return an_ask(project=project, created_at=at, attention=attention)

    ended = answered(urgent())
    over = an_ask(attention=Attention(over_budget=3))
    earlier = [urgent(at=999.0), answered(urgent(at=999.0))]
    await keep(store, urgent(), urgent(at=5000.0), ended, over, *earlier, an_ask())
    await keep(store, urgent("uid:7:/a"), urgent("uid:70:/a"), urgent("/src/docs"))
    found = await store.write(lambda tx: tx.count_urgent_asks(party=party, since=1000.0))
    assert found == count


async def test_the_newest_call_of_a_link_is_found_though_it_has_ended(store: Store) -> None:
    ask = an_ask()
    older, newer = a_call(ask), a_call(ask, request="0", ended_at=3000.0)
    await keep(store, ask, older, newer, a_call(ask, link="link-2"), a_call(ask, link="3"))
    assert await store.write(lambda tx: tx.newest_call(ask.id, link="link-1")) == newer.name
    assert await store.write(lambda tx: tx.newest_call(ask.id, link="nobody")) is None


async def test_the_link_of_the_newest_call_is_found_though_it_has_ended(store: Store) -> None:
    ask = an_ask()
    newer = a_call(ask, link="link-2", started_at=5000.0, ended_at=6000.0)
    await keep(store, ask, newer, a_call(ask), an_ask())
    assert await store.newest_link(ask.id) == "link-2"
    assert await store.newest_link(an_ask().id) is None


@pytest.mark.parametrize(
    ("ended_at", "counts_until", "counts"),
    [(2990.0, None, False), (2990.0, 2980.0, True), (3010.0, None, True), (None, None, True)],
)
async def test_a_call_that_was_cancelled_before_the_end_is_not_the_newest(
    store: Store, ended_at: float | None, counts_until: float | None, counts: bool
) -> None:
    ask = answered(an_ask(), at=3000.0)
    older = a_call(ask)
    newer = a_call(ask, request="0", ended_at=ended_at, counts_until=counts_until)
    await keep(store, ask, older, newer)
    found = await store.write(lambda tx: tx.newest_call(ask.id, link="link-1"))
    assert found == (newer if counts else older).name


async def test_live_calls_are_found_by_ask_and_by_link(store: Store) -> None:
    ask, other = an_ask(), an_ask()
    mine, ended = a_call(ask), a_call(ask, request="2", ended_at=2000.0)
    elsewhere = a_call(other, link="link-2")
    await keep(store, ask, other, mine, ended, elsewhere, a_call(other, link="3", ended_at=2.0))
    assert await store.write(lambda tx: tx.live_calls(ask.id)) == [mine]
    assert await store.write(lambda tx: tx.live_calls_of("link-2")) == [elsewhere]
    same, others = other.fingerprint, "other words"
    assert await store.write(lambda tx: tx.live_calls_of("link-2", fingerprint=same)) == [elsewhere]
    assert not await store.write(lambda tx: tx.live_calls_of("link-2", fingerprint=others))
    assert sorted(await store.write(lambda tx: tx.live_links())) == ["link-1", "link-2"]


async def test_a_call_of_no_ask_is_refused(store: Store) -> None:
    with pytest.raises(UnknownAsk):
        await keep(store, a_call(an_ask()))


async def test_history_is_the_ended_asks_newest_first(store: Store) -> None:
    first, second, third = (answered(an_ask(), at=at) for at in (10.0, 20.0, 30.0))
    await keep(store, second, an_ask(), first, third)
    assert await store.history(limit=2) == [third, second]


async def test_pages_of_the_history_lose_no_ask_that_ended_in_the_same_instant(
    store: Store,
) -> None:
    same = [answered(an_ask(), at=20.0) for _ in range(5)]
    newest, oldest = answered(an_ask(), at=30.0), answered(an_ask(), at=10.0)
    await keep(store, *same, an_ask(), newest, oldest)
    found: list[Row] = []
    while page := await store.past_rows(limit=2, before=_place(found)):
        found += page
    assert [row.id for row in found] == [ask.id for ask in (newest, *reversed(same), oldest)]


def _place(found: list[Row]) -> Past | None:
    if not found:
        return None
    assert found[-1].settled_at is not None
    return found[-1].settled_at, found[-1].seq


async def test_rows_say_what_a_list_needs_of_open_and_ended_asks(store: Store) -> None:
    soon = an_ask(text="**Which** port?", deadline=100.0)
    never = an_ask(text="Really?\n\nMore.", deadline=None, orphaned=True)
    ended = answered(an_ask(text="Over?"), "as late\nas possible")
    await keep(store, never, ended, soon)
    listed = await store.open_rows(limit=10)
    assert [row.id for row in listed.rows] == [soon.id, never.id]
    assert [row.summary.question for row in listed.rows] == ["Which port?", "Really?"]
    assert [row.orphaned for row in listed.rows] == [False, True]
    assert listed.total == 2
    (second,) = (await store.open_rows(limit=10, skip=1)).rows
    assert second.id == never.id
    (past,) = await store.past_rows(limit=10, search="late")
    assert (past.id, past.summary.said) == (ended.id, "as late as possible")
    assert past.summary.state is State.HANDING_OVER


async def test_a_row_follows_every_change_of_its_ask(store: Store) -> None:
    ask = an_ask()
    await keep(store, ask)
    await store.write(lambda tx: tx.save_ask(answered(ask, "9090"), was=Status.OPEN))
    assert (await store.open_rows(limit=10)).rows == ()
    (row,) = await store.past_rows(limit=10)
    assert row.summary.said == "9090"


@pytest.mark.parametrize(
    "ended",
    [
        answered(an_ask(), "9090"),
        answered(an_ask(), "9090", kept=True),
        answered(an_ask(), "9090", discarded=True),
        timed_out(an_ask()),
        timed_out(an_ask(), late=a_late_answer()),
        timed_out(an_ask(), late=a_late_answer(), kept=True),
    ],
)
async def test_a_row_says_how_its_ask_ended_before_and_after_it_is_delivered(
    store: Store, ended: Ask
) -> None:
    await keep(store, ended)
    (row,) = await store.past_rows(limit=10)
    assert row.summary.state is state_of(ended)
    delivered = transitions.mark_delivered(ended, now=9.0)
    await store.write(lambda tx: tx.save_ask(delivered, was=ended.status))
    (row,) = await store.past_rows(limit=10)
    assert row.summary.state is state_of(delivered)


@pytest.mark.parametrize(
    ("search", "hit"),
    [
        ("release", True),  # the title
        ("ÄPFEL", True),  # the question
        ("8081 B", True),  # the answer
        ("after lunch", True),  # the late answer
        ("100%", True),
        ("1_0%", False),
        ("r%e", False),
        ("nowhere", False),
    ],
)
async def test_history_finds_words_in_any_case_and_takes_wildcards_literally(
    store: Store, search: str, hit: bool
) -> None:
    late = a_late_answer("After LUNCH")
    ask = answered(an_ask(text="Wohin mit den Äpfeln?", title="RELEASE 100%"), "8081 b", late=late)
    await keep(store, ask, answered(an_ask(text="something else")))
    assert await store.history(limit=10, search=search) == ([ask] if hit else [])


async def test_unsettled_delivery_is_an_answer_of_which_nobody_knows_where_it_went(
    store: Store,
) -> None:
    unsettled = answered(an_ask(), at=10.0)
    late = timed_out(an_ask(), at=20.0, late=a_late_answer())
    await keep(
        store,
        unsettled,
        late,
        an_ask(),
        timed_out(an_ask()),
        answered(an_ask(), delivered_at=1.0),
        answered(an_ask(), **KEPT),
        answered(an_ask(), discarded=True),
    )
    assert await store.unsettled_delivery() == [unsettled, late]


async def test_a_cursor_is_replaced_by_the_next_one_of_its_key(store: Store) -> None:
    first, second = (
        ChannelState(channel="telegram", key="bot", value=value, at=1.5) for value in ("1", "2")
    )
    other = ChannelState(channel="telegram", key="other bot", value="9", at=1.5)
    await keep(store, first, other, second)
    assert await store.note(channel="telegram", key="bot") == second
    assert await store.note(channel="telegram", key="other bot") == other


async def test_a_sweep_removes_what_ended_before_with_its_calls_and_posts(store: Store) -> None:
    old = [answered(an_ask(), at=10.0) for _ in range(450)]
    recent, still_open = answered(an_ask(), at=20.0), an_ask(created_at=1.0)
    call, post = a_call(old[0]), Post(ask_id=old[0].id, surface="web", place="1", revision=1)
    await keep(store, *old, recent, still_open, call, post)
    assert await store.sweep(before=20.0) == 450
    assert await store.history(limit=1000) == [recent]
    assert await store.open_asks() == [still_open]
    assert await store.post(ask_id=old[0].id, surface="web") is None
    assert await store.write(lambda tx: tx.call(call.name)) is None
    assert await store.sweep(before=20.0) == 0


async def test_an_outcome_without_answers_is_kept(store: Store) -> None:
    cancelled = dataclasses.replace(
        an_ask(),
        status=Status.CANCELLED,
        settled_at=5.0,
        outcome=Outcome(at=5.0, reason="not now"),
    )
    await keep(store, cancelled)
    assert await store.history(limit=1, search="NOT now") == [cancelled]
