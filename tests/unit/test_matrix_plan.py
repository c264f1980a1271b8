"""What is done next in a room: whatever is there, it comes to rest as the ask is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import assert_never

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.keyboard import reactions
from chatbridge.channels.matrix.outbound.card_messages import Part, Place, Seed
from chatbridge.channels.matrix.outbound.planner import (
    NO_REMINDER,
    AddSeed,
    Deed,
    Edit,
    Remind,
    Send,
    SendPage,
    TakeReminder,
    TakeSeed,
    current,
    digest,
    next_deed,
    too_late_to_remind,
)
from chatbridge.channels.matrix.render.card import draw_card, draw_past, draw_root, pages_of
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import Card
from chatbridge.core.forms import form
from chatbridge.core.forms.events import AskSession, ShowAll
from chatbridge.core.model import Ask, Status, new_draft
from tests import strategies as some
from tests.fakes.inbox import CONFIRM, MULTI, SELECT
from tests.matrix_asks import go, seens
from tests.matrix_places import places
from tests.telegram_asks import approval
from tests.telegram_asks import ask as an_ask
from tests.telegram_strategies import approvals

LATEST = 1e9
MOST_SEEDS, MOST_PAGES = 14, 30
PART, SEED = "$new", "$seed"


def card_of(ask: Ask) -> Card:
    return build_card(ask, channel="matrix", latest_deadline=LATEST)


class Room:
    """What a homeserver would have after each deed."""

    def __init__(self, place: Place | None = None) -> None:
        self.place = place
        self.sent = 0
        self._numbers = count()

    def bring_up(self, ask: Ask, seen: Seen, *, at_most: int) -> int:
        """Do what is to be done, one deed after another; how many there were."""
        for done in range(at_most):
            deed = next_deed(ask, card_of(ask), self.place, seen)
            if deed is None:
                return done
            self._do(deed, ask, seen)
        return at_most

    def _do(self, deed: Deed, ask: Ask, seen: Seen) -> None:
        if isinstance(deed, Send):
            self._send(deed, ask, seen)
            return
        place = self.place
        assert place is not None
        match deed:
            case SendPage(number=number):
                assert number == len(place.pages)
                self.place = replace(place, pages=(*place.pages, f"$page-{number}"))
            case Edit(part=part, drawing=drawing):
                assert part in place.parts
                self.place = place.having(replace(part, shows=digest(drawing)))
            case AddSeed(part=part, emoji=emoji):
                assert part in place.parts
                assert emoji not in {seed.emoji for seed in part.seeds}
                new = Seed(emoji=emoji, event=f"{SEED}-{next(self._numbers)}")
                self.place = place.having(replace(part, seeds=(*part.seeds, new)))
            case TakeSeed(part=part, seed=seed):
                assert seed in part.seeds
                left = tuple(each for each in part.seeds if each != seed)
                self.place = place.having(replace(part, seeds=left))
            case Remind():
                assert place.reminder is None
                self.place = replace(place, reminder="$reminder")
            case TakeReminder(event=event):
                assert event == place.reminder
                self.place = replace(place, reminder=NO_REMINDER)
            case _:
                assert_never(deed)

    def _send(self, deed: Send, ask: Ask, seen: Seen) -> None:
        self.sent += 1
        new = Part(
            event=f"{PART}-{next(self._numbers)}",
            step=ask.draft.step,
            view=ask.draft.view,
            at=min(ask.draft.at, len(ask.questions) - 1),
            shows=digest(deed.drawing),
        )
        if self.place is not None:
            assert ask.draft.step not in {part.step for part in self.place.parts}
            self.place = self.place.having(new)
            return
        late = too_late_to_remind(ask, now=seen.now)
        self.place = Place(
            room="!room:example.org", parts=(new,), reminder=NO_REMINDER if late else None
        )


def bound(place: Place | None) -> int:
    """One message, every text once, every wrong seed away, every right one there, a reminder."""
    parts = place.parts if place else ()
    return 3 + len(parts) + sum(len(part.seeds) for part in parts) + MOST_SEEDS + MOST_PAGES


def check_rest(room: Room, ask: Ask, seen: Seen) -> None:
    """Nothing is left to do, and all is as the ask is."""
    card, place = card_of(ask), room.place
    assert place is not None
    assert next_deed(ask, card, place, seen) is None
    steps = [part.step for part in place.parts]
    assert len(set(steps)) == len(steps)
    now = current(card, place)
    assert (now is not None) == (card.view is not None)
    assert len(place.pages) >= len(pages_of(card))
    wanted = {key.emoji for key in reactions(card)} if seen.reactions else set()
    for part in place.parts:
        emojis = [seed.emoji for seed in part.seeds]
        assert sorted(emojis) == sorted(wanted if part is now else ())
        assert part.shows == digest(shown_by(part, now, ask, card, seen, root=place.root))
    if not ask.open:
        assert not place.reminder


def shown_by(
    part: Part, now: Part | None, ask: Ask, card: Card, seen: Seen, *, root: Part
) -> Words:
    if part is now or (part is root and now is None):
        return draw_card(card, seen)
    return draw_root(card, seen) if part is root else draw_past(ask, view=part.view, at=part.at)


@st.composite
def asks(draw_value: st.DrawFn) -> Ask:
    """Also long ones, which have a reminder."""
    deadline = draw_value(st.sampled_from([None, 400.0, 3_800.0]))
    return replace(draw_value(some.asks()), deadline=deadline)


nows = st.sampled_from([150.0, 350.0, 500.0, 3_300.0, 4_000.0])


@st.composite
def scenes(draw_value: st.DrawFn) -> tuple[Ask, Place | None, Seen]:
    ask = draw_value(asks() | approvals())
    place = places(newest=ask.draft.step, questions=len(ask.questions))
    seen = replace(draw_value(seens), now=draw_value(nows))
    return ask, draw_value(st.none() | place), seen


@given(scenes())
def test_from_whatever_is_there_a_room_comes_to_rest_as_the_ask_is(
    scene: tuple[Ask, Place | None, Seen],
) -> None:
    ask, place, seen = scene
    room = Room(place)
    limit = bound(place)
    assert room.bring_up(ask, seen, at_most=limit + 1) <= limit
    assert room.sent <= 1
    check_rest(room, ask, seen)


@st.composite
def lives(draw_value: st.DrawFn) -> list[tuple[Ask, Seen, int]]:
    """States of one ask in their order, each with how much is done until the next one comes."""
    last = draw_value(asks())
    begun = replace(last, status=Status.OPEN, outcome=None, late=None, discarded=False)
    states = list(_states(begun, draw_value(st.lists(some.fitting_moves, max_size=6))))
    states.append(replace(last, draft=replace(states[-1].draft, late=last.draft.late)))
    times = sorted(draw_value(st.tuples(*(nows for _ in states))))
    seen = draw_value(seens)
    deeds = st.integers(0, 25)
    return [
        (a, replace(seen, now=t), draw_value(deeds)) for a, t in zip(states, times, strict=True)
    ]


def _states(ask: Ask, moves: list[some.Move]) -> Iterator[Ask]:
    ask = replace(ask, draft=new_draft(ask.questions))
    yield ask
    for move in moves:
        step = form.advance(ask.questions, ask.draft, move(ask.questions, ask.draft))
        if isinstance(step, form.Moved):
            ask = replace(ask, draft=step.draft)
            yield ask


@given(lives())
def test_a_newer_state_in_the_middle_is_no_problem(
    life: list[tuple[Ask, Seen, int]],
) -> None:
    room = Room()
    for ask, seen, deeds in life:
        room.bring_up(ask, seen, at_most=deeds)
    ask, seen, _ = life[-1]
    limit = bound(room.place)
    assert room.bring_up(ask, seen, at_most=limit + 1) <= limit
    check_rest(room, ask, seen)


SEEN = Seen(now=an_ask(SELECT).created_at)


def test_what_is_to_be_answered_comes_before_everything_else() -> None:
    asked = an_ask(CONFIRM, SELECT)
    room = Room()
    room.bring_up(asked, SEEN, at_most=100)
    moved = go(asked, form.Choose(step=0, option=0))
    kinds = kinds_of(moved, room)
    seeds = len(reactions(card_of(moved)))
    old = len(reactions(card_of(asked)))
    assert kinds == ["Send", *["AddSeed"] * seeds, "Edit", *["TakeSeed"] * old]


def test_a_toggle_sends_nothing_and_leaves_all_buttons() -> None:
    asked = an_ask(MULTI)
    room = Room()
    room.bring_up(asked, SEEN, at_most=100)
    place = room.place
    assert place is not None
    picked = go(asked, form.Toggle(step=0, option=1, on=True))
    room.bring_up(picked, replace(SEEN, reacted=frozenset({1})), at_most=100)
    assert room.sent == 1
    assert room.place is not None
    assert room.place.root.seeds == place.root.seeds


def kinds_of(asked: Ask, room: Room) -> list[str]:
    """What is done until nothing is left, in its order."""
    found: list[str] = []
    while (deed := next_deed(asked, card_of(asked), room.place, SEEN)) is not None:
        found.append(type(deed).__name__)
        room.bring_up(asked, SEEN, at_most=1)
    return found


def test_all_pages_come_before_the_step_that_allows_and_only_once() -> None:
    asked = an_ask(approval("x" * 100_000, whole_first=True))
    room = Room()
    room.bring_up(asked, SEEN, at_most=100)
    assert room.place is not None
    assert not room.place.pages
    whole = go(asked, ShowAll(step=0))
    pages = len(pages_of(card_of(whole)))
    assert pages > 5
    kinds = kinds_of(whole, room)
    assert kinds == [*["SendPage"] * pages, "Send", *["AddSeed"] * 2, "Edit", *["TakeSeed"] * 2]
    assert "SendPage" not in kinds_of(go(whole, AskSession(step=0)), room)


def test_a_command_that_takes_too_much_room_for_its_length_is_on_pages_before_its_buttons() -> None:
    kinds = kinds_of(an_ask(approval("😀" * 3_000)), Room())
    assert kinds[0] == "Send"
    assert kinds[1:] == [*["SendPage"] * (len(kinds) - 3), "AddSeed", "AddSeed"]
    assert len(kinds) > 4
