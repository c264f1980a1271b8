"""Taking a question, so that others see who is on it, and handing it over. Pure functions.

Neither gives or takes a right: whoever may answer may go on to, and the first answer wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatbridge.core.forms import form
from chatbridge.core.model import Ask, Handover, Person
from chatbridge.core.people.team import Role, Team

MAX_HANDOVERS = 20

NOBODY_ELSE = form.Refused(why="There is nobody else who may answer this.")
NOT_THEIRS = form.Refused(why="They may not answer this.")
TAKEN_ALREADY = form.Refused(why="You are on it already.")
HANDED_TOO_OFTEN = form.Refused(why="This was handed over too often.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Colleague:
    """Somebody to whom an ask can be handed."""

    name: str
    key: int


def role_for(ask: Ask) -> Role:
    """What somebody needs who does anything with this ask."""
    return Role.APPROVE if ask.approval else Role.ANSWER


def colleagues(ask: Ask, team: Team, *, surface: str = "") -> tuple[Colleague, ...] | None:
    """To whom it can be handed, from this surface: not to the person whose private chat that is.
    None: there is no team to share it with."""
    if len(team.members) < 2 or not ask.open:
        return None
    return tuple(
        Colleague(name=it.name, key=it.key)
        for it in team.with_role(role_for(ask))
        if surface not in it.own_chats
    )


def settle(ask: Ask, step: form.Step, *, by: Person, now: float, team: Team) -> form.Step:
    """What a step that shares the ask comes to in this team; any other as it is."""
    if not isinstance(step, form.Shared):
        return step
    others, taken_by = colleagues(ask, team), ask.attention.taken_by
    if others is None:
        return form.UNFIT
    match step.how:
        case form.Take() if taken_by is not None:
            return TAKEN_ALREADY if team.is_same(by, taken_by) else _held_by(taken_by)
        case form.Take():
            return replace(step, taken_by=by)
        case form.Release() if taken_by is None:
            return form.UNFIT
        case form.Release():
            assert taken_by is not None
            return step if team.is_same(by, taken_by) else _held_by(taken_by)
        case form.HandOver(to=key):
            found = [it.name for it in others if it.key == key]
            if len(found) != 1:
                return NOT_THEIRS
            if len(ask.attention.handovers) >= MAX_HANDOVERS:
                return HANDED_TOO_OFTEN
            return replace(step, handover=Handover(by=by, to=found[0], at=now))


def _held_by(person: Person) -> form.Refused:
    who = person.name or "Somebody else"
    return form.Refused(why=f"{who} is on it. You can answer it all the same.")
