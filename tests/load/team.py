"""The people, their projects and the configuration of their hub.

Each project has a person, and its questions are routed there: to their own chat, to a chat that
they share with others, or to the web inbox. So every question is shown in one place and answered by
one person, and in no chat there are more than its service takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

CHANNELS = ("telegram", "slack", "discord", "web")
"""The people are on one of them each, by turns."""
SLACK_ROOMS = 4
"""That all people on Slack share."""
GROUP = 2
"""So many people on Telegram share a group; the others have their own chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    number: int
    channel: str

    @property
    def name(self) -> str:
        return f"Person {self.number}"

    @property
    def project(self) -> str:
        return project_of(self.number)


def team(people: int) -> list[Member]:
    return [Member(number=i, channel=CHANNELS[i % len(CHANNELS)]) for i in range(people)]


def project_of(number: int) -> str:
    return f"team-{number:03}"


def configuration(
    tables: Mapping[str, Mapping[str, object]],
    routes: Mapping[str, str],
    identities: Iterable[tuple[Member, object]],
    **settings: object,
) -> str:
    """`routes`: where the questions of a project go."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(it)}" for key, it in table.items())]
    for member, identity in identities:
        lines += ["[[people]]", f"name = {json.dumps(member.name)}"]
        lines += [f"{member.channel} = {json.dumps(identity)}"]
    for project, place in routes.items():
        # Agents over HTTP have a token each, whose name begins with the project's.
        lines += ["[[routes]]", f'project = "{project}*"', f"to = [{json.dumps(place)}]"]
    return "\n".join(lines) + "\n"
