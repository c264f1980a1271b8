"""The search of every store: by its index it finds what a look at all texts would find."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatbridge.core.model import Ask, CallName, Notice, Status
from chatbridge.core.store_port import Store
from chatbridge.store import search
from chatbridge.store.sql_store import HISTORY, SqlStore
from tests.contract.asks import a_late_answer, an_ask, answered, keep, timed_out
from tests.contract.stores import store_in
from tests.contract.test_store_notices import DONE
from tests.fakes.databases import Database

SEGMENT = 10
PIECES = (
    *"aAbBsSßẞiIİıäÄeEéÉ%_\\'\" \n.:0189\0\ufffd🎉👧Σσς中文字",
    *(
        "a\u0308",
        "e\u0301",
        "i\u0307",
        "👩\u200d👩\u200d👧",
        "ﬁ",
        "ss",
        "the ",
        "deploy ",
        "\ud800",
    ),
)
"""What folding changes, what is more than one character, what databases store otherwise."""


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "DOCS", SEGMENT)
    monkeypatch.setattr(search, "TEXTS_AT_ONCE", 4)
    monkeypatch.setattr(search, "LOOKED_AT_ONCE", 3)


async def index(store: Store) -> None:
    """All but what is too little for a segment."""
    await store.sweep(before=0.0)


async def keep_others(store: Store, count: int, *, at: float = 2000.0) -> None:
    """So many that what was kept before them is in a segment."""
    await keep(store, *(answered(an_ask(text=f"other {i}"), at=at) for i in range(count)))


async def ids_of(store: Store, term: str) -> list[str]:
    found = [ask.id for ask in await store.history(limit=1000, search=term)]
    assert [row.id for row in await store.past_rows(limit=1000, search=term)] == found
    return found


async def by_looking_at_all(store: SqlStore, term: str) -> list[str]:
    given = {"limit": 1000, "search": term.casefold(), "least": -math.inf}
    return [row["id"] for row in await store._reading.rows(HISTORY, given)]


def a_text(some: random.Random, most: int) -> str:
    return "".join(some.choices(PIECES, k=some.randint(1, most)))


def terms_of(some: random.Random, texts: Sequence[str]) -> list[str]:
    """Parts of them, in any case, and what is in none of them or in many."""
    terms = [a_text(some, 4) for _ in range(40)]
    for _ in range(80):
        text = some.choice(texts)
        start = some.randrange(len(text))
        part = text[start : start + some.choice((1, 1, 2, 2, 3, 4, 9, 40))]
        terms.append(some.choice((part, part.upper(), part.lower(), part.swapcase())))
    return terms


@pytest.mark.parametrize("seed", range(2))
async def test_a_search_finds_what_a_look_at_all_texts_finds_in_the_same_order(
    store: SqlStore, seed: int
) -> None:
    some = random.Random(seed)
    texts = [a_text(some, 30) for _ in range(97)]
    # Some end at the same time, and not in the order in which they were asked.
    asks = [answered(an_ask(text=text), at=float(some.randrange(60))) for text in texts]
    await keep(store, *asks)
    await index(store)
    late = replace(asks[5], late=a_late_answer(texts[40]))
    await store.write(lambda tx: tx.save_ask(late, was=Status.ANSWERED))
    for term in terms_of(some, texts):
        assert await ids_of(store, term) == await by_looking_at_all(store, term), repr(term)


async def test_pages_of_a_search_are_parts_of_the_whole(store: SqlStore) -> None:
    some = random.Random(7)
    await keep(
        store,
        *(answered(an_ask(text=f"page {i % 3}"), at=float(some.randrange(20))) for i in range(75)),
    )
    await index(store)
    for term in ("page 1", "ge", "8080"):
        found, place = list[str](), None
        while rows := await store.past_rows(limit=4, before=place, search=term):
            assert rows[-1].settled_at is not None
            place = rows[-1].settled_at, rows[-1].seq
            found += [row.id for row in rows]
        assert found == await by_looking_at_all(store, term)


async def test_what_the_index_excludes_is_not_looked_at(
    store: SqlStore, database: Database
) -> None:
    ask = answered(an_ask(text="the blue one"))
    await keep(store, ask)
    await keep_others(store, 2 * SEGMENT)
    await index(store)
    await database.rows(f"UPDATE asks SET words = 'the green one' WHERE id = '{ask.id}'")  # noqa: S608
    assert await ids_of(store, "green") == [ask.id]
    await database.rows("DELETE FROM search_queue")
    for term in ("green", "gr", "the green one"):
        assert await by_looking_at_all(store, term) == [ask.id]
        assert await ids_of(store, term) == []
    assert await ids_of(store, "one") == [ask.id]


async def test_a_page_that_the_newest_fill_is_found_without_the_index(
    store: SqlStore, database: Database
) -> None:
    await keep_others(store, 2 * SEGMENT)
    await index(store)
    await database.rows("DELETE FROM search_grams")
    assert await ids_of(store, "other") == []
    assert len(await store.past_rows(limit=3, search="other")) == 3


async def test_a_late_answer_is_found_once_before_and_after_it_is_in_the_index(
    store: SqlStore,
) -> None:
    ask = timed_out(an_ask(text="Which port?"), at=1000.0)
    await keep(store, ask)
    await keep_others(store, SEGMENT)
    await index(store)
    late = replace(ask, late=a_late_answer("the seventh"))
    await store.write(lambda tx: tx.save_ask(late, was=Status.TIMED_OUT))
    assert await ids_of(store, "the seventh") == [ask.id]
    await keep_others(store, 2 * SEGMENT)
    await index(store)
    assert await ids_of(store, "the seventh") == [ask.id]
    assert (await ids_of(store, "port"))[-1] == ask.id


async def test_an_answer_that_comes_while_its_ask_is_indexed_is_found(
    store: SqlStore, database: Database
) -> None:
    ask = answered(an_ask())
    await keep(store, ask)
    await keep_others(store, SEGMENT)
    change = f"UPDATE asks SET words = 'the seventh' WHERE id = '{ask.id}'"  # noqa: S608
    await database.add_trigger("meanwhile", "AFTER INSERT ON search_segments", do=change)
    await index(store)
    await database.drop_trigger("meanwhile", "search_segments")
    assert await ids_of(store, "the seventh") == [ask.id]


async def test_notices_are_found_by_the_index_in_their_order(store: SqlStore) -> None:
    def a_notice(number: int, message: str) -> Notice:
        call = CallName(link="link-1", request=str(number))
        return replace(DONE, id=f"n-{number}", call=call, message=message, at=1.0 + number % 9)

    notices = [a_notice(i, f"Übrigens {i}: {'ok' if i % 4 else 'no'}") for i in range(33)]
    await keep(store, *notices)
    await keep_others(store, SEGMENT)
    await index(store)
    newest = sorted(notices, key=lambda it: (it.at, int(it.id[2:])), reverse=True)
    for term in ("ÜBRIGENS", ": no", "no", "7", "nothing"):
        expected = [it for it in newest if term.casefold() in it.message.casefold()]
        assert await store.notices(limit=100, search=term) == expected
        assert await store.notices(limit=3, search=term) == expected[:3]
    await store.write(lambda tx: tx.dismiss_notice(newest[0].id))
    listed = await store.notices(limit=100, search="übrigens", dismissed=False)
    assert listed == newest[1:]


async def test_nothing_of_what_a_sweep_removed_is_left_in_the_index(
    store: SqlStore, database: Database
) -> None:
    old = [answered(an_ask(text=f"old {i} 🎉"), at=float(i)) for i in range(SEGMENT // 2)]
    await keep(store, *old)
    await keep_others(store, 3 * SEGMENT)
    await index(store)
    grams = f"SELECT 1 FROM search_grams WHERE gram >= {ord('🎉') << 42}"  # noqa: S608
    assert await database.rows(grams)
    await store.sweep(before=float(len(old)))
    assert not await database.rows(grams)
    assert len(await ids_of(store, "other")) == 3 * SEGMENT
    await store.sweep(before=3000.0)
    for table in ("search_queue", "search_segments", "search_grams"):
        assert not await database.rows(f"SELECT 1 FROM {table}")  # noqa: S608 - constants


async def test_what_shared_a_segment_with_something_removed_is_not_indexed_for_nothing(
    store: SqlStore, database: Database
) -> None:
    await keep(store, answered(an_ask(text="old"), at=1.0))
    await keep_others(store, 2 * SEGMENT - 1)
    for before in (0.0, 2.0, 2.0):
        await store.sweep(before=before)
        assert len(await ids_of(store, "other")) == 2 * SEGMENT - 1
    assert len(await database.rows("SELECT 1 FROM search_segments")) == 1


async def test_a_disk_that_takes_no_more_grams_hinders_no_search_and_heals(
    store: SqlStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await keep_others(store, 2 * SEGMENT)
    await database.add_refusal("no_grams", "BEFORE INSERT ON search_grams")
    await index(store)
    assert "the search's index could not be continued" in caplog.text
    assert len(await ids_of(store, "other")) == 2 * SEGMENT
    await database.drop_trigger("no_grams", "search_grams")
    await index(store)
    assert not await database.rows("SELECT 1 FROM search_segments WHERE docs IS NULL")
    assert len(await database.rows("SELECT 1 FROM search_segments")) == 2
    assert len(await ids_of(store, "other")) == 2 * SEGMENT


async def test_a_hub_that_ends_in_the_middle_of_a_segment_leaves_nothing_behind(
    database: Database,
) -> None:
    async with store_in(database) as store:
        await keep_others(store, SEGMENT)
    await database.rows("INSERT INTO search_segments (id, oldest, newest) VALUES (7, 1.0, 2.0)")
    await database.rows("INSERT INTO search_grams (segment, gram, places) SELECT 7, 9, ''")
    async with store_in(database) as store:
        assert isinstance(store, SqlStore)
        assert len(await ids_of(store, "other")) == SEGMENT
        await index(store)
        assert len(await ids_of(store, "other")) == SEGMENT
    assert not await database.rows("SELECT 1 FROM search_grams WHERE gram = 9")
    assert len(await database.rows("SELECT 1 FROM search_segments")) == 1


async def test_a_search_that_meets_much_that_waits_has_it_indexed(
    store: SqlStore, database: Database
) -> None:
    await keep_others(store, 3 * SEGMENT + 1)
    assert len(await ids_of(store, "other")) == 3 * SEGMENT + 1
    growing = store._index._growing
    assert growing is not None
    await growing
    assert len(await database.rows("SELECT 1 FROM search_queue")) == 1
    assert len(await ids_of(store, "other")) == 3 * SEGMENT + 1


async def test_with_too_much_that_waits_or_begins_so_all_texts_are_looked_at(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks: list[Ask] = [answered(an_ask(text=f"other {i}")) for i in range(25)]
    await keep(store, *asks)
    everything = [ask.id for ask in reversed(asks)]
    monkeypatch.setattr(search, "MOST_WAITING", 25)
    assert await ids_of(store, "oth") == everything
    await index(store)
    monkeypatch.setattr(search, "MOST_BEGINNINGS", 1)
    assert await ids_of(store, "o") == everything
