"""One chat as a surface: posts cards, edits them, and keeps what goes with them in order.

Owns which messages an ask has in this chat: leaflets before the card, the card, a prompt for
typing, a reminder. What they say is `render`'s business, what a person does with them `receive`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from telegram import ForceReply

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder
from chatbridge.channels.chat.card_requests import Wish, Wishes
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.keyboard import takes_typing
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Migrated, Rejected
from chatbridge.channels.telegram.client.response_checks import NO_NUMBER
from chatbridge.channels.telegram.outbound.announcer import Announcer
from chatbridge.channels.telegram.outbound.card_messages import (
    Place,
    Prompt,
    from_text,
    handle,
    to_text,
)
from chatbridge.channels.telegram.outbound.topics import Topics
from chatbridge.channels.telegram.outbound.visibility import Sightings
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
from chatbridge.core.asks.deadlines import remind_at
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import PostGone
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, Notice, Post, View, new_draft
from chatbridge.core.ports import AskActions, Clock, Remark, Shown

PRIVATE = RateLimit(message=1.0, edit=0.4, burst=4.0)
GROUP = RateLimit(message=3.6, edit=3.6, burst=7.2)
"""Telegram allows about one message a second in a chat, and twenty a minute in a group."""
NOT_SENT = 0
TOUCHED_AT_MOST = 100
TOO_QUICK = 1.0
"""A tap that follows the buttons so soon was on its way before anybody could have read them."""


Missing = Callable[[], Awaitable[tuple[Place, int]]]
"""Sends one message; the place after it, and the message's number."""


