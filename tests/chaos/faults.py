"""What goes wrong in the night: each fault strikes from outside, and is undone again."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence

from tests.chaos.computers import Computer, end
from tests.chaos.discord_faults import DISCORD_FAULTS
from tests.chaos.log import Log, Struck
from tests.chaos.schedule import Strike, draw
from tests.chaos.sites import FILL_DISK, MOVE_CLOCK, OneHub
from tests.chaos.world import ChaosWorld

__all__ = ["draw", "strike"]
REFILL_EVERY = 0.1
ACTS_WITHIN = 20.0
COMMITTED_WITHIN = 0.04
"""Seconds until an event of Discord's is usually stored."""
LONGER = 2.0
"""So many times as long as others a hub is frozen or cut off: another one takes over after 3 s."""
Fault = Callable[[ChaosWorld, Strike], Awaitable[str]]
"""Returns what it met, for the log, when it has gone."""
HubFault = Callable[[Computer, Strike], Awaitable[str]]


async def strike(world: ChaosWorld, log: Log, schedule: Sequence[Strike]) -> None:
    """All of them, each at its time, until the last has gone. Who cancels it calls `settle`."""
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for each in schedule:
            await asyncio.sleep(max(0.0, began + each.at - time.monotonic()))
            group.create_task(_one(world, log, each))


async def _one(world: ChaosWorld, log: Log, each: Strike) -> None:
    log.add(Struck(at=time.time(), fault=each.fault))
    met = await FAULTS[each.fault](world, each)
    log.add(Struck(at=time.time(), fault=each.fault, detail=f"over: {met}"))


# ── hub and links ─────────────────────────────────────────────────────────────────────────────────


async def _kill_hub(world: ChaosWorld, each: Strike) -> str:
    world.note_arguments()
    return _end_hub(world, each, signal.SIGKILL)


async def _kill_hub_twice(world: ChaosWorld, each: Strike) -> str:
    """The next one as soon as it has the lock."""
    first = world.hub()
    met = _end_hub(world, each, signal.SIGKILL)
    await world.until_hub(other_than=first)
    return f"{met}, {_end_hub(world, each, signal.SIGKILL)}"


async def _kill_starting_hub(world: ChaosWorld, each: Strike) -> str:
    """Somewhere between the lock and its first work."""
    first = world.hub()
    met = _end_hub(world, each, signal.SIGKILL)
    await world.until_hub(other_than=first)
    await asyncio.sleep(each.seconds / 2)
    return f"{met}, {_end_hub(world, each, signal.SIGKILL)}"


async def _kill_hub_on_event(world: ChaosWorld, each: Strike) -> str:
    """Somewhere between what the person did and its being stored."""
    acted = world.discord.acted
    acted.clear()
    try:
        await asyncio.wait_for(acted.wait(), ACTS_WITHIN)
    except TimeoutError:
        return "nobody did anything"
    await asyncio.sleep(each.chance * COMMITTED_WITHIN)
    return _end_hub(world, each, signal.SIGKILL)


async def _stop_hub(world: ChaosWorld, each: Strike) -> str:
    return _end_hub(world, each, signal.SIGTERM)


def _end_hub(world: ChaosWorld, each: Strike, number: signal.Signals) -> str:
    world.site.expect_take_over(each.fault)
    return end(world.hub(), number)


async def _freeze_hub(world: ChaosWorld, each: Strike) -> str:
    return await _frozen(world.hub(), each.seconds)


# ── one of several hubs ───────────────────────────────────────────────────────────────────────────


def _to(which: Callable[[ChaosWorld, Strike], Computer | None], do: HubFault) -> Fault:
    """To the hub of one computer, if there is such a one."""

    async def fault(world: ChaosWorld, each: Strike) -> str:
        computer = which(world, each)
        return await do(computer, each) if computer is not None else "nobody there"

    return fault


def _leader(world: ChaosWorld, each: Strike) -> Computer | None:
    world.site.expect_take_over(each.fault)
    return world.site.leader()


def _follower(world: ChaosWorld, each: Strike) -> Computer:
    others = [it for it in world.site.computers if it is not world.site.leader()]
    return others[int(each.chance * len(others))]


async def _freeze(computer: Computer, each: Strike) -> str:
    async with computer.frozen() as met:
        await asyncio.sleep(LONGER * each.seconds)
    return f"{computer.name}, {met} for {LONGER * each.seconds} s"


async def _cut_off(computer: Computer, each: Strike) -> str:
    """Nothing passes between it and the database, and nobody is told."""
    assert computer.hole is not None
    with computer.held_up(), computer.hole.closed():
        await asyncio.sleep(LONGER * each.seconds)
    return f"{computer.name} for {LONGER * each.seconds} s"


async def _kill(computer: Computer, each: Strike) -> str:
    return f"{computer.name}, {end(computer.hub(), signal.SIGKILL)}"


async def _stop(computer: Computer, each: Strike) -> str:
    return f"{computer.name}, {end(computer.hub(), signal.SIGTERM)}"


async def _kill_all(world: ChaosWorld, each: Strike) -> str:
    world.site.expect_take_over(each.fault)
    return ", ".join(end(it.hub(), signal.SIGKILL) for it in world.site.computers)


def _database(how: signal.Signals) -> Fault:
    async def fault(world: ChaosWorld, each: Strike) -> str:
        service = world.services["postgresql"]
        await service.kill(how)
        await asyncio.sleep(each.seconds)
        await service.start()
        world.site.database_is_back(each.fault)
        return f"away for {each.seconds} s"

    return fault


