"""Turns events into what the chat kit knows: a reaction, a text. Carries out its replies.

A stranger's events end here, without an effect and without an answer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial

from chatbridge.channels.chat.card_messages import from_text
from chatbridge.channels.chat.card_visibility import answerable
from chatbridge.channels.chat.commands import Commands
from chatbridge.channels.chat.document import Document, File, Upload
from chatbridge.channels.chat.hints import ORIGINALS
from chatbridge.channels.chat.inbound import (
    ChatInput,
    NeedsYesOrNo,
    Origin,
    Spawn,
    TextResult,
    reply_to,
)
from chatbridge.channels.chat.outputs import Outputs
from chatbridge.channels.chat.people import Allowlist, display_name
from chatbridge.channels.chat.received_files import IncomingFile
from chatbridge.channels.chat.telling import Telling, without_command
from chatbridge.channels.chat.writer import Outgoing, patiently
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent, relation
from chatbridge.channels.matrix.inbound.agents import AgentCommands
from chatbridge.channels.matrix.inbound.cards import Cards, Target
from chatbridge.channels.matrix.inbound.files import caption_of, files_in, has_file
from chatbridge.channels.matrix.inbound.replies import Replies, from_content
from chatbridge.channels.matrix.inbound.unreadable import Held, Unreadable
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.html import Words, write
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.forms import form
from chatbridge.core.forms.emoji_shortcuts import is_shortcut, number_of
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.ports import Clock

HELP = ("!help", "help")
QUIET = "!quiet"
GONE = "Your message is no longer there. Reply to the question you mean."
_QUOTE = re.compile(r"\A> <@[^>\n]*>.*\n(?:>.*\n)*\n")
"""What older clients put before a reply: the message that it replies to."""


@dataclass
class Receiver:
    api: Api
    inbox: AskActions
    _: KW_ONLY
    chats: Sequence[Chat]
    people: Allowlist[str]
    own_events: OwnEvents
    clock: Clock
    spawn: Spawn
    reactions: bool
    replaced: Callable[[Chat, RoomEvent], Awaitable[None]]
    """Told of a room that has a successor."""

    def __post_init__(self) -> None:
        self._input = ChatInput(self.inbox, channel="matrix", clock=self.clock, typed=True)
        self._outputs = Outputs(self.inbox, self.spawn)
        self._cards = Cards(self.api, self.inbox, self._input)
        self._replies = replies = Replies(self.api, self.clock, self.spawn, self.reactions)
        self._agents = AgentCommands(Telling(self._input, "!"), replies, self.clock)
        self.unreadable = Unreadable(
            self.api, self.inbox, clock=self.clock, replies=replies, take=self._take_late
        )
        self._began = self.clock.time()
        self._old: dict[str, tuple[RoomEvent, Chat]] = {}
        """The last message in each room that was written while no hub was there."""

    def coming(self, events: Sequence[RoomEvent]) -> None:
        """What `take` will be given next."""
        self.unreadable.coming(events)
        self.own_events.coming(e.id for e in events if e.sender == self.api.user_id)

    async def take(self, event: RoomEvent, cursor: ChannelState | None) -> None:
        """Deal with one event. The cursor is committed together with an effect on an ask.

        :raises StoreError: it has to be taken again.
        :raises RetryLater: likewise.
        """
        chat = self._chat(event.room)
        if event.sender == self.api.user_id:
            self.own_events.passed(event.id)
            for each in self.chats:  # a room's successor may be its chat's already
                each.visibility.came_back(event.id)
            if chat is not None:
                await self._cards.returned(event, chat)
            return
        if chat is None or event.type == "m.room.member" or not self.people.allows(event.sender):
            return
        if event.unreadable:
            found = await self._cards.meant_by(event, chat)
            await self.unreadable.hold(event, ask=found.ask if found is not None else None)
            return
        name = display_name(self.api.name_of(event.room, event.sender), event.sender)
        person = Person(name=name, channel="matrix", place=event.sender, id=event.sender)
        by = Origin(chat=chat, person=person, cursor=cursor)
        match event.type:
            case "m.reaction":
                await self._reaction(event, chat, by)
            case "m.room.redaction":
                await self._taken_back(event, chat, by)
            case "m.room.message" if _is_new(event):
                found = await self._cards.meant_by(event, chat)
                if await self._is_about_agents(event, found, by):
                    return
                if found is not None and _asks_for_originals(event, found):
                    await self._originals(found, event, chat)
                elif found is not None:
                    result = await self._put(event, found.ask, by, stale=self._is_stale(found))
                    self._reply(result, to=event, root=found.root)
                elif number := _number_in(event):
                    await self._number(*number, event, by)
                elif self._is_plain(event) and (words := _quiet_words(event)) is not None:
                    if event.at >= self._began:  # what was meant while no hub was there is over
                        _, said = await Commands(self._input).quiet(words, by)
                        assert isinstance(said, str), "nothing has buttons here"
                        self._replies.say(said, to=event)
                elif self._is_plain(event) and chat.viewer is not None:
                    await self._beside(event, chat, by)
            case "m.room.tombstone" if event.state_key == "":
                await self.replaced(chat, event)
            case _:
                pass

    def given_up(self, event: RoomEvent) -> None:
        """It could not be dealt with, however often it was tried."""
        if self._chat(event.room) is not None and self.people.allows(event.sender):
            self._replies.say(notices.failed(), to=event)

    async def after(self, *, keys: bool) -> None:
        """After each batch; with some, keys may have come. Of many messages from a time without a
        hub, only the last is asked about, and only if something waits."""
        for event, chat in self._old.values():
            if any(not ask.approval for ask in await self._input.asks_on(chat.name)):
                await self._ask_back(event, chat)
        self._old.clear()
        for chat in self.chats:
            chat.visibility.read_on()
        if keys:
            await self.unreadable.try_again()

    async def _take_late(self, event: RoomEvent, held: Held, left: ChannelState) -> None:
        """A message that could not be read when it came. It counts for what was asked then."""
        if held.ask is None:
            chat = self._chat(event.room)
            private = chat is not None and chat.viewer is not None
            if without_command(self._content(event)[0] or "") is not None:
                await self.take(event, left)  # it names what it is for
                return
            if chat is not None and private and _is_new(event) and self._is_plain(event):
                await self._ask_back(event, chat)  # other questions may have come since
            return
        ask = await self.inbox.ask(held.ask)
        if ask.draft.step != held.step and (ask.open or takes_late_answer(ask)):
            self._replies.say(form.STALE.why, to=event)
        else:
            await self.take(event, left)

    def _chat(self, room: str) -> Chat | None:
        return next((chat for chat in self.chats if chat.room == room), None)

    # ── texts and files ───────────────────────────────────────────────────────────────────────────

    async def _put(
        self, event: RoomEvent, ask: Ask, by: Origin, *, stale: bool = False
    ) -> TextResult:
        text, files = self._content(event)
        return await self._input.text(ask, text, by, stale=stale, files=files)

    async def _is_about_agents(self, event: RoomEvent, found: Target | None, by: Origin) -> bool:
        text, files = self._content(event)
        ask = found.ask if found is not None else None
        old = event.at < self._began
        return await self._agents.take(event, text or "", files, by, ask=ask, old=old)

    def _content(self, event: RoomEvent) -> tuple[str | None, Sequence[IncomingFile]]:
        """What somebody has typed, and the files that it is the caption of."""
        if self.inbox.attachments is None or not has_file(event):
            return _text_of(event), ()
        return caption_of(event), files_in(event, self.api.media)

    def _is_plain(self, message: RoomEvent) -> bool:
        """A text or a file that is neither a reply nor in a thread."""
        about, (text, files) = relation(message.content), self._content(message)
        return about.kind is None and about.reply_to is None and (text is not None or bool(files))

    async def _originals(self, found: Target, event: RoomEvent, chat: Chat) -> None:
        """The pictures of an ask as they are, in its thread."""
        tell = partial(self._replies.say, to=event, root=found.root)

        async def send(file: File) -> None:
            new: Outgoing[Words] = Outgoing(
                room=event.room,
                what=Upload.of(file),
                key=("original", event.id, file.path or ""),
                root=found.root,
                after=event.id,
            )
            await patiently(partial(chat.send, new), self.clock)

        async def say(told: str | Document) -> None:
            tell(told if isinstance(told, str) else write(told, now=0.0))

        tell(await self._outputs.originals(found.ask, chat, send=send, say=say))

    def _is_stale(self, found: Target) -> bool:
        """Whether a message was written for a step that is over."""
        step = found.ask.draft.step
        if found.step is not None:
            return found.step != step
        assert found.place is not None, "a thread as a whole is known by where its messages are"
        newest = found.place.newest
        # The form has moved on, and what shows that was not there yet when this was written. The
        # thread's own root was, whether or not it has come back to us.
        ahead = newest.event != found.root and self.own_events.is_ahead(newest.event)
        return newest.step != step or ahead

    async def _beside(self, event: RoomEvent, chat: Chat, by: Origin) -> None:
        """A message that is neither a reply nor in a thread, in a room that is one person's alone:
        an answer if only one question can be meant, else a question back, which one tap answers."""
        if event.at < self._began:
            self._old[event.room] = (event, chat)
        elif (_text_of(event) or "").strip().casefold() in HELP:
            files = self.inbox.attachments is not None
            told = notices.help_text(reactions=self.reactions, files=files)
            self._replies.say(told, to=event)
        elif only := await self._clearly_meant(chat):
            self._reply(await self._put(event, only, by), to=event)
        else:
            await self._ask_back(event, chat)

    async def _clearly_meant(self, chat: Chat) -> Ask | None:
        shown_cards = chat.visibility.shown_cards
        only = await self._input.clearly_meant(chat.name, shown_cards, is_current=self._is_current)
        return None if only is None or chat.visibility.is_ambiguous(than=only) else only

    def _is_current(self, ask: Ask, place: str) -> bool:
        """Whether the room showed the ask as it is now when what is being read was written."""
        card = from_text(place)
        if card is None or card.newest.step != ask.draft.step:
            return False
        return not self.own_events.is_ahead(card.newest.event)

    async def _ask_back(self, event: RoomEvent, chat: Chat) -> None:
        """A message beside the cards allows nothing, and denies nothing."""
        here = await self._input.asks_on(chat.name)
        if asks := self._input.may_mean(here):
            self.spawn(self._replies.ask_back(asks, to=event))
        else:
            nothing = await self._input.nothing_waits()
            told = notices.on_its_card() if here else notices.said(nothing)
            self._replies.say(told, to=event)

    # ── reactions ─────────────────────────────────────────────────────────────────────────────────

    async def _reaction(self, event: RoomEvent, chat: Chat, by: Origin) -> None:
        about, emoji = relation(event.content), relation(event.content).key or ""
        if about.kind != "m.annotation" or about.event is None or not is_shortcut(emoji):
            return  # people react to everything with anything
        found = await self._cards.at(about.event, chat)
        if found is not None:
            picked = partial(chat.picks.with_one, found.ask, about.event, event.id)
            told = await self._input.react(emoji, found.ask, by, step=found.step, picked=picked)
            self._replies.say(told, to=event, root=found.root)
        elif (number := number_of(emoji)) and await chat.summaries.listed_in(about.event):
            await self._number(number, about.event, event, by)
        elif asked := await self._cards.our_event(about.event, chat):
            await self._use(event, emoji, asked, by)

    async def _number(self, number: int, message: str, event: RoomEvent, by: Origin) -> None:
        """A number of a list that the bot has sent."""
        self._replies.say(await self._input.show_listed(number, message, by), to=event)

    async def _use(self, tap: RoomEvent, emoji: str, asked: RoomEvent, by: Origin) -> None:
        """A tap on the bot's question which ask a message is for."""
        made = from_content(asked.content)
        chosen = made.chosen(emoji) if made is not None else None
        if made is None or chosen is None:
            return
        written = await self.api.event(tap.room, made.text)
        own = written is not None and written.sender == tap.sender
        text, files = self._content(written) if written is not None and own else (None, ())
        if written is None or not (text or files):
            self._replies.say(GONE, to=tap)
        elif ask := await self._input.find(chosen.ask):
            used = await self._input.use(
                ask, chosen.step, text, by, option=chosen.option, files=files
            )
            self.spawn(self._replies.take_away(asked))
            self._reply(used, to=written)

    def _reply(self, result: TextResult, *, to: RoomEvent, root: str | None = None) -> None:
        if isinstance(result, NeedsYesOrNo):
            self.spawn(self._replies.ask_yes_or_no(result.ask, to=to, root=root))
        else:
            self._replies.say(reply_to(result), to=to, root=root)

    async def _taken_back(self, event: RoomEvent, chat: Chat, by: Origin) -> None:
        """A person removes something: a reaction of theirs, or a message of ours."""
        if event.redacts is None:
            return
        for ask in await answerable(self.inbox):
            post = await self.inbox.post(ask.id, surface=chat.name)
            place = from_text(post.place) if post is not None else None
            if place is None:
                continue
            if place.part(event.redacts) is not None:
                await chat.lost(ask, event.redacts)
                await self.inbox.redraw(ask.id)
                return
            picks = dict(await chat.picks.of(ask, place.newest.event))
            option = picks.pop(event.redacts, None)
            if option is not None:
                left = await chat.picks.without(ask, place.newest.event, event.redacts)
                if option in picks.values():
                    await self.inbox.remember(left)  # somebody else has picked it, too
                    return
                off = form.Toggle(step=ask.draft.step, option=option, on=False)
                # Where the ask has ended, it was on when the answer was sent.
                await self._input.put(ask, off, by=by, beside=(left,))
                return


