"""Hubs as processes with Slack or Discord: one answer reaches the agent whenever a hub dies; what
is wrong is said with what to do and without a secret; and other channels go on meanwhile."""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

import pytest

from chatbridge.clock import SystemClock
from tests.acceptance.test_secrets import files_with
from tests.fakes.chat_settings import discord_settings, ntfy_settings, slack_settings
from tests.fakes.discord.rest import Interaction
from tests.fakes.discord.server import Discord, answered
from tests.fakes.discord.world import Message
from tests.fakes.machine import COLOURS, Agent, House, Json, frozen, house
from tests.fakes.ntfy_server import NtfyServer
from tests.fakes.slack.server import Slack, serving

PATIENCE = 30.0
BLUE = [{"questionId": "c", "values": ["blue"]}]
TOPIC, NTFY_TOKEN = "agents-x7Kq2mPz", "tk_29lettersanddigitsofntfy"


class Place(Protocol):
    """A person's chat with the bot in one of the two."""

    name: str
    repeats_taps: bool
    """Whether the next hub hears of a tap that none has dealt with."""

    @property
    def secrets(self) -> list[str]:
        """Whoever has one of them can speak as the bot, or hear what it hears."""

    def settings(self, at: str) -> dict[str, str]: ...
    def serving(self, at: socket.socket) -> AbstractAsyncContextManager[None]: ...
    async def sees(self, text: str) -> Any:
        """A copy of the newest message of the bot's with this in it."""

    def number(self, text: str) -> int: ...
    async def tap(self, card: Any, label: str) -> Callable[[], Any]:
        """Returns how to wait for what is told."""

    @property
    def hubs(self) -> int:
        """How many have connected so far."""

    async def until_hubs(self, number: int) -> None:
        """Until so many have, and the last one hears what happens."""

    async def revoke(self) -> None: ...


class InSlack:
    name, repeats_taps = "slack", False

    def __init__(self) -> None:
        self.slack = Slack(SystemClock(), app=f"A{secrets.token_hex(5).upper()}")
        self.ada = self.slack.person("Ada")
        self.room = self.slack.direct(self.ada)

    @property
    def secrets(self) -> list[str]:
        return [self.slack.bot_token, self.slack.app_token, "test-token", "ticket="]

    def settings(self, at: str) -> dict[str, str]:
        return slack_settings(self.slack, self.ada, at=at)

    def serving(self, at: socket.socket) -> AbstractAsyncContextManager[None]:
        return serving(self.slack, at)

    async def sees(self, text: str) -> Json:
        return copy.deepcopy(await self.slack.sees(self.room, text))

    def number(self, text: str) -> int:
        return len(self.slack.bot_said(self.room, text))

    async def tap(self, card: Json, label: str) -> Callable[[], Any]:
        before = len(self.slack.whispers)
        await self.slack.press(self.ada, self.room, card, label)

        async def told() -> str:
            await self.slack.until(lambda: len(self.slack.whispers) > before)
            return self.slack.whispers[-1][1]

        return told

    @property
    def hubs(self) -> int:
        return self.slack.calls["apps.connections.open"]

    async def until_hubs(self, number: int) -> None:
        await self.slack.until(lambda: self.hubs >= number and self.slack.connected)

    async def revoke(self) -> None:
        self.slack.token_error = "token_revoked"
        await self.slack.cut_connections()


