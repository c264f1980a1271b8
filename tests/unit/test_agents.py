"""The connected agents: names that can be typed, and which one a process belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.errors import NoSuchAgent
from chatbridge.core.messages.agents import HOOK_SECONDS, MAX_HOOKED, MAX_NAME, Agents
from chatbridge.core.model import Agent, Project
from tests.fakes.clock import StillClock

CLAUDE = Agent(client="claude-code", name="Claude Code")
CODEX = Agent(client="codex", name="Codex")
SHOP = Project(key="/src/shop", name="shop")
BLOG = Project(key="/src/blog", name="blog")


def agents(parents: dict[int, int] | None = None) -> Agents:
    """`parents` are those of processes."""

    def ancestors(pid: int) -> list[int]:
        found: list[int] = []
        while parents and pid in parents:
            pid = parents[pid]
            found.append(pid)
        return found

    return Agents(StillClock(), ancestors, clients=lambda link: ancestors(link)[:1])


def clock_of(found: Agents) -> StillClock:
    assert isinstance(found.clock, StillClock)
    return found.clock


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def test_agents_of_one_project_are_numbered_and_keep_their_names() -> None:
    found = agents()
    assert [found.seen(link, SHOP, CLAUDE).name for link in "abc"] == ["shop", "shop-2", "shop-3"]
    found.closed("a")
    assert found.seen("b", SHOP, CODEX).name == "shop-2"
    assert found.seen("d", SHOP, CLAUDE).name == "shop"


def test_a_number_is_not_given_to_whom_a_project_is_called_so() -> None:
    found = agents()
    named = Project(key="/src/shop-2", name="Shop-2")
    assert found.seen("a", named, CLAUDE).name == "Shop-2"
    assert [found.seen(link, SHOP, CLAUDE).name for link in "bc"] == ["shop", "shop-3"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8))
def test_whatever_projects_are_called_a_name_is_one_word_and_nobody_elses(
    projects: list[str],
) -> None:
    found = agents()
    for number, name in enumerate(projects):
        found.seen(str(number), Project(key=f"/{number}", name=name), CLAUDE)
    names = [each.name for each in found.listed()]
    assert len({name.casefold() for name in names}) == len(projects)
    for agent in found.listed():
        assert len(agent.name.split()) == 1
        assert agent.name.split()[0] == agent.name
        assert len(agent.name) <= MAX_NAME + 2
        assert not agent.name.startswith("-")
        assert found.named(agent.name.upper() if agent.name.isascii() else agent.name) == agent


def test_a_project_names_its_agent_if_it_has_only_one() -> None:
    found = agents()
    spaced = Project(key="/src/my shop", name="my shop")
    agent = found.seen("a", spaced, CLAUDE)
    assert (agent.name, found.named(" My Shop ")) == ("my-shop", agent)
    found.seen("b", spaced, CLAUDE)
    with pytest.raises(NoSuchAgent, match="Name one of: my-shop, my-shop-2"):
        found.named("my shop")


def test_who_is_not_there_is_said_with_who_is() -> None:
    found = agents()
    with pytest.raises(NoSuchAgent, match=r"^No agent is connected\.$"):
        found.named("shop")
    found.seen("a", SHOP, CLAUDE)
    with pytest.raises(NoSuchAgent, match=r"No agent 'blog' is connected\. There are: shop"):
        found.named("blog")
    with pytest.raises(NoSuchAgent, match="No agent is connected"):
        found.named("shop", among=[])


# ── signs of life ─────────────────────────────────────────────────────────────────────────────────


def test_a_sign_of_life_changes_when_it_was_seen_and_nothing_else() -> None:
    found, told = agents(), []
    clock_of(found).advance(60.0 - clock_of(found).time() % 60.0)
    with found.watched(lambda: told.append(1)):
        first = found.seen("a", SHOP, CLAUDE, pid=7)
        clock_of(found).advance(1.0)
        again = found.seen("a", SHOP, CLAUDE)
        assert len(told) == 1
        assert (again.since, again.seen_at, again.pid) == (first.since, first.since + 1.0, 7)
        found.seen("a", SHOP, CODEX)
        found.closed("a")
        found.closed("a")
    assert len(told) == 3
    assert found.listed() == []


def test_one_that_only_its_hooks_are_known_of_falls_silent() -> None:
    found, told = agents(), []
    found.seen("linked", SHOP, CLAUDE)
    found.seen("hooks", SHOP, CODEX, hooks_only=True)
    clock_of(found).advance(HOOK_SECONDS)
    assert len(found.listed()) == 2
    with found.watched(lambda: told.append(1)):
        clock_of(found).advance(1.0)
        assert [each.link for each in found.listed()] == ["linked"]
        assert found.of_link("hooks") is None
    assert len(told) == 1
    assert found.has_left("shop-2")


def test_one_that_was_seen_in_what_is_now_the_future_falls_silent() -> None:
    found = agents()
    found.seen("hooks", SHOP, CODEX, hooks_only=True)
    clock_of(found).step(-2 * HOOK_SECONDS)
    assert found.listed() == []


def test_one_whose_link_comes_after_its_hooks_does_not_fall_silent() -> None:
    found = agents()
    found.seen("a", SHOP, CLAUDE, hooks_only=True)
    found.seen("a", SHOP, CLAUDE, pid=7)
    found.seen("a", SHOP, CLAUDE, hooks_only=True)
    clock_of(found).advance(2 * HOOK_SECONDS)
    (agent,) = found.listed()
    assert (agent.hooks_only, agent.pid) == (False, 7)


# ── which one a hook belongs to ───────────────────────────────────────────────────────────────────

LINK_A, LINK_B, CLIENT_A, CLIENT_B, SHELL, HOOK = 10, 20, 11, 21, 2, 30
TWO = {LINK_A: CLIENT_A, LINK_B: CLIENT_B, CLIENT_A: SHELL, CLIENT_B: SHELL, SHELL: 1}


def two_agents(parents: dict[int, int]) -> Agents:
    found = agents(parents)
    found.seen("a", SHOP, CLAUDE, pid=LINK_A)
    found.seen("b", SHOP, CLAUDE, pid=LINK_B)
    return found


@pytest.mark.parametrize(("client", "link"), [(CLIENT_A, "a"), (CLIENT_B, "b")])
def test_a_hook_belongs_to_the_agent_of_the_client_that_started_both(
    client: int, link: str
) -> None:
    found = two_agents({**TWO, 31: client, HOOK: 31})
    beside = found.beside(HOOK, SHOP)
    assert beside is not None
    assert beside.link == link


def test_nobody_says_whose_a_hook_is_that_neither_or_both_may_have_started() -> None:
    assert two_agents({**TWO, HOOK: SHELL}).beside(HOOK, SHOP) is None
    assert two_agents({}).beside(HOOK, SHOP) is None
    both = {LINK_A: CLIENT_A, LINK_B: CLIENT_A, HOOK: CLIENT_A}
    assert two_agents(both).beside(HOOK, SHOP) is None


def test_a_hook_of_another_client_in_the_same_terminal_is_not_the_only_agents() -> None:
    found = agents({**TWO, HOOK: SHELL})
    found.seen("a", SHOP, CLAUDE, pid=LINK_A)
    assert found.beside(HOOK, SHOP) is None


def test_the_only_agent_of_the_project_has_a_hook_of_which_nothing_is_known() -> None:
    found = agents()
    found.seen("other", BLOG, CLAUDE)
    agent = found.seen("a", SHOP, CLAUDE)
    assert found.beside(HOOK, SHOP) == agent


def test_a_hook_belongs_to_no_agent_of_another_project() -> None:
    found = agents({LINK_A: CLIENT_A, HOOK: CLIENT_A})
    found.seen("a", BLOG, CLAUDE, pid=LINK_A)
    assert found.beside(HOOK, SHOP) is None


def test_a_hook_without_an_agent_is_one_under_its_own_link() -> None:
    found = agents()
    link = found.of_hook(HOOK, "hooks", SHOP, CODEX)
    assert found.of_hook(HOOK, "hooks", SHOP, CODEX) == link
    (agent,) = found.listed()
    assert (agent.link, agent.hooks_only, agent.name) == (link, True, "shop")


def test_an_agent_whose_hook_came_before_its_link_is_one_and_keeps_its_name() -> None:
    found = agents()
    found.of_hook(HOOK, "hooks", SHOP, CLAUDE)
    found.seen("a", SHOP, CLAUDE)
    assert found.of_hook(HOOK, "hooks", SHOP, CLAUDE) == "a"
    (agent,) = found.listed()
    assert (agent.name, agent.link, agent.hooks_only) == ("shop", "a", False)


def test_an_agent_keeps_its_name_though_a_hook_of_its_was_not_known_as_its_own_once() -> None:
    parents: dict[int, int] = {LINK_A: CLIENT_A, HOOK: SHELL}
    found = agents(parents)
    found.seen("a", SHOP, CLAUDE, pid=LINK_A)
    clock_of(found).advance(1.0)
    found.of_hook(HOOK, "hooks", SHOP, CLAUDE)
    assert [each.name for each in found.listed()] == ["shop", "shop-2"]
    parents[HOOK] = CLIENT_A
    assert found.of_hook(HOOK, "hooks", SHOP, CLAUDE) == "a"
    assert [each.name for each in found.listed()] == ["shop"]


def test_a_client_that_an_agent_has_started_has_hooks_of_its_own() -> None:
    found = two_agents({**TWO, CLIENT_B: CLIENT_A, HOOK: CLIENT_B})
    assert found.of_hook(HOOK, "hooks", SHOP, CLAUDE) == "b"


def test_a_hook_is_a_sign_of_life_of_its_agent() -> None:
    found = two_agents({**TWO, HOOK: CLIENT_A})
    clock_of(found).advance(60.0)
    found.of_hook(HOOK, "hooks", SHOP, CLAUDE)
    assert [each.seen_at - each.since for each in found.listed()] == [60.0, 0.0]


def test_hooks_of_ever_new_sessions_are_forgotten_the_oldest_first() -> None:
    found = two_agents({**TWO, HOOK: SHELL})
    links = []
    for number in range(MAX_HOOKED + 5):
        links.append(found.of_hook(HOOK, f"session-{number}", SHOP, CLAUDE))
        clock_of(found).advance(1.0)
    assert [found.of_link(link) is not None for link in links[:6]] == [False] * 5 + [True]
    assert len(found.listed()) == MAX_HOOKED + 2
    found.of_hook(HOOK, f"session-{MAX_HOOKED + 4}", SHOP, CLAUDE)
    assert found.of_link(links[5]) is not None
