"""A real link and hub on one machine, a real homeserver, and a person in a room with the bot.

The person's client lives in the test's loop; processes are waited for in threads. Every bot has a
name of its own among all test runs of this computer: hubs lock their bot's account.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.fakes.chat_settings import matrix_settings
from tests.fakes.machine import COLOURS, Agent, House, Json, house
from tests.fakes.matrix_person import Person
from tests.fakes.matrix_timeline import Message
from tests.fakes.synapse import Account, Login, Synapse

PATIENCE = 20.0


def new_bot(synapse: Synapse) -> tuple[Account, Login]:
    """The account and a device of it, with a token."""
    account = synapse.register(f"bot-{uuid4().hex[:12]}")
    return account, synapse.log_in(account)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    synapse: Synapse
    home: House
    bot: Account
    login: Login
    ada: Person
    room: str

    @classmethod
    @asynccontextmanager
    async def set(
        cls,
        synapse: Synapse,
        folder: Path,
        *,
        encrypted: bool = False,
        cold: bool = False,
        **settings: str,
    ) -> AsyncIterator[Scene]:
        """Ada's private room, with the bot invited. More settings, or empty ones to leave out one
        of the usual."""
        account, login = await asyncio.to_thread(new_bot, synapse)
        async with Person.online(synapse, "Ada", folder / "ada", encrypted=encrypted) as ada:
            room = await ada.create_room("agents", invite=[login.user_id], encrypted=encrypted)
            more = matrix_settings(synapse, login, ada.user_id, room=room) | settings
            with house(cold=True, **more) if cold else house(**more) as home:
                yield cls(synapse=synapse, home=home, bot=account, login=login, ada=ada, room=room)

    # ── the agent ─────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        with self.home.agent() as agent:
            await asyncio.to_thread(agent.initialize)
            yield agent

    @asynccontextmanager
    async def asking(self, arguments: Json = COLOURS) -> AsyncIterator[tuple[Agent, Message]]:
        """An agent that waits, and the card in the room."""
        async with self.agent() as agent:
            yield agent, await self.card(agent, 1, arguments)

    async def card(self, agent: Agent, id: int, arguments: Json = COLOURS) -> Message:
        """Ask, and the card that comes of it, with all its reactions."""
        known = {message.event_id for message in self.ada.messages(self.room)}
        agent.ask(id, arguments)
        asked = arguments.get("question") or arguments["questions"][0]["question"]
        return await self.shows(asked, fits=lambda it: it.event_id not in known)

    async def result(self, agent: Agent) -> Json:
        return await asyncio.to_thread(agent.result)

    async def nothing_more(self, agent: Agent) -> None:
        """The next thing that the agent hears is the answer to what it says next."""
        agent.request("end", "tools/list")
        reply = await asyncio.to_thread(agent.receive)
        assert reply["id"] == "end", reply

    # ── the person ────────────────────────────────────────────────────────────────────────────────

    async def shows(
        self, *words: str, fits: Callable[[Message], bool] = lambda it: True
    ) -> Message:
        """The card with all of this in it that can be answered now. Whatever can be answered can be
        cancelled, and that is the last reaction that the bot puts on it."""
        bot = self.login.user_id
        return await self.ada.sees(
            lambda it: (
                it.sender == bot
                and (it.msgtype == "m.text" or it.thread is not None)
                and bot in it.reactions.get("❌", ())
                and all(word in it.body for word in words)
                and fits(it)
            ),
            room=self.room,
        )

    async def becomes(self, card: Message, *words: str) -> Message:
        """The same message, once all of this is in it and nothing can be tapped any more."""
        return await self.ada.until(
            self.room,
            card.event_id,
            lambda it: all(word in it.body for word in words) and not self.buttons(it),
        )

    def buttons(self, message: Message) -> list[str]:
        return [key for key, people in message.reactions.items() if self.login.user_id in people]

    async def tap(self, card: Message, *keys: str) -> list[str]:
        return [await self.ada.react(self.room, card.event_id, key) for key in keys]

    async def write(self, card: Message, text: str) -> str:
        """In the card's thread."""
        root = card.thread or card.event_id
        return await self.ada.in_thread(self.room, text, root=root, last=card.event_id)

    def said(self, text: str = "") -> list[Message]:
        """All that the bot has sent with this in it, and nobody has removed."""
        return [
            message
            for message in self.ada.messages(self.room)
            if message.sender == self.login.user_id
            and not message.redacted
            and text in message.body
        ]

    # ── the hub ───────────────────────────────────────────────────────────────────────────────────

    async def kill_hub(self, how: signal.Signals = signal.SIGKILL) -> int:
        return await asyncio.to_thread(self.home.kill_hub, how)

    async def until_status(self, fits: Callable[[Json], Any]) -> Json:
        """How the hub says that its Matrix is, once this is so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                status = await asyncio.to_thread(self.home.api, "/api/status")
                found = next(it for it in status["channels"] if it["name"] == "matrix")
                if fits(found):
                    return dict(found)
                await asyncio.sleep(0.05)
