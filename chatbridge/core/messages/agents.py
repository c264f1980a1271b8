"""The agents that are connected now: who they are, since when, and which one a person means.

A process can tell which agent it belongs to by its ancestors: a hook of a client runs beside the
link that the same client has started.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from chatbridge.core.errors import NoSuchAgent
from chatbridge.core.model import Agent, Project
from chatbridge.core.ports import Clock

HOOK_SECONDS = 3600.0  # How long an agent counts as connected that only its hooks are known of
HOOK = "hook-"  # Before the name that the hooks of one session have: it takes no link's place
MAX_NAME = 40
MAX_LEFT = 50
MAX_HOOKED = 200  # Agents that only their hooks are known of: anybody can call themselves one


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedAgent:
    name: str  # One word, unique among those that are connected: `shop-api`, `shop-api-2`
    link: str
    project: Project
    agent: Agent
    since: float
    seen_at: float  # The last sign of life
    pid: int | None = None  # Of its link
    hooks_only: bool = False  # It has no link: its hooks call from time to time

    @property
    def key(self) -> str:
        """Names it where a link's name is too long, or must not be shown."""
        digest = hashlib.sha256(self.link.encode(errors="replace")).digest()[:16]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(slots=True)
class Agents:
    clock: Clock
    ancestors: Callable[[int], Sequence[int]] = lambda pid: ()  # Of a process, nearest first
    clients: Callable[[int], Sequence[int]] = lambda pid: ()  # Those of its client, of a link
    _left: tuple[str, ...] = ()  # Names of the last that were connected
    _watchers: list[Callable[[], None]] = field(default_factory=list)
    _agents: dict[str, ConnectedAgent] = field(default_factory=dict)  # By link

    def seen(
        self,
        link: str,
        project: Project,
        agent: Agent,
        *,
        pid: int | None = None,
        hooks_only: bool = False,
    ) -> ConnectedAgent:
        """Note a sign of life."""
        now = self.clock.time()
        self._drop_silent(now)
        known = self._agents.get(link)
        self._agents[link] = found = ConnectedAgent(
            name=known.name if known else self._new_name(project),
            link=link,
            project=project,
            agent=agent,
            since=known.since if known else now,
            seen_at=now,
            pid=pid or (known.pid if known else None),
            hooks_only=hooks_only and (known is None or known.hooks_only),
        )
        # People are told minutes.
        if (
            known is None
            or found != replace(known, seen_at=now)
            or now // 60 != known.seen_at // 60
        ):
            self.changed()
        return found

    def closed(self, link: str) -> None:
        self._leave([link])

    def _leave(self, links: Iterable[str]) -> None:
        gone = [self._agents.pop(link).name for link in links if link in self._agents]
        if gone:
            self._left = (*self._left, *gone)[-MAX_LEFT:]
            self.changed()

    def has_left(self, name: str) -> bool:
        """Whether an agent of this name was connected, and none is now."""
        return name in self._left and all(each.name != name for each in self._agents.values())

    def listed(self) -> list[ConnectedAgent]:
        """The longest connected first."""
        self._drop_silent(self.clock.time())
        return sorted(self._agents.values(), key=lambda each: (each.since, each.name))

    def of_link(self, link: str) -> ConnectedAgent | None:
        self._drop_silent(self.clock.time())
        return self._agents.get(link)

    def with_key(self, key: str) -> ConnectedAgent | None:
        return next((each for each in self.listed() if each.key == key), None)

    def named(self, name: str, *, among: Sequence[ConnectedAgent] | None = None) -> ConnectedAgent:
        """By its own name, or by its project's if that has no other. :raises NoSuchAgent:"""
        listed = self.listed() if among is None else among
        wanted = name.strip().casefold()
        fits = [each for each in listed if each.name.casefold() == wanted]
        fits = fits or [each for each in listed if each.project.name.casefold() == wanted]
        if len(fits) == 1:
            return fits[0]
        there = ", ".join(each.name for each in fits or listed)
        if not listed:
            raise NoSuchAgent("No agent is connected.")
        if fits:
            raise NoSuchAgent(f"Several agents are connected there. Name one of: {there}")
        raise NoSuchAgent(f"No agent {name!r} is connected. There are: {there}")

    def beside(self, pid: int, project: Project) -> ConnectedAgent | None:
        """The agent of this project that a process belongs to: the one whose client is the nearest
        that has started it. If nothing is known of their processes, the only one there is. None:
        another one, or nobody can say."""
        here = [each for each in self.listed() if each.project.key == project.key]
        linked = [each for each in here if not each.hooks_only]
        above, unknown = self.ancestors(pid), list[ConnectedAgent]()
        near: dict[int, list[ConnectedAgent]] = {}
        for each in linked:
            client = {*self.clients(each.pid)} if each.pid and above else set()
            if not client:
                unknown.append(each)
            elif places := [place for place, it in enumerate(above) if it in client]:
                near.setdefault(places[0], []).append(each)
        fits = near[min(near)] if near else unknown
        return fits[0] if len(fits) == 1 else None

    def of_hook(self, pid: int | None, link: str, project: Project, agent: Agent) -> str:
        """The link of the agent whose client runs this hook, which is a sign of life. An agent
        without one is known by its hooks alone, after the `link` that they all name. Where nobody
        can say which of several it is, it is none of them."""
        found = self.beside(pid or 0, project)
        if found is not None:
            if (before := self._agents.pop(f"{HOOK}{link}", None)) is not None:
                # Its hook was here before its link, as may be after a restart: it is one agent,
                # under the name that it had first.
                first = min(before, found, key=lambda each: each.since)
                self._agents[found.link] = replace(found, name=first.name, since=first.since)
                self.changed()
            return self.seen(found.link, found.project, found.agent).link
        own = self.seen(f"{HOOK}{link}", project, agent, hooks_only=True).link
        hooked = [each for each in self._agents.values() if each.hooks_only]
        oldest = sorted(hooked, key=lambda each: each.seen_at)[:-MAX_HOOKED]
        self._leave(each.link for each in oldest)
        return own

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` when an agent comes, leaves, gets a name or was seen in another minute, and
        when something becomes of a message to one."""
        self._watchers.append(tell)
        try:
            yield
        finally:
            self._watchers.remove(tell)

    def changed(self) -> None:
        for tell in self._watchers:
            tell()

    def _new_name(self, project: Project) -> str:
        word = re.sub(r"[^\w.]+", "-", project.name.strip())[:MAX_NAME].strip("-") or "agent"
        taken = {each.name.casefold() for each in self._agents.values()}
        number = 1
        name = word
        while name.casefold() in taken:
            number += 1
            name = f"{word}-{number}"
        return name

    def _drop_silent(self, now: float) -> None:
        """Also those seen in the future, if the clock was set back: nobody knows when that was."""
        there = self._agents.items()
        silent = [
            link
            for link, each in there
            if each.hooks_only and abs(now - each.seen_at) > HOOK_SECONDS
        ]
        self._leave(silent)