class Chat:
    persistent = True

    def __init__(
        self, api: Api, chat: int, *, clock: Clock, topics: bool, pace: RateLimit | None = None
    ) -> None:
        self.name = f"telegram:{chat}"
        self.id = chat
        self.private = chat > 0
        self.pace = pace or (PRIVATE if self.private else GROUP)
        self.wishes = Wishes()
        self.sightings = Sightings(viewer=str(chat) if self.private else None, clock=clock)
        self._api = api
        self._clock = clock
        self._with_topics = topics
        self._writer = Writer(api, chat, surface=self.name, clock=clock)
        self._announcer = Announcer(self._writer, clock=clock)
        self._drawn: dict[str, tuple[int, Drawing]] = {}
        """What this process has shown, and where: the same again needs no edit."""
        self._before: dict[str, list[int]] = {}
        """Messages before a card that are out, while the card is not."""
        self._fresh: dict[str, float] = {}
        """Since when an ask's card has had its present buttons, as far as this process knows."""
        self._touched: dict[str, int] = {}
        """The cards that somebody has used lately, by their asks."""

    def move(self, number: int) -> None:
        """It is known by another number from now on. What is being shown stays where it began:
        messages are numbered anew there."""
        self.id = number

    @property
    def trouble(self) -> str | None:
        return self._writer.trouble

    def attach(
        self, inbox: AskActions, *, private_topics: bool, migrated: Callable[[Chat, int], None]
    ) -> None:
        """Before anything is shown. `migrated` is told of this chat's new id."""
        self._inbox = inbox
        self._migrated = migrated
        if self._with_topics and (private_topics or not self.private):
            self._writer.topics = Topics(
                self._api, surface=self.name, inbox=inbox, clock=self._clock
            )

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
        return since is not None and self._clock.monotonic() - since < TOO_QUICK

    def touched(self, ask_id: str, message: int) -> None:
        """Somebody is using this card of an ask: it is the one, if Telegram has not said which."""
        self._touched[ask_id] = message
        while len(self._touched) > TOUCHED_AT_MOST:
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
        place = Place(chat=self.id, card=message, step=step, since=since, reminder=NOT_SENT)
        post = Post(ask_id=ask_id, surface=self.name, place=to_text(place), revision=0)
        await self._inbox.adopt(post, over=over, handles=(handle(self.id, message),))
        await self._inbox.show_again(ask_id)

    async def remove(self, message: int) -> None:
        await self._writer.remove(message)

    async def announce(self, notice: Notice) -> bool:
        with self._writer.watched():
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
        with self._writer.watched():
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
            self.sightings.attention.gone(ask)
            raise PostGone

    def _write_here(self) -> None:
        """Where the chat is now. Nothing that is known of messages elsewhere counts here."""
        if self._writer.chat != self.id:
            self._writer.chat = self.id
            self._announcer = Announcer(self._writer, clock=self._clock)
            self._drawn.clear()
            self._before.clear()

    async def _show(self, ask: Ask, place: Place | None) -> Shown:
        wish = self.wishes.of(ask.id)
        if place is not None and place.chat != self._writer.chat:
            raise PostGone  # it is in the group that this one was
        if place is not None and place.card == NO_NUMBER:
            touched = self._touched.get(ask.id, NO_NUMBER)
            if touched not in _messages_of(place):
                place = replace(place, card=touched)
        old: tuple[int, ...] = ()
        if place is not None and ask.open and (wish.anew or wish.again):
            old, place = _messages_of(place), None
        weight = weight_of(ask)
        drawn = partial(
            build_card,
            ask,
            channel="telegram",
            latest_deadline=self._inbox.latest_deadline(ask),
            only_on=self._inbox.only_on(ask, "telegram"),
        )
        card = await off_loop(drawn, weight=weight)
        more = Overflow()
        if card.view is not None:
            more = await off_loop(partial(overflow, ask), weight=weight)
        prompting = await self._prompts(ask, card, wish, place)
        seen = Seen(
            private=self.private,
            viewer=str(self.id) if self.private else None,
            now=self._clock.time(),
            prompted=prompting,
            again=wish.again if place is None else place.again and place.step == card.step,
            overflowed=ask.draft.at in more.questions,
            unsent=_unsent(ask, more, place),
        )
        drawing = await off_loop(partial(draw_card, card, seen), weight=weight)
        parts: Sequence[int] = ()
        if place is None:
            place, parts = await self._post(ask, drawing, more, wish, old=old)
            messages = 1 + len(parts)
            left = Wish(typing=wish.typing)
            self.wishes.granted(ask.id, wish, left=left)
            wish = left
            missing = self._missing(ask, card, more, seen, wish, place)
        else:
            place = await self._tidy(ask, seen, await self._edit(ask, drawing, place))
            missing = self._missing(ask, card, more, seen, wish, place)
            messages = min(len(missing), 1)
            if missing:
                place, part = await missing.pop(0)()
                parts = (part,)
        if not missing:
            self.wishes.granted(ask.id, wish)
        if not ask.open:
            self._drawn.pop(ask.id, None)
            self._fresh.pop(ask.id, None)
        return Shown(
            place=to_text(place),
            handles=tuple(
                handle(place.chat, part) for part in (place.card, *parts) if part != NO_NUMBER
            ),
            messages=messages,
            complete=not (missing or place.old or (seen.unsent and ask.open)),
        )

    # ── the card ──────────────────────────────────────────────────────────────────────────────────

    async def _post(
        self, ask: Ask, drawing: Drawing, more: Overflow, wish: Wish, *, old: tuple[int, ...]
    ) -> tuple[Place, Sequence[int]]:
        """The card's place, and the messages that had to come before it."""
        self._touched.pop(ask.id, None)  # it was another card
        thread = await self._writer.open(ask.project)
        out = self._before.setdefault(ask.id, [])
        # Who has asked to see all of it may allow it only with all of it in sight.
        files = more.after if ask.draft.whole else ()
        first: tuple[str | File, ...] = (*more.leaflets, *more.before, *files)
        for part in first[len(out) :]:
            sent, thread = await self._writer.send(ask.project, thread, part, silent=True)
            out.append(sent.id)
        stray = bool(old) or self.sightings.is_doubtful(ask)
        with self.sightings.posting(ask):
            sent, thread = await self._writer.send(
                ask.project,
                thread,
                drawing.html,
                drawing.rows,
                silent=wish.anew,  # who asked for it is looking
            )
        since = self.sightings.date(sent.at)
        self.sightings.shown(ask, at=since, new=not stray)
        del self._before[ask.id]
        self._drawn[ask.id] = (sent.id, drawing)
        self._fresh[ask.id] = self._clock.monotonic()
        due = remind_at(ask)
        place = Place(
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

    async def _edit(self, ask: Ask, drawing: Drawing, place: Place) -> Place:
        known = self._drawn.get(ask.id)
        if known == (place.card, drawing):
            return place
        lost = place.card == NO_NUMBER
        if lost and (not ask.open or (known and known[1].rows == drawing.rows)):
            return place
        self.sightings.attention.showing(ask)
        if lost:  # without an edit, other buttons have to come in another message
            sent, thread = await self._writer.send(
                ask.project, place.thread, drawing.html, drawing.rows, silent=True
            )
            place, edited = replace(place, card=sent.id, thread=thread), sent.at
        else:
            edited = await self._writer.edit(place.card, drawing.html, drawing.rows)
        if known is None or known[1].rows != drawing.rows:
            self._fresh[ask.id] = self._clock.monotonic()
        since = self.sightings.date(edited)
        self.sightings.shown(ask, at=since)
        if place.step != ask.draft.step:
            place = replace(place, step=ask.draft.step, since=since, again=False)
        self._drawn[ask.id] = (place.card, drawing)
        return place

    # ── what goes with it ─────────────────────────────────────────────────────────────────────────

    async def _prompts(self, ask: Ask, card: Card, wish: Wish, place: Place | None) -> bool:
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

    async def _tidy(self, ask: Ask, seen: Seen, place: Place) -> Place:
        """Without the messages that this card has replaced, the prompt of a step that is over, or
        a reminder that is."""
        for message in place.old:
            await self.remove(message)
        place = replace(place, old=())
        prompt = place.prompt
        if prompt is not None and (not seen.prompted or prompt.step != ask.draft.step):
            await self.remove(prompt.id)
            place = replace(place, prompt=None)
        if place.reminder and not _to_remind(ask, seen):
            await self.remove(place.reminder)
            place = replace(place, reminder=NOT_SENT)
        return place

    def _missing(
        self, ask: Ask, card: Card, more: Overflow, seen: Seen, wish: Wish, place: Place
    ) -> list[Missing]:
        """What is still to be sent, in this order."""

        async def file() -> tuple[Place, int]:
            sent, thread = await self._writer.send(
                ask.project, place.thread, files[place.files], reply_to=place.card
            )
            return replace(place, thread=thread, files=place.files + 1), sent.id

        async def prompt() -> tuple[Place, int]:
            mention = None if self.private else wish.typing
            sent, thread = await self._writer.send(
                ask.project,
                place.thread,
                draw_prompt(card, mention=mention),
                silent=True,
                reply_to=place.card,
                prompt=ForceReply(
                    selective=mention is not None, input_field_placeholder=placeholder(card)
                ),
            )
            asking = Prompt(id=sent.id, step=card.step)
            return replace(place, thread=thread, prompt=asking), sent.id

        async def reminder() -> tuple[Place, int]:
            drawing = draw_reminder(card, seen)
            sent, thread = await self._writer.send(
                ask.project, place.thread, drawing.html, drawing.rows, reply_to=place.card
            )
            return replace(place, thread=thread, reminder=sent.id), sent.id

        missing: list[Missing] = []
        if seen.prompted and place.prompt is None:
            missing.append(prompt)
        untouched = ask.draft == new_draft(ask.questions)
        if _to_remind(ask, seen) and place.reminder is None and untouched:
            missing.append(reminder)
        files = more.after if ask.open else ()
        return missing + [file] * (len(files) - place.files)  # last: one may be refused for ever


def _unsent(ask: Ask, more: Overflow, place: Place | None) -> bool:
    """Whether all of what an approval is about is still to be sent after its card."""
    if place is None:
        return ask.approval and bool(more.after) and not ask.draft.whole
    return ask.approval and place.files < len(more.after)


def _to_remind(ask: Ask, seen: Seen) -> bool:
    due = remind_at(ask)
    return ask.open and due is not None and due <= seen.now


def _messages_of(place: Place) -> tuple[int, ...]:
    prompt = place.prompt.id if place.prompt else 0
    return (*filter(None, (place.card, prompt, place.reminder)), *place.old)
