"""doctor looks at the commands that agents may run: folders, files, and programs."""

from __future__ import annotations

from chatbridge.channels.checks import Mark
from chatbridge.cli.doctor.clients import commands
from chatbridge.cli.doctor.run import Check, all_checks
from tests.fakes.definitions import definition, written
from tests.fakes.doctor import Machine, screen

COMMANDS = Check("commands", commands)


def a_program(name: str) -> dict[str, object]:
    return definition(name, "run", command=["true"])


def test_doctor_looks_at_commands() -> None:
    assert COMMANDS in all_checks()


async def test_no_definitions_are_fine(machine: Machine) -> None:
    assert screen(await machine.look(COMMANDS)) == "✓ commands         none defined in ~/tools\n"


async def test_tools_and_files_are_counted(machine: Machine) -> None:
    written(machine.home / "tools", "one", a_program("one"))
    written(machine.home / "tools", "two", a_program("two"))
    (found,) = await machine.look(COMMANDS)
    assert screen([found]) == "✓ commands         2 tools in 2 files: ~/tools\n"
    assert found.details["tools"] == ["one_run", "two_run"]


async def test_commands_that_are_off_are_not_looked_at(machine: Machine) -> None:
    machine.configure("[commands]\nenabled = false\n")
    written(machine.home / "tools", "bad", "{")
    assert screen(await machine.look(COMMANDS)) == "✓ commands         off\n"


async def test_a_problem_is_told_with_file_line_and_mending(machine: Machine) -> None:
    written(machine.home / "tools", "one", a_program("one"))
    written(machine.home / "tools", "bad", '{\n  "schema": 3\n}')
    (found,) = await machine.look(COMMANDS)
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("~/tools/bad.json: line 2, schema: ")
    assert found.fix == ("update chatbridge",)
    assert found.details["kind"] == "newer_schema"


async def test_a_folder_that_others_can_write_to_is_a_problem(machine: Machine) -> None:
    written(machine.home / "tools", "one", a_program("one"))
    (machine.home / "tools").chmod(0o770)
    (found,) = await machine.look(COMMANDS)
    assert found.what == "~/tools: others can write to it (mode 0770)"
    assert found.fix == (f"chmod go-w {machine.home}/tools",)


async def test_of_many_problems_the_first_are_shown_and_the_others_counted(
    machine: Machine,
) -> None:
    for number in range(8):
        written(machine.home / "tools", f"bad{number}", "{")
    found = await machine.look(COMMANDS)
    assert len(found) == 6
    assert (found[-1].what, found[-1].fix) == ("3 more problems", ("chatbridge tools check",))


async def test_a_program_that_is_nowhere_is_a_remark_once_for_all_its_tools(
    machine: Machine,
) -> None:
    absent = definition("absent", "x", "y", command=["no-such-program"])
    written(machine.home / "tools", "absent", absent)
    written(machine.home / "tools", "one", a_program("one"))
    (found,) = await machine.look(COMMANDS)
    assert found.mark is Mark.REMARK
    assert found.what == "the program no-such-program was not found: ~/tools/absent.json"
    assert "commands.path" in found.fix[0]


async def test_a_program_that_is_not_where_its_path_leads_is_looked_for_nowhere_else(
    machine: Machine,
) -> None:
    absent = definition("absent", "x", command=["~/bin/no-such-program"])
    written(machine.home / "tools", "absent", absent)
    (found,) = await machine.look(COMMANDS)
    assert found.mark is Mark.REMARK
    assert found.fix == ("Install it, or mend its path in the command's definition",)


async def test_a_program_in_a_folder_that_the_owner_named_is_found(machine: Machine) -> None:
    absent = definition("own", "x", command=["no-such-program"])
    written(machine.home / "tools", "own", absent)
    machine.configure(f'[commands]\npath = ["{machine.home}/bin"]\n')
    program = machine.home / "bin" / "no-such-program"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o700)
    (found,) = await machine.look(COMMANDS)
    assert found.mark is Mark.FINE
