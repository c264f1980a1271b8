"""What a person taps, types or commands in a chat, applied to an ask.

Every channel turns its events into these calls, and shows the person what they return: the step of
the form, or a sentence that says why there was none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import Neither, Show, Tap, Use, Write, question_shown
from chatbridge.channels.chat.document import Document, Message
from chatbridge.channels.chat.surface import CardRequest, ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import (
    UNSENT,
    clock_time,
    format_end,
    format_only_on,
    format_time,
)
from chatbridge.core.errors import AskEnded, NotHere, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.forms.approval import allows
from chatbridge.core.forms.typed_input import Action, Unclear, interpret, interpret_beside_buttons
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.ports import Clock

EARLY = "That was very quick. Tap again if you mean it."
NOT_CANCELLED = "This one can be denied instead. Tap Deny."
MAX_PAST_LISTED = 10

Result = form.Step | str
"""A sentence if there was no step."""


class ChatInput:
    def __init__(self, inbox: AskActions, *, channel: str, clock: Clock, typed: bool) -> None:
        """`typed`: also what is a button elsewhere is typed here."""
        self._inbox = inbox
        self._channel = channel
        self._clock = clock
        self._typed = typed

    async def find(self, ask_id: str) -> Ask | None:
        try:
            return await self._inbox.ask(ask_id)
        except UnknownAsk:
            return None

    def ended(self, ask: Ask) -> str:
        return format_ended(ask, now=self._clock.time(), typed=self._typed)

    # ── one action ────────────────────────────────────────────────────────────────────────────────

    async def put(
        self,
        ask: Ask,
        *actions: Action,
        person: Person,
        cursor: ChannelState | None,
        beside: Sequence[ChannelState] = (),
    ) -> Result:
        """Apply the actions as one. `beside` is committed with them."""
        try:
            if AskAction.EXTEND in actions:
                return await self._extend(ask, person, cursor)
            if AskAction.DISCARD in actions:
                later = await self._inbox.discard(ask.id, cursor=cursor)
                return "Discarded." if later.discarded else self.ended(later)
            events = [each for each in actions if not isinstance(each, AskAction)]
            return await self._inbox.put(
                ask.id, *events, person=person, cursor=cursor, beside=beside
            )
        except AskEnded:
            return self.ended(await self._inbox.ask(ask.id))
        except NotHere as error:
            return format_only_on(error.channels)

    async def _extend(self, ask: Ask, person: Person, cursor: ChannelState | None) -> str:
        later = await self._inbox.extend(ask.id, person=person, cursor=cursor)
        at = clock_time(later.deadline or 0.0)
        return (
            f"Ends {at} now." if later.deadline != ask.deadline else f"{at} is the latest allowed."
        )

    async def is_unsent(
        self, ask: Ask, actions: Sequence[Action], surface: ChatSurface[Any]
    ) -> bool:
        """Whether they would allow something that was not shown completely yet."""
        return ask.approval and any(map(allows, actions)) and await surface.lacks(ask)

    # ── texts ─────────────────────────────────────────────────────────────────────────────────────

    async def interpret(self, ask: Ask, text: str) -> tuple[Action, ...] | Unclear:
        read = interpret if self._typed else _interpret_beside_buttons
        return await off_loop(partial(read, ask, text), weight=weight_of(ask))

    async def put_text(
        self, ask: Ask, text: str, *, person: Person, cursor: ChannelState | None
    ) -> Result:
        """Apply a text to this ask, as it is now."""
        meaning = await self.interpret(ask, text)
        if isinstance(meaning, Unclear):
            return meaning.why
        return await self.put(ask, *meaning, person=person, cursor=cursor)

    # ── buttons ───────────────────────────────────────────────────────────────────────────────────

    async def tap(
        self,
        tap: Tap,
        ask: Ask,
        *,
        surface: ChatSurface[Any],
        person: Person,
        typing: CardRequest,
        cursor: ChannelState | None,
        is_early: Callable[[], Awaitable[bool]],
    ) -> Result:
        """Apply a button. `typing` is the wish for a prompt; `is_early` says whether the tap came
        too soon after the button appeared."""
        action = tap.action
        match action:
            case Neither() | Use():
                raise AssertionError("it is for the message that has the button, not for the card")
            case Show() | Write() if is_over(ask, action):
                return self.ended(ask)
            case Show() | Write():
                if isinstance(action, Write) and action.step != ask.draft.step:
                    return form.STALE
                wish = typing if isinstance(action, Write) else CardRequest(anew=True)
                surface.requests[ask.id] = wish
                await self._inbox.redraw(ask.id)
                return ""
            case AskAction():
                return await self.put(ask, action, person=person, cursor=cursor)
        # Its step says as much; a card that was drawn for another question must not pass, ever.
        if ask.open and tap.question != question_shown(ask):
            return form.STALE
        # As the form is now. Who denies may be quick.
        if ask.open and getattr(action, "step", None) == ask.draft.step:
            if ask.approval and allows(action) and await is_early():
                return EARLY
            if await self.is_unsent(ask, (action,), surface):
                return UNSENT
        step = await self.put(ask, action, person=person, cursor=cursor)
        if isinstance(action, form.Other | form.AskExplain) and isinstance(step, form.Moved):
            surface.requests[ask.id] = typing
        return step

    # ── commands ──────────────────────────────────────────────────────────────────────────────────

    async def command(
        self, name: str, *, surface: ChatSurface[Any], person: Person, cursor: ChannelState | None
    ) -> str | Document | Message | None:
        """What the bot says to a command, if anything."""
        match name:
            case "pending" | "cancel":
                listed = await self._inbox.open_rows(limit=notices.LISTED_AT_MOST)
                if name == "pending" or listed.only is None:
                    return notices.pending(listed)
                ask = await self._inbox.ask(listed.only.id)
                return await self._ask_to_cancel(ask, surface, person, cursor)
            case "history":
                rows = await self._inbox.past_rows(limit=MAX_PAST_LISTED)
                return notices.history(rows, channel=self._channel)
        return None

    async def _ask_to_cancel(
        self, ask: Ask, surface: ChatSurface[Any], person: Person, cursor: ChannelState | None
    ) -> str | None:
        """The only open card asks whether to cancel, at the bottom of the chat. An approval comes
        there as it is: it is denied, not cancelled."""
        if ask.approval:
            surface.requests[ask.id] = CardRequest(anew=True)
            await self._inbox.redraw(ask.id)
            channels = self._inbox.only_on(ask, self._channel)
            return format_only_on(channels) if channels else NOT_CANCELLED
        step = await self.put(
            ask, form.AskCancel(step=ask.draft.step), person=person, cursor=cursor
        )
        if isinstance(step, str):
            return step
        surface.requests[ask.id] = CardRequest(anew=True)
        if isinstance(step, form.Refused):  # it asks already
            await self._inbox.redraw(ask.id)
        return None


def format_ended(ask: Ask, *, now: float, typed: bool) -> str:
    """Said to a person who comes after the end."""
    if not (typed and takes_late_answer(ask)):
        return format_end(ask, now=now)
    at = format_time(ask.settled_at or ask.created_at, now=now)
    return f"This question ended at {at}. Reply “anyway” to leave a late answer."


def reply_to(result: Result) -> str | None:
    """What the person is told, if anything."""
    if isinstance(result, form.Refused):
        return result.why
    return result if isinstance(result, str) else None


def is_over(ask: Ask, action: Show | Write | Use) -> bool:
    """Whether the ask is past what this button is for. A text may still be a late answer."""
    if isinstance(action, Show):
        return not ask.open
    late = takes_late_answer(ask) and (ask.draft.late or isinstance(action, Use))
    return not (ask.open or late)


def _interpret_beside_buttons(ask: Ask, text: str) -> tuple[Action, ...]:
    """A text for an ask that has timed out opens its late answer first."""
    opening: tuple[form.Event, ...] = ()
    if takes_late_answer(ask) and not ask.draft.late:
        opening = (form.AnswerAnyway(step=ask.draft.step),)
        opened = form.advance(ask.questions, ask.draft, opening[0])
        assert isinstance(opened, form.Moved)
        ask = replace(ask, draft=opened.draft)
    return (*opening, *interpret_beside_buttons(ask, text))
