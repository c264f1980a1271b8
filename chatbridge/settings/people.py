"""The lists of people and routes. They count in the configuration file only.

Who is let in on which channel follows from them: `joined_people`. `chatbridge.core.people` says
what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationError, create_model
from pydantic_settings import NoDecode

from chatbridge.channels.registry import channel_specs
from chatbridge.channels.spec import ChannelSpec
from chatbridge.core.model import Priority, QuietRule
from chatbridge.core.nights.hours import find_zone
from chatbridge.core.people.routes import Route
from chatbridge.core.people.team import Member, Role, Team
from chatbridge.core.text import did_you_mean, one_line
from chatbridge.setting_rules import first_problem, listed
from chatbridge.settings.nights import Hours
from chatbridge.settings.tools import Seconds, SettingsTable

MAX_NAME, MAX_PATTERN = 40, 200
Problem = tuple[Sequence[str | int], str]


def _short_line(most: int, what: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > most or text != one_line(text):
        raise ValueError(f"accepted: {what} in one line of at most {most} characters")
    return text


def _known_zone(name: str | None) -> str | None:
    find_zone(name)
    return name


def _some_roles(roles: tuple[str, ...]) -> tuple[str, ...]:
    if not roles:
        raise ValueError("accepted: answer, approve, read; leave it out for answer and approve")
    return roles


Name = Annotated[str, BeforeValidator(partial(_short_line, MAX_NAME, "a name"))]
Pattern = Annotated[str, BeforeValidator(partial(_short_line, MAX_PATTERN, "a pattern"))]
Places = Annotated[tuple[Name, ...], NoDecode, BeforeValidator(listed)]
RoleName = Literal["answer", "approve", "read"]


class PersonTable(SettingsTable):
    """Who somebody is on each channel is added by `person_table`."""

    name: Name
    zone: Annotated[str | None, AfterValidator(_known_zone)] = None
    quiet: Hours = None
    roles: Annotated[
        tuple[RoleName, ...], NoDecode, BeforeValidator(listed), AfterValidator(_some_roles)
    ] = ("answer", "approve")

    def identity(self, spec: ChannelSpec[Any]) -> object:
        """As the channel's own setting has it; None: this person is not there."""
        return getattr(self, spec.name)

    @property
    def member(self) -> Member:
        found = ((spec.name, self.identity(spec)) for spec in specs_with_people())
        return Member(
            name=self.name,
            identities=tuple((name, str(it)) for name, it in found if it is not None),
            roles=frozenset(map(Role, self.roles)),
            quiet=QuietRule(hours=self.quiet, zone=self.zone) if self.quiet else None,
        )


class RouteTable(SettingsTable):
    to: Places
    project: Pattern | None = None
    agent: Pattern | None = None
    priority: Priority | None = None
    second: Places = ()
    after: Seconds | None = None

    @property
    def route(self) -> Route:
        return Route(
            to=self.to,
            project=self.project,
            agent=self.agent,
            priority=self.priority,
            second=self.second,
            after=self.after,
        )


def specs_with_people() -> list[ChannelSpec[Any]]:
    return [spec for spec in channel_specs() if spec.people is not None]


@cache
def person_table() -> type[PersonTable]:
    """With a key for each channel that knows people."""
    keys: dict[str, Any] = {
        spec.name: (Annotated[Any, BeforeValidator(partial(_identity, spec))], None)
        for spec in specs_with_people()
    }
    return create_model("PersonTable", __base__=PersonTable, **keys)


def _identity(spec: ChannelSpec[Any], value: object) -> object:
    """Checked as the channel's list of people is."""
    if value is None or value == "":
        return None
    try:
        table = spec.settings.model_validate({str(spec.people): [value]})
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    (found,) = spec.people_in(table)
    return found


def joined_people(
    spec: ChannelSpec[Any], table: Any, people: Iterable[PersonTable]
) -> tuple[object, ...]:
    """Who may do something on this channel: those of its own list, and those of the people."""
    named = (person.identity(spec) for person in people)
    named = (it for it in named if it is not None)
    return tuple(dict.fromkeys((*spec.people_in(table), *named)))


def problems_with(people: Sequence[PersonTable], routes: Sequence[RouteTable]) -> list[Problem]:
    """What is wrong with them together, each with its key."""
    return [*_of_people(people), *_of_routes(people, routes)]


def _of_people(people: Sequence[PersonTable]) -> Iterator[Problem]:
    channels = [spec.name for spec in channel_specs()]
    names: dict[str, str] = {}
    known: dict[tuple[str, str], str] = {}
    for at, person in enumerate(people):
        name = person.name.casefold()
        if name in names:
            yield ("people", at, "name"), f"people: the name {person.name} is there twice"
        elif ":" in name or name in channels:
            why = "a name must have no colon and be none of a channel, so that routes can tell them"
            yield ("people", at, "name"), f"people: {person.name}: {why}"
        names[name] = person.name
        for identity in person.member.identities:
            if identity in known:
                who = f"{known[identity]} and {person.name}"
                told = f"people: {who} have the same {identity[0]}: each identity is one person's"
                yield ("people", at, identity[0]), told
            known.setdefault(identity, person.name)


def _of_routes(people: Sequence[PersonTable], routes: Sequence[RouteTable]) -> Iterator[Problem]:
    names = [person.name for person in people]
    channels = [spec.name for spec in channel_specs()]
    for at, route in enumerate(routes):
        for key, places in (("to", route.to), ("second", route.second)):
            for number, place in enumerate(places, 1):
                if place in names or place.partition(":")[0] in channels:
                    continue
                near = did_you_mean(place, [*names, *channels], before="; ")
                # Without the value: it may be a token in the wrong place.
                what = "is neither one of the people nor a chat such as telegram:-1001234567890"
                yield ("routes", at, key), f"routes.{key}: entry {number} {what}{near}"
        if not route.to:
            yield ("routes", at, "to"), "routes.to: name at least one person or chat"
        if bool(route.second) != (route.after is not None):
            missing = "after" if route.second else "second"
            told = f"routes: second and after belong together; {missing} is missing"
            yield ("routes", at, "second" if route.second else "after"), told


def team_of(
    people: Iterable[PersonTable], routes: Iterable[RouteTable], surfaces: frozenset[str]
) -> Team:
    return Team(
        members=tuple(person.member for person in people),
        routes=tuple(route.route for route in routes),
        surfaces=surfaces,
    )
