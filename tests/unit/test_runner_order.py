"""Whatever is given as an order is one, or is said to be none."""

from __future__ import annotations

import math
import os
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from chatbridge.commands.runner.child import Garbage, Order

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "/bin/true", "a\0b", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
RIGHT: dict[str, Any] = {
    "id": "one",
    "executable": "/bin/true",
    "folder": "/",
    "output": "/one.txt",
    "argv": ["true"],
    "environment": {"PATH": "/bin"},
    "limit": 1000,
    "timeout": 30.5,
}
wrong = anything | st.sampled_from([math.inf, math.nan, -1, True, [], {}, ["a", 1]])
orders = st.dictionaries(st.sampled_from([*RIGHT]), wrong, max_size=1).map(lambda one: RIGHT | one)


def test_an_order_is_taken_as_it_was_given() -> None:
    assert vars(Order(RIGHT)) == RIGHT


@example(RIGHT | {"timeout": 10**400})
@example(RIGHT | {"output": "/\ud800"})
@given(orders | anything)
def test_any_json_is_an_order_of_the_promised_form_or_garbage(given: Any) -> None:
    try:
        order = Order(given)
    except Garbage:
        return
    for text in (order.id, order.executable, order.folder, order.output):
        assert type(text) is str
        assert text
        assert b"\0" not in os.fsencode(text)
    assert order.argv
    assert 0 <= order.timeout < math.inf