class InDiscord:
    name, repeats_taps = "discord", True

    def __init__(self) -> None:
        self.discord = Discord(SystemClock())
        self.ada = self.discord.world.user("Ada")
        self.room = self.discord.world.direct(self.ada)

    @property
    def secrets(self) -> list[str]:
        taps = [it.token for it in self.discord.rest.interactions.values()]
        return [self.discord.token, self.discord.token.rpartition(".")[2], *taps]

    def settings(self, at: str) -> dict[str, str]:
        return discord_settings(self.discord, self.ada.id, at=at)

    def serving(self, at: socket.socket) -> AbstractAsyncContextManager[None]:
        return self.discord.serving(at)

    async def sees(self, text: str) -> Message:
        return copy.copy(await self.discord.sees(self.room, text))

    def number(self, text: str) -> int:
        return sum(text in it.text for it in self.room.messages.values() if it.author.bot)

    async def tap(self, card: Message, label: str) -> Callable[[], Any]:
        done: Interaction = self.discord.tap(self.ada, card, card.key(label)["custom_id"])

        async def told() -> str:
            return (await answered(done)).told

        return told

    @property
    def hubs(self) -> int:
        return self.discord.gateway.starts + len(self.discord.gateway.resumes)

    async def until_hubs(self, number: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                if self.hubs >= number:
                    return
                await asyncio.sleep(0.02)

    async def revoke(self) -> None:
        self.discord.rest.token = self.discord.gateway.token = "another"
        await self.discord.gateway.cut()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    place: Place
    home: House
    agent: Agent
    at: socket.socket

    def ask(self, id: int, title: str) -> None:
        question = COLOURS["questions"][0] | {"question": title}
        self.agent.ask(id, {"questions": [question]})

    async def result(self) -> Json:
        return await asyncio.to_thread(self.agent.result)

    async def asked(self, title: str) -> Json:
        def fits(ask: Json) -> bool:
            return bool(ask["questions"][0]["question"] == title)

        return await asyncio.to_thread(self.home.until, fits)

    async def until_status(self, text: str) -> Json:
        """How the hub says that this chat is, once it says this."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found: Json = await asyncio.to_thread(self.home.api, "/api/status")
                chat = next(it for it in found["channels"] if it["name"] == self.place.name)
                if text in (chat.get("trouble") or ""):
                    return found
                await asyncio.sleep(0.05)

    async def nothing_more(self) -> None:
        self.agent.request("end", "tools/list")
        reply = await asyncio.to_thread(self.agent.receive)
        assert reply["id"] == "end", reply


@asynccontextmanager
async def on_stage(make: type[InSlack | InDiscord], **more: str) -> AsyncIterator[Scene]:
    """An agent, and a hub whose chat is not there yet: nobody listens at its address."""
    place = make()
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{at.getsockname()[1]}"
        with house(**place.settings(address), **more) as home, home.agent() as agent:
            await asyncio.to_thread(agent.initialize)
            yield Scene(place=place, home=home, agent=agent, at=at)


BOTH = pytest.mark.parametrize("make", [InSlack, InDiscord])


@BOTH
async def test_an_answer_arrives_once_though_the_hub_is_killed_before_or_after_its_commit(
    make: type[InSlack | InDiscord],
) -> None:
    async with on_stage(make) as scene, scene.place.serving(scene.at):
        place, home = scene.place, scene.home
        scene.ask(1, "First?")
        card = await place.sees("First?")
        ask = await scene.asked("First?")
        with frozen(scene.agent.process.pid):
            await place.tap(card, "blue")
            await asyncio.to_thread(home.until_it, ask, lambda it: it["status"] == "answered")
            await asyncio.to_thread(home.kill_hub)
        assert (await scene.result())["answers"] == BLUE
        await scene.nothing_more()
        await place.until_hubs(2)
        late = await place.tap(card, "red")
        assert "Already answered" in await late()
        ended = await asyncio.to_thread(home.until_it, ask, lambda it: it["delivered"])
        outcome = ended["outcome"]
        assert (outcome["answers"], outcome["by"], outcome["channel"]) == (BLUE, "Ada", place.name)

        # Now that a tap was committed, the next hub knows from where on events have to come again.
        scene.ask(2, "Second?")
        card = await place.sees("Second?")
        with home.no_commits():
            await place.tap(card, "blue")
            await asyncio.to_thread(home.kill_hub)
        if not place.repeats_taps:
            await place.until_hubs(3)
            await place.tap(card, "blue")  # the service has said that it failed
        assert (await scene.result())["answers"] == BLUE
        assert (place.number("First?"), place.number("Second?")) == (1, 1)
        await scene.nothing_more()


@BOTH
async def test_what_is_wrong_is_said_without_a_secret_and_other_channels_go_on(
    make: type[InSlack | InDiscord],
) -> None:
    with NtfyServer.running() as ntfy:
        ntfy.rights = {
            NTFY_TOKEN: {TOPIC: "rw", f"{TOPIC}-answers": "rw"},
            "": {f"{TOPIC}-answers": "w"},
        }
        phone = ntfy.phone(TOPIC)
        more = ntfy_settings(ntfy.address, topic=TOPIC, token=NTFY_TOKEN)
        async with on_stage(make, CHATBRIDGE_LOG_LEVEL="debug", **more) as scene:
            place, home = scene.place, scene.home
            scene.ask(1, "Without network?")
            said = [await scene.until_status("cannot be reached")]
            ring = await asyncio.to_thread(phone.sees, "Without network?")
            await asyncio.to_thread(phone.tap, ring, "blue")
            assert (await scene.result())["answers"] == BLUE

            scene.ask(2, "With it?")
            await scene.asked("With it?")
            async with place.serving(scene.at):
                await place.tap(await place.sees("With it?"), "blue")
                assert (await scene.result())["answers"] == BLUE
                await place.sees("delivered")
                await place.revoke()
                said.append(await scene.until_status("rejected"))
                doctor = await asyncio.to_thread(home.run, "doctor", "--json")
                status = await asyncio.to_thread(home.run, "status")
            scene.ask(3, "With a stale token?")
            await asyncio.to_thread(home.answer, await scene.asked("With a stale token?"))
            assert (await scene.result())["answers"] == BLUE
            (found,) = [
                it for it in json.loads(doctor.stdout)["checks"] if it["name"] == place.name
            ]
            assert (found["result"], len(found["fix"])) == ("problem", 1)
            assert "token" in found["what"] + found["fix"][0]
            assert "✓ ntfy             works" in status.stdout
            assert "chatbridge restart" in " ".join(status.stdout.split())
            await asyncio.to_thread(home.run, "stop")
            hidden = [*place.secrets, NTFY_TOKEN, TOPIC, *map(quote, place.secrets)]
            assert files_with(hidden, home.state.parent) == []
            everything = json.dumps(said) + "".join(
                it.stdout + it.stderr for it in (doctor, status)
            )
            assert [it[:6] for it in hidden if it in everything] == []
            log = await asyncio.to_thread((home.state / "hub.log").read_text)
            assert "/[secret]/" in log, "the libraries have said something, too"
