"""The published schema: made of the models, right about the examples, and not stricter than the
check."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.definition import published, schema

CONFIG = Path(__file__).parents[2] / "config"
EXAMPLES = sorted((CONFIG / "tools").glob("*.json"))
LOADED = {path.stem: json.loads(path.read_text()) for path in EXAMPLES}
VALIDATOR = Draft202012Validator(schema())
OTHERS = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**9, "", "x", "X-", "--", "a b", "é", [], ["x"], [1], {}, {"x": 1}]
).map(copy.deepcopy)
NAMES = st.sampled_from(
    ["name", "type", "enum", "flag", "style", "minLength", "min_length", "timeout", "colour", "$x"]
)


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield where
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*where, key))


PLACES = {name: list(places(value)) for name, value in LOADED.items()}


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """An example with a few values changed, taken out or added."""
    name = draw(st.sampled_from(sorted(LOADED)))
    whole = copy.deepcopy(LOADED[name])
    for _ in range(draw(st.integers(1, 3))):
        where = draw(st.sampled_from(PLACES[name]))
        inner = whole
        try:
            for part in where[:-1]:
                inner = inner[part]
            old = inner[where[-1]]
        except (LookupError, TypeError):  # the root, or what an earlier change took away
            continue
        match draw(st.sampled_from(["change", "remove", "add"])):
            case "change":
                inner[where[-1]] = draw(OTHERS)
            case "remove":
                del inner[where[-1]]
            case _ if isinstance(old, dict):
                old[draw(NAMES)] = draw(OTHERS)
    return whole


def test_the_published_schema_is_what_the_models_say() -> None:
    assert (CONFIG / "tools.schema.json").read_text() == published(), (
        "The models have changed. Write the schema anew: .venv/bin/python -c 'import pathlib; "
        "from chatbridge.commands.definitions.definition import published; "
        'pathlib.Path("config/tools.schema.json").write_text(published())\''
    )


def test_it_is_a_sound_schema_that_explains_every_field() -> None:
    Draft202012Validator.check_schema(schema())
    objects = [schema(), *schema()["$defs"].values()]
    fields = {name: field for each in objects for name, field in each["properties"].items()}
    assert [name for name, field in fields.items() if not field.get("description")] == []
    assert all(each["additionalProperties"] is False for each in objects)


@pytest.mark.parametrize("name", sorted(LOADED))
def test_the_examples_follow_it(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(LOADED[name])] == []


def test_its_own_examples_follow_it() -> None:
    for each in [schema(), *schema()["$defs"].values()]:
        for name, field in each["properties"].items():
            validator = VALIDATOR.evolve(schema={**field, "$defs": schema()["$defs"]})
            assert all(validator.is_valid(example) for example in field.get("examples", ())), name


@given(mutated())
def test_the_check_refuses_what_the_schema_refuses_and_the_schema_bad_shapes(
    definition: dict[str, Any],
) -> None:
    if definition.get("schema") != 2:
        return
    kinds = {problem.kind for problem in check(json.dumps(definition), file=Path("x")).problems}
    if not VALIDATOR.is_valid(definition):
        assert kinds
    else:
        assert kinds.isdisjoint({"missing", "unknown_field", "wrong_type", "pattern", "range"})
