"""Who answers where: people on test servers of Telegram, Slack and Discord, and at the web inbox.

The services keep their limits unless they are told not to. A card is there when the service has it,
or when its event reaches the browser.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from random import randrange
from typing import Any, ClassVar

from chatbridge.clock import SystemClock
from tests.bench.chats import remove_lock
from tests.bench.kept import BadStatus, Kept
from tests.bench.machine import Json
from tests.fakes.discord.server import Discord
from tests.fakes.slack import blocks
from tests.fakes.slack.server import BOT, BOT_TOKEN, Room, Slack, running_slack
from tests.fakes.telegram.people import picture
from tests.fakes.telegram.server import BotApi
from tests.load.team import GROUP, SLACK_ROOMS, Member

ROOM = "/channels/"
AGAIN_SECONDS = 0.2
Answer = Callable[[str], Coroutine[Any, Any, None]]
"""Choose what has this label."""
Seen = Callable[[str, str, float, Answer], None]
"""Told of each card: its text, the channel, when it was there, and how it is answered."""


class Chat(ABC):
    name: ClassVar[str]
    account: str
    """Of which there can be one hub."""
    table: Mapping[str, object]
    """Of the configuration."""
    places: dict[Member, str]
    """Where each person's questions go, as routes name it."""
    identities: dict[Member, object]

    @classmethod
    @abstractmethod
    async def opened(cls, stack: AsyncExitStack, members: list[Member], *, limits: bool) -> Chat:
        """A server with these people, until the stack is closed."""

    @abstractmethod
    def is_heard(self) -> bool:
        """Whether a hub listens to what people do here."""

    @abstractmethod
    async def watch(self, seen: Seen) -> None:
        """Until cancelled."""

    @property
    @abstractmethod
    def refused(self) -> int:
        """How many requests were more than the service takes."""

    @abstractmethod
    def sent(self) -> Counter[str]:
        """How many messages and edits the service was given so far."""


class TelegramChat(Chat):
    name = "telegram"

    def __init__(self, api: BotApi, members: list[Member]) -> None:
        self._api = api
        people = {member: api.person(member.name) for member in members}
        sharing = members[:GROUP] if len(members) > GROUP else []
        chats = {it: api.private(people[it]) for it in members if it not in sharing}
        if sharing:
            group = api.group("team", *(people[it] for it in sharing))
            chats |= {sharing[0]: group}
        self._phones = [chat.phone(people[it]) for it, chat in chats.items()]
        self._records = [chat._record for chat in chats.values()]
        self.account = api.token.partition(":")[0]
        self.table = {
            "token": api.token,
            "api_base": api.address,
            "chat_id": [chat.id for chat in chats.values()],
        }
        self.places = {it: f"telegram:{chat.id}" for it, chat in chats.items()}
        # In a group one project is as much as Telegram takes; the others have it elsewhere.
        self.places |= dict.fromkeys(sharing[1:], self.places[members[-1]])
        self.identities = {it: person.id for it, person in people.items()}

    @classmethod
    async def opened(cls, stack: AsyncExitStack, members: list[Member], *, limits: bool) -> Chat:
        return cls(stack.enter_context(BotApi.running(rate_limits=limits)), members)

    def is_heard(self) -> bool:
        return self._api.polling

    @property
    def refused(self) -> int:
        return self._api.rate_limited

    def sent(self) -> Counter[str]:
        asked = Counter(it.method for it in self._api.requests)
        edits = asked["editMessageText"] + asked["editMessageReplyMarkup"]
        return Counter(messages=asked["sendMessage"], edits=edits)

    async def watch(self, seen: Seen) -> None:
        """The service has threads of its own, and so has who waits for it."""
        loop, over = asyncio.get_running_loop(), threading.Event()
        changed = self._api.service.changed
        counts = [len(record.messages) for record in self._records]

        def look() -> None:
            while not over.is_set():
                with changed:
                    changed.wait(0.5)
                    for i, record in enumerate(self._records):
                        there = len(record.messages)
                        if there == counts[i]:
                            continue
                        for message in [*record.messages.values()][counts[i] :]:
                            if message.sender.is_bot and not message.service:
                                loop.call_soon_threadsafe(tell, i, message.id, time.time())
                        counts[i] = there

        def tell(i: int, number: int, at: float) -> None:
            phone = self._phones[i]
            card = picture(self._records[i].messages[number])

            async def answer(label: str) -> None:
                data = next(key.data for key in card.keys if label in key.text)
                assert data is not None
                phone.press(card, data)

            seen(card.text, self.name, at, answer)

        watching = threading.Thread(target=look, daemon=True)
        watching.start()
        try:
            await asyncio.Event().wait()
        finally:
            over.set()
            with changed:
                changed.notify_all()


