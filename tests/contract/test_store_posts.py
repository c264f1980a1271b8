"""What every store keeps of where asks are shown."""

from __future__ import annotations

from chatbridge.core.model import Post
from chatbridge.core.store_port import Store
from tests.contract.asks import an_ask, answered, keep

NOW = 4000.0


async def test_behind_are_open_asks_without_an_up_to_date_post(store: Store) -> None:
    missing, stale, current = an_ask(), an_ask(revision=3), an_ask(revision=3)
    elsewhere = an_ask()
    posts = [
        Post(ask_id=stale.id, surface="telegram", place="1", revision=2),
        Post(ask_id=current.id, surface="telegram", place="2", revision=3),
        Post(ask_id=elsewhere.id, surface="matrix", place="3", revision=1),
    ]
    await keep(store, missing, stale, current, elsewhere, *posts)
    found = await store.behind(surface="telegram", since=NOW)
    assert found == [missing, stale, elsewhere]


async def test_behind_are_ended_asks_whose_post_shows_an_older_revision(store: Store) -> None:
    stale, shown, never_shown, long_ago = (
        answered(an_ask(), at=at) for at in (NOW + 1, NOW + 1, NOW + 1, NOW)
    )
    posts = [
        Post(ask_id=ask.id, surface="telegram", place="1", revision=revision)
        for ask, revision in ((stale, 1), (shown, 2), (long_ago, 1))
    ]
    await keep(store, stale, shown, never_shown, long_ago, *posts)
    assert await store.behind(surface="telegram", since=NOW) == [stale]


async def test_a_post_is_replaced_by_the_next_one_on_its_surface(store: Store) -> None:
    ask = an_ask()
    first = Post(ask_id=ask.id, surface="telegram", place="1", revision=1)
    second = Post(ask_id=ask.id, surface="telegram", place="2", revision=4)
    await keep(store, ask, first, second)
    assert await store.post(ask_id=ask.id, surface="telegram") == second
    assert await store.post(ask_id=ask.id, surface="matrix") is None


async def test_a_post_of_an_ask_that_was_swept_meanwhile_is_not_an_error(store: Store) -> None:
    gone = Post(ask_id="swept", surface="telegram", place="1", revision=1)
    await keep(store, gone)
    assert await store.post(ask_id="swept", surface="telegram") is None


async def test_a_handle_leads_to_its_post_also_after_the_post_has_moved(store: Store) -> None:
    ask, other = an_ask(), an_ask()
    await keep(store, ask, other)
    first = Post(ask_id=ask.id, surface="telegram", place="1", revision=1)
    post = Post(ask_id=ask.id, surface="telegram", place="2", revision=2)
    await store.write(lambda tx: tx.save_post(first, handles=("card 1",)))
    await store.write(lambda tx: tx.save_post(post, handles=("card 2", "prompt")))
    for handle in ("card 1", "card 2", "prompt"):
        assert await store.post_at(surface="telegram", handle=handle) == post
    assert await store.post_at(surface="matrix", handle="prompt") is None
    assert await store.post_at(surface="telegram", handle="card 3") is None


async def test_a_handle_belongs_to_the_first_ask_that_had_it(store: Store) -> None:
    ask, other = an_ask(), an_ask()
    await keep(store, ask, other)
    for owner in (ask, other):
        post = Post(ask_id=owner.id, surface="telegram", place="1", revision=1)
        await store.write(lambda tx, post=post: tx.save_post(post, handles=("card",)))  # type: ignore[misc]
    found = await store.post_at(surface="telegram", handle="card")
    assert found
    assert found.ask_id == ask.id
