"""What has to be done next so that a chat shows an ask as it is. Pure.

The surface carries out the steps, and records what they lead to: after a crash, a rate limit or a
newer state of the ask, little is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from chatbridge.channels.chat.card_messages import CardMessages, Part

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Generic[D]):
    """How the ask should be shown now. The drawings are made when a step needs them."""

    step: int | None
    """The step to be answered; None once the ask has ended."""
    card: Callable[[], D]
    digest: Callable[[D], object]
    root: Callable[[], D] | None = None
    """The root while another message is answered. None: one message shows every step."""
    past: Callable[[Part], D] | None = None
    reactions: tuple[str, ...] = ()
    pages: int = 0
    prompt: bool = False


# ── steps ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCard(Generic[D]):
    message: str
    drawing: D


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPage:
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReaction:
    message: str
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveReaction:
    message: str
    emoji: str


class PlainStep(Enum):
    """Steps that carry nothing: what is sent is as wanted."""

    SEND_CARD = auto()
    SEND_PROMPT = auto()
    REMOVE_PROMPT = auto()
    REMOVE_REPLACED = auto()
    CLOSE_CONTINUED = auto()


Step = EditCard[D] | SendPage | AddReaction | RemoveReaction | PlainStep


def sends_message(step: Step[D]) -> bool:
    new = (PlainStep.SEND_CARD, PlainStep.SEND_PROMPT)
    return step in new or isinstance(step, SendPage)


def current_card(posted: CardMessages, *, step: int | None, threaded: bool) -> Part | None:
    """The message that is answered now, if it is there."""
    newest = posted.newest
    return newest if step is not None and (not threaded or newest.step == step) else None


def plan(wanted: Wanted[D], posted: CardMessages | None) -> Iterator[Step[D]]:
    """The steps in the order of what a person waits for most."""
    if posted is None:
        yield PlainStep.SEND_CARD
        return
    threaded = wanted.root is not None
    current = current_card(posted, step=wanted.step, threaded=threaded)
    prompted = posted.prompt.step if posted.prompt else None
    missing = range(len(posted.pages), wanted.pages)
    if threaded:  # above the buttons
        yield from (SendPage(number=number) for number in missing)
    if current is None and wanted.step is not None:
        yield PlainStep.SEND_CARD
    yield from _edits(wanted, posted, current)
    yield from _cleanup(wanted, posted, current)
    if wanted.prompt and prompted != wanted.step:
        yield PlainStep.SEND_PROMPT
    if not threaded:  # last: one may be refused for ever
        yield from (SendPage(number=number) for number in missing)


def _edits(
    wanted: Wanted[D], posted: CardMessages, current: Part | None
) -> Iterator[EditCard[D] | AddReaction]:
    root, *later = posted.parts
    if current is not None:
        yield from _edit(current, wanted.card(), wanted)
        for emoji in wanted.reactions:
            if emoji not in current.emojis:
                yield AddReaction(message=current.event, emoji=emoji)
    if current is not root:
        draw = wanted.card if wanted.step is None or wanted.root is None else wanted.root
        yield from _edit(root, draw(), wanted)
    for message in later:
        if message is not current and wanted.past is not None:
            yield from _edit(message, wanted.past(message), wanted)


def _edit(message: Part, drawing: D, wanted: Wanted[D]) -> Iterator[EditCard[D]]:
    if message.shows != wanted.digest(drawing):
        yield EditCard(message=message.event, drawing=drawing)


def _cleanup(
    wanted: Wanted[D], posted: CardMessages, current: Part | None
) -> Iterator[RemoveReaction | PlainStep]:
    for message in posted.parts:
        for emoji in message.emojis:
            if message is not current or emoji not in wanted.reactions:
                yield RemoveReaction(message=message.event, emoji=emoji)
    if posted.above:
        yield PlainStep.CLOSE_CONTINUED
    if posted.old:
        yield PlainStep.REMOVE_REPLACED
    if posted.prompt and not (wanted.prompt and posted.prompt.step == wanted.step):
        yield PlainStep.REMOVE_PROMPT
