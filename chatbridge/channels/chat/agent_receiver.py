"""Messages to agents in a chat with buttons and replies: commands, replies, taps and forms."""

from __future__ import annotations

from dataclasses import dataclass

from chatbridge.channels.chat import agents
from chatbridge.channels.chat.answering import Answering
from chatbridge.channels.chat.callback_data import (
    MeantFor,
    NeverMind,
    TakeBack,
    TellAgent,
    encode,
)
from chatbridge.channels.chat.inbound import Origin, Spawn
from chatbridge.channels.chat.incoming import Incoming, Modal
from chatbridge.channels.chat.message_status import WrittenAt
from chatbridge.channels.chat.telling import Telling, Told, Written, without_command
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask

TELL = "tell"


@dataclass(frozen=True, slots=True)
class AgentReceiver:
    telling: Telling
    bot: Answering
    spawn: Spawn

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def command(
        self, text: str, message: Incoming, by: Origin, *, ask: Ask | None, old: bool
    ) -> None:
        """Send what follows the command. `ask`: it replies to the card of this. `old`: it was
        written while no hub was there."""
        replied, among = message.replied, None
        if ask is not None:
            among = await self.telling.of_ask(ask)
        elif replied is not None and replied.ours:
            among = await self.telling.at(replied.id, by, buttons=replied.buttons)
        written = self._written(message, text, old=old)
        told = await self.telling.command(written, by, among=among)
        if not written.at.message and text.strip() and isinstance(told, str | tuple):
            told = agents.given_back(told, text)
        await self._say(told, message)

    async def replied(self, message: Incoming, to: Incoming, by: Origin) -> bool:
        """Whether it replied to something of the bot's about an agent. It is for that one then."""
        written = self._written(message, message.text or "")
        told = await self.telling.reply(written, by, to=to.id, buttons=to.buttons)
        if told is None:
            return False
        await self._say(told, message)
        return True

    def _written(self, message: Incoming, text: str, *, old: bool = False) -> Written:
        at, quoted = self.bot.written_at(message), message.quoted
        return Written(text=text, files=message.files, at=at, old=old, quoted=quoted)

    async def _say(self, told: Told, message: Incoming) -> None:
        if isinstance(told, OwnerMessage):
            self._taken(message)
        elif told:
            await self.bot.answer(told, to=message)

    def _taken(self, message: Incoming) -> None:
        if self.bot.written_at(message).message:
            self.spawn(self.bot.mark_taken(message))
        if any(each.voice for each in message.files):
            self.spawn(self.bot.answer(agents.AS_RECORDING, to=message))

    # ── taps ──────────────────────────────────────────────────────────────────────────────────────

    async def tap(
        self, tap: TakeBack | TellAgent | MeantFor | NeverMind, message: Incoming, by: Origin
    ) -> str:
        """Return what the person is told."""
        match tap:
            case TakeBack(message_id=id):
                return await self.telling.take_back(id, by)
            case NeverMind():
                self.spawn(by.chat.remove(message.room, message.id))
            case TellAgent():
                agent = self.telling.with_key(tap.agent)
                if not agent:
                    return agents.GONE
                await self.bot.answer(agents.prompt(agent[0]), to=message, reply=False)
            case MeantFor():
                return await self._meant_for(tap, message, by)
        return ""

    async def _meant_for(self, tap: MeantFor, message: Incoming, by: Origin) -> str:
        """Send what the message replies to. The message asked whom it is for, and goes then."""
        written = message.replied
        if written is None or not (written.text or written.files):
            return agents.MESSAGE_GONE
        text = written.text or ""
        rest = without_command(text)
        told = await self.telling.send(
            self.telling.with_key(tap.agent),
            text if rest is None else rest,
            self._written(written, ""),
            by,
        )
        if not isinstance(told, OwnerMessage | str):
            return ""
        if told == agents.SENT_ALREADY or isinstance(told, OwnerMessage):
            self.spawn(by.chat.remove(message.room, message.id))
        if isinstance(told, OwnerMessage):
            self._taken(written)
            return ""
        return told

    # ── forms of the service's own, for typing ────────────────────────────────────────────────────

    def modal(self, tap: TellAgent) -> Modal | str:
        """What to open for who wants to tell this agent something; a text if it has gone."""
        found = self.telling.with_key(tap.agent)
        if not found:
            return agents.GONE
        return Modal(
            data=encode(tap),
            project=found[0].name,
            question=f"What should {found[0].name} be told?",
            label="Your message",
            placeholder="It gets it with its next step",
        )

    async def submitted(self, tap: TellAgent, text: str, by: Origin) -> str | None:
        """Return why it does not count, if so."""
        written = Written(text=text, at=WrittenAt(room=by.chat.current_room()))
        told = await self.telling.send(self.telling.with_key(tap.agent), text, written, by)
        return told if isinstance(told, str) else None
