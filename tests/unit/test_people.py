"""Who may do what, and where a card goes, whatever the team, the routes and the ask."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.asks.deadlines import Due, all_due, apply_due
from chatbridge.core.errors import RoleMissing
from chatbridge.core.forms import filling, form
from chatbridge.core.model import Agent, Ask, Attention, Handover, Person, Priority, QuietRule
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy, Sound
from chatbridge.core.people import sharing
from chatbridge.core.people.routes import UNSHOWN_SECONDS, Route
from chatbridge.core.people.team import Member, Role, Team
from chatbridge.core.policy import Policy
from tests.contract.asks import an_ask

ANN = Member(name="Ann", identities=(("telegram", "1"), ("slack", "U1")))
BOB = Member(name="Bob", identities=(("telegram", "2"),), roles=frozenset({Role.ANSWER}))
EVE = Member(name="Eve", identities=(("matrix", "@eve:x"),), roles=frozenset({Role.READ}))
MEMBERS = (ANN, BOB, EVE)
ANN_HERE = Person(name="ann@work", channel="telegram", place="1", id="1")
BOB_HERE = Person(name="bob@work", channel="telegram", place="2", id="2")
SURFACES = ("telegram:1", "telegram:2", "telegram:-100", "slack:C1", "matrix:!room", "web", "ntfy")
PLACES = ("Ann", "Bob", "Eve", "telegram:-100", "slack:C1", "slack", "web", "telegram:9", "discord")
PROJECTS, CLIENTS = ("shop-api", "shop-web", "blog"), ("claude-code", "codex")
BEGINNING = datetime(2026, 3, 27, tzinfo=ZoneInfo("UTC"))  # two days before Berlin's clocks change
HOUR = 3600.0

lists = st.lists(st.sampled_from(PLACES), min_size=1, max_size=3).map(tuple)
routes = st.builds(
    Route,
    to=lists,
    project=st.none() | st.sampled_from(["shop-*", "SHOP-*", "blog", "*", "nothing"]),
    agent=st.none() | st.sampled_from(["claude*", "codex", "*"]),
    priority=st.none() | st.sampled_from(Priority),
    second=lists,
    after=st.floats(1, 40 * HOUR),
)
teams = st.builds(
    Team,
    members=st.just(MEMBERS),
    routes=st.lists(routes, max_size=3).map(tuple),
    surfaces=st.sets(st.sampled_from(SURFACES)).map(frozenset),
)
moments = st.builds(
    lambda minutes: (BEGINNING + timedelta(minutes=minutes)).timestamp(),
    st.integers(0, 6 * 24 * 60),
)


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    ask, created = an_ask(), draw(moments)
    handed = Handover(by=ANN_HERE, to=draw(st.sampled_from(["Bob", "Eve"])), at=created)
    return replace(
        ask,
        created_at=created,
        deadline=draw(st.none() | st.floats(1, 60 * HOUR).map(lambda more: created + more)),
        project=replace(ask.project, name=draw(st.sampled_from(PROJECTS))),
        agent=Agent(client=draw(st.sampled_from(CLIENTS)), name="Agent"),
        attention=Attention(
            priority=draw(st.sampled_from(Priority)),
            second_line_at=draw(st.none() | st.just(created)),
            handovers=(handed,) * draw(st.integers(0, 2)),
        ),
    )


def due_of(ask: Ask, policy: Policy, due: Due, *, now: float) -> float | None:
    return next((at for at, each in all_due(ask, now=now, policy=policy) if each is due), None)


# ── routes ────────────────────────────────────────────────────────────────────────────────────────


@given(teams, asks())
def test_wherever_routes_lead_an_ask_is_shown_somewhere_that_there_is(team: Team, ask: Ask) -> None:
    shown = {surface for surface in team.surfaces if team.shows(ask, surface)}
    assert shown or not team.surfaces
    if not team.places_for(ask):
        assert shown == team.surfaces


@given(teams, asks())
def test_the_first_route_that_fits_decides_and_a_label_never_does(team: Team, ask: Ask) -> None:
    fits = [it for it in team.routes if it.fits(ask, ask.attention.priority)]
    assert team.route_of(ask, ask.attention.priority) == next(iter(fits), None)
    for label in (*PROJECTS, "nothing"):
        labelled = replace(ask, project=replace(ask.project, label=label))
        assert team.places_for(labelled) == team.places_for(ask)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("shop-*", {"shop-api", "hub-a/shop-api", "alice/shop-api"}),
        ("SHOP-API", {"shop-api", "hub-a/shop-api", "alice/shop-api"}),
        ("hub-a/*", {"hub-a/shop-api", "hub-a/blog"}),
        ("*/shop-api", {"hub-a/shop-api", "alice/shop-api"}),
        ("hub-a", set()),
        ("alice*", set()),
        ("chatbridge", {"./chatbridge"}),
        (None, {"shop-api", "hub-a/shop-api", "hub-a/blog", "alice/shop-api", "./chatbridge"}),
    ],
)
def test_a_pattern_without_a_slash_is_for_the_folder_at_every_hub_and_of_every_user(
    pattern: str | None, fits: set[str]
) -> None:
    route, ask = Route(to=("Ann",), project=pattern), an_ask()
    names = ("shop-api", "hub-a/shop-api", "hub-a/blog", "alice/shop-api", "./chatbridge")
    found = {
        name
        for name in names
        if route.fits(replace(ask, project=replace(ask.project, name=name)), Priority.NORMAL)
    }
    assert found == fits


@given(teams, asks())
def test_handing_over_and_the_second_line_only_add_places(team: Team, ask: Ask) -> None:
    bare = replace(ask, attention=Attention(priority=ask.attention.priority))
    assert team.places_for(bare) <= team.places_for(ask)
    for handed in ask.attention.handovers:
        for place in team.places_of([handed.to]) if team.places_for(ask) else ():
            assert place in team.places_for(ask)


@given(teams, asks(), moments)
def test_the_second_line_has_it_on_time_and_once(team: Team, ask: Ask, now: float) -> None:
    policy = Policy(nights=Nights(team=team), max_timeout=1000 * HOUR)
    route, at = team.route_of(ask, ask.attention.priority), None
    if route and ask.attention.second_line_at is None:
        assert route.after
        at = ask.created_at + route.after
    assert due_of(ask, policy, Due.SECOND_LINE, now=now) == at
    after = apply_due(Due.SECOND_LINE, ask, now=now, policy=policy)
    if at is None or now < at:
        assert after is ask
        return
    assert after.attention.second_line_at == now
    assert after.revision == ask.revision + 1
    assert due_of(after, policy, Due.SECOND_LINE, now=now) is None
    if places := team.places_for(ask):
        assert route
        assert team.places_for(after) == places | team.places_of(route.second)


@given(teams, asks(), moments)
def test_whoever_is_on_it_keeps_the_second_line_away(team: Team, ask: Ask, now: float) -> None:
    policy = Policy(nights=Nights(team=team))
    for kept in ({"taken_by": BOB_HERE}, {"snoozed_until": now + HOUR}):
        taken = replace(ask, attention=replace(ask.attention, **kept))
        assert due_of(taken, policy, Due.SECOND_LINE, now=now) is None
        assert apply_due(Due.SECOND_LINE, taken, now=now, policy=policy) is taken


@given(teams, asks(), moments)
def test_what_its_route_could_not_show_is_shown_everywhere(
    team: Team, ask: Ask, now: float
) -> None:
    policy = Policy(nights=Nights(team=team))
    after = apply_due(Due.SPREAD, ask, now=now, policy=policy)
    if not team.places_for(ask) or now < ask.created_at + UNSHOWN_SECONDS:
        assert after is ask
        return
    assert all(team.shows(after, surface) for surface in team.surfaces)
    assert due_of(after, policy, Due.SPREAD, now=now) is None


def test_a_person_is_their_own_chats_or_the_shared_ones_of_the_channel() -> None:
    team = Team(members=MEMBERS, surfaces=frozenset(SURFACES))
    assert team.places_of(["Ann"]) == {"telegram:1", "slack"}
    assert team.places_of(["Eve"]) == {"matrix"}
    assert team.places_of(["Bob", "web", "discord:1"]) == {"telegram:2", "web"}


# ── quiet hours ───────────────────────────────────────────────────────────────────────────────────

rules = st.builds(
    QuietRule,
    hours=st.sampled_from(
        [("20:00-08:00",) * 7, ("00:00-23:00",) * 7, ("",) * 5 + ("00:00-24:00",) * 2]
    ),
    zone=st.sampled_from(["Europe/Berlin", "Asia/Tokyo"]),
)


@st.composite
def nights_of_ann(draw: st.DrawFn) -> Nights:
    owners = draw(st.none() | st.builds(replace, rules, hold=st.booleans()))
    members = (replace(ANN, quiet=draw(rules)), BOB, EVE)
    team = Team(members=members, surfaces=frozenset(SURFACES))
    return Nights(policy=NightPolicy(quiet=owners, let_through=frozenset()), team=team)


LOUDNESS = [Sound.HIDDEN, Sound.SILENT, Sound.ONCE, Sound.LOUD]


@given(nights_of_ann(), asks(), moments)
def test_ones_own_quiet_hours_only_make_ones_own_chat_quieter(
    nights: Nights, ask: Ask, now: float
) -> None:
    anywhere = nights.sound(ask, now=now)
    for surface in SURFACES:
        here = nights.sound(ask, now=now, surface=surface)
        if surface == "telegram:1":
            assert LOUDNESS.index(here) <= LOUDNESS.index(anywhere)
            quiet = nights.calendar_on(surface, ask).period_at(now) is not None
            assert not quiet or here in (Sound.HIDDEN, Sound.SILENT)
            assert quiet == (nights.is_quiet_on(surface, now))
        else:
            assert here is anywhere


@given(nights_of_ann(), asks(), moments)
def test_what_is_held_anywhere_is_shown_when_that_ends(
    nights: Nights, ask: Ask, now: float
) -> None:
    for _ in range(20):
        hidden = {s for s in SURFACES if nights.is_hidden(ask, surface=s, now=now)}
        due = nights.next_shown(ask, now=now)
        assert (due is None) == (not hidden)
        if due is None:
            return
        assert due > now
        now = due
    raise AssertionError("it is never shown")


# ── roles and sharing ─────────────────────────────────────────────────────────────────────────────

TEAM = Team(members=MEMBERS, surfaces=frozenset(SURFACES))


@pytest.mark.parametrize(
    ("person", "roles"),
    [
        (ANN_HERE, {Role.ANSWER, Role.APPROVE}),
        (replace(ANN_HERE, channel="slack", id="U1"), {Role.ANSWER, Role.APPROVE}),
        (BOB_HERE, {Role.ANSWER}),
        (Person(name="Ann", channel="matrix", id="@eve:x"), {Role.READ}),
        (Person(name="Ann", channel="telegram", id="7"), set(Role)),  # in allowed_users alone
        (Person(name="Ann", channel="telegram"), set()),  # it may be anybody
        (Person(name="", channel="web"), set(Role)),
        (Person(name="ada", channel="terminal"), set(Role)),
    ],
)
def test_rights_come_from_the_id_that_a_service_vouches_for(
    person: Person, roles: set[Role]
) -> None:
    for role in Role:
        if role in roles:
            TEAM.check(person, role)
        else:
            with pytest.raises(RoleMissing):
                TEAM.check(person, role)


def test_nobody_goes_by_the_name_of_one_of_the_people() -> None:
    assert TEAM.known(ANN_HERE).name == "Ann"
    assert TEAM.known(replace(BOB_HERE, name="Ann")).name == "Bob"
    for name in ("Ann", "ANN", " Ann "):
        another = Person(name=name, channel="telegram", id="7")
        assert TEAM.known(another).name == f"{name} (7)"
    assert TEAM.known(Person(name="Anna", channel="telegram", id="7")).name == "Anna"


def shared(ask: Ask, event: Any, *, by: Person, team: Team = TEAM) -> form.Step:
    step = filling.advance(ask.questions, ask.draft, event)
    return sharing.settle(ask, step, by=by, now=0.0, team=team)


def test_only_who_has_taken_it_lets_it_go_on_whatever_channel() -> None:
    ask, on_slack = an_ask(), replace(ANN_HERE, channel="slack", id="U1")
    taken = shared(ask, form.Take(step=0), by=ANN_HERE)
    assert isinstance(taken, form.Shared)
    assert taken.taken_by == ANN_HERE
    ask = replace(ask, attention=Attention(taken_by=taken.taken_by))
    assert isinstance(shared(ask, form.Release(step=0), by=BOB_HERE), form.Refused)
    assert isinstance(shared(ask, form.Take(step=0), by=BOB_HERE), form.Refused)
    assert shared(ask, form.Take(step=0), by=on_slack) == sharing.TAKEN_ALREADY
    released = shared(ask, form.Release(step=0), by=on_slack)
    assert isinstance(released, form.Shared)
    assert released.taken_by is None


def test_it_can_be_handed_only_to_who_may_answer_it() -> None:
    ask = an_ask()
    there = [it.name for it in sharing.colleagues(ask, TEAM) or ()]
    assert there == ["Ann", "Bob"]
    from_ann = sharing.colleagues(ask, TEAM, surface="telegram:1") or ()
    assert [it.name for it in from_ann] == ["Bob"]
    asked = filling.advance(ask.questions, ask.draft, form.AskHandOver(step=0))
    assert isinstance(asked, form.Moved)
    ask = replace(ask, draft=asked.draft)
    handed = shared(ask, form.HandOver(step=1, to=BOB.key), by=ANN_HERE)
    assert isinstance(handed, form.Shared)
    assert handed.handover == Handover(by=ANN_HERE, to="Bob", at=0.0)
    assert shared(ask, form.HandOver(step=1, to=EVE.key), by=ANN_HERE) == sharing.NOT_THEIRS
    many = replace(ask, attention=Attention(handovers=(handed.handover,) * sharing.MAX_HANDOVERS))
    refused = shared(many, form.HandOver(step=1, to=BOB.key), by=ANN_HERE)
    assert refused == sharing.HANDED_TOO_OFTEN


def test_one_person_alone_has_nobody_to_share_with() -> None:
    alone = Team(members=(ANN,))
    assert sharing.colleagues(an_ask(), alone) is None
    assert shared(an_ask(), form.Take(step=0), by=ANN_HERE, team=alone) == form.UNFIT
