"""Whether the people can be reached, and whether routes lead anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatbridge.channels.checks import Finding, HubState, fine, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import counted, display_path
from chatbridge.core.people.team import Role, Team
from chatbridge.settings import Settings
from chatbridge.settings.people import specs_with_people

NAME = "people"


async def people(context: DoctorContext) -> Sequence[Finding]:
    settings, team = context.settings, context.settings.team()
    if not (team.members or team.routes):
        return []
    fix = f"Change it in {display_path(context.config)}"
    found = await context.hub()
    wrong = [
        *_unreachable(team),
        *_without_approvals(settings, team),
        *_leading_nowhere(team, found),
    ]
    who, routes = f"{len(team.members)} of them", counted(len(team.routes), "route")
    return [remark(NAME, what, fix) for what in wrong] or [fine(NAME, f"{who}, {routes}")]


def _unreachable(team: Team) -> Iterator[str]:
    for member in team.members:
        if not team.places_of([member.name]):
            yield f"{member.name} has no id on a channel that is set up"


def _without_approvals(settings: Settings, team: Team) -> Iterator[str]:
    """Somebody who is only in a channel's list may approve."""
    where = [spec for spec in specs_with_people() if spec.name in settings.approval_channels()]
    named = {identity for member in team.members for identity in member.identities}
    able = {identity for member in team.with_role(Role.APPROVE) for identity in member.identities}
    there = {
        (spec.name, str(person))
        for spec in where
        for person in spec.people_in(settings.table(spec))
    }
    if there and not there & (able | (there - named)):
        yield "nobody may approve where approvals are given, so all of them are denied"


def _leading_nowhere(team: Team, hub: HubState) -> Iterator[str]:
    for number, route in enumerate(team.routes, 1):
        places = team.places_of(route.to)
        channels = {place.partition(":")[0] for place in places}
        if not places:
            yield f"route {number} leads to no chat that is set up: its cards go everywhere"
        elif all(hub.trouble_of(channel) for channel in channels):
            yield f"route {number} leads only to channels in trouble: its cards go everywhere"
        if route.second and not team.places_of(route.second):
            yield f"the second line of route {number} has no chat that is set up"
