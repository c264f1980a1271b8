"""A person's message to an agent, as it comes from a chat: which agent it is for, its files, and
what is said to it.

It is for the agent that it names, or whose card, notice or prompt it replies to, or for the only
one. In any other case nothing is sent, and the person is asked.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatbridge.channels.chat import agents as words
from chatbridge.channels.chat.callback_data import NeverMind, TellAgent, decode
from chatbridge.channels.chat.inbound import ChatInput, Origin, Said
from chatbridge.channels.chat.message_status import TAKE_BACK, WrittenAt
from chatbridge.channels.chat.received_files import FileIntake, IncomingFile, in_words
from chatbridge.core.errors import AttachmentError, MessageRefused, RoleMissing
from chatbridge.core.messages.agents import Agents, ConnectedAgent
from chatbridge.core.messages.message import NewMessage, OwnerMessage
from chatbridge.core.model import Ask, Attachment, Project

_COMMAND = re.compile(r"\s*[/!]tell(?:@\w+)?(?:\s+|\Z)")
_NAMESPACE = uuid.UUID("7d0c4b1e-6a53-4f0f-9a55-3b0d6a1f2c48")

Told = OwnerMessage | Said
"""The message if it is sent, else what the person is told."""


def without_command(text: str) -> str | None:
    """What follows the command in a message; None: it is no such command."""
    found = _COMMAND.match(text)
    return text[found.end() :] if found is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What somebody has written to an agent, without the command before it."""

    text: str
    files: Sequence[IncomingFile] = ()
    at: WrittenAt
    old: bool = False
    """No hub was there then: nobody knows which agents were."""
    quoted: bool = False
    """It may be somebody else's words."""


