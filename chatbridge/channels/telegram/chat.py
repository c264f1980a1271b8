"""One chat as a surface: posts cards, edits them, and keeps what goes with them in order.

Owns which messages an ask has in this chat: leaflets before the card, the card, a prompt for
typing, a reminder. What they say is `render`'s business, what a person does with them `receive`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from telegram import ForceReply

from chatbridge.channels.telegram import notices
from chatbridge.channels.telegram.api import Api, Sent
from chatbridge.channels.telegram.errors import Migrated, Rejected
from chatbridge.channels.telegram.keyboard import Rows
from chatbridge.channels.telegram.overflow import File, overflow, overflows
from chatbridge.channels.telegram.place import Place, Prompt, from_text, handle, to_text
from chatbridge.channels.telegram.render import (
    Drawing,
    Seen,
    draw_card,
    draw_prompt,
    draw_reminder,
    placeholder,
)
from chatbridge.channels.telegram.topics import Topics
from chatbridge.channels.telegram.wishes import Wish, Wishes
from chatbridge.core.card import Card, State
from chatbridge.core.draw import draw
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater
from chatbridge.core.model import Ask, QuestionType, View, new_draft
from chatbridge.core.notice import Notice
from chatbridge.core.pacing import Pace
from chatbridge.core.ports import Clock, Inbox, Shown
from chatbridge.core.timing import remind_at
from chatbridge.core.typed import takes_text

log = logging.getLogger(__name__)

PRIVATE = Pace(message=1.0, edit=0.4, burst=4.0)
GROUP = Pace(message=3.6, edit=3.6, burst=7.2)
"""Telegram allows about one message a second in a chat, and twenty a minute in a group."""
WORTH_TELLING = 5 * 60.0
NOT_SENT = 0


Missing = Callable[[], Awaitable[tuple[Place, int]]]
"""Sends one message; the place after it, and the message's number."""


