"""What every store keeps of notices, and what it finds for the tools: answers of a project, what
people have allowed beyond one use, where an ask has been shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    CallName,
    Grant,
    Level,
    Notice,
    Outcome,
    Post,
    Project,
    Status,
)
from chatbridge.core.store_port import StandingGrant, Store
from tests.contract.asks import a_call, a_late_answer, an_ask, answered, keep, timed_out

DONE = Notice(
    id="n-1",
    call=CallName(link="link-1", request="7"),
    project=Project(key="/src/shop", name="shop", label="laptop"),
    agent=Agent(client="claude-code", name="Claude Code"),
    title="Build",
    message="It is done.\n\n`make test` was green.",
    level=Level.WARNING,
    at=1000.0,
)


async def show(store: Store, notice: Notice, surface: str) -> None:
    await store.write(lambda tx: tx.save_notice_post(notice.id, surface=surface))


async def test_a_notice_comes_back_as_it_was_kept_and_the_newest_first(store: Store) -> None:
    later = replace(DONE, id="n-2", call=CallName(link="link-1", request="8"), at=2000.0)
    await keep(store, DONE, later)
    assert list(await store.notices(since=0.0, limit=10)) == [later, DONE]
    assert list(await store.notices(since=0.0, limit=1)) == [later]
    assert list(await store.notices(since=1500.0, limit=10)) == [later]
    assert await store.notice(DONE.id) == DONE
    assert await store.notice("unknown") is None


async def test_a_repeated_call_finds_its_notice_and_leaves_no_second_one(store: Store) -> None:
    await keep(store, DONE)
    again = await store.write(lambda tx: tx.add_notice(replace(DONE, id="n-2", at=2000.0)))
    assert again == DONE
    assert list(await store.notices(since=0.0, limit=10)) == [DONE]


async def test_a_client_that_uses_an_id_again_for_other_words_is_heard(store: Store) -> None:
    other = replace(DONE, id="n-2", message="And something else.")
    await keep(store, DONE, other)
    assert len(await store.notices(since=0.0, limit=10)) == 2


async def test_behind_are_the_notices_that_a_surface_has_not_shown_oldest_first(
    store: Store,
) -> None:
    later = replace(DONE, id="n-2", call=CallName(link="link-2", request="7"), at=2000.0)
    await keep(store, DONE, later)
    assert list(await store.notices_behind(surface="telegram:1", since=0.0)) == [DONE, later]
    assert list(await store.notices_behind(surface="telegram:1", since=1500.0)) == [later]
    await show(store, DONE, "telegram:1")
    await show(store, DONE, "telegram:1")
    assert list(await store.notices_behind(surface="telegram:1", since=0.0)) == [later]
    assert list(await store.notices_behind(surface="matrix:1", since=0.0)) == [DONE, later]
    assert list(await store.notice_surfaces(DONE.id)) == ["telegram:1"]
    assert not await store.notice_surfaces(later.id)


async def test_behind_notices_come_in_their_order_however_the_clock_was_set(store: Store) -> None:
    later = replace(DONE, id="n-2", call=CallName(link="link-2", request="7"), at=DONE.at - 500.0)
    await keep(store, DONE, later)
    assert list(await store.notices_behind(surface="telegram:1", since=0.0)) == [DONE, later]


async def test_a_dismissed_notice_is_left_out_where_that_is_wanted(store: Store) -> None:
    named = [replace(DONE, id=f"n-{i}", message=f"number {i}", at=1000.0 + i) for i in range(4)]
    await keep(store, *named)

    async def left() -> list[str]:
        return [notice.id for notice in await store.notices(limit=10, dismissed=False)]

    await store.write(lambda tx: tx.dismiss_notice("n-2"))
    await store.write(lambda tx: tx.dismiss_notice("unknown", and_older=True))
    assert await left() == ["n-3", "n-1", "n-0"]
    await store.write(lambda tx: tx.dismiss_notice("n-1", and_older=True))
    await store.write(lambda tx: tx.dismiss_notice("n-1", and_older=True))
    assert await left() == ["n-3"]
    assert list(await store.notices(limit=10)) == named[::-1]


async def test_older_notices_go_on_behind_the_last_one_even_of_the_same_instant(
    store: Store,
) -> None:
    named = [replace(DONE, id=f"n-{i}", message=f"number {i}") for i in range(3)]
    await keep(store, *named)
    assert list(await store.notices(limit=10, before=(DONE.at, "n-2"))) == [named[1], named[0]]
    assert list(await store.notices(limit=10, before=(DONE.at, "n-0"))) == []
    assert list(await store.notices(limit=10, before=(DONE.at, "unknown"))) == []
    assert list(await store.notices(limit=1, before=(DONE.at + 1, ""))) == [named[2]]


@pytest.mark.parametrize(
    ("search", "found"), [("straße", 1), ("STRASSE", 1), ("build", 1), ("%", 0), ("shop", 0)]
)
async def test_a_notice_is_found_by_its_words_in_any_case(
    store: Store, search: str, found: int
) -> None:
    await keep(store, replace(DONE, message="Die STRASSE ist frei."))
    assert len(await store.notices(limit=10, search=search)) == found


async def test_a_sweep_takes_old_notices_along(store: Store) -> None:
    later = replace(DONE, id="n-2", call=CallName(link="link-2", request="7"), at=2000.0)
    await keep(store, DONE, later)
    await show(store, DONE, "telegram:1")
    await store.sweep(before=1500.0)
    assert list(await store.notices(since=0.0, limit=10)) == [later]
    assert not await store.notice_surfaces(DONE.id)


async def test_the_answers_of_a_project_are_its_own_the_newest_first(store: Store) -> None:
    first, second = answered(an_ask(), at=2000.0), answered(an_ask(), at=3000.0)
    late = replace(timed_out(an_ask(), at=2500.0), late=a_late_answer())
    elsewhere = answered(an_ask(project=Project(key="/src/other", name="other")))
    await keep(store, first, second, late, elsewhere, an_ask(), timed_out(an_ask()))
    found = await store.answers_in(project="/src/shop", limit=10)
    assert [ask.id for ask in found] == [second.id, late.id, first.id]
    assert [ask.id for ask in await store.answers_in(project="/src/shop", limit=1)] == [second.id]


def granting(grant: Grant | None) -> Ask:
    ask = replace(an_ask(), status=Status.ANSWERED, settled_at=2000.0, delivered_at=2000.0)
    said = (Answer(values=("session",)),)
    return replace(ask, outcome=Outcome(at=2000.0, answers=said, grant=grant))


async def standing(store: Store, ask: Ask, link: str, now: float) -> list[StandingGrant]:
    return list(await store.standing_grants(project=ask.project.key, link=link, now=now))


async def test_what_was_allowed_for_a_session_stands_for_its_link_alone(store: Store) -> None:
    ask = granting(Grant())
    await keep(store, ask, a_call(ask, link="link-1"))
    assert await standing(store, ask, "link-1", 1e12) == [(ask.id, ask.fingerprint, None)]
    assert await standing(store, ask, "link-2", 0.0) == []
    assert await store.standing_grants(project="/src/other", link="link-1", now=0.0) == []


async def test_what_was_allowed_for_a_time_stands_for_every_link_until_then(store: Store) -> None:
    ask = granting(Grant(folder="/src/shop/src", lasting=3600.0, until=5600.0))
    await keep(store, ask, a_call(ask, link="link-1"))
    for link in ("link-1", "link-2"):
        found = [(ask.id, ask.fingerprint, "/src/shop/src")]
        assert await standing(store, ask, link, 5599.0) == found
        assert await standing(store, ask, link, 5600.0) == []
    assert await store.standing_grants(project="/src/other", link="link-1", now=0.0) == []


async def test_what_was_taken_back_or_never_allowed_does_not_stand(store: Store) -> None:
    ask, none = granting(Grant(until=5600.0)), granting(None)
    await keep(store, ask, none, a_call(ask, link="link-1"), a_call(none, link="link-1"))
    assert len(await standing(store, ask, "link-1", 2001.0)) == 1
    back = granting(Grant(until=5600.0, taken_back_at=2001.0))
    after = replace(ask, outcome=back.outcome, revision=ask.revision + 1)
    await store.write(lambda tx: tx.save_ask(after, was=Status.ANSWERED))
    assert await standing(store, ask, "link-1", 2001.0) == []
    assert await store.ask(ask.id) == after


async def test_what_was_allowed_goes_with_its_ask(store: Store) -> None:
    ask = granting(Grant(until=1e12))
    await keep(store, ask)
    await store.sweep(before=2001.0)
    assert await standing(store, ask, "link-1", 2001.0) == []


async def test_an_ask_knows_where_it_has_been_shown(store: Store) -> None:
    ask = an_ask()
    await keep(store, ask)
    assert not await store.surfaces_of(ask.id)
    await keep(store, Post(ask_id=ask.id, surface="telegram:1", place="5", revision=1))
    # What a surface only remembers of it, and nobody can see.
    await keep(store, Post(ask_id=ask.id, surface="web:1", place="0", revision=0))
    assert list(await store.surfaces_of(ask.id)) == ["telegram:1"]
