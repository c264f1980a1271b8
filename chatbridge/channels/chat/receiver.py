"""What arrives in a chat with buttons and replies: taps, commands and texts, applied and answered.

A channel turns its updates into `Incoming` messages and their `Sender`. What a stranger does ends
here, without an effect and without an answer, unless it brings a code that somebody at the terminal
waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from chatbridge.channels.chat.agent_receiver import TELL, AgentReceiver
from chatbridge.channels.chat.answering import Answering
from chatbridge.channels.chat.callback_data import (
    Button,
    Neither,
    Originals,
    Output,
    Quiet,
    Tap,
    TellAgent,
    Use,
    Write,
    decode,
    encode,
)
from chatbridge.channels.chat.card import placeholder, prompt_subject
from chatbridge.channels.chat.card_lookup import CardLookup, is_current
from chatbridge.channels.chat.commands import COMMANDS, Commands, help_text
from chatbridge.channels.chat.document import Message
from chatbridge.channels.chat.inbound import (
    UNKNOWN,
    ChatInput,
    NeedsYesOrNo,
    Origin,
    SentAsRecording,
    Spawn,
    is_over,
    reply_to,
)
from chatbridge.channels.chat.incoming import Incoming, Modal, Sender
from chatbridge.channels.chat.keyboard import takes_typing
from chatbridge.channels.chat.notices import (
    ONLY_TEXT,
    current_question,
    not_here,
    yes_or_no,
)
from chatbridge.channels.chat.outputs import Outputs
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.channels.chat.telling import Telling, without_command
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.forms.form import STALE, AskExplain, Other, Refused
from chatbridge.core.forms.typed_input import YES_OR_NO
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.pairing import PREFIX, Claim, Pairing
from chatbridge.core.ports import Clock

T = TypeVar("T")

START = "/start"
NOT_FOR_YOU = "You are not among those who may answer here."
ANSWER_WITHIN = 2.0
"""For so many seconds a service may show that a tap is on its way, whatever the disk does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What a receiver works with."""

    inbox: AskActions
    channel: str
    chats: Sequence[ChatSurface[Any]]
    people: Allowlist[Any]
    clock: Clock
    spawn: Spawn
    pairing: Pairing | None = None
    """Is told who brings a code."""
    setting: str = ""
    """Lists the chats."""


class ButtonReceiver(Answering):
    prefix = "/"
    """How a command begins."""
    lists_people = False
    """A person's own chat can stand in the list of chats."""

    def __init__(self, reception: Reception) -> None:
        inbox, channel, clock = reception.inbox, reception.channel, reception.clock
        super().__init__(reception.chats, clock, reception.spawn)
        self._people = reception.people
        self._pairing = reception.pairing
        self._setting = reception.setting
        self._input = ChatInput(inbox, channel=channel, clock=clock, typed=False)
        self._commands = Commands(self._input)
        self._agents = AgentReceiver(Telling(self._input, self.prefix), self, reception.spawn)
        self._outputs = Outputs(inbox, reception.spawn)
        self._cards = CardLookup(inbox)
        self._began = clock.time()

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    async def name_of(self, by: Sender) -> str:
        """What somebody is called whom nobody has seen before."""
        return by.name

    def origin(self, by: Sender, chat: ChatSurface[Any], cursor: ChannelState | None) -> Origin:
        person = Person(
            name=by.name,
            channel=self._input.channel,
            place=chat.current_room(),
            id=str(by.id),
        )
        return Origin(chat=chat, person=person, cursor=cursor)

    # ── who it is ─────────────────────────────────────────────────────────────────────────────────

    def allowed(self, by: Sender, room: str, cursor: ChannelState | None) -> Origin | None:
        """None: a stranger, or another chat."""
        chat = self.chat_at(room)
        return self.origin(by, chat, cursor) if chat and self._people.allows(by.id) else None

    def told_stranger(self, by: Sender, room: str) -> str:
        """What somebody is told who may not answer, and has tapped where others see questions."""
        if self.chat_at(room) is None or self._people.allows(by.id):
            return ""
        return NOT_FOR_YOU if self._people.may_be_told(by.id) else ""

    async def _claims(self, message: Incoming, by: Sender) -> bool:
        """Whether this brings an open code."""
        *before, code = (message.text or "").split() or [""]
        if self._pairing is None or before not in ([], [START]):
            return False
        awaited = self._pairing.waits and code.startswith(PREFIX)
        claim = Claim(
            channel=self._input.channel,
            person=by.id,
            chat=by.id if self.lists_people else None,
            name=await self.name_of(by) if awaited else by.name,
            username=by.username,
        )
        return self._pairing.claim(code, claim)

    # ── taps ──────────────────────────────────────────────────────────────────────────────────────

    async def tap(
        self,
        tap: Button | None,
        message: Incoming,
        by: Origin,
        *,
        before_start: bool = False,
    ) -> str:
        """Apply what a button or a list of options means. Return what the person is told.
        `before_start`: it was tapped while no hub was there."""
        chat = by.chat
        if tap is None:
            return UNKNOWN
        if isinstance(tap, Output):
            send, say = partial(self.send_file, to=message), partial(self.answer, to=message)
            return await self._outputs.asked(tap.operation_id, chat, send=send, say=say)
        if isinstance(tap, Tap) and isinstance(tap.action, Originals):
            send, say = partial(self.send_file, to=message), partial(self.answer, to=message)
            ask = await self._input.find(tap.ask_id)
            return await self._outputs.originals(ask, chat, send=send, say=say) if ask else UNKNOWN
        if isinstance(tap, Quiet):
            # What was meant while no hub was there is over, as with commands.
            told, said = await self._commands.quiet("" if before_start else tap.words, by)
            if isinstance(said, Message):
                self._spawn(self.rewrite(message, said))
            return told
        if not isinstance(tap, Tap):
            return await self._agents.tap(tap, message, by)
        if tap.is_on_card:
            chat.memory.touched(tap.ask_id, message.id)
        if isinstance(tap.action, Neither):
            self._spawn(chat.remove(message.room, message.id))
            return ""
        ask = await self._input.find(tap.ask_id)
        if ask is None:
            self._spawn(self.take_buttons(message))
            return UNKNOWN
        if isinstance(tap.action, Use):
            return await self._use(tap.action, ask, message, by)
        is_early = partial(self._cards.is_early, message=message.id, chat=chat)
        told = await self._input.tap(tap, ask, by, is_early=is_early)
        if tap.is_on_card:
            await self._cards.found(ask.id, message.id, chat)
            if await self._cards.is_stray(ask, message.id, chat):
                self._spawn(chat.remove(message.room, message.id))
        return told

    async def _use(self, use: Use, ask: Ask, message: Incoming, by: Origin) -> str:
        """Take what the message replies to for this ask. The message asked that, and goes then."""
        written = message.replied or Incoming(room=message.room, id="")
        used = await self._input.use(
            ask, use.step, written.text, by, option=use.option, files=written.files
        )
        if isinstance(used, NeedsYesOrNo):
            return YES_OR_NO.why
        told = reply_to(used)
        if told is None or isinstance(used, SentAsRecording):
            self._spawn(by.chat.remove(message.room, message.id))
            self._spawn(self.mark_taken(written))
        if isinstance(used, SentAsRecording) or (told and written.files):
            self._spawn(self.answer(told or "", to=written))  # a toast may be over by now
            return ""
        return await self._input.toast(ask, used)

    async def tap_quietly(
        self,
        tap: Button | None,
        message: Incoming,
        by: Origin,
        *,
        before_start: bool = False,
    ) -> str:
        """As `tap`, where what is said stays in the chat: nothing if the card shows it."""
        before = await self._revision(tap)
        told = await self.tap(tap, message, by, before_start=before_start)
        return "" if before is not None and await self._revision(tap) != before else told

    async def tap_or_form(
        self, tap: Button | None, message: Incoming, by: Origin, *, before_start: bool
    ) -> str | Modal | None:
        """As `tap_quietly`. If nothing is said, return the form to open for who wants to type."""
        if isinstance(tap, TellAgent):
            return self._agents.modal(tap)
        told = await self.tap_quietly(tap, message, by, before_start=before_start)
        return told or await self.modal_after(tap)

    async def _revision(self, tap: Button | None) -> int | None:
        ask = await self._input.find(tap.ask_id) if isinstance(tap, Tap) else None
        return ask.revision if ask is not None else None

    async def in_time(
        self,
        work: Coroutine[Any, Any, T],
        answer: Callable[[T | None], Coroutine[Any, Any, object]],
    ) -> None:
        """Answer a tap with what comes of it, right after the commit; with nothing if that takes
        long, or fails and comes again."""
        doing = asyncio.ensure_future(work)
        slow = asyncio.ensure_future(self._clock.sleep(ANSWER_WITHIN))
        try:
            await asyncio.wait({doing, slow}, return_when=asyncio.FIRST_COMPLETED)
            done = doing.done() and not doing.exception()
            self._spawn(answer(doing.result() if done else None))
            await doing
        finally:
            doing.cancel()
            slow.cancel()

    # ── forms of the service's own, for typing ────────────────────────────────────────────────────

    async def modal_after(self, tap: Button | None) -> Modal | None:
        """What to open for who has tapped this, if they want to type."""
        if not isinstance(tap, Tap) or not isinstance(tap.action, Write | Other | AskExplain):
            return None
        ask = await self._input.find(tap.ask_id)
        if ask is None or is_over(ask):
            return None
        build = partial(build_card, ask, channel=self._input.channel)
        card = await off_loop(build, weight=weight_of(ask))
        if not takes_typing(card):
            return None
        return Modal(
            data=encode(Tap(ask_id=ask.id, question=0, action=Write(step=card.step))),
            project=card.project,
            question=current_question(ask),
            label=prompt_subject(card).removesuffix(",").capitalize(),
            placeholder=placeholder(card),
        )

    async def submitted(self, data: str, text: str, by: Origin) -> str | None:
        """Take what somebody has typed into a modal. Return why it does not count, if so."""
        tap = decode(data)
        if isinstance(tap, TellAgent):
            return await self._agents.submitted(tap, text, by)
        if not isinstance(tap, Tap) or not isinstance(tap.action, Write):
            return UNKNOWN
        ask = await self._input.find(tap.ask_id)
        if ask is None:
            return UNKNOWN
        result = await self._input.use(ask, tap.action.step, text, by)
        return YES_OR_NO.why if isinstance(result, NeedsYesOrNo) else reply_to(result)

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def written(
        self,
        message: Incoming,
        by: Sender,
        cursor: ChannelState,
        *,
        direct: bool,
        command: str | None = None,
    ) -> None:
        """Deal with what a person has written. `direct`: in their own chat with the bot;
        `command`: it is this command, with words behind it.

        :raises StoreError: it has to be taken again. :raises RetryLater: likewise.
        """
        if direct and await self._claims(message, by):
            return  # whoever it was, what is said to them is for the terminal to decide
        if not self._people.allows(by.id):
            return
        if self.chat_at(message.room) is None:
            if direct or command:
                said = not_here(message.room, self._setting)
                self._spawn(self.answer(said, to=message, reply=False))
            return
        origin = self.allowed(by, message.room, cursor)
        assert origin is not None
        text = message.text or ""
        if command is None and without_command(text) is not None:
            command = TELL  # a service may know no commands with files, or in a reply
        if command is None:
            await self.text(message, origin)
        else:
            words = text.split(maxsplit=1)[1:]
            await self.command(command, words[0] if words else "", message, origin)

    async def command(self, name: str, words: str, message: Incoming, by: Origin) -> None:
        if name in ("help", "start"):
            files = self._input.inbox.attachments is not None
            text = help_text(self.prefix, private=by.chat.private, files=files)
            await self.answer(text, to=message, reply=False)
            return
        # Dates are whole seconds. What was meant while no hub was there is over: "until 08:00"
        # would be another morning.
        old = message.at + 1 <= self._began
        if name == TELL:
            ask = await self._ask_replied_to(message, by.chat)
            await self._agents.command(words, message, by, ask=ask, old=old)
            return
        if name == "agents":
            await self.answer(await self._agents.telling.connected(), to=message, reply=False)
            return
        if said := await self._commands.run(name, by, words="" if old else words):
            await self.answer(said, to=message, reply=False)

    async def command_line(self, line: str, message: Incoming, by: Origin) -> None:
        """The words behind the bot's only command: ours first, with its own words behind it."""
        name, words = [*line.split(maxsplit=1), "", ""][:2]
        await self.command(name if name in dict(COMMANDS) else "help", words, message, by)

    async def text(self, message: Incoming, by: Origin) -> None:
        """Take it as an answer if it is clear which question it is for, else ask which one is
        meant: nothing that was typed has to be typed again.

        :raises StoreError: nothing was put in. :raises RetryLater: nothing was said.
        """
        chat, replied, cards = by.chat, message.replied, self._cards
        ours = replied is not None and replied.ours
        if replied is not None and (ask := await self._ask_replied_to(message, chat)):
            buttons, at = _taps(replied.buttons), message.at
            stale = await cards.is_stale(ask, chat, message=replied.id, buttons=buttons, written=at)
            await self._put(message, ask, by, stale=stale)
            await cards.found(ask.id, replied.id, chat)
            return
        if replied is not None and ours and await self._agents.replied(message, replied, by):
            return
        if not chat.private and not ours:
            return  # people talk to each other
        takes_files = self._input.inbox.attachments is not None
        if not (message.text or message.files) or (message.files and not takes_files):
            await self.answer(ONLY_TEXT, to=message)
        elif only := await self._clearly_meant(message, by):
            await self._put(message, only, by)
        else:
            said = await self._input.ask_back(message.text or "", chat.name, files=message.files)
            await self.answer(said, to=message)

    async def _ask_replied_to(self, message: Incoming, chat: ChatSurface[Any]) -> Ask | None:
        replied = message.replied
        if replied is None:
            return None
        # A prompt, for instance, whose number was never noted because a connection was cut.
        buttons = _taps(replied.buttons) if replied.ours else ()
        ask_id = await self._cards.ask_at(replied.id, chat, buttons=buttons)
        return await self._input.find(ask_id) if ask_id else None

    async def returned(self, message: Incoming, chat: ChatSurface[Any]) -> None:
        """A message of the bot's own has come back. A card is noted by whoever sent it; it is noted
        here as well, since they may not live, or get an answer, to do so."""
        tap = next((tap for tap in _taps(message.buttons) if tap.is_on_card), None)
        ask = await self._input.find(tap.ask_id) if tap is not None else None
        if ask is not None and tap is not None:
            step = getattr(tap.action, "step", ask.draft.step)
            await self._cards.note(
                ask, message.id, chat, step=step, since=message.at, came_back=True
            )

    async def _clearly_meant(self, message: Incoming, by: Origin) -> Ask | None:
        chat, written = by.chat, message.at
        # A reply to anything else, or somebody else's words, may be meant otherwise; what was
        # written while no hub was there, for anything.
        if not chat.private or message.quoted or message.replied or written < self._began:
            return None
        current = partial(is_current, chat=chat, written=written, topic=message.topic)
        shown_cards = chat.visibility.shown_cards
        only = await self._input.clearly_meant(chat.name, shown_cards, is_current=current)
        if only is None or chat.visibility.is_ambiguous(written, than=only):
            return None
        return only

    async def _put(self, message: Incoming, ask: Ask, by: Origin, *, stale: bool = False) -> None:
        result = await self._input.text(
            ask, message.text or None, by, stale=stale, files=message.files
        )
        # Whether these arrive or not, the message has been dealt with.
        if isinstance(result, NeedsYesOrNo):
            await self.answer(yes_or_no(result.ask), to=message)
            return
        told, recorded = reply_to(result), isinstance(result, SentAsRecording)
        if told is None or recorded:
            self._spawn(self.mark_taken(message))
        if recorded or (isinstance(result, Refused) and result != STALE):
            self._spawn(self.answer(told or "", to=message))
        elif told is not None:
            await self.answer(told, to=message)


def _taps(buttons: Sequence[str]) -> list[Tap]:
    return [tap for tap in map(decode, buttons) if isinstance(tap, Tap)]
