"""What every store keeps of operations."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from chatbridge.core.model import Agent, CallName, Level, Notice, OperationEnd, Project
from chatbridge.core.operation import Operation, Plan, Result, Stage
from chatbridge.core.store_port import Store
from tests.contract.asks import keep

BUILD = Operation(
    id="0b7f8a52-0000-4000-8000-000000000001",
    call=CallName(link="link-1", request="7"),
    project=Project(key="/src/shop", name="shop", label="laptop"),
    agent=Agent(client="claude-code", name="Claude Code"),
    tool="cargo_build",
    title="cargo build",
    group="cargo",
    plan=Plan(
        argv=("cargo", "build", "--features=a,ä 🦀"),
        executable="/usr/bin/cargo",
        folder="/src/shop",
        environment=("CARGO_HOME",),
        timeout=600.0,
        output_limit=10_000,
        concurrency=1,
        synchronous=True,
        destructive=True,
    ),
    created_at=1000.0,
    stage=Stage.QUEUED,
    grant="g-1",
)


def numbered(number: int, **changes: object) -> Operation:
    call = CallName(link="link-1", request=str(number))
    fields = {"id": f"{number:08x}-id", "call": call, "created_at": 1000.0 + number, **changes}
    return replace(BUILD, **fields)  # type: ignore[arg-type]


def ended(operation: Operation, *, at: float = 2000.0, **changes: object) -> Operation:
    result = Result(exit_code=1, head="first", tail="last", size=99, left_out=3, reason="why")
    fields = {"stage": Stage.FAILED, "started_at": 1500.0, "ended_at": at, "result": result}
    return replace(operation, **{**fields, **changes})  # type: ignore[arg-type]


async def test_an_operation_comes_back_as_it_was_kept_and_as_it_was_saved(store: Store) -> None:
    assert await store.operations.add(BUILD) == BUILD
    assert await store.operations.get(BUILD.id) == BUILD
    after = ended(replace(BUILD, approved=True, ask_id="a-1"))
    assert await store.operations.save(after, was=Stage.QUEUED)
    assert await store.operations.get(BUILD.id) == after
    assert await store.operations.get("another") is None


async def test_a_repeated_call_finds_its_operation_as_it_is_now(store: Store) -> None:
    await store.operations.add(BUILD)
    running = replace(BUILD, stage=Stage.RUNNING)
    await store.operations.save(running, was=Stage.QUEUED)
    assert await store.operations.add(replace(BUILD, id="another")) == running
    assert await store.operations.unended() == [running]


async def test_it_finds_it_though_definition_settings_and_disk_are_others_by_now(
    store: Store,
) -> None:
    """As 0.1.0 left it: there the file was the one that is named, with its links unresolved."""
    await store.operations.add(BUILD)
    resolved = replace(BUILD.plan, executable="/usr/lib/rustup", timeout=60.0, destructive=False)
    assert await store.operations.add(replace(BUILD, id="another", plan=resolved)) == BUILD


async def test_what_a_call_began_is_found_until_its_response_has_arrived(store: Store) -> None:
    await store.operations.add(BUILD)
    assert await store.operations.undelivered(BUILD.call, tool=BUILD.tool) == [BUILD]
    assert await store.operations.undelivered(BUILD.call, tool="cargo_test") == []
    await store.operations.delivered(BUILD.call)
    assert await store.operations.undelivered(BUILD.call, tool=BUILD.tool) == []


@pytest.mark.parametrize(
    "other",
    [
        replace(BUILD, tool="cargo_test"),
        replace(BUILD, plan=replace(BUILD.plan, argv=("cargo", "test"))),
        replace(BUILD, plan=replace(BUILD.plan, folder="/src/other")),
        replace(BUILD, call=CallName(link="link-2", request="7")),
    ],
)
async def test_another_command_under_the_same_name_is_another_operation(
    store: Store, other: Operation
) -> None:
    await store.operations.add(BUILD)
    other = replace(other, id="another")
    assert await store.operations.add(other) == other


async def test_once_its_response_has_arrived_the_same_name_means_another_call(store: Store) -> None:
    await store.operations.add(BUILD)
    await store.operations.delivered(BUILD.call)
    again = replace(BUILD, id="another")
    assert await store.operations.add(again) == again


async def test_an_end_that_is_saved_later_does_not_forget_that_the_response_arrived(
    store: Store,
) -> None:
    await store.operations.add(BUILD)
    await store.operations.delivered(BUILD.call)
    await store.operations.save(ended(BUILD), was=Stage.QUEUED)
    found = await store.operations.get(BUILD.id)
    assert found is not None
    assert found.delivered


async def test_of_many_ends_at_once_one_wins(store: Store) -> None:
    await store.operations.add(BUILD)
    ends = [ended(BUILD, at=2000.0 + n) for n in range(20)]
    won = await asyncio.gather(*(store.operations.save(e, was=Stage.QUEUED) for e in ends))
    assert won.count(True) == 1
    assert await store.operations.get(BUILD.id) == ends[won.index(True)]


async def test_those_on_the_way_come_first_and_other_projects_do_not_come(store: Store) -> None:
    for operation in (numbered(1), numbered(2), numbered(3)):
        await store.operations.add(operation)
    elsewhere = numbered(4, project=Project(key="/src/other", name="other"))
    await store.operations.add(elsewhere)
    await store.operations.save(ended(numbered(3)), was=Stage.QUEUED)
    await store.operations.save(ended(numbered(1)), was=Stage.QUEUED)

    found = await store.operations.of_project(project="/src/shop", limit=10)
    assert [operation.id for operation in found] == [numbered(n).id for n in (2, 3, 1)]
    assert len(await store.operations.of_project(project="/src/shop", limit=2)) == 2
    assert [o.id for o in await store.operations.unended()] == [numbered(2).id, elsewhere.id]


async def test_what_was_synchronous_does_not_hide_the_results_that_are_still_to_be_fetched(
    store: Store,
) -> None:
    later = replace(BUILD.plan, synchronous=False)
    for number in range(1, 5):
        operation = numbered(number, plan=BUILD.plan if number > 1 else later)
        await store.operations.add(operation)
        await store.operations.save(ended(operation), was=Stage.QUEUED)
    found = await store.operations.of_project(project="/src/shop", limit=2)
    assert [operation.id for operation in found] == [numbered(n).id for n in (1, 4)]


async def test_the_beginning_of_an_id_finds_it_within_its_project(store: Store) -> None:
    await store.operations.add(BUILD)
    for prefix in (BUILD.id, BUILD.id[:8]):
        assert await store.operations.by_prefix(project="/src/shop", prefix=prefix) == [BUILD]
        assert not await store.operations.by_prefix(project="/src/other", prefix=prefix)
    for wild in ("%", "_b7f8a52", "0b7f8a53"):
        assert not await store.operations.by_prefix(project="/src/shop", prefix=wild)


async def test_only_what_a_person_allowed_in_this_session_is_granted(store: Store) -> None:
    async def granted(link: str = "link-1", grant: str = "g-1") -> bool:
        return await store.operations.granted(link=link, grant=grant)

    await store.operations.add(BUILD)
    assert not await granted()
    await store.operations.save(replace(BUILD, approved=True), was=Stage.QUEUED)
    assert await granted()
    assert not await granted(link="link-2")
    assert not await granted(grant="g-2")


async def test_old_ends_are_removed_in_portions_and_what_is_on_the_way_stays(store: Store) -> None:
    for number in range(5):
        await store.operations.add(numbered(number))
        if number:
            late = ended(numbered(number), at=2000.0 + number)
            await store.operations.save(late, was=Stage.QUEUED)
    first = await store.operations.remove(before=2004.0, keep=100, limit=2)
    rest = await store.operations.remove(before=2004.0, keep=100, limit=2)
    assert [*first, *rest] == [numbered(n).id for n in (1, 2, 3)]
    assert not await store.operations.remove(before=2004.0, keep=100, limit=2)
    left = await store.operations.of_project(project="/src/shop", limit=10)
    assert [operation.id for operation in left] == [numbered(0).id, numbered(4).id]


async def test_of_some_ids_those_are_known_that_are_there(store: Store) -> None:
    await store.operations.add(BUILD)
    assert await store.operations.stored_ids([BUILD.id, "another"]) == {BUILD.id}
    assert await store.operations.stored_ids([]) == set()


async def test_of_too_many_ends_the_newest_are_kept_however_young_they_are(store: Store) -> None:
    for number in range(6):
        await store.operations.add(numbered(number))
        if number != 1:
            await store.operations.save(ended(numbered(number)), was=Stage.QUEUED)
    removed = await store.operations.remove(before=0.0, keep=2, limit=10)
    assert sorted(removed) == [numbered(n).id for n in (0, 2, 3)]


async def test_a_notice_of_an_operation_says_what_it_is_about_and_counts_for_nobody(
    store: Store,
) -> None:
    end = OperationEnd(
        id="o-1", title="pytest", succeeded=False, how="exit 1", took=252.0, tail="E", whole=True
    )
    notice = Notice(
        id="n-1",
        call=BUILD.call,
        project=BUILD.project,
        agent=BUILD.agent,
        message="pytest failed: exit 1 after 4 min 12 s",
        level=Level.ERROR,
        at=1000.0,
        operation=end,
    )
    await keep(store, notice)
    assert list(await store.notices(since=0.0, limit=10)) == [notice]
    assert await store.write(lambda tx: tx.count_notices(since=0.0, until=1e12)) == 0
