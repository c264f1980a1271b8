"""Pairing codes: single use, short-lived, few, and not to be guessed."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatbridge.core.errors import TooManyCodes
from chatbridge.core.pairing import (
    CODE_ALPHABET,
    CODE_LENGTH,
    CODE_SECONDS,
    GUESS_WINDOW_SECONDS,
    MAX_GUESSES,
    MAX_GUESSES_PER_PERSON,
    MAX_OPEN_CODES,
    MAX_REMEMBERED_GUESSES,
    Bot,
    Claim,
    Code,
    Pairing,
)
from tests.fakes.clock import StillClock


def by(person: int = 1) -> Claim:
    return Claim(channel="telegram", person=person, chat=person, name="Ada")


def test_a_code_is_eight_characters_that_nobody_mistakes_and_lasts_ten_minutes() -> None:
    clock = StillClock()
    with Pairing(clock=clock).opened() as code:
        assert len(code.text) == CODE_LENGTH == 8
        assert set(code.text) <= set(CODE_ALPHABET)
        assert not set(CODE_ALPHABET) & set("01OILU")
        assert code.payload == f"p_{code.text}"
        assert code.until == clock.time() + 600


def test_whoever_brings_a_code_is_named_to_its_terminal_and_to_no_other() -> None:
    pairing = Pairing(clock=StillClock())
    with pairing.opened() as mine, pairing.opened() as other:
        assert pairing.claim(mine.payload, by(7))
        assert mine.claim == by(7)
        assert other.claim is None


def test_a_code_for_one_channel_is_nothing_on_another() -> None:
    pairing = Pairing(clock=StillClock())
    with pairing.opened(channel="slack") as code:
        assert not pairing.claim(code.payload, by(7))
        ada = Claim(channel="slack", person="U1", chat="U1", name="Ada")
        assert pairing.claim(code.payload, ada)
        assert code.claim == ada


async def test_each_channel_has_a_bot_of_its_own() -> None:
    async def greet(chat: object) -> None: ...

    pairing = Pairing(clock=StillClock())
    first = Bot(channel="telegram", address=str, greet=greet)
    second = Bot(channel="slack", address=str, greet=greet, typed=True)
    waiting = asyncio.ensure_future(pairing.bot("slack"))
    with pairing.works_with(first):
        assert await pairing.bot("telegram") is first
        with pairing.works_with(second):
            assert await waiting is second
            assert await pairing.bot("telegram") is first


def test_a_used_code_is_nothing_also_for_who_used_it() -> None:
    pairing = Pairing(clock=StillClock())
    with pairing.opened() as code:
        assert pairing.claim(code.payload, by(1))
        assert not pairing.claim(code.payload, by(1))
        assert not pairing.claim(code.payload, by(2))
        assert code.claim == by(1)


def test_a_code_is_nothing_after_its_time_and_after_its_terminal() -> None:
    clock = StillClock()
    pairing = Pairing(clock=clock)
    with pairing.opened() as code:
        clock.advance(CODE_SECONDS)
        assert not pairing.claim(code.payload, by())
        assert code.claim is None
    with pairing.opened() as left:
        pass
    assert not pairing.claim(left.payload, by())


@pytest.mark.parametrize("wrong", ["", "p_", "7Q4K2MXD", "P_7Q4K2MXD", "p_ 7", "p_7Q4K2MX", "x"])
def test_what_is_no_code_is_nothing(wrong: str) -> None:
    pairing = Pairing(clock=StillClock())
    with pairing.opened() as code:
        assert not pairing.claim(wrong, by())
        assert not pairing.claim(code.payload.lower(), by())
        assert not pairing.claim(f"{code.payload}X", by())
        assert pairing.claim(code.payload, by())


def test_a_fourth_code_is_refused_until_one_has_gone() -> None:
    clock = StillClock()
    pairing = Pairing(clock=clock)
    with ExitStack() as stack:
        first, *_ = (stack.enter_context(pairing.opened()) for _ in range(MAX_OPEN_CODES))
        with pytest.raises(TooManyCodes, match="3 pairing codes are open"), pairing.opened():
            pass
        assert pairing.claim(first.payload, by())
        with pairing.opened():
            pass
        clock.advance(CODE_SECONDS)
        with pairing.opened():
            pass


def test_one_person_has_few_guesses_and_others_are_not_hurt_by_it() -> None:
    clock = StillClock()
    pairing = Pairing(clock=clock)
    with pairing.opened() as code:
        for guess in range(MAX_GUESSES_PER_PERSON):
            assert not pairing.claim(f"p_2222222{guess}", by(666))
        assert not pairing.claim(code.payload, by(666))
        assert pairing.claim(code.payload, by(1))
    clock.advance(GUESS_WINDOW_SECONDS)
    with pairing.opened() as code:
        assert pairing.claim(code.payload, by(666))


def test_where_many_guess_each_has_one_try_and_the_owner_is_not_kept_from_pairing() -> None:
    clock = StillClock()
    pairing = Pairing(clock=clock)
    with pairing.opened() as code:
        for guess in range(MAX_GUESSES):
            assert not pairing.claim("p_22222222", by(1000 + guess))
        assert not pairing.claim(code.payload, by(1000))
        assert pairing.claim(code.payload, by(1))
    clock.advance(GUESS_WINDOW_SECONDS)
    with pairing.opened() as code:
        assert pairing.claim(code.payload, by(1000))


def test_however_many_strangers_guess_little_is_remembered_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pairing = Pairing(clock=StillClock())
    with pairing.opened() as code:
        for stranger in range(2 * MAX_REMEMBERED_GUESSES):
            assert not pairing.claim("p_22222222", by(1000 + stranger))
        assert (
            len(pairing._guesses) == MAX_REMEMBERED_GUESSES
        )  # what memory holds is the point here
        assert pairing.claim(code.payload, by(1))
    assert len(caplog.records) == 1


def test_a_clock_that_is_set_back_does_not_lock_pairing_for_good() -> None:
    clock = StillClock()
    pairing = Pairing(clock=clock)
    for guess in range(MAX_GUESSES):
        pairing.claim("p_22222222", by(1000 + guess))
    clock.step(-86_400)
    with pairing.opened() as code:
        assert pairing.claim(code.payload, by(1))


class Codes(RuleBasedStateMachine):
    """Whatever terminals, people and time do: a code counts for the first who brings it, once,
    while it is open, and nothing else does."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = StillClock()
        self.pairing = Pairing(clock=self.clock)
        self.open: dict[str, tuple[Code, ExitStack]] = {}
        self.gone: list[str] = []
        self.guesses: list[tuple[float, int]] = []

    def living(self) -> list[Code]:
        now = self.clock.time()
        return [it for it, _ in self.open.values() if now < it.until and it.claim is None]

    def limited(self, person: int) -> bool:
        now = self.clock.time()
        recent = [who for at, who in self.guesses if now - at < GUESS_WINDOW_SECONDS]
        return len(recent) >= MAX_GUESSES or recent.count(person) >= MAX_GUESSES_PER_PERSON

    @rule()
    def a_terminal_opens_one(self) -> None:
        with ExitStack() as stack:
            if len(self.living()) >= MAX_OPEN_CODES:
                with pytest.raises(TooManyCodes):
                    stack.enter_context(self.pairing.opened())
                return
            code = stack.enter_context(self.pairing.opened())
            self.open[code.payload] = (code, stack.pop_all())

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def a_terminal_leaves(self, data: st.DataObject) -> None:
        payload = data.draw(st.sampled_from(list(self.open)))
        self.open.pop(payload)[1].close()
        self.gone.append(payload)

    @rule(data=st.data(), person=st.integers(1, 4))
    def somebody_brings_one(self, data: st.DataObject, person: int) -> None:
        known = [*self.open, *self.gone, "p_22222222"]
        payload = data.draw(st.sampled_from(known))
        fits = any(code.payload == payload for code in self.living())
        limited = self.limited(person)
        assert self.pairing.claim(payload, by(person)) == (fits and not limited)
        if fits and not limited:
            assert self.open[payload][0].claim == by(person)
        elif not limited:
            self.guesses.append((self.clock.time(), person))

    @rule(seconds=st.sampled_from([1.0, 60.0, 301.0, 600.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def few_are_open(self) -> None:
        assert len(self.living()) <= MAX_OPEN_CODES

    def teardown(self) -> None:
        for _, stack in self.open.values():
            stack.close()


TestCodes = Codes.TestCase
TestCodes.settings = hypothesis_settings(max_examples=30, stateful_step_count=40)
