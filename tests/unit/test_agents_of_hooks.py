"""Which agent a hook belongs to, by its processes, and else by its project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from chatbridge.core.messages.agents import MAX_HOOKED, Agents, ConnectedAgent
from chatbridge.core.model import Agent, Project
from tests.fakes.clock import StillClock

SHOP, BANK = (Project(key=f"/src/{name}", name=name) for name in ("shop", "bank"))
CLAUDE = Agent(client="claude-code", name="Claude Code")
ABOVE: Mapping[int, Sequence[int]] = {
    11: (10, 2, 1),  # a link of the client 10, in a shell below tmux
    12: (9, 10, 2, 1),  # a hook of it
    21: (20, 3, 1),  # a link of another client in another shell
    22: (20, 3, 1),
    32: (30, 10, 2, 1),  # a hook of a client that the first one has started
    33: (30, 10, 2, 1),  # and that one's own link
    42: (40, 2, 1),  # a hook of a client without a link, in the first one's shell
}
CLIENTS: Mapping[int, Sequence[int]] = {11: (10,), 21: (20,), 33: (30, 10)}


@pytest.fixture
def agents() -> Agents:
    return Agents(StillClock(), lambda pid: ABOVE.get(pid, ()), lambda pid: CLIENTS.get(pid, ()))


def connect(agents: Agents, *pids: int | None, project: Project = SHOP) -> None:
    for pid in pids:
        agents.seen(f"link-{pid}", project, CLAUDE, pid=pid)


def hook(agents: Agents, pid: int, project: Project = SHOP) -> ConnectedAgent:
    found = agents.of_link(agents.of_hook(pid, "session", project, CLAUDE))
    assert found is not None
    return found


def test_a_hook_belongs_to_the_agent_whose_client_has_started_it(agents: Agents) -> None:
    connect(agents, 11, 21)
    assert [hook(agents, pid).link for pid in (12, 22)] == ["link-11", "link-21"]


def test_a_client_that_an_agent_has_started_has_hooks_of_its_own(agents: Agents) -> None:
    connect(agents, 11, 33)
    assert hook(agents, 32).link == "link-33"


def test_a_hook_in_the_same_shell_as_another_agent_is_not_that_agents(agents: Agents) -> None:
    connect(agents, 11)
    found = hook(agents, 42)
    assert (found.link, found.hooks_only) == ("hook-session", True)


def test_a_hook_of_another_project_is_not_that_agents(agents: Agents) -> None:
    connect(agents, 11)
    assert hook(agents, 12, BANK).link == "hook-session"


@pytest.mark.parametrize("pid", [12, 99], ids=["of the link", "of the hook"])
def test_where_no_process_is_known_it_is_the_only_agent_there_is(agents: Agents, pid: int) -> None:
    connect(agents, 11 if pid == 99 else None)
    assert hook(agents, pid).link == f"link-{11 if pid == 99 else None}"
    agents.seen("link-x", SHOP, CLAUDE)
    assert hook(agents, pid).link == "hook-session"


def test_hooks_of_ever_new_sessions_are_forgotten_the_oldest_first(agents: Agents) -> None:
    connect(agents, 11)
    for number in range(MAX_HOOKED + 5):
        agents.of_hook(42, f"session-{number}", SHOP, CLAUDE)
        agents.clock.advance(1)  # type: ignore[attr-defined]
    assert len(agents.listed()) == MAX_HOOKED + 1
    kept = [agents.of_link(f"hook-session-{number}") is not None for number in range(6)]
    assert kept == [False, False, False, False, False, True]
    agents.of_hook(42, f"session-{MAX_HOOKED + 4}", SHOP, CLAUDE)
    assert agents.of_link("hook-session-5") is not None


def test_a_hook_is_a_sign_of_life(agents: Agents) -> None:
    connect(agents, 11)
    agents.clock.advance(60)  # type: ignore[attr-defined]
    assert hook(agents, 12).seen_at == agents.clock.time()
