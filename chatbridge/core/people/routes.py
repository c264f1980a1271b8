"""Which people and chats get a card. Pure.

A route decides where a card is shown and rings. It never decides who may answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from chatbridge.core.model import Agent, Attention, Priority, Project

UNSHOWN_SECONDS = 60.0
"""If a card could not be shown where its route leads for so long, it is shown everywhere."""


class Sent(Protocol):
    """What counts of an ask, or of a notice."""

    @property
    def project(self) -> Project: ...

    @property
    def agent(self) -> Agent: ...


class Routed(Sent, Protocol):
    """What counts of an ask."""

    @property
    def attention(self) -> Attention: ...

    @property
    def created_at(self) -> float: ...

    @property
    def open(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`to` and `second` have names of people, and chats as surfaces are named."""

    to: tuple[str, ...]
    project: str | None = None
    """A shell pattern for the name of the project's folder or, over HTTP, of the token. With a `/`
    it is for the whole name, which has the user or the hub before the folder."""
    agent: str | None = None
    """A shell pattern for the name of the agent's client."""
    priority: Priority | None = None
    second: tuple[str, ...] = ()
    after: float | None = None
    """Seconds after which the second line gets the card."""

    def fits(self, what: Sent, priority: Priority) -> bool:
        # Never the label: agents choose it.
        return (
            self._is_of(what.project.name)
            and _matches(self.agent, what.agent.client)
            and self.priority in (None, priority)
        )

    def _is_of(self, project: str) -> bool:
        whole = self.project is None or "/" in self.project
        return _matches(self.project, project if whole else project.rpartition("/")[2])


def _matches(pattern: str | None, name: str) -> bool:
    return pattern is None or fnmatchcase(name.casefold(), pattern.casefold())


def second_line_at(route: Route | None, ask: Routed) -> float | None:
    """When the second line gets the card; None: it does not, or has it."""
    attention = ask.attention
    if route is None or route.after is None or not (route.second and ask.open):
        return None
    if attention.second_line_at is not None or attention.taken_by is not None:
        return None
    if attention.snoozed_until is not None:
        return None  # a person has seen it
    return ask.created_at + route.after