@dataclass(frozen=True, slots=True)
class Telling:
    input: ChatInput
    prefix: str
    """How a command begins."""

    @property
    def _agents(self) -> Agents:
        return self.input.inbox.messages.agents

    async def connected(self) -> Said:
        """Who is connected."""
        inbox = self.input.inbox
        return words.connected(
            self._agents.listed(),
            asks=await inbox.open_asks_by_link(),
            waiting=inbox.messages.waiting(),
            prefix=self.prefix,
            typed=self.input.typed,
        )

    # ── which agent ───────────────────────────────────────────────────────────────────────────────

    def with_key(self, key: str) -> Sequence[ConnectedAgent]:
        found = self._agents.with_key(key)
        return [found] if found is not None else []

    async def of_ask(self, ask: Ask) -> Sequence[ConnectedAgent]:
        """The agent that has asked this."""
        return self._of(await self.input.inbox.newest_link(ask.id), ask.project)

    async def at(
        self, message: str, by: Origin, *, buttons: Iterable[str] = ()
    ) -> Sequence[ConnectedAgent] | None:
        """Whom a message of the bot's is about: a notice, a prompt, or what has become of another
        message. None if it is about no agent; empty if that agent has gone."""
        inbox, chat = self.input.inbox, by.chat
        taps = [tap for tap in map(decode, buttons) if isinstance(tap, TellAgent | NeverMind)]
        if len(taps) == 1:
            return self.with_key(taps[0].agent)
        handle = chat.handle(chat.current_room(), message)
        if notice := await inbox.notice_at(handle, surface=chat.name):
            return self._of(notice.call.link, notice.project)
        if sent := await inbox.message_at(handle, surface=chat.name):
            return self._of(sent.link, sent.project)
        return None

    def _of(self, link: str | None, project: Project) -> Sequence[ConnectedAgent]:
        """The agent of this link or, if that has gone, those of the same project."""
        listed = self._agents.listed()
        same = [each for each in listed if each.link == link]
        return same or [each for each in listed if each.project.key == project.key]

    def _named(self, text: str) -> tuple[ConnectedAgent, str] | None:
        """The agent whose name the text begins with, and the rest of it."""
        name, *rest = text.split(maxsplit=1) or [""]
        found = next((each for each in self._agents.listed() if each.name == name), None)
        return (found, rest[0] if rest else "") if found is not None else None

    # ── sending ───────────────────────────────────────────────────────────────────────────────────

    async def command(
        self, written: Written, by: Origin, *, among: Sequence[ConnectedAgent] | None
    ) -> Told:
        """Send what follows the command. `among`: whom it replies to, if to anybody."""
        listed, text = self._agents.listed(), written.text
        if among is None:
            named = self._named(text)
            if named is not None and (len(listed) > 1 or written.old):
                among, text = [named[0]], named[1]
        if not text.strip() and not written.files:
            return words.how_to_tell(among or listed, prefix=self.prefix, typed=self.input.typed)
        if among is not None:
            return await self.send(among, text, written, by, sure=not written.quoted)
        name = text.split(maxsplit=1)[0] if text.strip() else ""
        if self._agents.has_left(name):
            return words.has_left(name)
        if not listed:
            return f"{words.NOBODY} Nothing was sent."
        return await self.send(listed, text, written, by, sure=not (written.old or written.quoted))

    async def send(
        self,
        among: Sequence[ConnectedAgent],
        text: str,
        written: Written,
        by: Origin,
        *,
        sure: bool = True,
    ) -> Told:
        """Send it if there is only one whom it can be for, and that is `sure`."""
        if not among:
            return words.GONE
        if len(among) > 1 or not sure:
            shown = text if text.strip() else in_words(written.files)
            if self.input.typed or not written.at.message:
                stands = bool(written.at.message)
                return words.name_one(shown, among, prefix=self.prefix, stands=stands)
            return words.which_agent(shown, among)
        (agent,) = among
        new = NewMessage(id=_id(written.at, by), project=agent.project)
        if await self.input.inbox.sent_message(new.id) is not None:
            return words.SENT_ALREADY
        try:
            return await self.input.inbox.messages.tell(
                agent,
                text,
                by=by.person,
                attachments=await self._fetch(written.files, new, by),
                id=new.id,
                cursor=by.cursor,
                surface=by.chat.name,
                reply_to=written.at.to_text(),
            )
        except (AttachmentError, MessageRefused, RoleMissing) as error:
            return str(error)

    async def _fetch(
        self, files: Sequence[IncomingFile], new: NewMessage, by: Origin
    ) -> tuple[Attachment, ...]:
        """:raises AttachmentError:"""
        if not files:
            return ()
        store = self.input.inbox.attachments
        if store is None:
            raise AttachmentError(words.NO_FILES)
        self.input.inbox.messages.check(by.person)
        intake = FileIntake(store=store, clock=self.input.clock, limits=by.chat.files)
        intake.check(files)
        return await intake.fetch(files, new)

    async def reply(
        self, written: Written, by: Origin, *, to: str, buttons: Iterable[str] = ()
    ) -> Told | None:
        """Send a reply to a message of the bot's that is about an agent; take back what it is
        about, if it says so. None: it is about no agent, or that has gone and a question is open
        which it may be for."""
        among = await self.at(to, by, buttons=buttons)
        if among is None or (not among and await self.input.asks_on(by.chat.name)):
            return None
        if written.text.strip().casefold() == TAKE_BACK.casefold():
            handle = by.chat.handle(by.chat.current_room(), to)
            sent = await self.input.inbox.message_at(handle, surface=by.chat.name)
            if sent is not None:
                return await self.take_back(sent.id, by)
        return await self.send(among, written.text, written, by, sure=not written.quoted)

    async def take_back(self, message_id: str, by: Origin) -> str:
        """Return what the person is told; nothing if the chat shows it."""
        try:
            await self.input.inbox.messages.take_back(message_id, by=by.person, cursor=by.cursor)
        except (MessageRefused, RoleMissing) as error:
            return str(error)
        return ""


def _id(at: WrittenAt, by: Origin) -> str:
    """The same for the same message, so that a second tap does not send it twice."""
    if not at.message:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{by.chat.name} {at.room} {at.message}"))
