"""`make chaos`: a night of faults, and what came of it."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx

from tests.chaos import faults, final, report
from tests.chaos.agents import Agent, Counts, hire
from tests.chaos.checker import check
from tests.chaos.log import CameBack, Gave, Log, Struck
from tests.chaos.manner import BUSY, MANNERS
from tests.chaos.night import Final, Night, StoredAsk, StoredMessage, StoredNotice
from tests.chaos.notices import NOTICE
from tests.chaos.person import Person
from tests.chaos.riddles import Deck, Status
from tests.chaos.sites import SITES, NotReadable
from tests.chaos.telling import tell_now_and_then
from tests.chaos.world import ChaosWorld

Stored = tuple[tuple[StoredAsk, ...], tuple[StoredNotice, ...], tuple[StoredMessage, ...]]

SETTLES_WITHIN = 90.0
NEXT_WITHIN = 30.0
"""A chat that takes a message a second may have many notices to catch up with: it has time for as
long as they come."""
PROGRESS_EVERY = 10.0
LASTING = Path("/var/tmp")


def main() -> int:
    given = _arguments()
    kept = given.folder is not None
    folder = Path(given.folder or tempfile.mkdtemp(prefix="chaos-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty. Give a folder that is, or none.", file=sys.stderr)
        return 2
    print(
        f"chaos: a {given.manner} night, {given.minutes:g} minutes, {given.agents} agents, "
        f"seed {given.seed}"
    )
    try:
        found = asyncio.run(Run(given, folder).whole())
    except (KeyboardInterrupt, asyncio.CancelledError):
        where = folder if kept else _saved(folder)
        print(f"\nStopped. Nothing was checked; the logs are in {where}.", file=sys.stderr)
        return 130
    if found.violations and not kept:
        folder = _saved(folder)
    print("\n".join(report.lines(found, folder)))
    if not found.violations and not kept:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if found.violations else 0


def _saved(folder: Path) -> Path:
    """`make chaos` works in memory, which is swept when it has ended."""
    return Path(shutil.move(folder, LASTING / folder.name))


def _arguments() -> argparse.Namespace:
    env = os.environ.get
    parser = argparse.ArgumentParser(
        prog="make chaos",
        description="Agents ask, a person answers, and everything is killed meanwhile.",
        epilog="Environment: CHAOS_MINUTES, CHAOS_SEED, CHAOS_MANNER, CHAOS_AGENTS, CHAOS_FOLDER, "
        "CHAOS_STORE.",
    )
    fresh = random.SystemRandom().randrange(10**6)
    parser.add_argument("--minutes", type=float, default=float(env("CHAOS_MINUTES") or 3))
    parser.add_argument("--seed", type=int, default=int(env("CHAOS_SEED") or fresh))
    parser.add_argument(
        "--manner",
        choices=MANNERS,
        default=env("CHAOS_MANNER") or BUSY.name,
        help="busy; typed: two agents, fewer faults, and a person who mostly types; crowded: forty "
        "agents and a quick person",
    )
    parser.add_argument("--agents", type=int, default=int(env("CHAOS_AGENTS") or 0))
    parser.add_argument(
        "--store",
        choices=SITES,
        default=env("CHAOS_STORE") or "sqlite",
        help="sqlite, or postgresql: three hubs on one database",
    )
    parser.add_argument("--folder", default=env("CHAOS_FOLDER"), help="an empty one, for the logs")
    parser.add_argument("--calm", action="store_true", help="without faults")
    given = parser.parse_args()
    if given.manner not in MANNERS:  # a default is not checked
        parser.error(f"CHAOS_MANNER is one of {', '.join(MANNERS)}, not {given.manner}")
    if given.store not in SITES:
        parser.error(f"CHAOS_STORE is one of {', '.join(SITES)}, not {given.store}")
    given.agents = given.agents or MANNERS[given.manner].agents
    return given


class Run:
    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._log = Log(folder / "events.jsonl")
        self._random = random.Random(given.seed)
        self._manner = MANNERS[given.manner]
        self._deck = Deck(self._own_random(), texts=self._manner.texts)
        self._counts = Counts()
        self._troubles: list[str] = []
        self._began = time.monotonic()

    def _own_random(self) -> random.Random:
        return random.Random(self._random.random())

    async def whole(self) -> report.Summary:
        """Ctrl-C and SIGTERM end it early, and everything with it."""
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            async with (
                ChaosWorld.running(
                    self._folder / "world", self._log, store=self._given.store
                ) as world,
                httpx.AsyncClient(timeout=10.0) as http,
            ):
                person = Person(
                    world, self._log, self._deck, self._own_random(), http, self._manner
                )
                agents = hire(
                    self._given.agents,
                    world,
                    self._log,
                    self._deck,
                    self._own_random(),
                    self._counts,
                    manner=self._manner,
                )
                seen = await self._night(world, person, agents)
                self._say("ends everything")
                await self._close(agents)
                await world.close()
                seen = replace(
                    seen,
                    leftovers=tuple(world.leftovers()),
                    leaks=tuple(final.leaks(world.secrets(), world.outputs())),
                    strange_lines=sum(agent.private_lines for agent in agents),
                    troubles=(*self._troubles, *person.failures),
                )
                hubs = final.hubs(world.outputs())
            return self._judged(seen, world.site.left_out, person, hubs)
        finally:
            self._log.close()

    def _judged(
        self, seen: Final, left_out: dict[str, str], person: Person, hubs: int
    ) -> report.Summary:
        night = Night(self._log.events, self._deck.drawn, seen)
        violations = check(self._log.events, self._deck.drawn, seen)
        deeds = person.deeds
        counts = {
            "hubs": hubs,
            "links that were started again": self._counts.restarts,
            "asked again in the same words": self._counts.asked_again,
            "kept answers that were handed over": self._counts.late,
            "calls that the agent cancelled": self._counts.cancelled,
            "tickets": self._counts.tickets,
            "races of two channels": deeds.races,
            "double taps": deeds.double_taps,
            "fast check marks": deeds.fast_toggles,
            "texts that the bot asked back about": deeds.asked_which,
            "texts beside the cards that it took at once": deeds.taken_at_once,
            "taps on cards that had ended": deeds.stale_taps,
            "taps that Discord told to have failed": person.discord.failed,
            "summaries": len(seen.summaries),
        }
        found = report.summary(
            night,
            violations,
            seed=self._given.seed,
            manner=self._manner.name,
            store=self._given.store,
            minutes=self._given.minutes,
            agents=self._given.agents,
            left_out=left_out,
            counts=counts,
        )
        report.write(found, self._folder / "summary.json")
        return found

    # ── the phases ────────────────────────────────────────────────────────────────────────────────

    async def _night(self, world: ChaosWorld, person: Person, agents: list[Agent]) -> Final:
        seconds = self._given.minutes * 60
        schedule = faults.draw(
            self._own_random(),
            seconds,
            pause=self._manner.pause,
            left_out=world.site.left_out,
            weights=world.site.weights,
        )
        if self._given.calm:
            schedule = ()
        stop = asyncio.Event()
        async with person.there():
            asking = [asyncio.create_task(agent.run(stop)) for agent in agents]
            telling = asyncio.create_task(self._tell())
            switching = asyncio.create_task(self._switch(person))
            projects = sorted({world.project_name(agent.folder) for agent in agents})
            writing = asyncio.create_task(
                tell_now_and_then(person, projects, self._log, self._own_random())
            )
            try:
                await self._first_hub(world)
                until = time.monotonic() + seconds
                try:
                    async with asyncio.timeout(seconds + SETTLES_WITHIN):
                        await faults.strike(world, self._log, schedule)
                        await asyncio.sleep(max(0.0, until - time.monotonic()))
                except TimeoutError:
                    self._troubles.append("the faults did not end in time")
                self._say("the faults are over")
                stop.set()
                writing.cancel()
                await world.settle()
                person.hurry_since = time.time()
                return await self._settled(world, person, agents, asking)
            finally:
                telling.cancel()
                switching.cancel()
                writing.cancel()
                for task in asking:
                    task.cancel()
                beside = (telling, switching, writing)
                await asyncio.gather(*asking, *beside, return_exceptions=True)

    async def _first_hub(self, world: ChaosWorld) -> None:
        """Faults that strike nobody are none."""
        for _ in range(int(SETTLES_WITHIN * 5)):
            if world.inbox() is not None:
                return
            await asyncio.sleep(0.2)

    async def _settled(
        self,
        world: ChaosWorld,
        person: Person,
        agents: list[Agent],
        asking: list[asyncio.Task[None]],
    ) -> Final:
        """Once all agents have been told, and every card shows how it ended; or it is too late."""
        until = time.monotonic() + SETTLES_WITHIN
        await asyncio.wait(asking, timeout=SETTLES_WITHIN)
        for agent, task in zip(agents, asking, strict=True):
            if not task.done():
                riddle = agent.unsolved.key if agent.unsolved else "nothing"
                self._troubles.append(f"{agent.name} still waits for {riddle}")
            elif (error := task.exception()) is not None:
                self._troubles.append(f"{agent.name} failed: {error!r}")
        asks, notices, messages = await self._read(world.rows)
        shown = 0
        while time.monotonic() < until:
            behind = any(it.behind for it in messages)
            if final.agree(asks) and final.all_shown(notices) and not behind:
                break
            await asyncio.sleep(1.0)
            asks, notices, messages = await self._read(world.rows)
            now = sum(len(notice.shown) for notice in notices)
            if (now := now + sum(not it.behind for it in messages)) > shown:
                shown, until = now, max(until, time.monotonic() + NEXT_WITHIN)
        await self._looked(person)
        await final.strays_retired(person.phone, {ask.id for ask in asks if ask.status != "open"})
        await self._looked(person)
        return Final(
            asks=asks,
            cards=(
                *(card for phone in person.phones for card in final.button_cards(phone)),
                *final.matrix_cards(person.room),
            ),
            second=tuple(final.said_to_be_second(person.phones)),
            inbox=tuple(ask["questions"][0]["question"][:6] for ask in person.desk.asks.values()),
            notices=notices,
            seen=tuple(final.seen_notices(person.phones, person.room)),
            summaries=tuple(final.summaries(person.phones, person.room)),
            listed=await self._listed(person),
            messages=messages,
        )

    async def _listed(self, person: Person) -> tuple[str, ...]:
        for _ in range(10):
            if (listed := await person.desk.notices()) is not None:
                return tuple(key for text in listed for key in NOTICE.findall(text))
            await asyncio.sleep(1.0)
        self._troubles.append("the web inbox does not list the notices")
        return ()

    async def _read(self, database: final.Database) -> Stored:
        def whole() -> Stored:
            messages = final.stored_messages(database)
            return final.stored(database), final.stored_notices(database), messages

        for _ in range(10):
            with suppress(NotReadable):
                return await asyncio.to_thread(whole)
            await asyncio.sleep(0.5)
        return await asyncio.to_thread(whole)

    async def _looked(self, person: Person) -> None:
        """What the channels show now, not a moment ago."""
        for name, look in (
            *((phone.channel, phone.look) for phone in person.phones),
            ("matrix", person.room.look),
            ("the web inbox", person.desk.look),
        ):
            for _ in range(10):
                if await look():
                    break
                await asyncio.sleep(1.0)
            else:
                self._troubles.append(f"{name} cannot be looked at")

    async def _close(self, agents: list[Agent]) -> None:
        for ended in await asyncio.gather(*(a.close() for a in agents), return_exceptions=True):
            if isinstance(ended, BaseException):
                self._troubles.append(str(ended))

    # ── meanwhile ─────────────────────────────────────────────────────────────────────────────────

    async def _switch(self, person: Person) -> None:
        """Quiet hours by hand, now and then, beside those of the settings; and other commands."""
        chance = self._own_random()
        while True:
            await asyncio.sleep(chance.uniform(10.0, 25.0))
            words = chance.choice(["0.1m", "0.25m", "off"])
            await chance.choice(person.phones).command("quiet", words)
            await person.discord.command(chance.choice(["pending", "help"]))
            await person.desk.list_open()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_EVERY)
            events = self._log.events
            asked = len(self._deck.drawn)
            told = sum(isinstance(e, CameBack) and e.status == Status.ANSWERED for e in events)
            gave = sum(isinstance(e, Gave) and e.accepted is True and e.whole for e in events)
            struck = sum(isinstance(e, Struck) and not e.detail for e in events)
            self._say(f"{asked} riddles, {gave} answers given, {told} came back, {struck} faults")

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
