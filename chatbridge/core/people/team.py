"""The people of a team: what each of them may do, and where they are reached.

Whoever is not in the list, but in a channel's own, may do everything, as without a team.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from chatbridge.core.errors import RoleMissing
from chatbridge.core.model import Attention, Person, Priority, QuietRule
from chatbridge.core.people.routes import Route, Routed, Sent


class Role(StrEnum):
    ANSWER = "answer"
    APPROVE = "approve"
    READ = "read"  # Alone: sees cards, and changes nothing


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """`surfaces` are all that there are by the settings; of a page, or where a channel decides by
    itself, the name of the channel."""

    members: tuple[Member, ...] = ()
    routes: tuple[Route, ...] = ()
    surfaces: frozenset[str] = frozenset()

    # ── who somebody is, and what they may do ─────────────────────────────────────────────────────

    def member_of(self, person: Person) -> Member | None:
        mine = (person.channel, person.id)
        return next((it for it in self.members if mine in it.identities), None)

    def named(self, name: str) -> Member | None:
        return next((it for it in self.members if it.name == name), None)

    def known(self, person: Person) -> Person:
        """With the name that the owner has given them, if there is one."""
        member = self.member_of(person)
        return person if member is None else replace(person, name=member.name)

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
        return next((it.quiet for it in self.members if surface in it.own_chats), None)

    def quiet_rules(self) -> frozenset[QuietRule]:
        """All of them."""
        return frozenset(it.quiet for it in self.members if it.quiet is not None)

    def route_of(self, what: Sent, priority: Priority = Priority.NORMAL) -> Route | None:
        """The first that fits."""
        return next((it for it in self.routes if it.fits(what, priority)), None)

    def places_of(self, names: Iterable[str]) -> frozenset[str]:
        """Surfaces, or channels as a whole, that are there for these people and chats: of a person
        the private chats or, on a channel without, all of its chats."""
        return frozenset(place for name in names for place in self._places(name))

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

    def handed_to(self, attention: Attention, surface: str) -> int:
        """How often it was handed to somebody who is reached here."""
        return sum(is_at(surface, self.places_of([it.to])) for it in attention.handovers)


def is_at(surface: str, places: Iterable[str]) -> bool:
    """Whether this surface is one of these places, or of these channels."""
    return any(place in (surface, surface.partition(":")[0]) for place in places)