class SlackChat(Chat):
    name = "slack"

    def __init__(self, slack: Slack, members: list[Member]) -> None:
        self._slack = slack
        self.account = f"A{randrange(36**9):09}"
        slack.app_token = f"xapp-1-{self.account}-3-test-token"
        people = {member: slack.person(member.name) for member in members}
        count = min(SLACK_ROOMS, len(members))
        self._rooms = [slack.channel(*people.values()) for _ in range(count)]
        self._answers = {room.id: people[members[i]] for i, room in enumerate(self._rooms)}
        self.table = {
            "bot_token": BOT_TOKEN,
            "app_token": slack.app_token,
            "api_base": f"{slack.base}/api/",
            "channel_id": [room.id for room in self._rooms],
        }
        self.places = {it: f"slack:{self._rooms[i % count].id}" for i, it in enumerate(members)}
        self.identities = dict(people)

    @classmethod
    async def opened(cls, stack: AsyncExitStack, members: list[Member], *, limits: bool) -> Chat:
        slack = await stack.enter_async_context(running_slack(SystemClock()))
        slack.limits.on = limits
        return cls(slack, members)

    def is_heard(self) -> bool:
        return bool(self._slack.connected)

    @property
    def refused(self) -> int:
        return self._slack.limits.refused

    def sent(self) -> Counter[str]:
        asked = self._slack.calls
        return Counter(messages=asked["chat.postMessage"], edits=asked["chat.update"])

    async def watch(self, seen: Seen) -> None:
        last = {room.id: "" for room in self._rooms}
        while True:
            changed = self._slack.changed
            for room in self._rooms:
                for message in reversed([*room.messages.values()]):
                    if message["ts"] <= last[room.id]:
                        break
                    if message["user"] == BOT:
                        self._tell(seen, room, message)
                last[room.id] = next(reversed(room.messages), last[room.id])
            await changed.wait()

    def _tell(self, seen: Seen, room: Room, message: Json) -> None:
        async def answer(label: str) -> None:
            await self._slack.press(self._answers[room.id], room, message, label)

        seen(blocks.words(message.get("blocks")), self.name, float(message["ts"]), answer)


class DiscordChat(Chat):
    name = "discord"

    def __init__(self, discord: Discord, members: list[Member]) -> None:
        self._discord = discord
        self._people = {member: discord.world.user(member.name) for member in members}
        rooms = {it: discord.world.direct(user) for it, user in self._people.items()}
        self._rooms = {room.id: (room, self._people[it]) for it, room in rooms.items()}
        self.account = discord.world.bot.id
        self.table = {"token": discord.token, "api_base": discord.address}
        self.places = {it: it.name for it in members}
        self.identities = {it: int(user.id) for it, user in self._people.items()}

    @classmethod
    async def opened(cls, stack: AsyncExitStack, members: list[Member], *, limits: bool) -> Chat:
        discord = await stack.enter_async_context(Discord.running(SystemClock()))
        discord.rest.limited = limits
        return cls(discord, members)

    def is_heard(self) -> bool:
        return any(it.socket for it in self._discord.gateway.sessions.values())

    @property
    def refused(self) -> int:
        return self._discord.rest.refused.count(429)

    def sent(self) -> Counter[str]:
        asked = Counter(method for method, path, _ in self._discord.rest.requests if ROOM in path)
        return Counter(messages=asked["POST"], edits=asked["PATCH"])

    async def watch(self, seen: Seen) -> None:
        counts = dict.fromkeys(self._rooms, 0)
        changed = self._discord.world.changed
        while True:
            changed.clear()
            for key, (room, _) in self._rooms.items():
                there = len(room.messages)
                for message in [*room.messages.values()][counts[key] :]:
                    if message.author.bot:
                        seen(message.text, self.name, message.at, self._answer(message))
                counts[key] = there
            await changed.wait()

    def _answer(self, message: Any) -> Answer:
        async def answer(label: str) -> None:
            person = self._rooms[message.room.id][1]
            self._discord.tap(person, message, message.key(label)["custom_id"])

        return answer


CHATS: tuple[type[Chat], ...] = (TelegramChat, SlackChat, DiscordChat)


class Browsers:
    """People at the web inbox: each has the API's stream of events open, as a script has it, and
    looks for the questions of a project."""

    name = "web"

    def __init__(
        self, address: Callable[[], tuple[str, int]], token: str, projects: list[str]
    ) -> None:
        self._address, self._token, self._projects = address, token, projects

    def _connection(self) -> AbstractAsyncContextManager[Kept]:
        return Kept.open(self._address(), Authorization=f"Bearer {self._token}")

    async def watch(self, seen: Seen) -> None:
        await asyncio.gather(*(self._page(project, seen) for project in self._projects))

    async def _page(self, project: str, seen: Seen) -> None:
        """It is loaded again while its hub has gone."""
        known: set[str] = set()
        while True:
            with suppress(OSError, EOFError, BadStatus):
                async with self._connection() as page:
                    async for line in page.lines("/api/events?alive"):
                        self._read(line, project, known, seen)
            await asyncio.sleep(AGAIN_SECONDS)

    def _read(self, line: bytes, project: str, known: set[str], seen: Seen) -> None:
        at = time.time()
        if not line.startswith(b"data: {") or f'"{project}'.encode() not in line:
            return
        shown = json.loads(line[6:])
        if shown["id"] not in known:
            known.add(shown["id"])
            seen(line.decode(), self.name, at, self._answer(shown["id"]))

    def _answer(self, ask_id: str) -> Answer:
        async def answer(label: str) -> None:
            said: Json = {"answers": [{"questionId": "q", "values": [label]}]}
            async with self._connection() as script:
                await script.post(f"/api/asks/{ask_id}/answer", said)

        return answer


@asynccontextmanager
async def chats(members: list[Member], *, limits: bool) -> AsyncIterator[list[Chat]]:
    async with AsyncExitStack() as stack:
        opened = []
        for kind in CHATS:
            there = [it for it in members if it.channel == kind.name]
            if there:
                opened.append(await kind.opened(stack, there, limits=limits))
                stack.callback(remove_lock, opened[-1].account)
        yield opened
