"""What `people` and the wizard call those who may answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from chatbridge.channels.spec import PersonName
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.cli import people
from chatbridge.core.errors import RetryLater

TABLE = Telegram.model_validate({"token": f"123456:{'x' * 35}", "allowed_users": [1, 2, 3]})
SPEC = TELEGRAM._replace(names=f"{__name__}:names")


async def names(_table: object, _people: Sequence[int]) -> dict[int, PersonName]:
    return {1: PersonName("Ada", "ada"), 2: PersonName("Ben")}


async def unreachable(_table: object, _people: Sequence[int]) -> dict[int, PersonName]:
    raise RetryLater("telegram cannot be reached")


async def silent(_table: object, _people: Sequence[int]) -> dict[int, PersonName]:
    await asyncio.Event().wait()
    raise AssertionError


def test_each_has_a_name_with_something_that_is_theirs_alone() -> None:
    assert people.listed_names(SPEC, TABLE) == "Ada (@ada), Ben (2), 3"


@pytest.mark.parametrize("way", ["unreachable", "silent"])
def test_where_the_service_does_not_say_the_ids_have_to_do(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "NAMES_TIMEOUT_SECONDS", 0.01)
    spec = SPEC._replace(names=f"{__name__}:{way}")
    assert people.listed_names(spec, TABLE) == "1, 2, 3"


def test_a_channel_that_is_not_set_up_is_not_asked() -> None:
    table = Telegram.model_validate({"allowed_users": [1]})
    assert people.listed_names(SPEC, table) == "1"
