"""The projects in which agents were seen: the next hub knows them before any agent is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chatbridge.core.model import Project
from chatbridge.core.tasks import STORE_RETRY_SECONDS, end_tasks
from chatbridge.hub.wiring.known_projects import KnownProjects
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.disk import failing


def project(folder: Path) -> Project:
    return Project(key=str(folder), name=folder.name)


@asynccontextmanager
async def knowing(hub: World) -> AsyncIterator[tuple[KnownProjects, set[asyncio.Task[None]]]]:
    """What a hub knows, and what it does about it."""
    tasks: set[asyncio.Task[None]] = set()
    found = KnownProjects(hub.store, hub.clock, lambda work: tasks.add(asyncio.create_task(work)))
    await found.load()
    try:
        yield found, tasks
    finally:
        await end_tasks(tasks)


async def test_what_could_not_be_stored_is_known_to_the_next_hub_all_the_same(
    tmp_path: Path,
) -> None:
    shop, blog = tmp_path / "shop", tmp_path / "blog"
    async with world(tmp_path) as hub, knowing(hub) as (projects, tasks):
        async with failing(tmp_path, "notes"):
            projects.add(project(shop))
            async with asyncio.timeout(PATIENCE):
                await hub.clock.until_asleep(STORE_RETRY_SECONDS)
        projects.add(project(blog))
        await asyncio.sleep(0)  # the second is written before the first one is tried again
        hub.clock.advance(STORE_RETRY_SECONDS)
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
        async with knowing(hub) as (after, _):
            assert list(after.folders) == [str(shop), str(blog)]


async def test_what_has_no_folder_is_no_project_that_others_could_have(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, knowing(hub) as (projects, tasks):
        projects.add(Project(key="link:abc", name="scratch"))
        assert not projects.folders
        assert not tasks
