"""A definition that somebody has tampered with, all the way: file, check, commands, schema, and the
arguments of an agent. It is refused in words, or the program that its owner named gets a list."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chatbridge.commands import definitions
from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.definition import commands_of
from chatbridge.commands.tools.tool import schema_of
from chatbridge.core.errors import CommandUnusable, ToolInputError
from tests.fakes.option_strategies import JUNK, TEXTS

FILE = Path("/definitions/tampered.json")
HERE = Path("/project")
FOLDER = Path(definitions.__file__).parent / "examples"
EXAMPLES = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]


@st.composite
def tampered(draw: st.DrawFn) -> Any:
    """One of the shipped definitions, with something else in a few of its places."""
    whole = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(0, 3))):
        place: Any = whole
        while True:
            key = draw(
                st.sampled_from(list(place) if isinstance(place, dict) else range(len(place)))
            )
            below = place[key]
            if not isinstance(below, dict | list) or not below or draw(st.integers(0, 3)) == 0:
                break
            place = below
        place[key] = draw(JUNK)
    return whole


@settings(max_examples=30)
@given(tampered(), st.data())
def test_what_is_left_of_a_definition_runs_its_owners_program_or_nothing(
    whole: Any, data: st.DataObject
) -> None:
    checked = check(json.dumps(whole), file=FILE)
    if checked.definition is None:
        assert checked.problems
        return
    for command in commands_of(checked.definition, FILE):
        Draft202012Validator.check_schema(schema_of(command))
        names = st.sampled_from([option.name for option in command.options] or ["none"]) | TEXTS
        wanted = data.draw(st.dictionaries(names, JUNK, max_size=3))
        try:
            argv = argv_of(command, wanted, project=HERE)
        except (ToolInputError, CommandUnusable):
            continue
        assert argv[: len(command.argv)] == tuple(command.argv)
        assert not any("\0" in word for word in argv)
