"""Every command of the documentation is one that some test carries out, or says why not."""

from __future__ import annotations

import pytest

from tests.documents.pages import ROOT, SHELL, Place, blocks, commands
from tests.documents.parsing import check
from tests.documents.ways import NO_COMMANDS, WAYS, How, Way, way_of
from tests.unit.test_docs import functions_of

COMMANDS = commands(NO_COMMANDS)
READ = [
    (command, way)
    for command in COMMANDS
    if (way := way_of(command)) and way.how in (How.PARSED, How.ELSEWHERE)
]
TO_DO = """
is not in tests/documents/ways.py, which says how each command of the documentation is run.
Add a line there (best: run), or if it is no command write ```text over its block."""


@pytest.mark.parametrize(("command", "places"), COMMANDS.items(), ids=list(COMMANDS))
def test_every_command_has_a_way_to_be_carried_out(command: str, places: list[Place]) -> None:
    assert way_of(command), f"{', '.join(map(str, places))}: {command}{TO_DO}"


def test_what_is_not_run_as_it_is_says_why() -> None:
    assert all(way.why or way.how is How.RUN for _, way in WAYS)


def test_what_is_run_after_another_command_is_run() -> None:
    for command in COMMANDS:
        if (way := way_of(command)) and way.within:
            first = way_of(way.within) if way.within in COMMANDS else None
            assert first, f"{way.within} is on no page"
            assert first.then == command


def test_every_block_that_is_no_command_is_there() -> None:
    assert {block.first for block in blocks() if block.language in SHELL} >= NO_COMMANDS


@pytest.mark.process
@pytest.mark.parametrize(("command", "way"), READ, ids=[command for command, _ in READ])
def test_what_is_only_read_is_what_its_program_takes(command: str, way: Way) -> None:
    if way.by:
        file, _, name = way.by.partition("::")
        assert name in functions_of(ROOT / file), way.by
    if way.how is How.PARSED:
        check(filled(command, way))


def filled(command: str, way: Way) -> str:
    for stands, instead in way.fills.items():
        command = command.replace(stands, instead, 1)
    return command
