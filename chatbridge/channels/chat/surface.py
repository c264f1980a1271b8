"""One chat as a surface: carries out the planner's steps, and keeps which messages a card has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from chatbridge.channels.chat import (
    approvals,
    card_messages,
    keyboard,
    long_questions,
    notices,
)
from chatbridge.channels.chat.announcer import Announcer
from chatbridge.channels.chat.before_card import Before, send_before
from chatbridge.channels.chat.capabilities import Capabilities, Seen, T
from chatbridge.channels.chat.card import continued, placeholder
from chatbridge.channels.chat.card_memory import CardMemory
from chatbridge.channels.chat.card_messages import (
    ALL_SENT,
    OVER,
    BotReaction,
    CardMessages,
    Part,
    Prompt,
    SentFiles,
)
from chatbridge.channels.chat.card_visibility import Visibility
from chatbridge.channels.chat.message_status import StatusWriter
from chatbridge.channels.chat.planner import (
    AddReaction,
    EditCard,
    PlainStep,
    RemoveReaction,
    SendPage,
    Step,
    plan,
    sends_message,
)
from chatbridge.channels.chat.scene import NO_REQUEST, CardRequest, Scene, draw_scene
from chatbridge.channels.chat.summary import SummaryWriter
from chatbridge.channels.chat.writer import ChatWriter, Drawing, Outgoing
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Notice, QuestionType, View
from chatbridge.core.nights.policy import Sound
from chatbridge.core.nights.summary import Summary
from chatbridge.core.ports import Clock, Remark, Shown

FAR_ABOVE = 8
"""So many messages below a card, it is no longer on a phone's screen."""


