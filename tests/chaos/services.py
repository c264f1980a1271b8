"""The chat services as processes that are killed, and come back at the same port as they were."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.bot_api import PHONE, Identity
from tests.chaos.places import MatrixPlace, TelegramPlace
from tests.fakes.network import free_port
from tests.fakes.synapse import Login, Synapse

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
_LETTERS = "ABCDEFGHabcdefgh0123456789_-"


class Service:
    """Killed and started one at a time, whoever wants it. Both are blocking work elsewhere."""

    def __init__(self, name: str, *, start: Callable[[], None], kill: Callable[..., None]) -> None:
        self.name = name
        self._start, self._kill = start, kill
        self._turn = asyncio.Lock()
        self.up = False

    async def start(self) -> None:
        await asyncio.shield(asyncio.ensure_future(self._turned(up=True)))

    async def kill(self, *how: signal.Signals) -> None:
        await asyncio.shield(asyncio.ensure_future(self._turned(*how, up=False)))

    async def _turned(self, *how: signal.Signals, up: bool) -> None:
        """To its end, also if whoever wanted it waits no longer: the next turn comes after."""
        async with self._turn:
            if self.up != up:
                self.up = False
                await asyncio.to_thread(self._start if up else self._kill, *how)
                self.up = up


class BotApiProcess:
    """tests/chaos/bot_api.py, its folder and its ports."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.port, self._control = free_port(), free_port()
        # Not of the seed: hubs of all users of this machine lock their bot.
        chance = random.SystemRandom()
        secret = "".join(chance.choices(_LETTERS, k=35))
        person = chance.randrange(10**8, 10**10)
        self.identity = Identity(token=f"{chance.randrange(10**9, 10**10)}:{secret}", person=person)
        self.identity.write(folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def place(self) -> TelegramPlace:
        return TelegramPlace(
            control=f"http://127.0.0.1:{self._control}/bot{PHONE}",
            chat=self.identity.person,
            person=self.identity.person,
        )

    def start(self) -> None:
        words = ["-m", "tests.chaos.bot_api", self.folder, self.port, self._control]
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, *map(str, words)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )
        address = f"{self.place.control}/messages?since={10**9}"
        for _ in range(int(PATIENCE / 0.05)):
            try:
                with urllib.request.urlopen(address, timeout=PATIENCE):
                    return
            except OSError:
                assert self._process.poll() is None, "the Bot API server did not start"
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        raise AssertionError("the Bot API server did not answer")

    def kill(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A private room of the person, with the bot invited."""

    bot: Login
    person: Login
    id: str

    @classmethod
    def made(cls, synapse: Synapse) -> Room:
        # A name of its own: hubs of all users of this machine lock their bot's account.
        bot = synapse.log_in(synapse.register(f"bot-{random.SystemRandom().randrange(10**9)}"))
        person = synapse.log_in(synapse.register("Ada"))
        wanted = {"preset": "private_chat", "name": "agents", "invite": [bot.user_id]}
        made = synapse.request(
            "POST", "/_matrix/client/v3/createRoom", wanted, token=person.access_token
        )
        return cls(bot=bot, person=person, id=made["room_id"])

    def place(self, synapse: Synapse) -> MatrixPlace:
        return MatrixPlace(
            address=synapse.address,
            room=self.id,
            person=self.person.user_id,
            token=self.person.access_token,
            bot=self.bot.user_id,
        )
