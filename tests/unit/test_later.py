"""More time and snoozing: what can be had, and what it comes to by the clock."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks import transitions
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.phrases import clock_time, format_later
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_times import read_extend, read_later, read_plus, read_snooze
from chatbridge.core.model import Ask, Attention, QuietRule, Status
from chatbridge.core.nights import later
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from tests import strategies as some
from tests.telegram_asks import HOUR, NEXT_TIME, NOW, approval, ask, confirm, stepped

MINUTE, DAY = 60.0, 24 * 3600.0
EIGHT = NEXT_TIME(8 * 60)


def waiting(left: float | None = HOUR) -> Ask:
    return ask(confirm("Sure?"), deadline=None if left is None else NOW + left)


def offered(shown: Ask, *, latest: float, morning: float = EIGHT) -> list[str]:
    found = later.options(shown, now=NOW, latest=latest, morning=morning)
    return [option.label for option in found]


def settled(shown: Ask, how: form.Later, *, latest: float) -> form.Step:
    step = form.Postponed(draft=shown.draft, how=how)
    return later.settle(shown, step, now=NOW, latest=latest)


# ── what is offered ───────────────────────────────────────────────────────────────────────────────


def test_only_what_the_limits_allow_is_offered() -> None:
    until = clock_time(EIGHT)
    everything = ["+15 min", "+1 h", f"Until {until}", "Snooze 1 h", f"Snooze until {until}"]
    assert offered(waiting(), latest=EIGHT + HOUR) == everything
    assert offered(waiting(), latest=EIGHT + 14 * MINUTE) == everything[:-1]
    assert offered(waiting(), latest=NOW + 2 * HOUR) == ["+15 min", "+1 h", "Snooze 1 h"]
    assert offered(waiting(2 * MINUTE), latest=NOW + 19 * MINUTE) == ["+15 min"]
    assert offered(waiting(HOUR), latest=NOW + HOUR) == []
    assert offered(waiting(2 * HOUR), latest=NOW + 2 * HOUR) == ["Snooze 1 h"]


def test_the_rest_of_the_time_is_offered_as_what_it_is() -> None:
    latest = NOW + HOUR + 10 * MINUTE
    back = clock_time(latest - 15 * MINUTE)
    rest = [f"Until {clock_time(latest)}", f"Snooze until {back}"]
    assert offered(waiting(), latest=latest) == rest
    assert offered(waiting(latest - NOW - 30), latest=latest) == [], "less than a minute"


def test_with_the_default_limits_it_can_be_put_off_for_a_quarter_of_an_hour() -> None:
    policy = Policy()
    shown = waiting(policy.default_timeout)
    until = clock_time(NOW + 15 * MINUTE)
    assert offered(shown, latest=NOW + policy.max_timeout) == ["+15 min", f"Snooze until {until}"]


def test_a_morning_that_comes_before_the_latest_return_is_offered_once() -> None:
    dawn = NOW + 20 * MINUTE
    found = offered(waiting(50 * MINUTE), latest=NOW + HOUR, morning=dawn)
    assert found == [f"Until {clock_time(NOW + HOUR)}", f"Snooze until {clock_time(dawn)}"]


def told(limit: float, shown: Ask) -> str:
    found = later.options(shown, now=NOW, latest=NOW + limit, morning=EIGHT)
    return format_later(build_card(shown, channel="", later=found))


def test_where_less_than_an_hour_can_be_had_it_says_what_allows_more() -> None:
    what = "A snoozed question goes out of the way, and comes back as a new message."
    more = "For more time, raise max_timeout in config.toml."
    assert told(DAY, waiting()) == what
    assert told(30 * MINUTE, waiting(5 * MINUTE)) == f"{what} {more}"
    assert told(19 * MINUTE, waiting(2 * MINUTE)) == more
    assert told(19 * MINUTE, ask(approval(), deadline=NOW + 2 * MINUTE)) == "", (
        "it ends with the agent's call"
    )


def test_a_question_without_a_limit_can_only_be_snoozed() -> None:
    labels = offered(waiting(None), latest=NOW)
    assert labels == ["Snooze 1 h", f"Snooze until {clock_time(EIGHT)}"]


def test_what_has_ended_gets_no_more_time() -> None:
    over = replace(waiting(), status=Status.TIMED_OUT)
    assert offered(over, latest=NOW + DAY) == []
    assert settled(over, form.Snooze(minutes=60), latest=NOW + DAY) == form.UNFIT


_seconds = st.floats(0, 3 * DAY) | st.sampled_from([0.0, 1.0, MINUTE, 15 * MINUTE, HOUR])


@given(st.none() | _seconds, _seconds, _seconds)
def test_nothing_that_is_offered_is_refused_past_the_limit_or_over_already(
    left: float | None, until_latest: float, until_morning: float
) -> None:
    shown, latest = waiting(left), NOW + until_latest
    found = later.options(shown, now=NOW, latest=latest, morning=NOW + until_morning)
    assert len({option.label for option in found}) == len(found)
    for option in found:
        step = settled(shown, option.event, latest=latest)
        assert isinstance(step, form.Postponed), option
        assert option.at > NOW
        _check(shown, step, latest)


def _check(shown: Ask, step: form.Postponed, latest: float) -> None:
    if shown.deadline is None:
        assert step.deadline is None
    else:
        assert step.deadline is not None
        assert shown.deadline <= step.deadline <= max(latest, shown.deadline)
    if step.snoozed_until is not None:
        assert NOW < step.snoozed_until <= NOW + 7 * DAY
        left = later.LEFT_AFTER_SNOOZE
        assert step.deadline is None or step.deadline - step.snoozed_until >= left - 1e-3
    else:
        assert shown.deadline is not None
        assert step.deadline is not None
        assert step.deadline > shown.deadline


_numbers = st.integers(-(10**40), 10**40) | st.integers(0, 10_000)
_minutes = _numbers | st.integers(-5000, 5000).map(lambda minutes: int(NOW // 60) + minutes)
_forged: st.SearchStrategy[form.Later] = (
    st.builds(form.Extend, minutes=_numbers)
    | st.builds(form.Snooze, minutes=_numbers)
    | st.builds(form.ExtendUntil, until=_minutes)
    | st.builds(form.SnoozeUntil, until=_minutes)
)


@given(st.none() | _seconds, _seconds, _forged)
def test_whatever_a_forged_button_carries_the_limits_hold(
    left: float | None, until_latest: float, how: form.Later
) -> None:
    shown, latest = waiting(left), NOW + until_latest
    step = settled(shown, how, latest=latest)
    if isinstance(step, form.Refused):
        assert step.why.endswith(".")
        assert len(step.why) <= 60
        return
    assert isinstance(step, form.Postponed)
    _check(shown, step, latest)


def test_a_button_of_yesterday_says_kindly_that_its_time_has_passed() -> None:
    past = int(NOW // 60) - 60
    for how in (form.SnoozeUntil(until=past), form.ExtendUntil(until=past)):
        assert settled(waiting(), how, latest=NOW + DAY) == later.TIME_PASSED


def test_what_cannot_be_had_says_why() -> None:
    limit = NOW + 90 * MINUTE
    at = clock_time(limit)
    soon = clock_time(limit - 15 * MINUTE)
    for how, why in (
        (form.Snooze(minutes=80), f"It can be snoozed until {soon} at most."),
        (form.ExtendUntil(until=int(NOW // 60) + 100), f"{at} is the latest allowed."),
        (
            form.ExtendUntil(until=int(NOW // 60) + 30),
            f"It has time until {clock_time(NOW + HOUR)} anyway.",
        ),
        (form.Snooze(minutes=20_000), "It can be snoozed for 7 days at most."),
    ):
        assert settled(waiting(), how, latest=limit) == form.Refused(why=why)
    short = waiting(15 * MINUTE)
    assert settled(short, form.Snooze(minutes=5), latest=NOW + 15 * MINUTE) == later.TOO_SOON
    assert settled(waiting(None), form.Extend(minutes=15), latest=limit) == later.NO_LIMIT


def test_more_time_does_not_end_a_snooze() -> None:
    snoozed = replace(waiting(2 * HOUR), attention=Attention(snoozed_until=NOW + HOUR))
    step = settled(snoozed, form.Extend(minutes=15), latest=NOW + 9 * HOUR)
    assert isinstance(step, form.Postponed)
    longer = transitions.postpone(snoozed, step, now=NOW)
    assert longer.deadline == NOW + 2 * HOUR + 15 * MINUTE
    assert longer.attention.snoozed_until == NOW + HOUR


# ── the morning ───────────────────────────────────────────────────────────────────────────────────


def test_the_morning_is_the_end_of_quiet_hours_or_the_time_of_the_summary_or_eight() -> None:
    ends = NOW + 5 * HOUR
    by_hand = Nights(NightPolicy(), Switch(on=True, period=Period(NOW - HOUR, ends)))
    assert by_hand.morning(NOW) == ends
    assert clock_time(Nights(NightPolicy()).morning(NOW)) == "08:00"
    assert clock_time(Nights(NightPolicy(summary_at=9 * 60 + 30)).morning(NOW)) == "09:30"
    day = time.localtime(NOW).tm_wday
    far = tuple("10:00-11:00" if each == (day + 3) % 7 else "" for each in range(7))
    weekly = Nights(NightPolicy(quiet=QuietRule(hours=far)))
    assert clock_time(weekly.morning(NOW)) == "08:00", "not three days from now"


# ── the form ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["question", "review", "approval"])
def shown(request: pytest.FixtureRequest) -> Ask:
    yes = form.Choose(step=0, option=0)
    found: dict[str, Ask] = {
        "question": waiting(),
        "review": stepped(ask(confirm("A?"), confirm("B?")), yes, yes),
        "approval": ask(approval("ls")),
    }
    return found[request.param]


def test_its_screen_opens_on_a_tap_and_closes_with_back_or_a_choice(shown: Ask) -> None:
    step, view = shown.draft.step, shown.draft.view
    opened = transitions.apply_event(shown, form.AskLater(step=step))
    assert isinstance(opened, form.Moved)
    aside = replace(shown, draft=opened.draft)
    assert aside.draft.view == "later"
    back = transitions.apply_event(aside, form.Back(step=step + 1))
    assert isinstance(back, form.Moved)
    assert (back.draft.view, back.draft.entries) == (view, shown.draft.entries)
    chosen = transitions.apply_event(aside, form.Snooze(step=step + 1, minutes=60))
    assert isinstance(chosen, form.Postponed)
    assert (chosen.draft.view, chosen.draft.entries) == (view, shown.draft.entries)
    again = replace(aside, draft=chosen.draft)
    double = transitions.apply_event(again, form.Snooze(step=step + 1, minutes=60))
    assert double == form.STALE, "the second tap of two"


@given(some.asks())
def test_more_time_never_touches_an_answer(asked: Ask) -> None:
    if not asked.open or asked.draft.view == "sending":
        return
    step = transitions.apply_event(asked, form.Extend(minutes=15))
    assert isinstance(step, form.Postponed)
    assert step.draft.entries == asked.draft.entries


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("+15", form.Extend(minutes=15)),
        ("+ 15 min", form.Extend(minutes=15)),
        ("+1h", form.Extend(minutes=60)),
        ("+1 h 30", form.Extend(minutes=90)),
        ("+2 hours", form.Extend(minutes=120)),
        ("+45m", form.Extend(minutes=45)),
        ("snooze 1h", form.Snooze(minutes=60)),
        ("snooze for 90 minutes", form.Snooze(minutes=90)),
        ("snooze until 8", form.SnoozeUntil(until=int(EIGHT // 60))),
        ("snooze until 08:00", form.SnoozeUntil(until=int(EIGHT // 60))),
        ("snooze 08:00", form.SnoozeUntil(until=int(EIGHT // 60))),
        ("snooze 2 days", form.Snooze(minutes=2 * 24 * 60)),
        ("until 8.00", form.ExtendUntil(until=int(EIGHT // 60))),
    ],
)
def test_words_for_more_time(said: str, how: form.Later) -> None:
    assert read_later(said, NEXT_TIME) == how


@pytest.mark.parametrize(
    "said",
    [
        *("", "+", "+1", "+ 5", "+0h", "+15 apples", "-15", "1h", "snooze", "snooze 1", "snooze x"),
        *("snooze 8:61", "snooze 0d"),
        *("snooze until 24:01", "snooze until 8:61", "until", "until noon", "+٣h", "snooze 99999h"),
    ],
)
def test_other_words_are_none(said: str) -> None:
    assert read_later(said, NEXT_TIME) is None


@given(st.text() | st.from_regex(r"(snooze|until|\+)[ \d:hmin]*", fullmatch=True))
def test_whatever_is_typed_is_a_time_or_none(said: str) -> None:
    for read in (read_snooze, read_extend, read_later):
        how = read(said, NEXT_TIME)
        assert how is None or max(getattr(how, "minutes", 1), 1) == getattr(how, "minutes", 1)
    assert read_plus(said) is None or said.startswith("+")
