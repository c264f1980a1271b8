"""The people of a team: what each of them may do, and where they are reached.

Whoever is not in the list, but in a channel's own, may do everything, as without a team.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from chatbridge.core.errors import RoleMissing
from chatbridge.core.model import Person, Priority, QuietRule
from chatbridge.core.people.routes import Route, Routed, Sent
from chatbridge.core.text import one_line


class Role(StrEnum):
    ANSWER = "answer"
    APPROVE = "approve"
    READ = "read"  # Alone: sees cards, and changes nothing


MAX_REMEMBERED = 1_000
KEYS = 10**9
"""A button has room for so many."""
USUAL_ROLES = frozenset({Role.ANSWER, Role.APPROVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    name: str
    identities: tuple[tuple[str, str], ...] = ()
    """The channels on which they are reached, each with the service's own id of them."""
    roles: frozenset[Role] = USUAL_ROLES
    quiet: QuietRule | None = None

    @property
    def key(self) -> int:
        """What a button carries of the name."""
        return zlib.crc32(self.name.encode()) % KEYS

    @property
    def own_chats(self) -> tuple[str, ...]:
        """Surfaces, if there are such, that are this person's private chats."""
        return tuple(f"{channel}:{person}" for channel, person in self.identities)


@dataclass(slots=True)
class _Found:
    """What was looked up of a team: every surface asks it of every ask."""

    people: dict[tuple[str, str], Member] = field(default_factory=dict)
    chats: dict[str, Member] = field(default_factory=dict)
    places: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    routes: dict[tuple[str, str, Priority], Route | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """`surfaces` are all that there are by the settings; of a page, or where a channel decides by
    itself, the name of the channel."""

    members: tuple[Member, ...] = ()
    routes: tuple[Route, ...] = ()
    surfaces: frozenset[str] = frozenset()
    _found: _Found = field(init=False, repr=False, compare=False, default_factory=_Found)

    def __post_init__(self) -> None:
        for member in reversed(self.members):  # the first of two counts
            self._found.people.update(dict.fromkeys(member.identities, member))
            self._found.chats.update(dict.fromkeys(member.own_chats, member))

    # ── who somebody is, and what they may do ─────────────────────────────────────────────────────

    def member_of(self, person: Person) -> Member | None:
        return self._found.people.get((person.channel, person.id))

    def named(self, name: str) -> Member | None:
        return next((it for it in self.members if it.name == name), None)

    def known(self, person: Person) -> Person:
        """With the name that the owner has given them, if there is one. Nobody else goes by it."""
        member, taken = self.member_of(person), {it.name.casefold() for it in self.members}
        if member is not None:
            return replace(person, name=member.name)
        if one_line(person.name).casefold() in taken:
            return replace(person, name=f"{person.name} ({person.id or person.channel})")
        return person

    def is_same(self, one: Person, other: Person) -> bool:
        return self._who(one) == self._who(other)

    def _who(self, person: Person) -> tuple[str, ...]:
        member = self.member_of(person)
        return (member.name,) if member else (person.channel, person.id or person.name)

    def check(self, person: Person, role: Role) -> None:
        """:raises RoleMissing: this person may not do it."""
        member = self.member_of(person)
        if member is not None:
            if role not in member.roles:
                raise RoleMissing(role, reads_only=member.roles <= {Role.READ})
        elif not person.id and self._names_people_on(person.channel):
            raise RoleMissing(role)  # it may be anybody

    def _names_people_on(self, channel: str) -> bool:
        return any(channel == each for it in self.members for each, _ in it.identities)

    def with_role(self, role: Role) -> Iterator[Member]:
        return (it for it in self.members if role in it.roles)

    # ── where cards go ────────────────────────────────────────────────────────────────────────────

    def quiet_on(self, surface: str) -> QuietRule | None:
        """The quiet hours of the person whose private chat this is."""
        member = self._found.chats.get(surface)
        return None if member is None else member.quiet

    def quiet_rules(self) -> frozenset[QuietRule]:
        """All of them."""
        return frozenset(it.quiet for it in self.members if it.quiet is not None)

    def route_of(self, what: Sent, priority: Priority = Priority.NORMAL) -> Route | None:
        """The first that fits."""
        known, of = self._found.routes, (what.project.name, what.agent.client, priority)
        if of not in known:
            if len(known) >= MAX_REMEMBERED:  # agents choose these names
                known.clear()
            known[of] = next((it for it in self.routes if it.fits(what, priority)), None)
        return known[of]

    def places_of(self, names: Iterable[str]) -> frozenset[str]:
        """Surfaces, or channels as a whole, that are there for these people and chats: of a person
        the private chats or, on a channel without, all of its chats."""
        known, of = self._found.places, tuple(names)
        if of not in known:
            if len(known) >= MAX_REMEMBERED:
                known.clear()
            known[of] = frozenset(place for name in of for place in self._places(name))
        return known[of]

    def _places(self, name: str) -> Iterator[str]:
        member = self.named(name)
        if member is None:
            yield from (name,) if self._is_there(name) else ()
            return
        for channel, person in member.identities:
            own = f"{channel}:{person}"
            if own in self.surfaces:
                yield own
            elif self._is_there(channel):
                yield channel

    def _is_there(self, place: str) -> bool:
        return any(is_at(surface, {place}) for surface in self.surfaces)

    def places_for(self, ask: Routed) -> frozenset[str]:
        """Where this ask is shown; empty: everywhere."""
        attention, route = ask.attention, self.route_of(ask, ask.attention.priority)
        if route is None or attention.everywhere or not (first := self.places_of(route.to)):
            return frozenset()
        second = route.second if attention.second_line_at is not None else ()
        return first | self.places_of((*second, *(each.to for each in attention.handovers)))

    def shows(self, ask: Routed, surface: str) -> bool:
        places = self.places_for(ask)
        return not places or is_at(surface, places)

    def places_for_notice(self, notice: Sent) -> frozenset[str]:
        """The same for a notice, which has no second line."""
        route = self.route_of(notice)
        return self.places_of(route.to) if route else frozenset()

    def shows_notice(self, notice: Sent, surface: str) -> bool:
        places = self.places_for_notice(notice)
        return not places or is_at(surface, places)

    def called_to(self, ask: Routed, surface: str) -> int:
        """How often somebody who is reached here was called to it: it was handed to them, or they
        are the second line."""
        attention, route = ask.attention, self.route_of(ask, ask.attention.priority)
        called: list[tuple[str, ...]] = [(it.to,) for it in attention.handovers]
        if attention.second_line_at is not None and route is not None:
            called.append(route.second)
        return sum(is_at(surface, self.places_of(names)) for names in called)


def is_at(surface: str, places: Collection[str]) -> bool:
    """Whether this surface is one of these places, or of these channels."""
    return surface in places or surface.partition(":")[0] in places
