"""What a person taps, types or reacts with in a chat, applied to an ask.

A channel turns its events into these calls, and carries out what they return: the words for the
person, or the step of the form, and what becomes of the message with the button.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

from chatbridge.channels.chat import card, notices
from chatbridge.channels.chat.callback_data import (
    Neither,
    Originals,
    QuickAnswer,
    Show,
    Tap,
    Use,
    Write,
    crc,
    question_shown,
)
from chatbridge.channels.chat.card_visibility import CardVisibility, any_unseen, shown_on
from chatbridge.channels.chat.document import Document, Message
from chatbridge.channels.chat.received_files import (
    SENT_AS_RECORDING,
    FileAnswer,
    FileIntake,
    IncomingFile,
    in_words,
    is_spoken,
)
from chatbridge.channels.chat.scene import NO_REQUEST, CardRequest
from chatbridge.channels.chat.surface import ChatSurface
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards import phrases
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.grants import ASKED_AGAIN
from chatbridge.core.errors import (
    AskEnded,
    AttachmentError,
    NotHere,
    RoleMissing,
    UnknownAsk,
)
from chatbridge.core.forms import filling, form
from chatbridge.core.forms.approval_form import TAP_IT, allows
from chatbridge.core.forms.emoji_shortcuts import reaction_for
from chatbridge.core.forms.typed_input import (
    YES_OR_NO,
    Action,
    Unclear,
    asks_yes_or_no,
    format_approval_help,
    interpret,
    interpret_beside_buttons,
    takes_text,
    takes_words,
)
from chatbridge.core.forms.yes_no import read_yes_no
from chatbridge.core.model import Ask, ChannelState, Person
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

EARLY = "That was very quick. Tap again if you mean it."
UNKNOWN = "This question is no longer here."
MESSAGE_GONE = "Your message is no longer there. Reply to the card you mean."
REPLY_TO_ONE = "Reply to the question you mean."
DISCARDED = "Discarded."
TAKEN_BACK = f"Taken back. {ASKED_AGAIN}"
OVER = "That is over already."
ONCE_MORE = "To react with the same again, take your reaction back first."
"""No server takes a person's reaction twice: a tap on one's own takes it back."""

Result = form.Step | str
"""A sentence if there was no step."""


@dataclass(frozen=True, slots=True)
class NeedsYesOrNo:
    """A text that is not clearly yes or no to this ask. The person is asked which, and does not
    have to type it again."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class SentAsRecording:
    """A voice message was taken as a file, since nothing turns it into text."""

    step: form.Step


TextResult = Result | NeedsYesOrNo | SentAsRecording
Said = str | Document | Message
Spawn = Callable[[Coroutine[Any, Any, object]], None]
"""Runs what nobody has to wait for."""
IsEarly = Callable[[Ask], Awaitable[bool]]
"""Whether a tap came too soon after the button appeared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who did something, and where. The cursor is committed together with the effect."""

    chat: ChatSurface[Any]
    person: Person
    cursor: ChannelState | None
    prompt: CardRequest = NO_REQUEST
    """What a button asks for that opens the keyboard."""


