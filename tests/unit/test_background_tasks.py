"""What runs beside, and its end."""

from __future__ import annotations

from inspect import CORO_CLOSED, getcoroutinestate

from chatbridge.core.tasks import BackgroundTasks


async def test_work_that_the_end_keeps_from_beginning_is_closed() -> None:
    """Else Python says, at some time and of whatever runs then, that nobody has awaited it."""

    async def work() -> None:
        pass

    spawned, tasks = work(), BackgroundTasks("a service")
    tasks.spawn(spawned)
    await tasks.end()
    assert getcoroutinestate(spawned) == CORO_CLOSED
