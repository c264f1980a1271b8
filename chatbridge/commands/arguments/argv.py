"""Builds the list of arguments of a command. No shell ever sees it.

No text can be taken for another option or argument:

- A value stays in one argument with its flag (`--flag=value`, `-fvalue`). As an argument of its own
  it must not begin with a dash. `-f` alone would swallow the next argument, so an empty value is
  refused there. A long flag is not joined to a value, which could make it another flag.
- Positional values come last, after the separator. Without one they must not begin with a dash.
  None is accepted without the one before it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from chatbridge.commands.arguments.executable import called
from chatbridge.commands.arguments.values import (
    KINDS,
    LONGEST_ARGUMENT_BYTES,
    Place,
    Text,
    invalid,
    items_of,
    mistyped,
    texts_of,
)
from chatbridge.commands.definitions.definition import ARGUMENT, WORKING_DIRECTORY, Command, Option
from chatbridge.core.errors import CommandUnusable, ToolInputError
from chatbridge.core.text import one_line, shortened
from chatbridge.tools.definition import refused, too_long

LONGEST_IN_ALL = 1_000_000
"""Bytes, with what Linux needs for each."""
_OVERHEAD = 9
"""Of an argument: a pointer, and the NUL at its end."""


def argv_of(
    command: Command, given: Mapping[str, object], *, project: Path, folder: Path | None = None
) -> tuple[str, ...]:
    """The whole list, the program first. `folder` is where it runs, if that is not the project.
    :raises ToolInputError: the command does not take this. :raises CommandUnusable: its definition
    would let an argument become an option."""
    _check_names(command, given)
    place = Place(project=project, folder=folder or project)
    flagged: list[str] = []
    positional: list[str] = []
    missing: str | None = None
    for option in command.options:
        if option.name not in given:
            missing = missing or (option.name if option.positional else None)
        elif option.type == "boolean":
            if not isinstance(given[option.name], bool):
                raise mistyped(option.name, given[option.name], "boolean")
            flagged += [flag_of(option)] if given[option.name] else []
        elif option.positional:
            texts = texts_of(option, given[option.name], place)
            if texts and missing:
                raise ToolInputError(
                    f"Validation error: {option.name} needs {missing} as well",
                    path=missing,
                    given="nothing",
                    accepted=f"a value, because it comes before {option.name}",
                )
            positional += [_positional(option, each, command.separator) for each in texts]
        else:
            texts = texts_of(option, given[option.name], place)
            flagged += [part for each in texts for part in _with_flag(option, each)]
    separator = [command.separator] if positional and command.separator is not None else []
    program, *always = command.argv
    argv = (called(program), *always, *flagged, *separator, *positional)
    _check_size(argv)
    return argv


def flag_of(option: Option) -> str:
    return option.flag or f"--{option.name.replace('_', '-')}"


def style_of(option: Option) -> str:
    """`joined` only where the flag is one letter, unless the definition says otherwise."""
    return option.style or ("joined" if len(flag_of(option)) == 2 else "equals")


def empty_taken(option: Option) -> bool:
    if option.positional:
        return (items_of(option) if option.type == "array" else option).min_length == 0
    return style_of(option) != "joined"


def _check_names(command: Command, given: Mapping[str, object]) -> None:
    names = [option.name for option in command.options]
    names += [WORKING_DIRECTORY] if command.working_directory == ARGUMENT else []
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name[:100], names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            shown = shortened(one_line(name), 60)
            sentence = f"Validation error: there is no argument {shown}{hint}"
            raise refused(sentence, shown, name, ", ".join(names) or "no argument at all")
    for option in command.options:
        if option.required and option.name not in given:
            sentence = f"Validation error: {option.name} is required"
            accepted = one_line(option.description) or KINDS[option.type]
            raise refused(sentence, option.name, None, accepted)


def _with_flag(option: Option, given: Text) -> list[str]:
    flag, style = flag_of(option), style_of(option)
    path, text = given
    if style == "equals":
        return [f"{flag}={text}"]
    if style == "separate":
        if text.startswith("-"):
            raise invalid(path, text, "a value that does not begin with -")
        return [flag, text]
    if len(flag) != 2:
        raise CommandUnusable(
            f"the option {option.name} of this command cannot be used: a value joined to {flag} "
            "could become another option. Set its style to equals or separate in the definition"
        )
    if not text:
        raise invalid(path, text, "a value that is not empty")
    return [f"{flag}{text}"]


def _positional(option: Option, given: Text, separator: str | None) -> str:
    path, text = given
    if not text and not empty_taken(option):
        raise invalid(path, text, "a value that is not empty")
    if separator is None and text.startswith("-"):
        raise invalid(path, text, "a value that does not begin with -")
    return text


def _check_size(argv: Sequence[str]) -> None:
    sizes = [len(each.encode()) for each in argv]
    total = sum(sizes) + _OVERHEAD * len(sizes)
    for name, size, limit, unit in (
        ("one argument", max(sizes), LONGEST_ARGUMENT_BYTES, "bytes"),
        ("the whole command", total, LONGEST_IN_ALL, "bytes in all"),
    ):
        if size > limit:
            raise too_long(name, name, f"{size:,} bytes", f"at most {limit:,} {unit}")
