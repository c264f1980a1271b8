"""Changes of definition files are told, by a real inotify, whatever happens to the folders."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbridge.commands.definitions.library import Library
from chatbridge.commands.definitions.watch import MAX_DELAY_SECONDS, QUIET_SECONDS, watch
from tests.fakes.clock import StillClock
from tests.fakes.definitions import definition, written
from tests.fakes.watched import PATIENCE, there, watched


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "config" / "tools"
    made(folder, "{}")
    return folder


def made(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "git.json").write_text(text)


def rewritten_by_an_editor(folder: Path) -> None:
    (folder / ".git.json.swp").write_text("new")
    os.replace(folder / ".git.json.swp", folder / "git.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "npm.json").write_text("{}"),
        lambda folder: (folder / "git.json").write_text("new"),
        rewritten_by_an_editor,
        lambda folder: (folder / "git.json").unlink(),
        lambda folder: (folder / "git.json").rename(folder / "git.off"),
        lambda folder: (folder / "git.json").chmod(0o666),
        lambda folder: folder.chmod(0o777),
        lambda folder: os.link(folder / "git.json", folder / "hub.json"),
    ],
    ids=["new", "written", "renamed", "removed", "put-away", "mode", "folder-mode", "linked"],
)
async def test_each_kind_of_change_is_told_once(
    tools: Path, change: Callable[[Path], object]
) -> None:
    async with watched(tools) as it:
        change(tools)
        assert await it.settled() == 1


async def test_it_is_told_at_the_beginning_so_that_nothing_before_is_missed(tools: Path) -> None:
    async with watched(tools) as it:
        assert it.times == 1
        assert it.seen == {f"{tools}/git.json": "{}"}


async def test_after_one_that_could_not_be_taken_over_the_next_change_is_told(
    tools: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = asyncio.Queue[str]()

    async def changed() -> None:
        text = (tools / "git.json").read_text()
        told.put_nowait(text)
        if text == "bad":
            raise ValueError("no")

    clock = StillClock()
    (tools / "git.json").write_text("bad")
    watching = asyncio.ensure_future(watch([tools], changed, clock=clock))
    try:
        assert await asyncio.wait_for(told.get(), PATIENCE) == "bad"
        (tools / "git.json").write_text("good")
        await asyncio.wait_for(clock.until_asleep(QUIET_SECONDS), PATIENCE)
        clock.advance(QUIET_SECONDS)
        assert await asyncio.wait_for(told.get(), PATIENCE) == "good"
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    assert "were not taken over" in caplog.text


async def test_several_changes_at_once_are_told_as_one(tools: Path) -> None:
    async with watched(tools) as it:
        for number in range(20):
            (tools / f"tool{number}.json").write_text("{}")
        assert await it.stirs()
        (tools / "git.json").write_text("later")
        assert await it.settled() == 1
        assert len(it.seen) == 21
        assert it.seen[f"{tools}/git.json"] == "later"


async def test_changes_without_an_end_are_told_all_the_same(tools: Path) -> None:
    async with watched(tools) as it:
        (tools / "git.json").write_text("first")
        for number in range(round(MAX_DELAY_SECONDS / QUIET_SECONDS)):
            assert await it.stirs()
            (tools / "git.json").write_text(str(number))
            assert await it.stirs()
            assert it.times == 1
            it.clock.advance(QUIET_SECONDS)
        await it.again()
        assert it.seen == {f"{tools}/git.json": str(number)}


async def test_what_is_no_definition_is_not_told(tools: Path) -> None:
    async with watched(tools) as it:
        (tools / "notes.txt").write_text("")
        (tools / ".hidden.json").write_text("")
        (tools / "below").mkdir()
        (tools / "below" / "deep.json").write_text("")
        (tools.parent / "config.toml").write_text("")
        (tools.parent.parent / "another").mkdir()
        assert not await it.stirs()


async def test_reading_the_files_is_no_change(tools: Path) -> None:
    async with watched(tools) as it:
        assert there([tools]) == it.seen
        assert not await it.stirs()


async def test_a_folder_that_is_made_later_is_noticed_with_what_is_in_it(tmp_path: Path) -> None:
    tools = tmp_path / "not" / "yet" / "there"
    async with watched(tools) as it:
        made(tools, "{}")
        assert await it.settled()
        assert it.seen == {f"{tools}/git.json": "{}"}
        (tools / "git.json").write_text("new")
        assert await it.settled() == 1


async def test_a_folder_that_is_made_step_by_step_is_noticed(tmp_path: Path) -> None:
    tools = tmp_path / "a" / "b"
    async with watched(tools) as it:
        for step in ((tmp_path / "a").mkdir, tools.mkdir):
            step()
            assert await it.settled() == 1
        (tools / "git.json").write_text("{}")
        assert await it.settled() == 1


async def test_a_folder_that_is_removed_and_comes_again_is_still_watched(tools: Path) -> None:
    async with watched(tools) as it:
        shutil.rmtree(tools)
        assert await it.settled()
        assert it.seen == {}
        made(tools, "again")
        assert await it.settled()
        assert it.seen == {f"{tools}/git.json": "again"}


async def test_a_folder_in_the_place_of_another_above_is_watched_instead(tools: Path) -> None:
    async with watched(tools) as it:
        away = tools.parent.rename(tools.parent.with_name("away"))
        made(tools, "another")
        assert await it.settled()
        (away / "tools" / "git.json").write_text("nobody looks")
        assert not await it.stirs()
        (tools / "git.json").write_text("new")
        assert await it.settled() == 1


async def test_a_folder_behind_a_link_is_watched_and_the_link_as_well(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "dotfiles" / name).mkdir(parents=True)
    tools = tmp_path / "tools"
    tools.symlink_to("dotfiles/one")
    async with watched(tools) as it:
        (tmp_path / "dotfiles" / "one" / "git.json").write_text("1")
        assert await it.settled() == 1
        (tmp_path / "new").symlink_to(tmp_path / "dotfiles" / "two")
        os.replace(tmp_path / "new", tools)
        assert await it.settled() == 1
        assert it.seen == {}
        (tmp_path / "dotfiles" / "one" / "git.json").write_text("nobody looks")
        assert not await it.stirs()
        (tmp_path / "dotfiles" / "two" / "git.json").write_text("2")
        assert await it.settled() == 1


async def test_a_file_behind_a_link_is_watched_where_it_lies(tools: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "npm.json"
    real.parent.mkdir()
    real.write_text("1")
    (tools / "npm.json").symlink_to(real)
    async with watched(tools) as it:
        real.write_text("2")
        assert await it.settled() == 1
        real.with_suffix(".new").write_text("3")
        os.replace(real.with_suffix(".new"), real)
        assert await it.settled() == 1
        assert it.seen[f"{tools}/npm.json"] == "3"


async def test_a_library_that_is_told_has_a_new_definition_at_once(tools: Path) -> None:
    written(tools, "git", definition("git", "status"))
    library = Library([tools])
    library.load()
    different: asyncio.Queue[bool] = asyncio.Queue()

    async def changed() -> None:
        different.put_nowait(await asyncio.to_thread(library.reload))

    clock = StillClock()
    task = asyncio.ensure_future(watch([tools], changed, clock=clock))
    async with asyncio.timeout(PATIENCE):
        assert not await different.get()
        written(tools, "npm", definition("npm", "test"))
        await clock.until_asleep(QUIET_SECONDS)
        clock.advance(QUIET_SECONDS)
        assert await different.get()
    assert list(library.commands) == ["git_status", "npm_test"]
    task.cancel()
    await asyncio.wait({task})


async def test_links_in_a_circle_lead_nowhere_and_hurt_nothing(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tools)
    async with watched(tools) as it:
        tools.unlink()
        made(tools, "{}")
        assert await it.settled()
        assert it.seen == {f"{tools}/git.json": "{}"}


async def test_where_nothing_can_be_watched_the_log_says_so_and_it_ends(
    tools: Path, caplog: pytest.LogCaptureFixture
) -> None:
    times = 0

    async def changed() -> None:
        nonlocal times
        times += 1

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with caplog.at_level(logging.WARNING):
            async with asyncio.timeout(PATIENCE):
                await watch([tools], changed, clock=StillClock())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert times == 1
    assert "definition files are not watched" in caplog.text
    assert "restart the hub" in caplog.text


async def test_whoever_stops_watching_leaves_nothing_open(tools: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    async with watched(tools) as it:
        (tools / "git.json").write_text("new")
        await it.settled()
    assert sorted(os.listdir("/proc/self/fd")) == before
