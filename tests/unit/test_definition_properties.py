"""Whatever a file says, the check says what is wrong with it; and what it takes stays the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.commands.definitions.check import Checked, check
from chatbridge.commands.definitions.definition import Definition, Option, Subcommand, commands_of

FILE = Path("tool.json")
KEYS = st.sampled_from(
    [
        *(field.alias or name for name, field in Definition.model_fields.items()),
        *(field.alias or name for name, field in Subcommand.model_fields.items()),
        *(field.alias or name for name, field in Option.model_fields.items()),
        *("subcommand", "positional_args", "hints", "custom", "default", "format", "sequence"),
        *("timeout_seconds", "asynchronous", "force_synchronous", "alias", "guidance_key"),
    ]
)
WORDS = st.sampled_from(
    [
        "string",
        "array",
        "object",
        "boolean",
        "project",
        "path",
        "~",
        "(",
        "a",
        "a-b",
        "-",
        "\0",
        "é",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(10**400),
    st.floats(allow_nan=False),
    WORDS,
    st.text(max_size=4),
    st.just("\ud800"),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z]{1,3})?", fullmatch=True)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["boolean", "string", "integer", "number", "array", "object"]))
    option: dict[str, Any] = {"type": kind, "required": draw(st.booleans())}
    if kind in ("string", "array"):
        rules = {"minLength": st.integers(0, 3), "within": st.just(["project", "~/x", "/y"])}
        option |= draw(st.fixed_dictionaries({}, optional=rules))
    if kind == "string":
        option |= draw(st.fixed_dictionaries({}, optional={"enum": st.just(["a", "b"])}))
    if kind in ("integer", "number"):
        option |= draw(st.fixed_dictionaries({}, optional={"minimum": st.integers(-5, 5)}))
    if kind != "boolean":
        style = st.sampled_from(["equals", "separate"])
        option |= draw(st.fixed_dictionaries({}, optional={"style": style}))
    return option


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    parts = [
        {
            "name": name,
            "description": draw(
                st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
            ),
            "options": [
                {"name": each, **draw(options())}
                for each in draw(st.lists(NAMES, max_size=3, unique=True))
            ],
            "separator": draw(st.sampled_from(["--", "--end-of-options", None])),
        }
        for name in names
    ]
    rules = {
        "timeout": st.floats(0.5, 604800) | st.sampled_from(["10min", "2h", "90 s"]),
        "approve": st.sampled_from(["never", "always", "once-per-session"]),
        "workingDirectory": st.sampled_from(["project", "argument", "/x", "~/y"]),
        "hints": st.lists(st.just("Go on."), max_size=2),
        "concurrency": st.integers(1, 64),
        "synchronous": st.booleans(),
    }
    said = draw(st.fixed_dictionaries({}, optional=rules))
    return {"schema": 2, "name": draw(NAMES), "command": ["x"], "subcommands": parts, **said}


def sound(checked: Checked) -> None:
    assert (checked.definition is None) == bool(checked.problems)
    for problem in (*checked.problems, *checked.remarks):
        assert problem.line is not None
        assert problem.line >= 1
        assert problem.text().count("\n") == 1
        assert problem.found
        assert problem.accepted
        assert problem.mend
        json.dumps(problem.as_json()).encode()
        problem.text().encode()


@given(st.text() | st.text(alphabet='{}[]",:\\ \n/aeE0.-tfn', max_size=40))
def test_any_text_is_checked_without_an_error(text: str) -> None:
    sound(check(text, file=FILE))


@given(ANYTHING, st.sampled_from([None, 1, 2, 3, "2"]))
def test_any_json_is_checked_without_an_error(value: Any, version: object) -> None:
    if isinstance(value, dict) and version is not None:
        value = {**value, "schema": version}
    sound(check(json.dumps(value, indent=1), file=FILE))


@given(
    st.dictionaries(KEYS, ANYTHING, max_size=6),
    st.dictionaries(KEYS, ANYTHING, max_size=6),
    st.sampled_from([1, 2]),
)
def test_a_file_with_anything_in_its_parts_is_checked_without_an_error(
    part: dict[str, Any], option: dict[str, Any], version: int
) -> None:
    listing = "subcommands" if version == 2 else "subcommand"
    inner = {"name": "run", "description": "x", **part, "options": [option, option]}
    whole = {"schema": version, "name": "x", "command": "x", listing: [inner]}
    sound(check(json.dumps(whole), file=FILE))


@given(definitions())
def test_what_is_taken_is_the_same_when_it_is_written_and_read_again(raw: dict[str, Any]) -> None:
    first = check(json.dumps(raw), file=FILE)
    names = [option["name"] for part in raw["subcommands"] for option in part["options"]]
    if "working_directory" not in names:
        assert first.problems == ()
    if first.definition is not None:
        again = check(first.definition.model_dump_json(by_alias=True), file=FILE)
        assert again.problems == ()
        assert commands_of(again.definition or first.definition, FILE) == commands_of(
            first.definition, FILE
        )
        assert again.definition == first.definition