def _is_new(message: RoomEvent) -> bool:
    """Neither removed, nor a correction of what has been dealt with, nor another bot's."""
    edit = relation(message.content).kind == "m.replace"
    return not (message.redacted or edit or message.content.get("msgtype") == "m.notice")


def _asks_for_originals(message: RoomEvent, found: Target) -> bool:
    shrunk = found.place is not None and found.place.files.shrunk
    return shrunk and (_text_of(message) or "").strip().casefold() == ORIGINALS


def _quiet_words(message: RoomEvent) -> str | None:
    """What follows `!quiet`; None: it is something else."""
    first, _, rest = " ".join((_text_of(message) or "").split()).partition(" ")
    return rest if first.casefold() == QUIET else None


def _number_in(message: RoomEvent) -> tuple[int, str] | None:
    """The number that a reply consists of, and the message that it replies to."""
    about, text = relation(message.content), (_text_of(message) or "").strip()
    to = about.reply_to or about.event
    if to is None or not text.isascii() or not text.isdecimal() or len(text) > 2:
        return None
    return int(text), to


def _text_of(event: RoomEvent) -> str | None:
    """What somebody has typed; None for a picture, a request to verify, …"""
    kind, body = event.content.get("msgtype"), event.content.get("body")
    if kind not in ("m.text", "m.emote") or not isinstance(body, str):
        return None
    return _QUOTE.sub("", body, count=1) if relation(event.content).reply_to else body
