"""The documentation's commands, run as they stand on the page, on a machine of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.documents.pages import commands
from tests.documents.sandbox import Sandbox, sandbox
from tests.documents.stand_ins import accepts
from tests.documents.ways import NO_COMMANDS, How, Way, way_of

WAYS = {command: way_of(command) for command in commands(NO_COMMANDS)}
RUN = [
    (command, way) for command, way in WAYS.items() if way and way.how is How.RUN and not way.within
]
STOOD_IN = [(command, way) for command, way in WAYS.items() if way and way.how is How.STAND_IN]


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with sandbox() as found:
        yield found


@pytest.mark.parametrize(("command", "way"), RUN, ids=[command for command, _ in RUN])
def test_a_command_does_what_the_page_says(
    command: str, way: Way, request: pytest.FixtureRequest
) -> None:
    if way.apart:
        with sandbox() as orphaned:
            done = orphaned.carry_out(command, way)
    else:
        done = request.getfixturevalue("shared").carry_out(command, way)
    assert (done.code, "Traceback" in done.shown) == (way.code, False), done.shown
    assert way.shows in done.shown


@pytest.mark.parametrize(("command", "way"), STOOD_IN, ids=[command for command, _ in STOOD_IN])
def test_a_program_of_others_is_called_as_it_can_be(
    command: str, way: Way, shared: Sandbox
) -> None:
    done = shared.carry_out(command, way)
    assert done.code == 0, done.shown
    calls = shared.calls()
    assert calls, command
    for program, *arguments in calls:
        accepts(program, arguments)
