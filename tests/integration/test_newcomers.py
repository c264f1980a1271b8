"""Who may answer is in a file that an agent could write to: those who could before hear of it."""

from __future__ import annotations

from pathlib import Path

from chatbridge.hub.newcomers import tell_of_newcomers
from chatbridge.settings import Settings
from tests.fakes.world import World, world

ADA, EVE = 1815, 666


async def start(hub: World, *, telegram: list[int], matrix: list[str] | None = None) -> list[str]:
    """What a hub that starts with these people tells."""
    told: list[str] = []
    settings = Settings.model_validate(
        {"telegram": {"allowed_users": telegram}, "matrix": {"allowed_users": matrix or []}}
    )
    await tell_of_newcomers(settings, hub.store, clock=hub.clock, tell=told.append)
    return told


async def test_a_person_who_was_added_is_told_once_with_how_to_take_them_out(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as hub:
        assert await start(hub, telegram=[ADA]) == []
        (said,) = await start(hub, telegram=[ADA, EVE])
        assert said == (
            "Somebody new may answer: 666. If that was not you, run: chatbridge people remove 666"
        )
        assert await start(hub, telegram=[ADA, EVE]) == []


async def test_the_first_person_and_one_who_goes_are_no_news(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        assert await start(hub, telegram=[]) == []
        assert await start(hub, telegram=[ADA, EVE]) == []
        assert await start(hub, telegram=[ADA]) == []


async def test_who_came_went_and_comes_again_is_news_again(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        for people in ([ADA, EVE], [ADA]):
            await start(hub, telegram=people)
        assert await start(hub, telegram=[ADA, EVE]) != []


async def test_each_channel_has_people_of_its_own(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        await start(hub, telegram=[ADA], matrix=["@ada:example.org"])
        (said,) = await start(hub, telegram=[ADA], matrix=["@ada:example.org", "@eve:example.org"])
        assert "@eve:example.org" in said
