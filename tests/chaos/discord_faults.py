"""What goes wrong at Discord alone: at its gateway, which no relay is before, and in the service.

Sessions, their numbers and what can be resumed are Discord's own way to lose nothing: most of these
try that.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.chaos.schedule import Strike
from tests.chaos.world import ChaosWorld
from tests.fakes.discord.gateway import GatewayServer

A_MOMENT = 1.0
REQUESTS = "/api/"
"""In the path of each."""


def _gateway(world: ChaosWorld) -> GatewayServer:
    return world.discord.server.gateway


async def _drop(world: ChaosWorld, each: Strike) -> str:
    """Its connections break or are closed. What is missed comes when the session is resumed."""
    count = 1 + int(each.chance * 3)
    for i in range(count):
        if i % 2:
            await _gateway(world).cut()
        else:
            _gateway(world).drop()
        await asyncio.sleep(each.seconds / count)
    return f"{count} times"


async def _forget(world: ChaosWorld, each: Strike) -> str:
    """There is nothing to resume: what the person does meanwhile has to be read."""
    gateway, acted = _gateway(world), world.discord.acted
    acted.clear()
    gateway.down = True
    try:
        await gateway.cut(4009 if each.chance < 0.5 else 4000, forget=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(acted.wait(), 4 * each.seconds)
        await asyncio.sleep(A_MOMENT)
    finally:
        gateway.down = False
    return f"the session is gone, {'with' if acted.is_set() else 'without'} a deed in the gap"


async def _reconnect(world: ChaosWorld, each: Strike) -> str:
    _gateway(world).ask_to_reconnect()
    return "asked to reconnect"


async def _invalidate(world: ChaosWorld, each: Strike) -> str:
    resumable = each.chance < 0.5
    _gateway(world).invalidate(resumable=resumable)
    return "resumable" if resumable else "the session is gone"


async def _repeat(world: ChaosWorld, each: Strike) -> str:
    count = 1 + int(each.chance * 8)
    _gateway(world).repeat(count)
    return f"{count} events"


async def _deaf(world: ChaosWorld, each: Strike) -> str:
    """For longer than a beat takes."""
    gateway, before = _gateway(world), len(_gateway(world).codes)
    gateway.deaf = True
    try:
        await asyncio.sleep(each.seconds + 2 * gateway.interval / 1000)
    finally:
        gateway.deaf = False
    return f"{len(gateway.codes) - before} connections were given up"


async def _down(world: ChaosWorld, each: Strike) -> str:
    """Requests are answered as ever."""
    gateway = _gateway(world)
    gateway.down = True
    gateway.drop()
    try:
        await asyncio.sleep(each.seconds)
    finally:
        gateway.down = False
    return f"for {each.seconds} s"


async def _silent(world: ChaosWorld, each: Strike) -> str:
    """Connections stand, and nothing comes over them."""
    server, release = world.discord.server, asyncio.Event()
    held = server.fault(REQUESTS, times=10**6, hold=release)
    server.gateway.silent = True
    try:
        await asyncio.sleep(each.seconds)
    finally:
        server.rest.faults.remove(held)
        release.set()
        server.gateway.speak_again()
    return f"{10**6 - held.times} requests in {each.seconds} s"


async def _broken(world: ChaosWorld, each: Strike) -> str:
    """Some of what it answers so has been done."""
    server, count = world.discord.server, 1 + int(each.chance * 5)
    made = [
        server.fault(REQUESTS, times=count, status=502 + done, after_effect=done)
        for done in (False, True)
    ]
    try:
        await asyncio.sleep(each.seconds)
    finally:
        for fault in made:
            server.rest.faults.remove(fault)
    return f"{sum(count - fault.times for fault in made)} requests"


DISCORD_FAULTS = {
    "cut discord's gateway": _drop,
    "end discord's session": _forget,
    "RECONNECT from discord": _reconnect,
    "INVALID_SESSION from discord": _invalidate,
    "repeat discord's events": _repeat,
    "no heartbeat of discord": _deaf,
    "refuse discord's gateway": _down,
    "silence discord": _silent,
    "5xx from discord": _broken,
}
