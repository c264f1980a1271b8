"""What the owner sees of a hub without looking for it."""

from __future__ import annotations

from chatbridge.core.ports import Health


def test_what_is_wrong_with_the_hub_itself_comes_first() -> None:
    health = Health(
        faults=lambda: ["the database is gone"],
        troubles=lambda: {"telegram": "no network", "web": None},
        remarks=lambda: ["an older agent"],
    )
    assert health.banners() == ["the database is gone", "no network", "an older agent"]
