"""The checker of `make chaos` finds what it is for: a night in which one thing went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.checker import check
from tests.chaos.log import Asked, CameBack, Event, Gave, Refused, Struck, TookOver, Way
from tests.chaos.night import Final, LastCard, StoredAsk, Violation
from tests.chaos.riddles import Kind, Part, Riddle, Status, Values, read

K, OTHER = "k0001z", "k0002z"
TRUE, SOON = "a refusal is true", "another hub leads soon"
BLUE: Values = (("k0001z1b",),)


def riddle(key: str = K, *, mortal: bool = False, twins: bool = False) -> Riddle:
    kind = Kind.TEXT if twins else Kind.SELECT
    part = Part(text=f"{key} part 1: which one?", kind=kind, options=(f"{key}1a", f"{key}1b"))
    agents = ("ada", "bob") if twins else ("ada",)
    return Riddle(key=key, tool="ask_user", parts=(part,), agents=agents, mortal=mortal)


def asked(at: float, *, agent: str = "ada", key: str = K, attempt: int = 1) -> Asked:
    call = f"{agent}.1/{key}/{attempt}"
    return Asked(at=at, agent=agent, riddle=key, attempt=attempt, call=call, tool="ask_user")


def back(
    at: float,
    status: Status = Status.ANSWERED,
    values: Values = BLUE,
    *,
    agent: str = "ada",
    key: str = K,
    attempt: int = 1,
    text: str = "",
) -> CameBack:
    return CameBack(
        at=at,
        agent=agent,
        riddle=key,
        attempt=attempt,
        call=f"{agent}.1/{key}/{attempt}",
        status=status.value,
        values=values if status is Status.ANSWERED else (),
        text=text,
    )


def gave(
    at: float,
    values: tuple[str, ...] = BLUE[0],
    *,
    key: str = K,
    accepted: bool | None = True,
    way: Way = Way.TELEGRAM_TAP,
) -> Gave:
    return Gave(
        at=at, riddle=key, question=0, way=way, values=values, accepted=accepted, whole=True
    )


def stored(values: Values = BLUE, *, key: str = K, status: str = "answered") -> StoredAsk:
    return StoredAsk(
        id=f"ask of {key}",
        riddle=key,
        status=status,
        values=values,
        delivered=True,
        revision=3,
        shown={"telegram:1": 3, "matrix:!r": 3},
    )


def card(
    text: str = "Answered: k0001z1b", *, live: tuple[str, ...] = (), channel: str = "telegram"
) -> LastCard:
    return LastCard(channel=channel, riddle=K, where="message 7", text=text, live=live)


CLEAN: tuple[Event, ...] = (asked(1), gave(2), back(3))
FINAL = Final(asks=(stored(),), cards=(card(),))


def found(
    events: Iterable[Event] = CLEAN, final: Final = FINAL, *riddles: Riddle
) -> list[Violation]:
    return check(events, {it.key: it for it in riddles or (riddle(),)}, final)


def rules(events: Iterable[Event] = CLEAN, final: Final = FINAL, *riddles: Riddle) -> set[str]:
    return {it.rule for it in found(events, final, *riddles)}


def test_a_night_without_loss_passes() -> None:
    assert found() == []


def test_a_file_that_comes_along_passes() -> None:
    events = (asked(1), gave(2, way=Way.TELEGRAM_FILE), replace(back(3), files=BLUE[0]))
    assert found(events) == []


def test_a_night_with_every_harmless_thing_passes() -> None:
    other = riddle(OTHER, mortal=True)
    events: list[Event] = [
        asked(1),
        Struck(at=1.5, fault="kill a link"),
        back(2, Status.LINK_GONE),
        asked(3, attempt=2),
        gave(4, accepted=False, values=("k0001z1a",)),
        gave(4.5, accepted=None),
        gave(5),
        gave(5, ("k0001z1a",), way=Way.MATRIX_REACTION),
        back(6, attempt=2),
        Refused(
            at=6, riddle=K, way=Way.MATRIX_REACTION, values=("k0001z1a",), text="Already answered"
        ),
        asked(7, key=OTHER),
        back(20, Status.TIMED_OUT, key=OTHER),
    ]
    lost_none = Final(
        asks=(stored(), stored((), key=OTHER, status="timed_out")),
        cards=(card(), card(), card(channel="matrix"), card(channel="discord")),
    )
    assert found(events, lost_none, riddle(), other) == []


@pytest.mark.parametrize(
    ("got", "apart", "fits"),
    [
        ("bc", 5.0, True),
        ("bd", 5.0, True),
        ("bc", 16.0, False),
        ("ab", 5.0, False),
        ("d", 5.0, False),
    ],
)
def test_check_marks_of_two_chats_may_come_together(got: str, apart: float, fits: bool) -> None:
    marked = replace(riddle(), parts=(replace(riddle().parts[0], kind=Kind.MULTI),))
    events: list[Event] = [
        asked(1),
        gave(20 - apart, ("b", "c", "d"), way=Way.DISCORD_TAP),
        gave(20, ("b",)),
        back(21, values=(tuple(got),)),
    ]
    final = Final(asks=(stored((tuple(got),)),), cards=(card(),))
    assert ("none is crossed" not in rules(events, final, marked)) is fits


def test_two_agents_with_the_same_words_get_an_answer_each() -> None:
    one, two = (("k0001z says 1",),), (("k0001z says 2",),)
    events: list[Event] = [
        asked(1),
        asked(1, agent="bob"),
        gave(2, one[0]),
        gave(3, two[0]),
        back(4, values=one),
        back(5, values=two, agent="bob"),
    ]
    final = Final(asks=(stored(one), replace(stored(two), id="the other")))
    assert found(events, final, riddle(twins=True)) == []
    shared: list[Event] = [*events[:-1], back(5, values=one, agent="bob")]
    assert "none comes twice" in rules(shared, final, riddle(twins=True))


# ── one violation for each rule ───────────────────────────────────────────────────────────────────

A_SECRET = Final(asks=(stored(),), cards=(card(),), leaks=("the bot's token is in hub.log",))
TWO_SUMMARIES = Final(
    asks=(stored(),), cards=(card(),), summaries=(("matrix", "☀️ 22:30-07:00"),) * 2
)
VIOLATIONS: dict[str, tuple[str, tuple[Event, ...], Final]] = {
    "a summary that comes twice": ("one summary for a night", CLEAN, TWO_SUMMARIES),
    "a call that never ends": ("every call ends once", (asked(1), gave(2)), FINAL),
    "a call that ends twice": ("every call ends once", (*CLEAN, back(4)), FINAL),
    "an accepted answer that nobody gets": (
        "none is lost",
        (asked(1), gave(2), back(3, Status.LINK_GONE)),
        Final(),
    ),
    "an agent that is never told": (
        "every riddle ends",
        (asked(1), back(3, Status.LINK_GONE)),
        Final(),
    ),
    "an answer that comes twice": (
        "none comes twice",
        (*CLEAN, asked(4, attempt=2), back(5, attempt=2)),
        FINAL,
    ),
    "an answer that was given to another riddle": (
        "none is crossed",
        (asked(1), gave(2), back(3, values=(("k0002z1a",),))),
        FINAL,
    ),
    "a file that did not come along": (
        "files come along",
        (asked(1), gave(2, way=Way.TELEGRAM_FILE), back(3)),
        FINAL,
    ),
    "a file that nobody sent": (
        "files come along",
        (asked(1), gave(2), replace(back(3), files=BLUE[0])),
        FINAL,
    ),
    "another file": (
        "files come along",
        (asked(1), gave(2, way=Way.TELEGRAM_FILE), replace(back(3), files=("k0002z1b",))),
        FINAL,
    ),
    "an answer that nobody gave": ("none is crossed", (asked(1), back(3)), FINAL),
    "an answer that the service did not take": (
        "none is crossed",
        (asked(1), gave(2, accepted=False), back(3)),
        FINAL,
    ),
    "an answer from before it was given": (
        "none is crossed",
        (asked(1), back(2), gave(3)),
        FINAL,
    ),
    "answers for another number of questions": (
        "none is crossed",
        (asked(1), gave(2), back(3, values=BLUE * 2)),
        FINAL,
    ),
    "a time-out a day too early": (
        "time-outs where they are due",
        (asked(1), back(3, Status.TIMED_OUT)),
        FINAL,
    ),
    "a cancellation by nobody": (
        "nobody cancelled",
        (asked(1), back(3, Status.CANCELLED)),
        FINAL,
    ),
    "an error without a full disk": (
        "no call fails",
        (asked(1), gave(2), back(3, Status.ERROR), asked(4, attempt=2), back(5, attempt=2)),
        FINAL,
    ),
    "an answer that counts as delivered and is not": (
        "none is lost",
        (
            asked(1),
            gave(2),
            back(3, Status.LINK_GONE),
            asked(4, attempt=2),
            gave(5, ("k0001z1a",)),
            back(6, values=(("k0001z1a",),), attempt=2),
        ),
        Final(asks=(stored(), replace(stored((("k0001z1a",),)), id="the second"))),
    ),
    "a kept answer that is not handed over": (
        "none is lost",
        (
            asked(1),
            gave(2),
            back(3, Status.LINK_GONE),
            asked(9, attempt=2),
            gave(10, ("k0001z1a",)),
            back(11, values=(("k0001z1a",),), attempt=2),
        ),
        Final(asks=(replace(stored(), delivered=False, kept=True),)),
    ),
    "a second ask for the same words of one agent": (
        "nobody is asked twice",
        CLEAN,
        Final(asks=(stored(), replace(stored(), id="the second"))),
    ),
    "an ask that stays open": (
        "every ask ends",
        CLEAN,
        Final(asks=(stored(), replace(stored((), status="open"), id="an orphan"))),
    ),
    "an inbox that still lists it": ("every ask ends", CLEAN, replace(FINAL, inbox=(K,))),
    "a surface that shows an old revision": (
        "every card is final",
        CLEAN,
        replace(FINAL, asks=(replace(stored(), shown={"telegram:1": 2}),)),
    ),
    "a card with live buttons": (
        "every card is final",
        CLEAN,
        replace(FINAL, cards=(card(live=("k0001z1a",)),)),
    ),
    "a card that shows the answer that came second": (
        "the first answer counts",
        CLEAN,
        replace(FINAL, cards=(card("Answered: k0001z1a"),)),
    ),
    "a second card where what is sent again is the same message": (
        "no card comes twice",
        CLEAN,
        replace(FINAL, cards=(card(channel="discord"), card(channel="discord"))),
    ),
    "a process that runs on": (
        "nothing is left running",
        CLEAN,
        replace(FINAL, leftovers=("77 chatbridge hub",)),
    ),
    "a secret in an output": ("no secret in any output", CLEAN, A_SECRET),
    "a private line on a link's output": (
        "standard output carries MCP alone",
        CLEAN,
        replace(FINAL, strange_lines=1),
    ),
    "something that could not be done": ("it settles", CLEAN, replace(FINAL, troubles=("no",))),
}


@pytest.mark.parametrize("planted", VIOLATIONS)
def test_a_planted_violation_is_found(planted: str) -> None:
    rule, events, final = VIOLATIONS[planted]
    assert rule in rules(events, final)


def test_a_silent_answer_to_a_riddle_that_nobody_answers_is_found() -> None:
    events = (asked(1), back(3))
    assert rules(events, FINAL, riddle(mortal=True)) == {"none is crossed"}


def test_an_error_while_the_disk_is_full_is_none_of_its_business() -> None:
    events = (
        asked(1),
        Struck(at=2, fault="fill the disk"),
        back(3, Status.ERROR),
        asked(4, attempt=2),
        gave(5),
        back(6, attempt=2),
    )
    assert found(events) == []


def test_what_was_refused_in_words_is_not_lost() -> None:
    no = Refused(at=2.5, riddle=K, way=Way.TELEGRAM_TAP, values=BLUE[0], text="an older step")
    events = (asked(1), gave(2), no, back(3, Status.LINK_GONE))
    assert rules(events, Final()) == {"every riddle ends"}


@pytest.mark.parametrize(("said", "rule"), [("k0001z says 1", {TRUE}), ("k0001z says 2", set())])
def test_a_text_that_counts_is_not_said_to_have_come_second(said: str, rule: set[str]) -> None:
    one, way = ("k0001z says 1",), Way.DISCORD_REPLY
    events: list[Event] = [asked(1), gave(2, one, way=way), back(3, values=(one,))]
    no = Refused(at=4, riddle=K, way=way, values=(said,), text="Already answered by you")
    final, text = Final(asks=(stored((one,)),)), riddle(twins=True)
    assert rules([*events, no], final, text) == rule
    assert rules(events, replace(final, second=(("discord", said),)), text) == rule


def test_a_violation_names_its_riddle_and_what_happened_around_it() -> None:
    events = (*CLEAN[:2], Struck(at=2.5, fault="kill the hub"), back(3, values=(("k9",),)))
    (crossed,) = [it for it in found(events) if it.rule == "none is crossed"]
    assert crossed.about == K
    assert "k9" in crossed.what
    assert [line.split()[1] for line in crossed.around] == ["Asked", "Gave", "Struck", "CameBack"]


@pytest.mark.parametrize(
    ("seconds", "due", "rules_broken"),
    [(4.9, True, set()), (5.1, True, {SOON}), (9.0, False, set()), (20.1, False, {SOON})],
)
def test_a_take_over_that_was_due_and_slow_is_found(
    seconds: float, due: bool, rules_broken: set[str]
) -> None:
    took = TookOver(at=2.5, fault="kill the hub", seconds=seconds, due=due)
    assert rules((*CLEAN, took)) == rules_broken


def test_what_came_with_an_answer_is_read_whether_by_its_path_or_along() -> None:
    text = {"type": "text", "text": "User answered: k0001z says 1"}
    by_path = {"type": "text", "text": "The user attached a.txt (text/plain, 9 B): /p/a.txt"}
    along = {"type": "text", "text": "The user attached a.txt (text/plain, 9 B); its text follows."}
    content = {"type": "text", "text": "k0001z says 1"}
    first = read(riddle(), {"result": {"content": [by_path, text]}})
    second = read(riddle(), {"result": {"content": [along, text, content]}})
    assert first.values == second.values == (("k0001z says 1",),)
    assert (first.files, first.texts) == (("/p/a.txt",), ())
    assert (second.files, second.texts) == ((), ("k0001z says 1",))


# ── whatever happens beside it ────────────────────────────────────────────────────────────────────


@st.composite
def harmless(draw: st.DrawFn) -> list[Event]:
    """Other riddles that are asked and answered, and faults."""
    events: list[Event] = []
    for number in range(draw(st.integers(0, 3))):
        key = f"k1{number:03d}z"
        at = draw(st.floats(0, 30))
        value = (f"{key}1a",)
        events += [
            asked(at, key=key),
            gave(at + 1, value, key=key),
            back(at + 2, values=(value,), key=key),
            Struck(at=draw(st.floats(0, 30)), fault="kill the hub"),
        ]
    return events


@given(planted=st.sampled_from(sorted(VIOLATIONS)), beside=harmless(), random=st.randoms())
def test_what_happens_beside_it_and_in_which_order_it_is_noted_hides_no_violation(
    planted: str, beside: list[Event], random: Random
) -> None:
    rule, events, final = VIOLATIONS[planted]
    noted = [*events, *beside]
    random.shuffle(noted)
    keys = {it.riddle for it in beside if isinstance(it, Asked)}
    assert rule in rules(noted, final, riddle(), *(riddle(key) for key in keys))
    assert found([*CLEAN, *beside], FINAL, riddle(), *(riddle(key) for key in keys)) == []
