"""Whose agent it is, where several hubs serve one person or team: the same whoever leads, and never
another hub's."""

from __future__ import annotations

from typing import Any

from chatbridge.core.model import Project
from chatbridge.hub.links.peers import identity
from chatbridge.projects import settings_of

LINK: dict[str, Any] = {
    "link": "0" * 32,
    "cwd": "/home/ada/shop/src",
    "root": "/home/ada/shop",
    "file": 'label = "till"',
}


def test_an_agent_is_named_after_its_hub_whatever_it_says() -> None:
    name, project = identity({**LINK, "hub": "hub-b"}, None, hub="hub-a")
    assert name == f"hub-a:{'0' * 32}"
    assert project == Project(key="hub:hub-a:/home/ada/shop", name="hub-a/shop", label="till")
    assert settings_of(project.key).label == "till"


def test_no_link_can_be_that_of_another_hub() -> None:
    forged = {**LINK, "link": f"hub-b:{'0' * 32}", "root": "hub:hub-b:/home/ada/shop"}
    name, project = identity(forged, None, hub="hub-a")
    assert name.startswith("hub-a:")
    assert project.key == f"hub:hub-a:link:hub-b:{'0' * 32}"


def test_agents_of_several_hubs_are_outsiders_and_share_limits_by_folder() -> None:
    here = Project(key="hub:a:/x:y", name="a/x")
    assert here.outsider
    assert here.party == here.key
    alone = Project(key="hub:a:link:1", name="a/no project")
    assert alone.outsider
    assert alone.party == "hub:a:link:"