@dataclass(frozen=True, slots=True)
class ChatInput:
    inbox: AskActions
    _: KW_ONLY
    channel: str
    clock: Clock
    typed: bool
    """Also what is a button elsewhere is typed here."""

    async def find(self, ask_id: str) -> Ask | None:
        try:
            return await self.inbox.ask(ask_id)
        except UnknownAsk:
            return None

    def _ended(self, ask: Ask) -> str:
        return format_ended(ask, now=self.clock.time(), typed=self.typed)

    # ── one action ────────────────────────────────────────────────────────────────────────────────

    async def put(
        self, ask: Ask, *actions: Action, by: Origin, beside: Sequence[ChannelState] = ()
    ) -> Result:
        """Apply the actions as one. `beside` is committed with them."""
        try:
            if AskAction.DISCARD in actions:
                later = await self.inbox.discard(ask.id, person=by.person, cursor=by.cursor)
                return DISCARDED if later.discarded else self._ended(later)
            if AskAction.TAKE_BACK in actions:
                return await self._take_back(ask, by)
            events = [each for each in actions if not isinstance(each, AskAction)]
            if len(ask.questions) > 1 and await by.chat.is_far_above(ask):
                by.chat.requests[ask.id] = CardRequest(leaves=ask.draft.at)
            step = await self.inbox.put(
                ask.id, *events, person=by.person, cursor=by.cursor, beside=beside
            )
            if not isinstance(step, form.Postponed):
                return step
            silent = self.typed and step.snoozed_until is not None  # its card says so
            return "" if silent else phrases.format_postponed(step, now=self.clock.time())
        except AskEnded:
            return self._ended(await self.inbox.ask(ask.id))
        except NotHere as error:
            return phrases.format_only_on(error.channels)
        except RoleMissing as error:
            return str(error)

    async def _take_back(self, ask: Ask, by: Origin) -> str:
        later = await self.inbox.take_back(ask.id, person=by.person, cursor=by.cursor)
        return TAKEN_BACK if later.grant and later.grant.taken_back_at is not None else OVER

    async def _is_unsent(self, ask: Ask, actions: Sequence[Action], chat: ChatSurface[Any]) -> bool:
        """Whether they would allow something that was not shown completely yet."""
        return ask.approval and any(map(allows, actions)) and await chat.lacks(ask)

    # ── texts ─────────────────────────────────────────────────────────────────────────────────────

    async def text(
        self,
        ask: Ask,
        text: str | None,
        by: Origin,
        *,
        stale: bool = False,
        files: Sequence[IncomingFile] = (),
    ) -> TextResult:
        """Apply a text to this ask, as it is now; None is a message without one. `stale`: it was
        written for a step that is over. `files` came with it: then it is their caption."""
        if files:
            return await self._files(ask, files, text, by, stale=stale)
        said = (text or "").strip().casefold() if self.typed else ""
        if said in ("discard", "!discard") and ask.kept and not ask.discarded:
            told = await self.put(ask, AskAction.DISCARD, by=by)
            return "" if told == DISCARDED else told
        if said in ("take back", "!take back") and ask.grant:
            return await self.put(ask, AskAction.TAKE_BACK, by=by)
        if is_over(ask, may_reopen=not self.typed or said == "anyway"):
            return self._ended(ask)
        if text is None:
            return notices.ONLY_TEXT
        meaning = await self._meaning(ask, text, by.chat)
        if stale and not (self.typed and _is_for_any_step(meaning)):
            return form.STALE
        if meaning == YES_OR_NO:
            return NeedsYesOrNo(ask)
        if isinstance(meaning, Unclear):
            return meaning.why
        if await self._is_unsent(ask, meaning, by.chat):
            return phrases.UNSENT
        return await self.put(ask, *meaning, by=by)

    async def _meaning(
        self, ask: Ask, text: str, chat: ChatSurface[Any]
    ) -> tuple[Action, ...] | Unclear:
        read = partial(_interpret_beside_buttons, ask, text)
        if self.typed:
            read = partial(
                interpret,
                ask,
                text,
                next_time=partial(self.inbox.nights.hours.next_time, after=self.clock.time()),
                replies=self.inbox.replies,
                later=self.inbox.later(ask),
                colleagues=self.inbox.colleagues(ask, surface=chat.name),
            )
        return await off_loop(read, weight=weight_of(ask))

    async def use(
        self,
        ask: Ask,
        step: int,
        text: str | None,
        by: Origin,
        *,
        option: int | None = None,
        files: Sequence[IncomingFile] = (),
    ) -> TextResult:
        """Apply a text that was typed before; only now it is known which question it is for, and
        that was at this step. With an option it is the remark of that. With `files` it is their
        caption, and only now they are fetched."""
        if is_over(ask, may_reopen=not self.typed):
            return self._ended(ask)
        if step != ask.draft.step:
            return form.STALE
        if files:
            return await self._files(ask, files, text, by, option=option)
        if not text:
            return MESSAGE_GONE
        if option is None:
            return await self.text(ask, text, by)
        opening, opened = _opened(ask)
        if not asks_yes_or_no(opened):
            return form.UNFIT  # also an approval, whose first option allows something
        choice = form.Choose(step=opened.draft.step, option=option, remark=text)
        return await self.put(ask, *opening, choice, by=by)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    async def _files(
        self,
        ask: Ask,
        files: Sequence[IncomingFile],
        caption: str | None,
        by: Origin,
        *,
        stale: bool = False,
        option: int | None = None,
    ) -> TextResult:
        """Fetch the files of a message and apply them, with its caption. What does not fit is
        refused before anything is fetched; what cannot be fetched has been dealt with."""
        anyway = self.typed and (caption or "").strip().casefold() == "anyway"
        if is_over(ask, may_reopen=not self.typed or anyway):
            return self._ended(ask)
        if self.inbox.attachments is None:
            return notices.ONLY_TEXT
        if stale:
            return form.STALE
        if channels := self.inbox.only_on(ask, self.channel):
            return phrases.format_only_on(channels)
        try:
            self.inbox.check(ask, by.person)  # before anything is fetched
        except RoleMissing as error:
            return str(error)
        if self.typed and ask.approval:
            build = partial(build_card, ask, channel=self.channel)
            return format_approval_help(await off_loop(build, weight=weight_of(ask)))
        opening, opened = _opened(ask)
        words = None if anyway and opening else (caption or "").strip() or None
        meaning: tuple[Action, ...] | Unclear = ()
        if option is not None:
            step = opened.draft.step
            meaning = (form.Choose(step=step, option=option, remark=words),)
        elif words:
            meaning = await self._meaning(opened, words, by.chat)
        spoken = self.inbox.transcribes and is_spoken(files, words)
        given = FileAnswer(opening, opened.draft.step, words, meaning, spoken=spoken)
        if refused := given.refusal(ask, len(files)):
            return refused
        intake = FileIntake(store=self.inbox.attachments, clock=self.clock, limits=by.chat.files)
        before = () if spoken else opened.draft.entries[opened.draft.at].attachments
        try:
            intake.check(files, before)
            fetched = await intake.fetch(files, ask, before)
        except AttachmentError as error:
            return str(error)
        result = await self.put(ask, *given.events(fetched), by=by)
        if isinstance(result, str | form.Refused):
            return result
        if given.unclear is not None:
            return given.unclear.why
        recorded = any(each.voice for each in files) and not self.inbox.transcribes
        return SentAsRecording(result) if recorded else result

    async def clearly_meant(
        self, surface: str, shown: CardVisibility, *, is_current: Callable[[Ask, str], bool]
    ) -> Ask | None:
        """The one question that waits for text now, if a text beside the cards can be for no other:
        none here has moved on or ended since it was written. `is_current` says so of the card of an
        ask, by its place. What the person may not have noticed is `CardVisibility`'s to say."""
        if await any_unseen(self.inbox, surface, shown):
            return None
        here = await shown_on(self.inbox, surface)
        waiting = [ask for ask in self.may_mean([ask for ask, _ in here]) if takes_text(ask)]
        if len(waiting) != 1 or not all(is_current(ask, post.place) for ask, post in here):
            return None
        return waiting[0]

    async def asks_on(self, surface: str) -> list[Ask]:
        """What a text beside the cards may be for, and approvals, which it is not for."""
        return [ask for ask, _ in await shown_on(self.inbox, surface)]

    def may_mean(self, here: Sequence[Ask]) -> Sequence[Ask]:
        """Those that a text beside the cards may be for: what waits for text or, if nothing does,
        every question that takes words."""
        waiting = [ask for ask in here if takes_text(ask) and not (self.typed and ask.approval)]
        any_screen = self.typed  # also the review's words are typed
        return waiting or [
            ask for ask in here if takes_words(ask) or (any_screen and not ask.approval)
        ]

    async def nothing_waits(self) -> str:
        """For a text where no question is in sight."""
        snoozed = [ask.attention.snoozed_until for ask in await self.inbox.open_asks()]
        return notices.ONLY_SNOOZED if any(snoozed) else notices.NOTHING_WAITS

    async def ask_back(
        self, text: str, surface: str, *, files: Sequence[IncomingFile] = ()
    ) -> Said:
        """The question which ask a text is for, or files with this caption, with a button for
        each."""
        here = await self.asks_on(surface)
        meant = self.may_mean(here)
        spoken = self.inbox.transcribes and is_spoken(files, text)
        if len(meant) > 1:
            return notices.which_one(text or in_words(files), meant, spoken=spoken)
        if meant:
            unclear = asks_yes_or_no(meant[0]) and read_yes_no(text) is None and not spoken
            return notices.yes_or_no(meant[0]) if unclear else notices.use_it(meant[0])
        if not here:
            return await self.nothing_waits()
        return notices.open_asks(TAP_IT.why if here[0].approval else REPLY_TO_ONE, here)

    # ── buttons ───────────────────────────────────────────────────────────────────────────────────

    async def tap(self, tap: Tap, ask: Ask, by: Origin, *, is_early: IsEarly) -> str:
        """Apply a button of the ask's card, or of a list. Return what the person is told."""
        result = await self._tap(tap, ask, by, is_early)
        asked_back = isinstance(tap.action, form.Explain | form.Rephrase)
        return await self.toast(ask, result, asked_back=asked_back)

    async def _tap(self, tap: Tap, ask: Ask, by: Origin, is_early: IsEarly) -> Result:
        action = tap.action
        match action:
            case Neither() | Use() | Originals():
                raise AssertionError("it changes nothing of the ask")
            case Show() if ask.open:
                return await self._bring_down(ask, by)
            case Write(step=step) if not is_over(ask):
                stale = step != ask.draft.step
                return form.STALE if stale else await self.request(ask, by.prompt, by.chat)
            case Show() | Write():
                return self._ended(ask)
            case AskAction() | form.Extend(step=None):
                return await self.put(ask, action, by=by)
            case QuickAnswer(step=step, check=check):
                text = next((each for each in self.inbox.replies if crc(each) == check), None)
                if text is None:  # the settings have changed since
                    await self.inbox.redraw(ask.id)
                    return form.STALE
                action = form.Text(text=text, step=step)
        # Its step says as much; a card that was drawn for another question must not pass, ever.
        if ask.open and tap.question != question_shown(ask):
            return form.STALE
        # As the form is now. Who denies may be quick.
        if ask.open and getattr(action, "step", None) == ask.draft.step:
            if ask.approval and allows(action) and await is_early(ask):
                return EARLY
            if await self._is_unsent(ask, (action,), by.chat):
                return phrases.UNSENT
        result = await self.put(ask, action, by=by)
        if isinstance(action, form.Other | form.AskExplain) and isinstance(result, form.Moved):
            by.chat.requests[ask.id] = by.prompt
        return result

    async def _bring_down(self, ask: Ask, by: Origin) -> str:
        """Post its card anew at the bottom, also if it is snoozed."""
        if ask.attention.snoozed_until is not None:
            woken = await self.put(ask, form.ShowNow(step=ask.draft.step), by=by)
            if isinstance(woken, str):
                return woken
        return await self.request(ask, CardRequest(repost=True), by.chat)

    async def request(self, ask: Ask, request: CardRequest, chat: ChatSurface[Any]) -> str:
        """Have its card drawn once more, as requested. Nobody is told anything."""
        chat.requests[ask.id] = request
        await self.inbox.redraw(ask.id)
        return ""

    async def toast(self, ask: Ask, result: Result, *, asked_back: bool = False) -> str:
        """By how the ask is now: it may have timed out, or lost its agent, since it was drawn."""
        if isinstance(result, str):
            return result
        after = await self.inbox.ask(ask.id) if isinstance(result, form.Answered) else ask
        told = partial(card.toast, ask, result, kept=after.kept, asked_back=asked_back)
        return await off_loop(told, weight=weight_of(ask))

    # ── reactions ─────────────────────────────────────────────────────────────────────────────────

    async def react(
        self,
        emoji: str,
        ask: Ask,
        by: Origin,
        *,
        step: int | None,
        picked: Callable[[int], Awaitable[ChannelState]],
    ) -> str | None:
        """Apply a reaction to the message of a step. Return what the person is told, if anything.
        `picked` makes the note of an option that it selects."""
        if is_over(ask):
            return self._ended(ask)
        if step != ask.draft.step:
            return form.STALE.why
        later, replies = self.inbox.later(ask), self.inbox.replies
        build = partial(
            build_card,
            ask,
            channel=self.channel,
            replies=replies,
            later=later,
            colleagues=self.inbox.colleagues(ask, surface=by.chat.name),
        )
        card = await off_loop(build, weight=weight_of(ask))
        key = reaction_for(card, emoji)
        if key is None or isinstance(key.action, AskAction):
            # Nobody should think that something was allowed, or denied.
            return format_approval_help(card) if ask.approval else None
        if await self._is_unsent(ask, (key.action,), by.chat):
            return f"{phrases.UNSENT} {ONCE_MORE}"
        beside = [await picked(key.action.option)] if isinstance(key.action, form.Toggle) else []
        result = await self.put(ask, key.action, by=by, beside=beside)
        if isinstance(result, form.Refused) and result != form.STALE:
            return f"{result.why} {ONCE_MORE}"
        return reply_to(result)

    async def show_listed(self, number: int, message: str, by: Origin) -> str | None:
        """Bring the card down that the summary in this message has under a number, from 1. Return
        what the person is told; None if there is no such number."""
        asks = await by.chat.summaries.listed_in(message)
        ask = await self.find(asks[number - 1]) if 1 <= number <= len(asks) else None
        if ask is None:
            return None
        return await self._bring_down(ask, by) if ask.open else self._ended(ask)