def _some_link(world: ChaosWorld, each: Strike) -> int | None:
    links = world.links()
    return links[int(each.chance * len(links))][0] if links else None


async def _kill_link(world: ChaosWorld, each: Strike) -> str:
    return end(_some_link(world, each), signal.SIGKILL)


async def _freeze_link(world: ChaosWorld, each: Strike) -> str:
    return await _frozen(_some_link(world, each), each.seconds)


# ── chat services and the way to them ─────────────────────────────────────────────────────────────


def _kill_service(name: str) -> Fault:
    async def fault(world: ChaosWorld, each: Strike) -> str:
        service = world.services[name]
        await service.kill()
        await asyncio.sleep(each.seconds)
        await service.start()
        return f"away for {each.seconds} s"

    return fault


def _cut(name: str) -> Fault:
    async def fault(world: ChaosWorld, each: Strike) -> str:
        relay, before = world.relays[name], world.relays[name].hits
        for _ in range(1 + int(each.chance * 5)):
            relay.cut()
            await asyncio.sleep(each.seconds / 5)
        return f"{relay.hits - before} connections"

    return fault


def _refuse(name: str) -> Fault:
    async def fault(world: ChaosWorld, each: Strike) -> str:
        await world.relays[name].refuse()
        try:
            await asyncio.sleep(each.seconds)
        finally:
            await world.relays[name].heal()
        return f"for {each.seconds} s"

    return fault


def _switch(name: str, turn: Callable[[ChaosWorld, Strike], None]) -> Fault:
    """A relay in some mood, for a while."""

    async def fault(world: ChaosWorld, each: Strike) -> str:
        relay, before = world.relays[name], world.relays[name].hits
        seconds = each.seconds * (2 if name == "discord" else 1)  # it is asked little at a time
        turn(world, each)
        try:
            await asyncio.sleep(seconds)
        finally:
            await relay.heal()
        return f"{relay.hits - before} requests in {seconds} s"

    return fault


def _delay(name: str) -> Fault:
    def turn(world: ChaosWorld, each: Strike) -> None:
        world.relays[name].delay = 0.1 + each.chance * 3

    return _switch(name, turn)


def _lose(name: str) -> Fault:
    def turn(world: ChaosWorld, each: Strike) -> None:
        world.relays[name].lost = 1 + int(each.chance * 5)

    return _switch(name, turn)


def _limit(name: str) -> Fault:
    def turn(world: ChaosWorld, each: Strike) -> None:
        world.relays[name].limit = 1 + int(each.chance * 3)

    return _switch(name, turn)


# ── the machine ───────────────────────────────────────────────────────────────────────────────────


async def _fill_disk(world: ChaosWorld, each: Strike) -> str:
    assert isinstance(world.site, OneHub)
    disk, until = world.site.disk, time.monotonic() + max(1.0, each.seconds)
    try:
        while time.monotonic() < until:
            disk.fill()
            await asyncio.sleep(REFILL_EVERY)
    finally:
        disk.free()
    return f"for {max(1.0, each.seconds)} s"


async def _move_clock(world: ChaosWorld, each: Strike) -> str:
    """Of one computer."""
    computers = world.site.computers
    computer = computers[int(each.seconds * 100) % len(computers)]
    assert computer.clock is not None
    computer.clock.move(each.step)
    return f"{computer.name}: {each.step:+.0f} s from the real time"


async def _restart_everything(world: ChaosWorld, each: Strike) -> str:
    """As a power cut does."""
    for pid, _ in world.links():
        end(pid, signal.SIGKILL)
    met = await _kill_all(world, each)
    services = world.services.values()
    await asyncio.gather(*(service.kill() for service in services))
    for relay in world.relays.values():
        relay.cut()
    await asyncio.gather(*(service.start() for service in services))
    return f"links, services, hub: {met}"


async def _frozen(pid: int | None, seconds: float) -> str:
    met = end(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        end(pid, signal.SIGCONT)
    return f"{met} for {seconds} s"


FAULTS: dict[str, Fault] = {
    "kill the hub": _kill_hub,
    "kill the hub twice": _kill_hub_twice,
    "kill the hub as it starts": _kill_starting_hub,
    "kill the hub as discord brings something": _kill_hub_on_event,
    "stop the hub": _stop_hub,
    "freeze the hub": _freeze_hub,
    "kill a link": _kill_link,
    "freeze a link": _freeze_link,
    "restart everything": _restart_everything,
    "freeze the leader": _to(_leader, _freeze),
    "cut the leader off": _to(_leader, _cut_off),
    "kill a follower": _to(_follower, _kill),
    "stop a follower": _to(_follower, _stop),
    "freeze a follower": _to(_follower, _freeze),
    "cut a follower off": _to(_follower, _cut_off),
    "kill all hubs": _kill_all,
    "kill postgresql": _database(signal.SIGQUIT),
    "restart postgresql": _database(signal.SIGINT),
    FILL_DISK: _fill_disk,
    MOVE_CLOCK: _move_clock,
    **DISCORD_FAULTS,
}
for _name in ("telegram", "matrix"):
    FAULTS[f"kill {_name}"] = _kill_service(_name)
for _name in ("telegram", "matrix", "discord"):
    FAULTS |= {
        f"cut {_name}": _cut(_name),
        f"refuse {_name}": _refuse(_name),
        f"delay {_name}": _delay(_name),
        f"lose answers of {_name}": _lose(_name),
        f"429 from {_name}": _limit(_name),
    }