class Chat:
    keeps_posts = True

    def __init__(
        self, api: Api, chat: int, *, clock: Clock, topics: bool, pace: Pace | None = None
    ) -> None:
        self.name = f"telegram:{chat}"
        self.id = chat
        self.private = chat > 0
        self.pace = pace or (PRIVATE if self.private else GROUP)
        self.trouble: str | None = None
        self._api = api
        self._clock = clock
        self._with_topics = topics
        self._topics: Topics | None = None
        self.wishes = Wishes()
        self._down_since: float | None = None
        self._drawn: dict[str, tuple[int, Drawing]] = {}
        """What this process has shown, and where: the same again needs no edit."""
        self._before: dict[str, list[int]] = {}
        """Messages before a card that are out, while the card is not."""

    def attach(
        self, inbox: Inbox, *, private_topics: bool, migrated: Callable[[Chat, int], None]
    ) -> None:
        """Before anything is shown. `migrated` is told of this chat's new id."""
        self._inbox = inbox
        self._migrated = migrated
        if self._with_topics and (private_topics or not self.private):
            self._topics = Topics(self._api, surface=self.name, inbox=inbox, clock=self._clock)

    def has_posted(self, ask: Ask, message: int) -> bool:
        """Whether this is the ask's newest card, though that may not have been noted yet."""
        return self._drawn.get(ask.id, (0, None))[0] == message

    async def announce(self, notice: Notice) -> bool:
        raise NotImplementedError

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        """One new message at a time, the card first: each is noted before the next is sent."""
        try:
            shown = await self._show(ask, from_text(place) if place else None)
        except Migrated as error:
            self._migrated(self, error.chat)
            raise PostGone from None
        except Rejected as error:
            if not error.message_gone:
                raise
            raise PostGone from None
        except ChatRefused as error:
            self.trouble = str(error)
            raise
        except RetryLater as error:
            if error.after is None:  # a pause that Telegram asks for is no trouble
                self.trouble = str(error)
                self._down_since = self._down_since or self._clock.time()
            raise
        self.trouble = self._down_since = None
        return shown

    async def _show(self, ask: Ask, place: Place | None) -> Shown:
        wish = self.wishes.of(ask.id)
        if place is not None and place.chat != self.id:
            raise PostGone  # it is in the group that this one was
        old: tuple[int, ...] = ()
        if place is not None and ask.open and (wish.anew or wish.again):
            old, place = _messages_of(place), None
        card = draw(ask, channel="telegram", latest_deadline=self._inbox.latest_deadline(ask))
        prompting = await self._prompts(ask, card, wish, place)
        seen = Seen(
            private=self.private,
            viewer=str(self.id) if self.private else None,
            now=self._clock.time(),
            prompted=prompting,
            again=wish.again if place is None else place.again and place.step == card.step,
            overflowed=overflows(ask, ask.draft.at),
        )
        drawing = draw_card(card, seen)
        parts: Sequence[int] = ()
        if place is None:
            place, parts = await self._post(ask, drawing, wish, old=old)
            messages = 1 + len(parts)
            left = Wish(typing=wish.typing)
            self.wishes.granted(ask.id, wish, left=left)
            wish = left
            missing = self._missing(ask, card, seen, wish, place)
        else:
            place = await self._tidy(ask, seen, await self._edit(ask, drawing, place))
            missing = self._missing(ask, card, seen, wish, place)
            messages = min(len(missing), 1)
            if missing:
                place, part = await missing.pop(0)()
                parts = (part,)
        if not missing:
            self.wishes.granted(ask.id, wish)
        if not ask.open:
            self._drawn.pop(ask.id, None)
        return Shown(
            place=to_text(place),
            handles=tuple(handle(self.id, part) for part in (place.card, *parts)),
            messages=messages,
            complete=not missing and not place.old,
        )

    # ── the card ──────────────────────────────────────────────────────────────────────────────────

    async def _post(
        self, ask: Ask, drawing: Drawing, wish: Wish, *, old: tuple[int, ...]
    ) -> tuple[Place, Sequence[int]]:
        """The card's place, and the messages that had to come before it."""
        thread = await self._topics.of(ask.project, chat=self.id) if self._topics else None
        more = overflow(ask)
        out = self._before.setdefault(ask.id, [])
        thread = await self._explain_gap(ask, thread)
        first: tuple[str | File, ...] = (*more.leaflets, *more.before)
        for part in first[len(out) :]:
            sent, thread = await self._send(ask, thread, part, silent=True)
            out.append(sent.id)
        # Who asked for it is looking.
        sent, thread = await self._send(ask, thread, drawing.html, drawing.rows, silent=wish.anew)
        del self._before[ask.id]
        self._drawn[ask.id] = (sent.id, drawing)
        due = remind_at(ask)
        place = Place(
            chat=self.id,
            card=sent.id,
            step=ask.draft.step,
            since=sent.at,
            thread=thread,
            again=wish.again,
            old=old,
            reminder=NOT_SENT if due is not None and due <= self._clock.time() else None,
        )
        return place, out

    async def _explain_gap(self, ask: Ask, thread: int | None) -> int | None:
        """Say why the first card after a long time without network comes late."""
        since, now = self._down_since, self._clock.time()
        if since is not None and now - since >= WORTH_TELLING:
            why = notices.unreachable(since=since, now=now)
            _, thread = await self._send(ask, thread, why, silent=True)
            self._down_since = None
        return thread

    async def _edit(self, ask: Ask, drawing: Drawing, place: Place) -> Place:
        if self._drawn.get(ask.id) == (place.card, drawing):
            return place
        edited = await self._api.edit(self.id, place.card, drawing.html, drawing.rows)
        if place.step != ask.draft.step:
            since = edited or self._clock.time()
            place = replace(place, step=ask.draft.step, since=since, again=False)
        self._drawn[ask.id] = (place.card, drawing)
        return place

    async def _send(
        self,
        ask: Ask,
        thread: int | None,
        what: str | File,
        rows: Rows = (),
        *,
        silent: bool = False,
        reply_to: int | None = None,
        prompt: ForceReply | None = None,
    ) -> tuple[Sent, int | None]:
        """Send something into the ask's topic or, where that is gone, into the main chat; the
        topic it is in."""

        async def send(thread: int | None) -> Sent:
            if isinstance(what, File):
                return await self._api.send_file(
                    self.id, what.name, what.content, thread=thread, reply_to=reply_to
                )
            return await self._api.send(
                self.id, what, rows, silent=silent, thread=thread, reply_to=reply_to, prompt=prompt
            )

        try:
            return await send(thread), thread
        except Rejected as error:
            if thread is None or not error.topic_gone:
                raise
        if self._topics is not None:
            await self._topics.lost(ask.project)
        return await send(None), None

    async def remove(self, message: int) -> None:
        """Telegram lets nobody delete what is older than two days: then it loses its buttons."""
        try:
            await self._api.delete(self.id, message)
        except Rejected:
            try:
                await self._api.take_buttons(self.id, message)
            except Rejected as error:
                log.debug("%s: message %d stays: %s", self.name, message, error)

    # ── what goes with it ─────────────────────────────────────────────────────────────────────────

    async def _prompts(self, ask: Ask, card: Card, wish: Wish, place: Place | None) -> bool:
        """Whether the person's keyboard should be open for this card. A prompt that comes by
        itself takes over a reply that is being written to another card."""
        if not _typing(card):
            return False
        if place is not None and place.prompt is not None and place.prompt.step == card.step:
            return True
        if wish.typing is not None:
            return True
        if not self.private:
            return False
        if card.view is View.OTHER:
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

    def _missing(self, ask: Ask, card: Card, seen: Seen, wish: Wish, place: Place) -> list[Missing]:
        """What is still to be sent, in this order."""

        async def file() -> tuple[Place, int]:
            sent, thread = await self._send(
                ask, place.thread, files[place.files], reply_to=place.card
            )
            return replace(place, thread=thread, files=place.files + 1), sent.id

        async def prompt() -> tuple[Place, int]:
            mention = None if self.private else wish.typing
            sent, thread = await self._send(
                ask,
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
            sent, thread = await self._send(
                ask, place.thread, drawing.html, drawing.rows, reply_to=place.card
            )
            return replace(place, thread=thread, reminder=sent.id), sent.id

        files = overflow(ask).after if ask.open else ()
        missing: list[Missing] = [file] * (len(files) - place.files)
        if seen.prompted and place.prompt is None:
            missing.append(prompt)
        untouched = ask.draft == new_draft(ask.questions)
        if _to_remind(ask, seen) and place.reminder is None and untouched:
            missing.append(reminder)
        return missing


def _to_remind(ask: Ask, seen: Seen) -> bool:
    due = remind_at(ask)
    return ask.open and due is not None and due <= seen.now


def _typing(card: Card) -> bool:
    if card.state not in (State.OPEN, State.LATE):
        return False
    text = card.view is View.QUESTION and card.type is QuestionType.TEXT
    return text or card.view is View.OTHER


def _messages_of(place: Place) -> tuple[int, ...]:
    prompt = place.prompt.id if place.prompt else 0
    return (*filter(None, (place.card, prompt, place.reminder)), *place.old)