def format_ended(ask: Ask, *, now: float, typed: bool) -> str:
    """Said to a person who comes after the end."""
    if not (typed and takes_late_answer(ask)):
        return phrases.format_end(ask, now=now)
    at = phrases.format_time(ask.settled_at or ask.created_at, now=now)
    return f"This question ended at {at}. Reply “anyway” to leave a late answer."


def reply_to(result: Result | SentAsRecording) -> str | None:
    """What the person is told, if anything."""
    if isinstance(result, form.Refused):
        return result.why
    if isinstance(result, SentAsRecording):
        return SENT_AS_RECORDING
    return result if isinstance(result, str) else None


def is_over(ask: Ask, *, may_reopen: bool = False) -> bool:
    """Whether nothing can be said to it any more. A late answer counts once somebody has begun it,
    or if this may begin it."""
    return not (ask.open or (takes_late_answer(ask) and (ask.draft.late or may_reopen)))


def _is_for_any_step(meaning: Sequence[Action] | Unclear) -> bool:
    """More time, or a late answer: what a card offers wherever the form is."""
    return not isinstance(meaning, Unclear) and isinstance(
        meaning[0], AskAction | form.AnswerAnyway | form.AskLater | form.ShowNow | form.Later
    )


def _interpret_beside_buttons(ask: Ask, text: str) -> tuple[Action, ...] | Unclear:
    opening, opened = _opened(ask)
    meaning = interpret_beside_buttons(opened, text)
    return meaning if isinstance(meaning, Unclear) else (*opening, *meaning)


def _opened(ask: Ask) -> tuple[tuple[form.Event, ...], Ask]:
    """What opens the late answer of an ask that has timed out, and the ask as it is then."""
    if not takes_late_answer(ask) or ask.draft.late:
        return (), ask
    opening = form.AnswerAnyway(step=ask.draft.step)
    opened = filling.advance(ask.questions, ask.draft, opening)
    assert isinstance(opened, form.Moved)
    return (opening,), replace(ask, draft=opened.draft)
