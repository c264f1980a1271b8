"""JSON that others wrote is taken down to one depth, on every Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.safe_json import DEEPEST, is_deep, loads, texts_at

LISTS, OBJECTS = ("[", "]"), ('{"a":', "}")
VALUES = st.recursive(
    st.none() | st.text("[{a", max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("[{a"), inner, max_size=3),
    max_leaves=10,
)


def nested(depth: int, ways: tuple[str, str] = LISTS) -> str:
    opening, closing = ways
    return opening * depth + "[]" + closing * depth


@pytest.mark.parametrize("ways", [LISTS, OBJECTS])
def test_everything_down_to_the_bound_is_taken_and_nothing_below_it(ways: tuple[str, str]) -> None:
    taken = nested(DEEPEST - 1, ways)
    assert loads(taken) == loads(taken.encode()) == json.loads(taken)
    for depth in (DEEPEST, 900, 5_000, 50_000, 200_000):
        for text in (nested(depth, ways), nested(depth, ways).encode()):
            with pytest.raises(ValueError, match="nested too deeply"):
                loads(text)


@given(VALUES)
def test_what_is_not_deep_says_what_it_says_however_many_brackets_it_has(value: Any) -> None:
    text = json.dumps([value] * 100)
    assert loads(text) == loads(text.encode()) == [value] * 100


def test_of_many_values_one_that_is_deep_is_enough() -> None:
    flat = [[], {}, "[", 1] * 100
    assert not is_deep(flat)
    assert is_deep([*flat, {"x": json.loads(nested(DEEPEST - 2))}])


@pytest.mark.parametrize("text", ["", "[", "nonsense", b"\xff", "[" * 100_000])
def test_what_is_no_json_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_texts_are_found_in_their_order_below_the_names_that_are_walked() -> None:
    found = [
        {"id": "1", "parts": [{"id": "2", "value": "3"}, {"other": [{"id": "no"}]}]},
        {"part": {"id": "4"}, "value": ["no"]},
    ]
    assert [*texts_at(found, "id", "value", below=("parts", "part"))] == ["1", "2", "3", "4"]


@given(VALUES)
def test_whatever_others_send_can_be_walked(value: Any) -> None:
    assert all(isinstance(text, str) for text in texts_at(value, "a", "[", below=("a", "{")))
    assert [*texts_at([{"a": value}, {"b": "found"}], "b", below=("a",))][-1] == "found"


def test_the_deepest_that_is_taken_can_be_walked() -> None:
    inside = loads('{"a":' * (DEEPEST - 1) + '{"b":"found"}' + "}" * (DEEPEST - 1))
    assert [*texts_at(inside, "b", below=("a",))] == ["found"]
