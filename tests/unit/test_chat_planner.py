"""What is done next in a chat: whatever is there, it comes to rest as the ask is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.card_messages import (
    OVER,
    BotReaction,
    CardMessages,
    Part,
    Prompt,
)
from chatbridge.channels.chat.planner import (
    AddReaction,
    EditCard,
    PlainStep,
    RemoveReaction,
    SendPage,
    Step,
    Wanted,
    current_card,
    plan,
    sends_message,
)

EMOJIS = ("1️⃣", "2️⃣", "✅", "❌", "↩️")


class Chat:
    """What a service would have after each step."""

    def __init__(self, posted: CardMessages | None = None) -> None:
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
        if step is PlainStep.SEND_CARD:
            assert wanted.step is not None or there is None
            new = Part(
                event=f"new-{next(self._numbers)}", step=wanted.step or 0, shows=wanted.card()
            )
            self.posted = some_posted(new) if there is None else there.having(new)
            return
        assert there is not None
        match step:
            case EditCard(message=message, drawing=drawing):
                self.posted = there.having(replace(there[message], shows=drawing))
            case AddReaction(message=message, emoji=emoji):
                card = there[message]
                assert emoji not in card.emojis
                self.posted = there.having(replace(card, seeds=(*card.seeds, *seeds(emoji))))
            case RemoveReaction(message=message, emoji=emoji):
                card = there[message]
                assert emoji in card.emojis
                left = (each for each in card.emojis if each != emoji)
                self.posted = there.having(replace(card, seeds=seeds(*left)))
            case SendPage(number=number):
                assert number == len(there.pages)
                self.posted = replace(there, pages=(*there.pages, "page"))
            case PlainStep.SEND_PROMPT:
                assert there.prompt is None
                assert wanted.step is not None
                self.posted = replace(there, prompt=Prompt(id="prompt", step=wanted.step))
            case PlainStep.REMOVE_PROMPT:
                assert there.prompt is not None
                self.posted = replace(there, prompt=None)
            case PlainStep.REMOVE_REPLACED:
                assert there.old
                self.posted = replace(there, old=())


def seeds(*emojis: str) -> tuple[BotReaction, ...]:
    return tuple(BotReaction(emoji=emoji, event=f"on {emoji}") for emoji in emojis)


def some_posted(
    *cards: Part,
    pages: int = 0,
    prompt: int | None = None,
    replaced: bool = False,
) -> CardMessages:
    return CardMessages(
        room="room",
        parts=cards,
        pages=("page",) * pages,
        prompt=None if prompt is None else Prompt(id="prompt", step=prompt),
        old=("old",) if replaced else (),
    )


def some_wanted(*, step: int | None, threaded: bool, **others: object) -> Wanted[str]:
    return Wanted(
        step=step,
        card=lambda: f"card {step}",
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
        pages=draw(st.integers(0, 3)),
        prompt=step is not None and not threaded and draw(st.booleans()),
    )


@st.composite
def posteds(draw: st.DrawFn, *, threaded: bool) -> CardMessages:
    """As hubs leave it: each message is for a later step than the one above it."""
    most = 4 if threaded else 1
    steps = draw(st.lists(st.integers(0, 5), min_size=1, max_size=most, unique=True).map(sorted))
    cards = [
        Part(
            event=f"card-{step}",
            step=step,
            shows=draw(st.sampled_from([f"card {step}", f"root {step}", "old"])),
            seeds=seeds(*draw(st.lists(st.sampled_from(EMOJIS), unique=True))),
        )
        for step in steps
    ]
    if threaded and draw(st.booleans()):  # the root was removed, and a new one sent
        cards.insert(1, Part(event="replaced", step=OVER, shows="old"))
    return some_posted(
        *cards,
        pages=draw(st.integers(0, 3)),
        prompt=draw(st.none() | st.integers(0, 5)) if not threaded else None,
        replaced=not threaded and draw(st.booleans()),
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Wanted[str], CardMessages | None]:
    threaded = draw(st.booleans())
    posted = draw(st.none() | posteds(threaded=threaded))
    steps = [card.step for card in posted.parts] if posted is not None else [0]
    return draw(wanteds(threaded=threaded, first_step=max(steps))), posted


def check_rest(chat: Chat, wanted: Wanted[str]) -> None:
    """Nothing is left to do, and all is as wanted."""
    posted, threaded = chat.posted, wanted.root is not None
    assert posted is not None
    assert list(plan(wanted, posted)) == []
    current = current_card(posted, step=wanted.step, threaded=threaded)
    assert (current is not None) == (wanted.step is not None)
    for card in posted.parts:
        assert sorted(card.emojis) == sorted(wanted.reactions if card is current else ())
        assert card.shows == drawn_for(card, posted, current, wanted)
    assert len(posted.pages) >= wanted.pages
    prompted = posted.prompt.step if posted.prompt else None
    assert prompted == (wanted.step if wanted.prompt else None)
    assert not posted.old


def drawn_for(card: Part, posted: CardMessages, current: Part | None, wanted: Wanted[str]) -> str:
    if card is current or (card is posted.parts[0] and wanted.step is None):
        return wanted.card()
    if card is posted.parts[0]:
        assert wanted.root is not None
        return wanted.root()
    assert wanted.past is not None
    return wanted.past(card)


def bound(posted: CardMessages | None) -> int:
    """A card, its reactions, pages and a prompt; what is there changes once."""
    cards = posted.parts if posted else ()
    there = sum(1 + len(card.emojis) for card in cards)
    return 1 + len(EMOJIS) + 3 + 2 + 1 + there


@given(scenes())
def test_whatever_is_there_a_chat_comes_to_rest_as_wanted(
    scene: tuple[Wanted[str], CardMessages | None],
) -> None:
    wanted, posted = scene
    chat = Chat(posted)
    chat.bring_up(wanted, at_most=bound(posted) + 1)
    assert len(chat.done) <= bound(posted)
    assert chat.done.count(PlainStep.SEND_CARD) <= 1
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
    scene: tuple[Wanted[str], CardMessages | None],
) -> None:
    wanted, posted = scene
    wanted = replace(wanted, root=None, past=None)
    if posted is None:
        return
    chat = Chat(replace(posted, parts=posted.parts[:1]))
    for step in [*plan(wanted, chat.posted)]:
        chat._do(step, wanted)
    check_rest(chat, wanted)


def kinds(wanted: Wanted[str], posted: CardMessages) -> list[str]:
    return names(plan(wanted, posted))


def names(steps: Iterable[Step[str]]) -> list[str]:
    return [each.name if isinstance(each, PlainStep) else type(each).__name__ for each in steps]


def test_in_a_thread_what_is_to_be_answered_comes_before_everything_else() -> None:
    posted = some_posted(Part(event="a", step=0, shows="card 0", seeds=seeds(*EMOJIS[:2])))
    wanted = some_wanted(step=1, threaded=True, reactions=EMOJIS[2:4])
    assert kinds(wanted, posted) == ["SEND_CARD", "EditCard", *["RemoveReaction"] * 2]
    chat = Chat(posted)
    chat.bring_up(wanted, at_most=20)
    done = names(chat.done)
    assert done == ["SEND_CARD", *["AddReaction"] * 2, "EditCard", *["RemoveReaction"] * 2]


def test_in_a_thread_pages_come_before_the_card_that_they_are_for() -> None:
    posted = some_posted(Part(event="a", step=0, shows="card 0"))
    wanted = some_wanted(step=1, threaded=True, pages=2)
    assert kinds(wanted, posted)[:3] == ["SendPage", "SendPage", "SEND_CARD"]


def test_where_cards_are_edited_pages_come_last_and_messages_after_what_goes() -> None:
    card = Part(event="a", step=0, shows="card 0")
    posted = some_posted(card, prompt=0, replaced=True)
    wanted = some_wanted(step=1, threaded=False, pages=1, prompt=True)
    expected = ["EditCard", "REMOVE_REPLACED", "REMOVE_PROMPT"]
    expected += ["SEND_PROMPT", "SendPage"]
    assert kinds(wanted, posted) == expected
    assert [sends_message(step) for step in plan(wanted, posted)] == [False] * 3 + [True] * 2


def test_a_toggle_sends_nothing_and_leaves_all_buttons() -> None:
    card = Part(event="a", step=0, shows="before", seeds=seeds(*EMOJIS[:3]))
    wanted = some_wanted(step=0, threaded=True, reactions=EMOJIS[:3])
    assert kinds(wanted, some_posted(card)) == ["EditCard"]
