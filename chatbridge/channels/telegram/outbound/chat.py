"""One chat as a surface: posts cards, edits them, and keeps what goes with them in order.

Owns which messages an ask has in this chat: continuation messages before the card, the card, a
prompt for typing, a reminder, files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from telegram import ForceReply

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder
from chatbridge.channels.chat.document import Document, File
from chatbridge.channels.chat.keyboard import takes_typing
from chatbridge.channels.chat.planner import (
    CardMessage,
    EditCard,
    PlainStep,
    Posted,
    SendAttachment,
    SendReminder,
    Step,
    Wanted,
    is_reminder_due,
    is_untouched,
    plan,
    sends_message,
)
from chatbridge.channels.chat.surface import CardRequest, ChatSurface
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Migrated, Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound.announcer import Announcer
from chatbridge.channels.telegram.outbound.card_messages import (
    CardMessages,
    Prompt,
    from_text,
    handle,
    to_text,
)
from chatbridge.channels.telegram.outbound.visibility import Visibility
from chatbridge.channels.telegram.outbound.writer import Writer
from chatbridge.channels.telegram.render.card import (
    Drawing,
    Overflow,
    draw_card,
    draw_prompt,
    draw_reminder,
    overflow,
)
from chatbridge.channels.telegram.render.html import write
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.deadlines import remind_at
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, Notice, Post, Project, View
from chatbridge.core.ports import Clock, Remark, Shown

PRIVATE = RateLimit(message=1.0, edit=0.4, burst=4.0)
GROUP = RateLimit(message=3.6, edit=3.6, burst=7.2)
"""Telegram allows about one message a second in a chat, and twenty a minute in a group."""
NOT_SENT = 0
MAX_TOUCHED = 100
TOO_QUICK_SECONDS = 1.0
"""Nobody can have read an approval so soon after its buttons appeared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An ask as it is to be shown here now."""

    ask: Ask
    card: Card
    more: Overflow
    seen: Seen
    drawing: Drawing
    wish: CardRequest


class Chat(ChatSurface):
    def __init__(
        self, api: Api, chat: int, *, clock: Clock, topics: bool, pace: RateLimit | None = None
    ) -> None:
        super().__init__(f"telegram:{chat}", service="Telegram", clock=clock)
        self.id = chat
        self.private = chat > 0
        self.pace = pace or (PRIVATE if self.private else GROUP)
        self.visibility = Visibility(viewer=str(chat) if self.private else None, clock=clock)
        self._api = api
        self._with_topics = topics
        self._writer = Writer(api, chat, surface=self.name, clock=clock)
        self._announcer = self._new_announcer()
        self._drawn: dict[str, tuple[int, Drawing]] = {}
        """What this process has shown, and where: the same again needs no edit."""
        self._before: dict[str, list[int]] = {}
        """Messages before a card that are out, while the card is not."""
        self._fresh: dict[str, float] = {}
        """Since when an ask's card has had its present buttons, as far as this process knows."""
        self._touched: dict[str, int] = {}
        """The cards that somebody has used lately, by their asks."""

    def _new_announcer(self) -> Announcer:
        return Announcer(self._writer, open_topic=self._open_topic, clock=self._clock)

    def move(self, number: int) -> None:
        """Use another number from now on. What is being shown stays where it began: messages are
        numbered anew there."""
        self.id = number

    def start(
        self, inbox: AskActions, *, private_topics: bool, migrated: Callable[[Chat, int], None]
    ) -> None:
        """Call it before anything is shown. `migrated` is told of this chat's new id."""
        self.attach(inbox)
        self._migrated = migrated
        if self._with_topics and (private_topics or not self.private):
            self._writer.use_topics(inbox)

    def has_posted(self, ask: Ask, message: int) -> bool:
        """Whether this is the ask's newest card, though that may not have been noted yet."""
        return self._drawn.get(ask.id, (0, None))[0] == message

    async def lacks(self, ask: Ask) -> bool:
        """Whether something that has to be read before this approval is allowed is not known to be
        out."""
        more = await off_loop(partial(overflow, ask), weight=weight_of(ask))
        post = await self._inbox.post(ask.id, surface=self.name)
        place = from_text(post.place) if post is not None else None
        return len(more.after) > (place.files if place is not None else 0)

    def just_shown(self, ask: Ask) -> bool:
        """Whether the card has had its buttons for so short a time that nobody can have read it."""
        since = self._fresh.get(ask.id)
        return since is not None and self._clock.monotonic() - since < TOO_QUICK_SECONDS

    def touched(self, ask_id: str, message: int) -> None:
        """Somebody is using this card of an ask: it is the one, if Telegram has not said which."""
        self._touched[ask_id] = message
        while len(self._touched) > MAX_TOUCHED:
            del self._touched[next(iter(self._touched))]

    async def found(self, ask_id: str, message: int) -> None:
        """Somebody has touched a card of this ask. If the ask has ended, and nobody lived, or got
        an answer, to note where its card is, this one is noted, so that it says how: an ended ask
        is not posted again, and its buttons would stay for ever."""
        ask = await self._inbox.ask(ask_id)
        if ask.open or self.has_posted(ask, message):
            return
        over = await self._inbox.post(ask_id, surface=self.name)
        noted = from_text(over.place) if over is not None else None
        if over is not None and (noted is None or noted.card != NO_NUMBER):
            return
        step, since = ask.draft.step, ask.settled_at or ask.created_at
        place = CardMessages(chat=self.id, card=message, step=step, since=since, reminder=NOT_SENT)
        post = Post(ask_id=ask_id, surface=self.name, place=to_text(place), revision=0)
        await self._inbox.adopt(post, over=over, handles=(handle(self.id, message),))
        await self._inbox.show_again(ask_id)

    async def remove(self, message: int) -> None:
        await self._writer.remove(message)

    async def _open_topic(self, project: Project) -> int | None:
        """The project's topic, for new messages. The first ones after a long time without network
        come with a line that says why they are late."""
        thread = await self._writer.topic_of(project)

        async def explain(document: Document, since: float) -> None:
            nonlocal thread
            html = write(document, now=self._clock.time())
            _, thread = await self._writer.send(project, thread, html, silent=True)

        await self.explain_gap(explain)
        return thread

    async def announce(self, notice: Notice) -> bool:
        with self.watched():
            try:
                self._write_here()
                await self._announcer.announce(notice)
            except Migrated as error:
                self._migrated(self, error.chat)
                self._write_here()
                await self._announcer.announce(notice)
        return True

    async def tell(self, remark: Remark) -> None:
        html = write(notices.remark(remark.text), now=self._clock.time())
        try:
            await self._api.send(self.id, html, silent=True)
        except Migrated as error:
            self._migrated(self, error.chat)
            await self._api.send(self.id, html, silent=True)

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """One new message at a time, the card first: each is noted before the next is sent."""
        with self.watched():
            try:
                self._write_here()
                known = from_text(place) if place else None
                if place and known is None:
                    raise PostGone  # wherever it is
                return await self._show(ask, known)
            except Migrated as error:
                self._migrated(self, error.chat)
            except Rejected as error:
                if not error.message_gone:
                    raise
            self.visibility.shown_cards.gone(ask)
            raise PostGone

    def _write_here(self) -> None:
        """Where the chat is now. Nothing that is known of messages elsewhere counts here."""
        if self._writer.chat != self.id:
            self._writer.chat = self.id
            self._announcer = self._new_announcer()
            self._drawn.clear()
            self._before.clear()

    async def _show(self, ask: Ask, place: CardMessages | None) -> Shown:
        wish = self.requests.of(ask.id)
        if place is not None and place.chat != self._writer.chat:
            raise PostGone  # it is in the group that this one was
        if place is not None and place.card == NO_NUMBER:
            touched = self._touched.get(ask.id, NO_NUMBER)
            if touched not in _messages_of(place):
                place = replace(place, card=touched)
        old: tuple[int, ...] = ()
        if place is not None and ask.open and (wish.anew or wish.again):
            old, place = _messages_of(place), None
        scene = await self._scene(ask, place, wish)
        if place is None:
            place, parts = await self._post(scene, old=old)
            messages = 1 + len(parts)
            scene = replace(scene, wish=CardRequest(typing=wish.typing))
            self.requests.granted(ask.id, wish, left=scene.wish)
            left = [*plan(self._wanted(scene), self._posted(scene, place))]
        else:
            left, parts, messages = [*plan(self._wanted(scene), self._posted(scene, place))], [], 0
            while left and not (sends_message(left[0]) and messages):
                step = left.pop(0)
                place, sent = await self._do(step, scene, place)
                messages += sends_message(step)
                parts += [sent] if sends_message(step) else []
        if not any(map(sends_message, left)):
            self.requests.granted(ask.id, scene.wish)
        if not ask.open:
            self._drawn.pop(ask.id, None)
            self._fresh.pop(ask.id, None)
        handles = [handle(place.chat, part) for part in (place.card, *parts) if part != NO_NUMBER]
        return Shown(
            place=to_text(place),
            handles=tuple(handles),
            messages=messages,
            complete=not (left or (scene.seen.unsent and ask.open)),
        )

    async def _scene(self, ask: Ask, place: CardMessages | None, wish: CardRequest) -> Scene:
        card, more, weight = await self.card_of(ask), Overflow(), weight_of(ask)
        if card.view is not None:
            more = await off_loop(partial(overflow, ask), weight=weight)
        seen = Seen(
            private=self.private,
            viewer=str(self.id) if self.private else None,
            now=self._clock.time(),
            prompted=await self._prompts(ask, card, wish, place),
            again=wish.again if place is None else place.again and place.step == card.step,
            overflowed=ask.draft.at in more.questions,
            unsent=_unsent(ask, more, place),
        )
        drawing = await off_loop(partial(draw_card, card, seen), weight=weight)
        return Scene(ask=ask, card=card, more=more, seen=seen, drawing=drawing, wish=wish)

    def _wanted(self, scene: Scene) -> Wanted[Drawing]:
        ask, seen = scene.ask, scene.seen
        return Wanted(
            step=ask.draft.step,
            card=lambda: scene.drawing,
            reminder=lambda: draw_reminder(scene.card, seen),
            digest=lambda drawing: drawing,
            attachments=len(scene.more.after) if ask.open else 0,
            prompt=seen.prompted,
            remind=is_reminder_due(ask, now=seen.now),
            untouched=is_untouched(ask),
        )

    def _posted(self, scene: Scene, place: CardMessages) -> Posted:
        known = self._drawn.get(scene.ask.id)
        shows = known[1] if known is not None and known[0] == place.card else None
        same = known is not None and known[1].rows == scene.drawing.rows
        if place.card == NO_NUMBER and (not scene.ask.open or same):
            shows = scene.drawing  # as much of it as can be shown without an edit
        return Posted(
            cards=(CardMessage(id=str(place.card), step=place.step, shows=shows),),
            attachments=place.files,
            prompt=place.prompt.step if place.prompt is not None else None,
            reminder=None if place.reminder is None else str(place.reminder or ""),
            replaced=bool(place.old),
        )

    # ── the card ──────────────────────────────────────────────────────────────────────────────────

    async def _post(self, scene: Scene, *, old: tuple[int, ...]) -> tuple[CardMessages, list[int]]:
        """Return the card's place, and the messages that had to come before it."""
        ask, more, wish = scene.ask, scene.more, scene.wish
        self._touched.pop(ask.id, None)  # it was another card
        thread = await self._open_topic(ask.project)
        out = self._before.setdefault(ask.id, [])
        # Who has asked to see all of it may allow it only with all of it in sight.
        files = more.after if ask.draft.whole else ()
        first: tuple[str | File, ...] = (*more.leaflets, *more.before, *files)
        for part in first[len(out) :]:
            sent, thread = await self._writer.send(ask.project, thread, part, silent=True)
            out.append(sent.id)
        stray = bool(old) or self.visibility.is_doubtful(ask)
        html, rows = scene.drawing.html, scene.drawing.rows
        with self.visibility.posting(ask):
            # Who asked for it is looking.
            sent, thread = await self._writer.send(
                ask.project, thread, html, rows, silent=wish.anew
            )
        since = self.visibility.date(sent.at)
        self.visibility.shown(ask, at=since, new=not stray)
        del self._before[ask.id]
        self._drawn[ask.id] = (sent.id, scene.drawing)
        self._fresh[ask.id] = self._clock.monotonic()
        due = remind_at(ask)
        place = CardMessages(
            chat=self._writer.chat,
            card=sent.id,
            step=ask.draft.step,
            since=since,
            thread=thread,
            again=wish.again,
            files=len(files),
            old=old,
            reminder=NOT_SENT if due is not None and due <= self._clock.time() else None,
        )
        return place, out

    async def _edit(self, ask: Ask, drawing: Drawing, place: CardMessages) -> CardMessages:
        known = self._drawn.get(ask.id)
        self.visibility.shown_cards.showing(ask)
        if place.card == NO_NUMBER:  # other buttons have to come in another message
            sent, thread = await self._writer.send(
                ask.project, place.thread, drawing.html, drawing.rows, silent=True
            )
            place, edited = replace(place, card=sent.id, thread=thread), sent.at
        else:
            edited = await self._writer.edit(place.card, drawing.html, drawing.rows)
        if known is None or known[1].rows != drawing.rows:
            self._fresh[ask.id] = self._clock.monotonic()
        since = self.visibility.date(edited)
        self.visibility.shown(ask, at=since)
        if place.step != ask.draft.step:
            place = replace(place, step=ask.draft.step, since=since, again=False)
        self._drawn[ask.id] = (place.card, drawing)
        return place

    # ── what goes with it ─────────────────────────────────────────────────────────────────────────

    async def _prompts(
        self, ask: Ask, card: Card, wish: CardRequest, place: CardMessages | None
    ) -> bool:
        """Whether the person's keyboard should be open for this card. A prompt that comes by
        itself takes over a reply that is being written to another card."""
        if not takes_typing(card) or card.only_on:
            return False
        if place is not None and place.prompt is not None and place.prompt.step == card.step:
            return True
        if wish.typing is not None:
            return True
        if not self.private:
            return False
        if card.view is not View.QUESTION:
            return False  # it comes where Other… was tapped
        others = await self._inbox.open_asks()
        return not any(takes_text(other) for other in others if other.id != ask.id)

    async def _do(
        self, step: Step[Drawing], scene: Scene, place: CardMessages
    ) -> tuple[CardMessages, int]:
        """Return the place after it, and the number of the message that it sent."""
        ask, card = scene.ask, scene.card
        send = partial(self._writer.send, ask.project, place.thread, reply_to=place.card)
        match step:
            case EditCard(drawing=drawing):
                return await self._edit(ask, drawing, place), NO_NUMBER
            case SendAttachment(number=number):
                sent, thread = await send(scene.more.after[number])
                return replace(place, thread=thread, files=number + 1), sent.id
            case SendReminder(drawing=drawing):
                sent, thread = await send(drawing.html, drawing.rows)
                return replace(place, thread=thread, reminder=sent.id), sent.id
            case PlainStep.SEND_PROMPT:
                mention = None if self.private else scene.wish.typing
                prompt = ForceReply(
                    selective=mention is not None, input_field_placeholder=placeholder(card)
                )
                html = draw_prompt(card, mention=mention)
                sent, thread = await send(html, silent=True, prompt=prompt)
                asking = Prompt(id=sent.id, step=card.step)
                return replace(place, thread=thread, prompt=asking), sent.id
            case PlainStep.REMOVE_PROMPT:
                assert place.prompt is not None
                await self.remove(place.prompt.id)
                return replace(place, prompt=None), NO_NUMBER
            case PlainStep.REMOVE_REMINDER:
                await self.remove(place.reminder or NOT_SENT)
                return replace(place, reminder=NOT_SENT), NO_NUMBER
            case PlainStep.REMOVE_REPLACED:
                for message in place.old:
                    await self.remove(message)
                return replace(place, old=()), NO_NUMBER
            case _:
                raise AssertionError(f"Telegram has no {step}")


def _unsent(ask: Ask, more: Overflow, place: CardMessages | None) -> bool:
    """Whether all of what an approval is about is still to be sent after its card."""
    if place is None:
        return ask.approval and bool(more.after) and not ask.draft.whole
    return ask.approval and place.files < len(more.after)


def _messages_of(place: CardMessages) -> tuple[int, ...]:
    prompt = place.prompt.id if place.prompt else 0
    return (*filter(None, (place.card, prompt, place.reminder)), *place.old)