class ChatSurface(ChatWriter[T]):
    """One chat of a service that keeps messages."""

    persistent = True
    pace = RateLimit()
    private = True
    prompts = False
    """A message can open the person's keyboard."""
    reactions = True
    """People can react here."""
    idempotent = False
    """The service takes what is sent again under the same key for the same."""
    hears_removals = False
    """The service says when somebody removes a message of the bot's."""
    visibility: Visibility
    to_text: Callable[[CardMessages], str] = staticmethod(card_messages.to_text)
    """What is stored of a card's messages, and how it is read."""
    from_text: Callable[[str], CardMessages | None] = staticmethod(card_messages.from_text)

    def __init__(self, name: str, can: Capabilities[T], *, service: str, clock: Clock) -> None:
        super().__init__(name, can, service=service, clock=clock)
        self.requests: dict[str, CardRequest] = {}
        """The last request for each ask, until it is granted."""
        self.memory = CardMemory(clock, self.handle, self.digest)
        self.visibility = Visibility(self.channel, clock=clock)
        self.announcer = Announcer(self, can, clock=clock)

    def attach(self, inbox: AskActions) -> None:
        super().attach(inbox)
        self.statuses = StatusWriter(self, self._can, inbox, self._clock)
        self.summaries = SummaryWriter(self, self._can, inbox, self.react)

    # ── what a channel implements ─────────────────────────────────────────────────────────────────

    @property
    @abstractmethod
    def viewer(self) -> str | None:
        """Whose chat it is, if it is one person's alone."""

    async def open(self) -> None:
        """Find the room, before anything is shown. Note what is wrong with it.
        :raises RetryLater: :raises TokenRejected:"""

    async def react(self, room: str, message: str, emoji: str) -> str | None:
        """Return the reaction; None if the bot may not react here."""
        raise NotImplementedError

    async def reacted(self, ask: Ask, message: str) -> frozenset[int]:
        """The options that people's reactions on this message show as picked."""
        return frozenset()

    def prompt(self, card: Card, *, mention: tuple[int, str] | None) -> T:
        """`mention`: whose turn it is in a group, by id and name."""
        raise NotImplementedError

    def digest(self, drawing: Drawing[T]) -> object:
        """What tells two drawings apart; what is stored of one, where that is stored."""
        return drawing

    def messages_after(self, message: str) -> int:
        """How many messages came after this one, as far as this process knows."""
        return 0

    async def finished(self, ask: Ask, place: CardMessages) -> None:
        """It has ended, and nothing is left to do."""

    # ── notices ───────────────────────────────────────────────────────────────────────────────────

    async def announce(self, notice: Notice) -> Shown:
        room = self.current_room()
        with self.watched():
            message = await self.announcer.announce(notice, room)
        return Shown(place="", handles=(self.handle(room, message),) if message else ())

    async def report(self, message: OwnerMessage) -> Shown:
        with self.watched():
            return await self.statuses.write(message)

    async def tell(self, remark: Remark) -> None:
        """Tell the owner something about chatbridge itself."""
        said = Drawing(text=self._can.write(notices.remark(remark.text), now=self._clock.time()))
        key = ("tell", remark.id, self.name)
        await self.send(Outgoing(room=self.current_room(), what=said, key=key))

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        seen = Seen(now=summary.at, reactions=self.reactions)
        with self.watched():
            return await self.summaries.write(summary, seen, place=place, again=again)

    # ── what is known of a card ───────────────────────────────────────────────────────────────────

    def has_posted(self, ask: Ask, message: str) -> bool:
        return self.memory.has_posted(ask, self.current_room(), message)

    async def lacks(self, ask: Ask) -> bool:
        """Whether something that has to be read before this approval is allowed is not known to be
        out."""

        def wanted() -> int:
            if self._can.continuations:
                return len(long_questions.overflow(ask, self._can).after)
            return len(approvals.pages(build_card(ask, channel=self.channel), self._can))

        there = await off_loop(wanted, weight=weight_of(ask))
        place = await self._place_of(ask)
        return there > (len(place.pages) if place is not None else 0)

    async def is_far_above(self, ask: Ask) -> bool:
        """Whether a change of its card would go unnoticed, with so many messages below it. In a
        thread each step comes as a message of its own."""
        place = None if self._can.threads else await self._place_of(ask)
        card = place.root.event if place is not None else ""
        return bool(card) and self.messages_after(card) >= FAR_ABOVE

    async def _place_of(self, ask: Ask) -> CardMessages | None:
        post = await self._inbox.post(ask.id, surface=self.name)
        return self.from_text(post.place) if post is not None else None

    async def lost(self, ask: Ask, message: str) -> None:
        """Somebody has removed a message of this ask's."""
        await self.remember(self._lost_key(ask), " ".join((*await self._removed(ask), message)))

    async def _removed(self, ask: Ask) -> list[str]:
        if not self.hears_removals:
            return []
        return (await self.recall(self._lost_key(ask)) or "").split()

    def _lost_key(self, ask: Ask) -> str:
        return f"lost:{self.name}:{ask.id}"

    async def redraw_elsewhere(self) -> None:
        """Show cards again that are in this chat's former room, or whose place cannot be read."""
        for ask in await self._inbox.open_asks():
            if post := await self._inbox.post(ask.id, surface=self.name):
                place = self.from_text(post.place)
                if place is None or place.room != self.current_room():
                    await self._inbox.redraw(ask.id)

    # ── showing it ────────────────────────────────────────────────────────────────────────────────

    def wants(self, ask: Ask) -> bool:
        return self.requests.get(ask.id, NO_REQUEST).repost

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """One new message at a time, the card first: each is noted before the next is sent. In a
        thread, one step at a time."""
        room = self.current_room()
        with self.watched():
            known = self.from_text(place) if place else None
            try:
                if place and (known is None or known.room != room):
                    raise PostGone  # wherever it is, or in what this chat was before
                return await self._show(ask, known, room)
            except PostGone:
                self.visibility.shown_cards.gone(ask)
                if ask.open:
                    raise
                self.memory.forget(ask)
                if known is None or known.room != room or not known.above:
                    raise
                # The one that it goes on from is still there, with its buttons.
                root = replace(known.root, event=known.above, shows=None)
                return await self._show(ask, replace(known, parts=(root,), above=""), room)

    async def _show(self, ask: Ask, place: CardMessages | None, room: str) -> Shown:
        request, removed = self.requests.get(ask.id, NO_REQUEST), await self._removed(ask)
        old, above, raises = tuple[str, ...](), "", False
        replaced: tuple[Part, ...] = ()
        # Another card of the same ask does not bring its files again.
        files = None if place is None else place.files
        raised = self._raised(ask)
        if place is not None:
            place, replaced = self.memory.recalled(ask, place).without(removed)
        if place is not None:
            if ask.attention.snoozed_until is not None:
                place = place.folded(step=ask.draft.step)
            place, raises = self.memory.raises(
                ask, place, raised=raised, idempotent=self.idempotent
            )
            if raises and place.raising != raised:
                noted = replace(place, raising=raised)
                return Shown(place=self.to_text(noted), complete=False)
        replaces = request.repost or request.again
        continues = not replaces and (raises or request.continues(ask))
        if place is not None and ask.open and (replaces or continues):
            if replaces:  # another message, also for a service that knows the one before
                removed = [*removed, place.root.event]
            if self._can.threads:
                replaced += tuple(replace(part, step=OVER) for part in place.parts)
            elif continues:
                above = place.root.event
            kept = (above, *(part.event for part in replaced))
            old, place = tuple(each for each in place.messages if each not in kept), None
        scene = await self._scene(ask, place, request, files=files)
        steps, sent = await self._steps(scene, place), list[str]()
        before = Before(files=scene.seen.files)
        while steps and not (sends_message(steps[0]) and sent):
            step = steps.pop(0)
            if place is None or step is PlainStep.SEND_CARD:
                new = not (old or above)
                if place is None:
                    self.memory.posting(ask)
                    before = await send_before(
                        self, scene, self.memory, room, files=files, clock=self._clock
                    )
                if before.files != scene.seen.files:
                    scene = await self._scene(ask, place, request, files=before.files)
                posted, sent = await self._post(
                    scene, place, room, request, removed, before=before, new=new
                )
                # A service that has had it names the one that was there, which replaces nothing.
                root = posted.root.event
                replaced = tuple(part for part in replaced if part.event != root)
                old = tuple(each for each in old if each != root)
                above = "" if above == root else above
                place = replace(posted, parts=(*posted.parts, *replaced), old=old, above=above)
                request = self._granted(ask, request, left=CardRequest(typing=request.typing))
            else:
                place, out = await self._do(step, scene, place, typing=request.typing)
                sent += out
        assert place is not None
        if self._can.threads:
            scene = await self._scene(ask, place, request)
        left = await self._steps(scene, place)
        if not any(map(sends_message, left)):
            self._granted(ask, request)
        if not ask.open:
            self.memory.forget(ask)
        if not left and scene.card.view is None:
            await self.finished(ask, place)
            if self.hears_removals:
                await self._inbox.forget(self.channel, self._lost_key(ask))
        parts = (part.event for part in place.parts)
        beside = before.uploads if self._can.threads else sent
        named = dict.fromkeys((*parts, *beside))
        return Shown(
            place=self.to_text(place),
            handles=tuple(self.handle(room, message) for message in named if message),
            messages=len(sent),
            complete=not (left or (scene.seen.unsent and ask.open)),
            cleanup_only=any(isinstance(step, RemoveReaction) for step in left[:1]),
        )

    def came_back(self, ask: Ask) -> None:
        """The card that somebody wanted is there, though nobody has heard so."""
        request = self.requests.get(ask.id, NO_REQUEST)
        self._granted(ask, request, left=CardRequest(typing=request.typing))

    def _granted(
        self, ask: Ask, request: CardRequest, *, left: CardRequest = NO_REQUEST
    ) -> CardRequest:
        """This one, and not one that came meanwhile. Return what is left of it."""
        if self.requests.get(ask.id) is request:
            self.requests[ask.id] = left
            if left == NO_REQUEST:
                del self.requests[ask.id]
        return left

    async def card_of(self, ask: Ask) -> Card:
        build = partial(
            build_card,
            ask,
            channel=self.channel,
            later=self._inbox.later(ask),
            colleagues=self._inbox.colleagues(ask, surface=self.name),
            only_on=self._inbox.only_on(ask, self.channel),
            replies=self._inbox.replies,
        )
        return await off_loop(build, weight=weight_of(ask))

    async def _scene(
        self,
        ask: Ask,
        place: CardMessages | None,
        request: CardRequest,
        *,
        files: SentFiles | None = None,
    ) -> Scene[T]:
        card = await self.card_of(ask)
        multi = place is not None and card.type is QuestionType.MULTI_SELECT
        seen = Seen(
            now=self._clock.time(),
            viewer=self.viewer,
            private=self.private,
            reactions=self.reactions,
            reacted=await self.reacted(ask, place.newest.event) if place and multi else frozenset(),
            prompted=await self._prompts(ask, card, request, place),
            again=request.again if place is None else place.again and place.root.step == card.step,
            files=place.files if place is not None else files or ALL_SENT,
        )
        draw = partial(draw_scene, ask, card, seen, place, self._can)
        return await off_loop(draw, weight=weight_of(ask))

    async def _prompts(
        self, ask: Ask, card: Card, request: CardRequest, place: CardMessages | None
    ) -> bool:
        """Whether the person's keyboard should be open for this card. A prompt that comes by
        itself takes over a reply that is being written to another card."""
        if not self.prompts or not keyboard.takes_typing(card) or card.only_on:
            return False
        if place is not None and place.prompt is not None and place.prompt.step == card.step:
            return True
        if request.typing is not None:
            return True
        if not self.private or card.view is not View.QUESTION:
            return False  # it comes where Other… was tapped
        others = await self._inbox.open_asks()
        return not any(takes_text(other) for other in others if other.id != ask.id)

    async def _steps(self, scene: Scene[T], place: CardMessages | None) -> list[Step[Drawing[T]]]:
        same = not scene.ask.open or self.memory.has_rows(scene.ask, scene.drawing)
        if place and not place.root.event and same:
            # It shows as much as can be shown without an edit.
            place = place.having(replace(place.root, shows=self.digest(scene.drawing)))
        steps = plan(scene.wanted(self.digest), place)
        if not self._can.threads:
            return [*steps]
        # What is drawn for other messages of the thread is drawn only now.
        return await off_loop(lambda: [*islice(steps, 1)], weight=weight_of(scene.ask))

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────

    async def _post(
        self,
        scene: Scene[T],
        place: CardMessages | None,
        room: str,
        request: CardRequest,
        removed: Sequence[str],
        *,
        before: Before,
        new: bool,
    ) -> tuple[CardMessages, list[str]]:
        """Return what is there then, and all that was sent."""
        ask, card = scene.ask, scene.card
        outgoing = partial(Outgoing, room=room, project=ask.project)
        if place is not None:
            self.visibility.showing(ask)
            outgoing = partial(outgoing, root=place.root.event, after=place.newest.event)
        raised = self._raised(ask)
        again = (f"raised {raised}",) if raised else ()
        sound = Sound.SILENT if place is not None else self._sound(ask, request)
        with self.visibility.posting(ask):
            sent = await self.send(
                outgoing(
                    what=scene.drawing,
                    key=("card", self.name, ask.id, str(card.step), *again, *removed),
                    topic=before.topic,
                    silent=sound not in (Sound.ONCE, Sound.LOUD),
                    card=(ask.id, card.step),
                )
            )
        note = self.visibility.shown if place else partial(self.visibility.posted, new=new)
        since = note(ask, by=sent.id, at=sent.at, viewer=self.viewer)
        self.memory.drawn(ask, room, sent.id, scene.drawing)
        part = Part(
            event=sent.id,
            step=card.step,
            view=ask.draft.view,
            at=min(ask.draft.at, len(ask.questions) - 1),
            shows=self.digest(scene.drawing),
        )
        if place is not None:
            return place.having(part), [sent.id]
        self.memory.posted(ask, room, sound)
        posted = CardMessages(
            room=room,
            parts=(part,),
            since=since,
            topic=sent.topic,
            again=request.again,
            pages=before.messages[len(scene.before) :],
            files=before.files,
            raised=raised,
        )
        return posted, [*before.messages, *before.uploads, sent.id]

    def _sound(self, ask: Ask, request: CardRequest) -> Sound:
        """Who asked for a card, or has just answered the step before, is looking."""
        if request.repost or request.continues(ask):
            return Sound.SILENT
        nights, now = self._inbox.nights, self._clock.time()
        return self.memory.heard(nights.sound(ask, now=now, surface=self.name))

    def _raised(self, ask: Ask) -> int:
        return self._inbox.nights.raised_on(self.name, ask)

    async def _edit(
        self, message: str, drawing: Drawing[T], scene: Scene[T], place: CardMessages
    ) -> CardMessages:
        ask, step, part = scene.ask, scene.card.step, place[message]
        key = ("edit", message, str(ask.revision))
        if not self._can.threads:
            self.visibility.showing(ask)
        if message:
            silent = message != place.root.event
            sent = await self.edit(place.room, message, drawing, key=key, silent=silent)
        else:  # other buttons have to come in another message
            new = Outgoing(room=place.room, what=drawing, key=key, project=ask.project)
            sent = await self.send(replace(new, topic=place.topic))
            part, place = replace(part, event=sent.id), replace(place, topic=sent.topic)
        self.memory.drawn(ask, place.room, part.event, drawing)
        # In a thread every step has a card of its own, and only its end changes what one asks for.
        ended = scene.card.view is None and message == place.newest.event
        if ended or not self._can.threads:
            since = self.visibility.shown(ask, by=sent.id, at=sent.at, viewer=self.viewer)
            if part.step != step and not self._can.threads:
                part, place = replace(part, step=step), replace(place, since=since, again=False)
        part = replace(part, shows=self.digest(drawing))
        parts = tuple(part if each.event == message else each for each in place.parts)
        return replace(place, parts=parts)

    async def _do(
        self,
        step: Step[Drawing[T]],
        scene: Scene[T],
        place: CardMessages,
        *,
        typing: tuple[int, str] | None,
    ) -> tuple[CardMessages, list[str]]:
        """Return what is there then, and what was sent."""
        ask, root, room = scene.ask, place.root.event, place.room
        new = partial(
            Outgoing,
            room=room,
            project=ask.project,
            topic=place.topic,
            root=root,
            after=place.newest.event,
        )
        match step:
            case EditCard(message=message, drawing=drawing):
                return await self._edit(message, drawing, scene, place), []
            case SendPage(number=number):
                key = ("page", root, str(number))
                sent = await self.send(new(what=scene.pages[number], key=key))
                place = replace(place, pages=(*place.pages, sent.id))
            case PlainStep.SEND_PROMPT:
                mention = None if self.private else typing
                what = Drawing(text=self.prompt(scene.card, mention=mention))
                key, shown = ("prompt", root, str(scene.card.step)), placeholder(scene.card)
                sent = await self.send(new(what=what, key=key, placeholder=shown))
                place = replace(place, prompt=Prompt(id=sent.id, step=scene.card.step))
            case AddReaction(message=message, emoji=emoji):
                reaction = await self.react(room, message, emoji)
                if reaction is None:
                    return place, []
                seeds = (*place[message].seeds, BotReaction(emoji=emoji, event=reaction))
                return place.having(replace(place[message], seeds=seeds)), []
            case RemoveReaction(message=message, emoji=emoji):
                part = place[message]
                seeds = tuple(seed for seed in part.seeds if seed.emoji != emoji)
                for seed in {*part.seeds} - {*seeds}:
                    await self.remove(room, seed.event)
                return place.having(replace(part, seeds=seeds)), []
            case PlainStep.REMOVE_PROMPT:
                assert place.prompt is not None
                await self.remove(room, place.prompt.id)
                return replace(place, prompt=None), []
            case PlainStep.CLOSE_CONTINUED:
                with suppress(PostGone):  # somebody has removed it
                    text = self._can.write(continued(scene.card), now=scene.seen.now)
                    closing = ("continued", place.above)
                    await self.edit(room, place.above, Drawing(text=text), key=closing, silent=True)
                return replace(place, above=""), []
            case PlainStep.REMOVE_REPLACED:
                for message in place.old:
                    await self.remove(room, message)
                return replace(place, old=()), []
            case PlainStep.SEND_CARD:
                raise AssertionError("it is posted")
        return replace(place, topic=sent.topic), [sent.id]
