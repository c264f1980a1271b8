"""What every store finds by the beginning of an id."""

from __future__ import annotations

import pytest

from chatbridge.core.model import Project
from chatbridge.core.store_port import Store
from tests.contract.asks import an_ask, answered, keep

SHOP, BILLING = "/src/shop", "/src/billing"
FIRST = "a3f2e8b1-0000-4000-8000-000000000001"
SECOND = "a3f2e8b1-0000-4000-8000-000000000002"
OTHER = "a3f2e8b2-0000-4000-8000-000000000003"


@pytest.mark.parametrize(
    ("prefix", "ids"),
    [
        ("a3f2e8b1", [FIRST, SECOND]),
        ("a3f2e8b2", [OTHER]),
        ("a3f2e8b", [FIRST, SECOND, OTHER]),
        (SECOND, [SECOND]),
        (f"{SECOND}0", []),
        ("a3f2e8b3", []),
        ("A3F2E8B1", []),
        ("%", []),
        ("________", []),
        ("\x00", []),
    ],
)
async def test_asks_are_found_by_how_their_id_begins_open_or_ended_in_one_project(
    store: Store, prefix: str, ids: list[str]
) -> None:
    elsewhere = Project(key=BILLING, name="billing")
    await keep(
        store,
        an_ask(id=SECOND),
        answered(an_ask(id=FIRST)),
        an_ask(id=OTHER),
        an_ask(id="a3f2e8b1-0000-4000-8000-000000000009", project=elsewhere),
    )
    found = await store.asks_by_prefix(project=SHOP, prefix=prefix)
    assert [ask.id for ask in found] == ids
