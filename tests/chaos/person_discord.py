"""The person's Discord: what the chat with the bot shows, and what can be done there.

The service is in this process, so nothing lies between the two. A tap that the bot does not answer
in time is told to have failed, as Discord's clients do; what it meant may be done all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.chaos.person_buttons import LOOK_EVERY, ButtonChat, Message, Sent, buttons
from tests.chaos.places import DiscordPlace
from tests.fakes.discord import world
from tests.fakes.discord.limits import Json
from tests.fakes.discord.markdown import plain
from tests.fakes.discord.rest import DEADLINE, Interaction
from tests.fakes.discord.server import Discord

LIST = 3
FAILED = "This interaction failed"


@dataclass
class DiscordPhone(ButtonChat):
    place: DiscordPlace
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How often each message was edited, and how many reactions it had."""

    failed: int = 0
    """How often a tap was told to have failed."""

    channel = "discord"

    async def look(self) -> bool:
        there = self.place.room.messages
        for gone in self.messages.keys() - {*map(int, there)}:
            del self.messages[gone]
        for message in there.values():
            number, now = int(message.id), (message.edited, len(message.reactions))
            if number not in self.messages or self._known[number] != now:
                self._known[number], self.messages[number] = now, _message(message)
        return True

    async def tap(self, message: int, data: str) -> Sent:
        return self._did(message, lambda it: self._server.tap(self._ada, it, data))

    async def pick(self, message: int, values: Sequence[str]) -> Sent:
        """These options, and no other."""
        found = self.place.room.messages.get(str(message))
        if found is not None and not any(key["type"] == LIST for key in found.keys):
            return Sent(False, text="the card has no list any more")
        return self._did(message, lambda it: self._server.pick(self._ada, it, values))

    async def submit(self, tapped: str, text: str) -> Sent | None:
        """Send the form that this tap opens; None, if none opens."""
        opened = self._server.rest.interactions[tapped]
        await self.toast(tapped, within=DEADLINE)
        if opened.modal is None:
            return None
        self.place.acted.set()
        return Sent(True, self._server.submit(self._ada, opened, text).id)

    async def say(self, text: str, *, reply_to: int | None = None) -> Sent:
        to = self.place.room.messages.get(str(reply_to))
        if reply_to is not None and to is None:
            return Sent(False, text="there is no such message")
        self.place.acted.set()
        return Sent(True, int(self._server.say(self._ada, self.place.room, text, reply_to=to).id))

    async def command(self, name: str, words: str = "") -> None:
        self._server.command(self._ada, self.place.room, name, words)

    async def toast(self, query: str, *, within: float) -> str | None:
        done = self._server.rest.interactions[query]
        try:
            await asyncio.wait_for(done.answered.wait(), DEADLINE + LOOK_EVERY)
        except TimeoutError:
            self.failed += 1
            return FAILED
        return plain(done.told)

    @property
    def _server(self) -> Discord:
        return self.place.server

    @property
    def _ada(self) -> world.User:
        return self.place.person

    def _did(self, message: int, do: Callable[[world.Message], Interaction]) -> Sent:
        found = self.place.room.messages.get(str(message))
        if found is None:
            return Sent(False, text="there is no such message")
        self.place.acted.set()
        return Sent(True, do(found).id)


def _message(shown: world.Message) -> Message:
    replied = shown.reply_to
    return Message(
        id=int(shown.id),
        text=plain(shown.text),
        from_bot=shown.author.bot,
        buttons=buttons(key for each in shown.keys for key in _keys(each)),
        reply_to=int(replied.id) if replied else None,
        reactions=tuple(shown.reactions),
        edits=shown.edited,
    )


def _keys(component: Json) -> Iterator[tuple[str, str]]:
    """A button, or the options of a select."""
    if "options" in component:
        yield from ((option["label"], option["value"]) for option in component["options"])
    elif "custom_id" in component:
        yield component["label"], component["custom_id"]
