"""Three hubs with one PostgreSQL database, agents at all of them, and faults: `make chaos
CHAOS_STORE=postgresql`. Each question has answers of its own, so that one that is lost, crossed or
given twice is seen. Prints how long take-overs took.

Smaller than the night of `tests.chaos`: one person on Telegram, and the faults of whole hubs, of
their ways to the database, and of the database itself.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import found
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.cluster import Cluster, Member, cluster
from tests.fakes.machine import Agent, Json, frozen
from tests.fakes.postgres import USER, Postgres, running
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

AGENTS_PER_HUB = 3
TAKE_OVER_SECONDS = 5.0
ANSWER_WITHIN_SECONDS = 120.0


@dataclass
class World:
    hubs: Cluster
    server: Postgres
    phone: Phone
    chance: random.Random
    over: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    took: dict[str, list[float]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)

    # ── agents ────────────────────────────────────────────────────────────────────────────────────

    def agent(self, member: Member, name: str) -> None:
        try:
            self._ask_on(member, name)
        except Exception as error:  # noqa: BLE001 - each is a finding
            self.problems.append(f"agent {name} of {member.name}: {type(error).__name__}: {error}")

    def _ask_on(self, member: Member, name: str) -> None:
        with member.house.agent() as agent:
            agent.request("init", "initialize", _INITIALIZE)
            self._hear(agent, "init", name)
            agent.notify("notifications/initialized")
            number = 0
            while not self.over.is_set():
                number += 1
                riddle = f"{name}-{number}"
                question: Json = {"id": "q", "question": f"Riddle {riddle}?", "type": "select"}
                question["options"] = [f"right {riddle}", f"wrong {riddle}"]
                self.asked[riddle] += 1
                agent.ask(number, {"questions": [question], "timeout": 600_000})
                result = self._hear(agent, number, riddle)["result"]
                given = result.get("structuredContent", result)
                expected = [{"questionId": "q", "values": [f"right {riddle}"]}]
                if given.get("answers") != expected:
                    self.problems.append(f"{riddle} got {given}")
                self.answered[riddle] += 1
                time.sleep(self.chance.uniform(0.0, 0.5))

    def _hear(self, agent: Agent, wanted: object, what: str) -> Json:
        until = time.monotonic() + ANSWER_WITHIN_SECONDS
        while time.monotonic() < until:
            with suppress(TimeoutError):
                said: Json = agent.receive()
                if said.get("id") != wanted:
                    self.problems.append(f"{what}: an answer to {said.get('id')} came again")
                    continue
                return said
        raise AssertionError(f"{what} was not answered within {ANSWER_WITHIN_SECONDS:.0f} s")

    # ── the person ────────────────────────────────────────────────────────────────────────────────

    def person(self) -> None:
        """Answers each card, and again after a while if nothing has come of it."""
        tapped: dict[int, float] = {}
        while not self.over.wait(0.05):
            for card in self.phone.messages:
                now = time.monotonic()
                if card.deleted or now - tapped.get(card.id, -9.0) < 3.0:
                    continue
                key = next((key for key in card.keys if key.text.startswith("right")), None)
                if key is not None and key.data:
                    tapped[card.id] = now
                    self.phone.press(card, key.data)

    # ── faults ────────────────────────────────────────────────────────────────────────────────────

    def faults(self, until: float) -> None:
        while time.monotonic() < until:
            leader = self.hubs.leader()
            fault = self.chance.choice(
                (self._kill, self._stop, self._freeze, self._freeze, self._cut, self._restart)
            )
            fault(leader)
            time.sleep(self.chance.uniform(1.0, 4.0))

    def _next(self, kind: str, old: Member) -> None:
        began = time.monotonic()
        self.hubs.leader(among=self.hubs.others(old))
        self.took.setdefault(kind, []).append(time.monotonic() - began)

    def _kill(self, leader: Member) -> None:
        leader.house.kill_hub()
        leader.process = None
        self._next("kill", leader)
        leader.start()

    def _stop(self, leader: Member) -> None:
        os.kill(leader.pid, signal.SIGTERM)
        self._next("orderly stop", leader)
        leader.stop()
        leader.start()

    def _freeze(self, leader: Member) -> None:
        with frozen(leader.pid):
            self._next("SIGSTOP", leader)
            time.sleep(self.chance.uniform(0.0, 2.0))
        self._follows(leader)

    def _cut(self, leader: Member) -> None:
        with leader.hole.closed():
            self._next("network hole", leader)
            time.sleep(self.chance.uniform(0.0, 2.0))
        self._follows(leader)

    def _restart(self, _leader: Member) -> None:
        began = time.monotonic()
        self.server.stop(self.chance.choice((signal.SIGINT, signal.SIGQUIT)))
        time.sleep(self.chance.uniform(0.0, 5.0))
        self.server.start()
        back = time.monotonic()
        while not any(self._leads(member) for member in self.hubs.members):
            assert time.monotonic() - back < ANSWER_WITHIN_SECONDS, "nobody leads any more"
            time.sleep(0.1)
        self.took.setdefault("database restart, from its return", []).append(
            max(0.0, time.monotonic() - max(back, began))
        )

    def _leads(self, member: Member) -> bool:
        return bool(member.status()["cluster"]["role"] == "leads")

    def _follows(self, old: Member) -> None:
        until = time.monotonic() + 20
        while self._leads(old):
            assert time.monotonic() < until, f"{old.name} still thinks that it leads"
            time.sleep(0.1)


_INITIALIZE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "chaos", "version": "1"},
}


def main() -> int:
    minutes = float(os.environ.get("CHAOS_MINUTES", "3"))
    seed = int(os.environ.get("CHAOS_SEED", "0") or 0) or random.SystemRandom().randrange(10**6)
    programs = found("postgres")
    assert programs, "there is no PostgreSQL on this machine"
    print(f"three hubs, {minutes:g} minutes, CHAOS_SEED={seed}", flush=True)
    with running(Path(programs)) as server, BotApi.running() as api:
        asyncio.run(server.sql("CREATE DATABASE chaos"))
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        settings = telegram_settings(api, ada)
        with cluster(server.port, "chaos", USER, hubs=3, **settings) as hubs:
            for member in hubs.members:
                member.start()
            world = World(hubs, server, phone, random.Random(seed))
            return run(world, minutes)


def run(world: World, minutes: float) -> int:
    tasks: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [(world.person, ())]
    for member in world.hubs.members:
        names = [f"{member.name[-1]}{number}" for number in range(AGENTS_PER_HUB)]
        tasks += [(world.agent, (member, name)) for name in names]
    threads = [threading.Thread(target=do, args=given, daemon=True) for do, given in tasks]
    for thread in threads:
        thread.start()
    try:
        world.faults(time.monotonic() + 60 * minutes)
    except AssertionError as error:
        world.problems.append(str(error))
    asking = [thread for thread in threads[1:] if thread.is_alive()]
    world.over.set()
    person = threading.Thread(target=_answers_the_rest, args=(world, asking), daemon=True)
    person.start()
    for thread in asking:
        thread.join(ANSWER_WITHIN_SECONDS)
    return report(world)


def _answers_the_rest(world: World, asking: list[threading.Thread]) -> None:
    rest = World(world.hubs, world.server, world.phone, world.chance)
    threading.Thread(target=rest.person, daemon=True).start()
    for thread in asking:
        thread.join(ANSWER_WITHIN_SECONDS)
    rest.over.set()


def report(world: World) -> int:
    for riddle in world.asked:
        if world.answered[riddle] != 1:
            world.problems.append(f"{riddle} was answered {world.answered[riddle]} times")
    print(f"{len(world.asked)} questions, {world.answered.total()} answers")
    slow = 0
    for kind, took in sorted(world.took.items()):
        middle, most = statistics.median(took), max(took)
        slow += sum(each > TAKE_OVER_SECONDS for each in took if "database" not in kind)
        print(f"{kind}: {len(took)} times, median {middle:.2f} s, longest {most:.2f} s")
    if slow:
        world.problems.append(f"{slow} take-overs took more than {TAKE_OVER_SECONDS:g} s")
    for problem in world.problems:
        print(f"PROBLEM {problem}")
    return 1 if world.problems else 0


if __name__ == "__main__":
    sys.exit(main())
