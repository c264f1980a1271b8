"""What is done next in a chat: whatever is there, it comes to rest as the ask is."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.planner import (
    NO_REMINDER,
    AddReaction,
    CardMessage,
    EditCard,
    PlainStep,
    Posted,
    RemoveReaction,
    SendAttachment,
    SendCard,
    SendReminder,
    Step,
    Wanted,
    current_card,
    plan,
    sends_message,
)

EMOJIS = ("1️⃣", "2️⃣", "✅", "❌", "↩️")


class Chat:
    """What a service would have after each step."""

    def __init__(self, posted: Posted | None = None) -> None:
        self.posted = posted
        self.done: list[Step[str]] = []
        self._numbers = count()

    def bring_up(self, wanted: Wanted[str], *, at_most: int) -> None:
        while len(self.done) < at_most:
            step = next(plan(wanted, self.posted), None)
            if step is None:
                return
            self.done.append(step)
            self._do(step, wanted)

    def _do(self, step: Step[str], wanted: Wanted[str]) -> None:
        there = self.posted
        if isinstance(step, SendCard):
            assert wanted.step is not None or there is None
            new = CardMessage(
                id=f"new-{next(self._numbers)}", step=wanted.step or 0, shows=step.drawing
            )
            self.posted = (
                Posted(cards=(new,)) if there is None else replace(there, cards=(*there.cards, new))
            )
            return
        assert there is not None
        match step:
            case EditCard(message=message, drawing=drawing):
                self._change(message, shows=drawing)
            case AddReaction(message=message, emoji=emoji):
                card = self._card(message)
                assert emoji not in card.reactions
                self._change(message, reactions=(*card.reactions, emoji))
            case RemoveReaction(message=message, emoji=emoji):
                card = self._card(message)
                assert emoji in card.reactions
                left = tuple(each for each in card.reactions if each != emoji)
                self._change(message, reactions=left)
            case SendAttachment(number=number):
                assert number == there.attachments
                self.posted = replace(there, attachments=number + 1)
            case SendReminder():
                assert there.reminder is None
                self.posted = replace(there, reminder="reminder")
            case PlainStep.REMOVE_REMINDER:
                assert there.reminder
                self.posted = replace(there, reminder=NO_REMINDER)
            case PlainStep.SEND_PROMPT:
                assert there.prompt is None
                self.posted = replace(there, prompt=wanted.step)
            case PlainStep.REMOVE_PROMPT:
                assert there.prompt is not None
                self.posted = replace(there, prompt=None)
            case PlainStep.REMOVE_REPLACED:
                assert there.replaced
                self.posted = replace(there, replaced=False)

    def _card(self, message: str) -> CardMessage:
        assert self.posted is not None
        return next(card for card in self.posted.cards if card.id == message)

    def _change(self, message: str, **changes: object) -> None:
        assert self.posted is not None
        changed = replace(self._card(message), **changes)  # type: ignore[arg-type]
        cards = tuple(changed if card.id == message else card for card in self.posted.cards)
        self.posted = replace(self.posted, cards=cards)


def some_wanted(*, step: int | None, threaded: bool, **others: object) -> Wanted[str]:
    return Wanted(
        step=step,
        card=lambda: f"card {step}",
        reminder=lambda: "remember",
        digest=lambda drawing: drawing,
        root=(lambda: f"root {step}") if threaded else None,
        past=(lambda message: f"past {message.step}") if threaded else None,
        **others,  # type: ignore[arg-type]
    )


@st.composite
def wanteds(draw: st.DrawFn, *, threaded: bool, first_step: int = 0) -> Wanted[str]:
    """As channels want it: typing prompts where cards are edited, reactions in threads."""
    step = draw(st.none() | st.integers(first_step, first_step + 5))
    reactions = st.lists(st.sampled_from(EMOJIS), unique=True).map(tuple)
    return some_wanted(
        step=step,
        threaded=threaded,
        reactions=draw(reactions) if threaded and step is not None else (),
        attachments=draw(st.integers(0, 3)),
        prompt=step is not None and not threaded and draw(st.booleans()),
        remind=step is not None and draw(st.booleans()),
        untouched=draw(st.booleans()),
    )


@st.composite
def posteds(draw: st.DrawFn, *, threaded: bool) -> Posted:
    """As hubs leave it: each message is for a later step than the one above it."""
    most = 4 if threaded else 1
    steps = draw(st.lists(st.integers(0, 5), min_size=1, max_size=most, unique=True).map(sorted))
    cards = [
        CardMessage(
            id=f"card-{step}",
            step=step,
            shows=draw(st.sampled_from([f"card {step}", f"root {step}", "old"])),
            reactions=tuple(draw(st.lists(st.sampled_from(EMOJIS), unique=True))),
        )
        for step in steps
    ]
    if threaded and draw(st.booleans()):  # the root was removed, and a new one sent
        cards.insert(1, CardMessage(id="replaced", step=None, shows="old"))
    return Posted(
        cards=tuple(cards),
        attachments=draw(st.integers(0, 3)),
        prompt=draw(st.none() | st.integers(0, 5)) if not threaded else None,
        reminder=draw(st.sampled_from([None, NO_REMINDER, "reminder"])),
        replaced=not threaded and draw(st.booleans()),
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Wanted[str], Posted | None]:
    threaded = draw(st.booleans())
    posted = draw(st.none() | posteds(threaded=threaded))
    steps = [card.step or 0 for card in posted.cards] if posted is not None else [0]
    return draw(wanteds(threaded=threaded, first_step=max(steps))), posted


def check_rest(chat: Chat, wanted: Wanted[str]) -> None:
    """Nothing is left to do, and all is as wanted."""
    posted, threaded = chat.posted, wanted.root is not None
    assert posted is not None
    assert list(plan(wanted, posted)) == []
    current = current_card(posted, step=wanted.step, threaded=threaded)
    assert (current is not None) == (wanted.step is not None)
    for card in posted.cards:
        assert sorted(card.reactions) == sorted(wanted.reactions if card is current else ())
        assert card.shows == drawn_for(card, posted, current, wanted)
    assert posted.attachments >= wanted.attachments
    assert posted.prompt == (wanted.step if wanted.prompt else None)
    assert not posted.replaced
    assert not posted.reminder or wanted.remind
    if wanted.remind and wanted.untouched:
        assert posted.reminder is not None


def drawn_for(
    card: CardMessage, posted: Posted, current: CardMessage | None, wanted: Wanted[str]
) -> str:
    if card is current or (card is posted.cards[0] and wanted.step is None):
        return wanted.card()
    if card is posted.cards[0]:
        assert wanted.root is not None
        return wanted.root()
    assert wanted.past is not None
    return wanted.past(card)


def bound(posted: Posted | None) -> int:
    """A card, its reactions, attachments, a prompt and a reminder; what is there changes once."""
    cards = posted.cards if posted else ()
    there = sum(1 + len(card.reactions) for card in cards)
    return 1 + len(EMOJIS) + 3 + 2 + 2 + 1 + there


@given(scenes())
def test_whatever_is_there_a_chat_comes_to_rest_as_wanted(
    scene: tuple[Wanted[str], Posted | None],
) -> None:
    wanted, posted = scene
    chat = Chat(posted)
    chat.bring_up(wanted, at_most=bound(posted) + 1)
    assert len(chat.done) <= bound(posted)
    assert sum(isinstance(step, SendCard) for step in chat.done) <= 1
    check_rest(chat, wanted)


@given(st.data(), st.booleans())
def test_a_newer_state_in_the_middle_is_no_problem(data: st.DataObject, threaded: bool) -> None:
    chat, step = Chat(), 0
    for _ in range(4):
        wanted = data.draw(wanteds(threaded=threaded, first_step=step))
        step = wanted.step or step
        chat.bring_up(wanted, at_most=len(chat.done) + data.draw(st.integers(0, 12)))
    chat.bring_up(wanted, at_most=len(chat.done) + bound(chat.posted) + 1)
    check_rest(chat, wanted)


@given(scenes())
def test_steps_can_be_carried_out_in_one_go_where_one_message_shows_every_step(
    scene: tuple[Wanted[str], Posted | None],
) -> None:
    wanted, posted = scene
    wanted = replace(wanted, root=None, past=None)
    if posted is None:
        return
    chat = Chat(replace(posted, cards=posted.cards[:1]))
    for step in [*plan(wanted, chat.posted)]:
        chat._do(step, wanted)
    check_rest(chat, wanted)


def kinds(wanted: Wanted[str], posted: Posted) -> list[str]:
    steps = plan(wanted, posted)
    return [each.name if isinstance(each, PlainStep) else type(each).__name__ for each in steps]


def test_in_a_thread_what_is_to_be_answered_comes_before_everything_else() -> None:
    posted = Posted(cards=(CardMessage(id="a", step=0, shows="card 0", reactions=EMOJIS[:2]),))
    wanted = some_wanted(step=1, threaded=True, reactions=EMOJIS[2:4])
    assert kinds(wanted, posted) == ["SendCard", "EditCard", *["RemoveReaction"] * 2]
    chat = Chat(posted)
    chat.bring_up(wanted, at_most=20)
    done = [type(step).__name__ for step in chat.done]
    assert done == ["SendCard", *["AddReaction"] * 2, "EditCard", *["RemoveReaction"] * 2]


def test_in_a_thread_attachments_come_before_the_card_that_they_are_for() -> None:
    posted = Posted(cards=(CardMessage(id="a", step=0, shows="card 0"),))
    wanted = some_wanted(step=1, threaded=True, attachments=2)
    assert kinds(wanted, posted)[:3] == ["SendAttachment", "SendAttachment", "SendCard"]


def test_where_cards_are_edited_attachments_come_last_and_messages_after_what_goes() -> None:
    card = CardMessage(id="a", step=0, shows="card 0")
    posted = Posted(cards=(card,), prompt=0, replaced=True)
    wanted = some_wanted(step=1, threaded=False, attachments=1, prompt=True, remind=True)
    expected = ["EditCard", "REMOVE_REPLACED", "REMOVE_PROMPT"]
    expected += ["SEND_PROMPT", "SendReminder", "SendAttachment"]
    assert kinds(wanted, posted) == expected
    assert [sends_message(step) for step in plan(wanted, posted)] == [False] * 3 + [True] * 3


def test_a_toggle_sends_nothing_and_leaves_all_buttons() -> None:
    card = CardMessage(id="a", step=0, shows="before", reactions=EMOJIS[:3])
    wanted = some_wanted(step=0, threaded=True, reactions=EMOJIS[:3])
    assert kinds(wanted, Posted(cards=(card,))) == ["EditCard"]
