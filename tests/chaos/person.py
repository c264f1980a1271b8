"""The person: looks at every channel, and answers what is open, at random, after a while."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import httpx

from tests.chaos.desk_ways import DeskWays
from tests.chaos.discord_ways import DiscordWays
from tests.chaos.log import Log
from tests.chaos.manner import Manner
from tests.chaos.matrix_ways import MatrixWays
from tests.chaos.person_buttons import CHOOSE, ButtonChat
from tests.chaos.person_discord import DiscordPhone
from tests.chaos.person_matrix import Room
from tests.chaos.person_plan import Notebook, Plan
from tests.chaos.person_telegram import Phone
from tests.chaos.person_web import Desk
from tests.chaos.places import World
from tests.chaos.riddles import Deck, Kind, Riddle
from tests.chaos.telegram_ways import TelegramWays

DECIDE_EVERY = 0.25
LISTEN_EVERY = 1.0
MORTAL_FOR = 30.0
WAITS_FOR_DISCORD = 0.5
"""How often the person waits for a card there."""
STRAYS = 0.1
"""How often one who stays with a chat answers elsewhere all the same."""
AGAIN_AFTER = 12.0
"""Where nobody said whether it was taken: how long the person waits for the card to change."""

Do = Callable[[Plan], Awaitable[bool | None]]


class Person:
    def __init__(
        self,
        world: World,
        log: Log,
        deck: Deck,
        random: random.Random,
        http: httpx.AsyncClient,
        manner: Manner,
    ) -> None:
        self.phone = Phone(world.telegram, http)
        self.discord = DiscordPhone(world.discord)
        self.phones: tuple[ButtonChat, ...] = (self.phone, self.discord)
        self.room = Room(world.matrix, http)
        self.desk = Desk(world, http)
        self._notes = Notebook(log, random, manner)
        self.deeds = self._notes.deeds
        self._discord = DiscordWays(self.discord, self._notes)
        self._by_buttons = (TelegramWays(self.phone, self._notes), self._discord)
        self._matrix = MatrixWays(self.room, self._notes)
        self._at_desk = DeskWays(self.desk, self._notes)
        self.hurry_since: float | None = None
        """Since then everything is answered at once: the night is over."""
        self.plans: dict[str, Plan] = {}
        self._manner = manner
        self._chats: list[Do] = [*(it.answer for it in self._by_buttons), self._matrix.answer]
        self._stays_with = self._chats[0]
        self._stays_until = 0.0
        self._deck = deck
        self._random = random
        self._heard: set[str] = set()
        self._old: dict[str, tuple[ButtonChat, int, str]] = {}
        """A button of each ask that a chat has shown."""

    @asynccontextmanager
    async def there(self) -> AsyncIterator[None]:
        """For as long as this is open, the person looks and answers."""
        watching = (
            *(phone.watch() for phone in self.phones),
            self.room.watch(),
            self.desk.watch(),
            self._decide(),
            self._listen(),
        )
        tasks = [asyncio.create_task(each) for each in watching]
        try:
            yield
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._notes.close()

    @property
    def failures(self) -> list[str]:
        return self._notes.failures

    # ── deciding ──────────────────────────────────────────────────────────────────────────────────

    async def _decide(self) -> None:
        while True:
            for ask, riddle in self._open():
                plan = self.plans.get(ask)
                if plan is None:
                    plan = Plan(ask=ask, riddle=riddle, due=time.time() + self._delay())
                    if not self._manner.stays and self._random.random() < WAITS_FOR_DISCORD:
                        plan.waits_until = time.time() + self._manner.patience
                    self.plans[ask] = plan
                idle = not (plan.busy or plan.done or self._lets_it_die(riddle))
                if idle and time.time() >= plan.due:
                    plan.busy = True
                    self._notes.spawn(self._answer(plan))
            self._note_buttons()
            if self._random.random() < 0.02:
                self._notes.spawn(self._tap_stale())
            await asyncio.sleep(DECIDE_EVERY)

    def _delay(self) -> float:
        return self._random.uniform(0.2, self._manner.decides if self.hurry_since is None else 1.0)

    def _lets_it_die(self, riddle: Riddle) -> bool:
        """A clock that was set back puts the end of a short time-out off by hours: then even such
        a riddle is answered before the night ends."""
        patience = time.time() - MORTAL_FOR
        return riddle.mortal and (self.hurry_since is None or self.hurry_since > patience)

    def _open(self) -> Iterator[tuple[str, Riddle]]:
        """Every ask that some channel shows, and its riddle."""
        keys: dict[str, str | None] = {}
        for ask, step in self.room.steps().items():
            if any(self.room.place.bot in who for who in step.reactions.values()):
                keys[ask] = step.key
        for phone in self.phones:
            keys |= {ask: card.key for ask, card in phone.cards().items()}
        for ask, shown in self.desk.asks.items():
            keys[ask] = str(shown["questions"][0]["question"]).split()[0]
        for ask, key in keys.items():
            if key in self._deck.drawn:
                yield ask, self._deck.drawn[key]

    async def _answer(self, plan: Plan) -> None:
        try:
            ways = self._possible(plan)
            waits = self._discord.answer not in ways and time.time() < plan.waits_until
            if waits and self.hurry_since is None:
                plan.due = time.time() + 1.0
                return
            prefers_chats = self._random.random() < self._manner.prefers_chats
            if not ways or (self._only_at_desk(ways) and prefers_chats):
                plan.due = time.time() + 2.0
                return
            plan.tries += 1
            chosen = [self._random.choice(ways)]
            part = plan.riddle.parts[0]
            simple = len(plan.riddle.parts) == 1 and part.kind is not Kind.MULTI
            if simple and len({*ways}) > 1 and self._random.random() < 0.15:
                self.deeds.races += 1
                chosen = self._random.sample(list(dict.fromkeys(ways)), 2)
            given = await asyncio.gather(*(way(plan) for way in chosen))
            plan.done = any(given) and plan.due < time.time()
            if not plan.done:
                pause = AGAIN_AFTER if None in given else self._random.uniform(0.5, 3.0)
                plan.due = time.time() + pause
        finally:
            plan.busy = False

    def _only_at_desk(self, ways: list[Do]) -> bool:
        """The card is on no phone yet: mostly the person waits for that."""
        return self.hurry_since is None and not {*self._chats} & {*ways}

    def _possible(self, plan: Plan) -> list[Do]:
        ways: list[Do] = []
        for by_buttons in self._by_buttons:
            if plan.ask in by_buttons.phone.cards():
                ways += [by_buttons.answer] * by_buttons.liked
        if plan.ask in self.room.steps():
            ways += [self._matrix.answer] * 6
        if plan.ask in self.desk.asks:
            ways += [self._at_desk.web] * 2
            if len(plan.riddle.parts) == 1 and self._random.random() < 0.3:
                ways.append(self._at_desk.terminal)
        if self._manner.stays and self.hurry_since is None and self._random.random() > STRAYS:
            return [way for way in ways if way == self._favourite()]
        return ways

    def _favourite(self) -> Do:
        if time.time() > self._stays_until:
            self._stays_until = time.time() + self._random.uniform(0.5, 1.5) * self._manner.stays
            self._stays_with = self._random.choice(self._chats)
        return self._stays_with

    # ── beside answering ──────────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        while True:
            self._matrix.heed(list(self.plans.values()), self._heard)
            await asyncio.sleep(LISTEN_EVERY)

    def _note_buttons(self) -> None:
        for phone in self.phones:
            for ask, card in phone.cards().items():
                if button := card.button(CHOOSE):
                    self._old[ask] = (phone, card.id, button.data)

    async def _tap_stale(self) -> None:
        """A button of a card that has ended, as a phone that was offline still shows it. Nothing
        is noted: if what it stands for ever came back, it was given by nobody."""
        ended = [
            (phone, message, data)
            for ask, (phone, message, data) in self._old.items()
            if ask not in phone.cards() and message in phone.messages
        ]
        if ended:
            self.deeds.stale_taps += 1
            phone, message, data = self._random.choice(ended)
            await phone.tap(message, data)
