"""Checks the values that an agent gives for options, and builds the list of arguments of a command.

No shell ever sees it. A path is resolved first, through every link and `..`; the command gets the
resolved one. A program that runs as the owner can still change folders in between.

No text can be taken for another option or argument:

- A value stays in one argument with its flag (`--flag=value`, `-fvalue`). As an argument of its own
  it must not begin with a dash. `-f` alone would swallow the next argument, so an empty value is
  refused there. A long flag is not joined to a value, which could make it another flag.
- Positional values come last, after the separator. Without one they must not begin with a dash.
  None is accepted without the one before it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from chatbridge.commands.arguments.paths import inside, owner_path
from chatbridge.commands.definitions.definition import (
    ARGUMENT,
    PROJECT,
    WORKING_DIRECTORY,
    Command,
    Items,
    Option,
    Value,
)
from chatbridge.commands.definitions.patterns import matcher
from chatbridge.core.errors import CommandUnusable, ToolInputError
from chatbridge.core.text import did_you_mean, one_line, shortened
from chatbridge.tools.definition import refused, too_long

MAX_ARGV_BYTES = 1_000_000
"""With what Linux needs for each argument."""
_OVERHEAD_BYTES = 9
"""Of an argument: a pointer, and the NUL at its end."""
MAX_ARGUMENT_BYTES = 100_000
"""Linux takes 128 KiB."""
_MAX_NUMBER_BITS = 1024
"""What a fraction can have."""

Scalar = str | int | float

KINDS = {
    "boolean": "true or false",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "array": "an array",
    "object": "an object with strings, numbers, true or false as values",
}


def argv_of(
    command: Command, given: Mapping[str, object], *, project: Path, folder: Path | None = None
) -> tuple[str, ...]:
    """The whole list, the program first. `folder` is where it runs, if that is not the project.
    :raises ToolInputError: the command does not take this."""
    _check_names(command, given)
    place = RunFolders(project=project, folder=folder or project)
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
    if program.startswith("~/"):
        # Its own name: some look for their files beside it, and none knows whose home `~` is.
        program = os.path.expanduser(program)
    argv = (program, *always, *flagged, *separator, *positional)
    _check_size(argv)
    return argv


def flag_of(option: Option) -> str:
    return option.flag or f"--{option.name.replace('_', '-')}"


def style_of(option: Option) -> str:
    """`joined` only where the flag is one letter, unless the definition says otherwise."""
    return option.style or ("joined" if len(flag_of(option)) == 2 else "equals")


def accepts_empty(option: Option) -> bool:
    if option.positional:
        return (items_of(option) if option.type == "array" else option).min_length == 0
    return style_of(option) != "joined"


def _check_names(command: Command, given: Mapping[str, object]) -> None:
    names = [option.name for option in command.options]
    names += [WORKING_DIRECTORY] if command.working_directory == ARGUMENT else []
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names, before="; ")
            shown, there = shortened(one_line(name), 60), ", ".join(names) or "no argument at all"
            raise refused(f"there is no argument {shown}{hint}", shown, name, there)
    for option in command.options:
        if option.required and option.name not in given:
            accepted = one_line(option.description) or KINDS[option.type]
            raise refused(f"{option.name} is required", option.name, None, accepted)


def _with_flag(option: Option, given: Text) -> list[str]:
    flag, style = flag_of(option), style_of(option)
    path, text = given
    if style == "equals":
        return [f"{flag}={text}"]
    if style == "separate":
        if text.startswith("-"):
            raise invalid(path, text, "a value that does not begin with -")
        return [flag, text]
    if not text:
        raise invalid(path, text, "a value that is not empty")
    return [f"{flag}{text}"]


def _positional(option: Option, given: Text, separator: str | None) -> str:
    path, text = given
    if not text and not accepts_empty(option):
        raise invalid(path, text, "a value that is not empty")
    if separator is None and text.startswith("-"):
        raise invalid(path, text, "a value that does not begin with -")
    return text


def _check_size(argv: Sequence[str]) -> None:
    sizes = [len(each.encode()) for each in argv]
    total = sum(sizes) + _OVERHEAD_BYTES * len(sizes)
    for name, size, limit, unit in (
        ("one argument", max(sizes), MAX_ARGUMENT_BYTES, "bytes"),
        ("the whole command", total, MAX_ARGV_BYTES, "bytes in all"),
    ):
        if size > limit:
            raise too_long(name, name, f"{size:,} bytes", f"at most {limit:,} {unit}")


class Text(NamedTuple):
    path: str
    """Where it was given: `files[2]`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolders:
    project: Path
    folder: Path

    def roots(self, within: Iterable[str]) -> list[Path]:
        named = (self.project if each == PROJECT else owner_path(each) for each in within)
        return [root for root in named if root is not None]


def invalid(path: str, given: object, accepted: str) -> ToolInputError:
    name = shortened(one_line(path), 120)
    try:
        return refused(f"{name} is not valid", name, given, accepted)
    except (ValueError, RecursionError):  # a number or a nesting that Python writes no text of
        sentence, given = f"Validation error: {name} is not valid", "what is too large"
        return ToolInputError(sentence, path=name, given=given, accepted=accepted)


def mistyped(path: str, given: object, kind: str) -> ToolInputError:
    instead = ", or nothing: leave its name out" if given is None else ""
    return invalid(path, given, f"{KINDS[kind]}{instead}")


def items_of(option: Option) -> Items:
    """What each item must be like: what is said of the array counts unless items say otherwise."""
    own = option.items or Items()
    unsaid = [name for name in Value.model_fields if getattr(own, name) is None]
    return own.model_copy(update={name: getattr(option, name) for name in unsaid})


def texts_of(option: Option, value: object, place: RunFolders) -> list[Text]:
    """The texts that a value becomes; none for an empty array or object. :raises ToolInputError:"""
    if option.type == "array":
        return _of_array(option, value, place)
    if option.type == "object":
        return _of_object(option, value, place)
    return [Text(option.name, _written(_scalar(value, option.type, option, option.name, place)))]


def _of_array(option: Option, value: object, place: RunFolders) -> list[Text]:
    name, items = option.name, items_of(option)
    if not isinstance(value, list):
        raise mistyped(name, value, "array")
    _bounded(len(value), option.min_items, option.max_items, name, value, "items")
    texts = []
    for i, item in enumerate(value):
        path = f"{name}[{i}]"
        text = _written(_scalar(item, items.type, items, path, place))
        if option.join is not None and option.join in text:
            raise invalid(path, text, f"a value without {option.join!r}, which parts the items")
        texts.append(Text(path, text))
    if option.join is None or not texts:
        return texts
    return [Text(name, option.join.join(text for _, text in texts))]


def _of_object(option: Option, value: object, place: RunFolders) -> list[Text]:
    name, pairs = option.name, option.encode == "pairs"
    if not isinstance(value, dict):
        raise mistyped(name, value, "object")
    _bounded(len(value), option.min_items, option.max_items, name, value, "members")
    members: dict[str, Scalar] = {}
    for key, member in value.items():
        path = f"{name}.{key}"
        _check_text(key, path)
        if pairs and (not key or "=" in key):
            raise invalid(path, key, "a key that is not empty and has no = in it")
        if isinstance(member, bool):
            members[key] = member
            continue
        if not isinstance(member, str | int | float):
            raise invalid(path, member, "a string, a number, true or false")
        kind = "string" if isinstance(member, str) else "number"
        members[key] = _scalar(member, kind, option, path, place)
    if not members:
        return []
    if pairs:
        return [Text(f"{name}.{key}", f"{key}={_written(each)}") for key, each in members.items()]
    return [Text(name, json.dumps(members, ensure_ascii=False, separators=(",", ":")))]


def _scalar(value: object, kind: str, rule: Value, path: str, place: RunFolders) -> Scalar:
    """The value if the rule takes it; a path as the one that is meant."""
    typed = plain_text(value, path) if kind == "string" else _number(value, kind, path)
    if rule.enum is not None and typed not in rule.enum:
        raise invalid(path, typed, f"one of {', '.join(map(repr, rule.enum))}")
    if not isinstance(typed, str):
        low, high = rule.minimum, rule.maximum
        if not _in_range(typed, low, high):
            raise invalid(path, typed, _span(low, high, "a number"))
        return typed
    _bounded(len(typed), rule.min_length, rule.max_length, path, typed, "characters")
    if rule.pattern is not None and not matcher(rule.pattern)(typed):
        raise invalid(path, typed, f"text of which the whole matches {rule.pattern}")
    return _confined(typed, rule.within, path, place) if rule.within else typed


def plain_text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise mistyped(path, value, "string")
    _check_text(value, path)
    return value


def _number(value: object, kind: str, path: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mistyped(path, value, kind)
    if isinstance(value, int):
        if value.bit_length() > _MAX_NUMBER_BITS:
            raise invalid(path, value, "a number of at most 300 digits")
        return value
    if not math.isfinite(value) or (kind == "integer" and not value.is_integer()):
        raise mistyped(path, value, kind)
    return int(value) if kind == "integer" else value


def _check_text(text: str, path: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise invalid(path, text, "text without lone surrogates") from None
    if size > MAX_ARGUMENT_BYTES:
        name = shortened(one_line(path), 120)
        raise too_long(name, name, f"{size:,} bytes", f"at most {MAX_ARGUMENT_BYTES:,} bytes")
    if "\0" in text:
        raise invalid(path, text, "text without NUL characters")


def _in_range(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _bounded(
    size: int, low: int | None, high: int | None, path: str, value: object, what: str
) -> None:
    if not _in_range(size, low, high):
        raise invalid(path, value, f"{_span(low, high, what)}; it has {size}")


def _span(low: float | None, high: float | None, what: str) -> str:
    bounds = [f"at least {plain_number(low)}"] if low is not None else []
    bounds += [f"at most {plain_number(high)}"] if high is not None else []
    return f"{what}: {' and '.join(bounds)}"


def plain_number(number: float) -> int | float:
    """A bound as people write it: definitions are read with 1 as 1.0."""
    return int(number) if float(number).is_integer() else number


def _confined(text: str, within: Sequence[str], path: str, place: RunFolders) -> str:
    found = inside(text, base=place.folder, roots=place.roots(within)) if text else None
    if found is None:
        where = " or ".join("the project" if each == PROJECT else each for each in within)
        raise invalid(path, text, f"a path in {where}, after all links are followed")
    return str(found)


def _written(value: Scalar) -> str:
    """Numbers in plain decimal: not every program reads 1e-07."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return str(value)


def project_folder(project_key: str, started_in: str) -> Path:
    """The agent's project, or where it was started. :raises CommandUnusable: there is neither."""
    where = project_key if os.path.isabs(project_key) else started_in
    if not os.path.isabs(where):
        raise CommandUnusable(
            "this command runs in the agent's project, and it is not known where that is. Nothing "
            "was started. Start the agent in a folder of this machine"
        )
    return _existing(Path(where), "the agent's folder")


def folder_of(command: Command, given: Mapping[str, object], project: Path) -> Path:
    """The folder that a command runs in; it exists. :raises ToolInputError: the agent named one
    that cannot be. :raises CommandUnusable:"""
    rule = command.working_directory
    if rule not in (PROJECT, ARGUMENT):
        chosen = owner_path(rule)
        if chosen is None:
            raise CommandUnusable(
                f"the working directory {rule} of this command is no whole path. Nothing was "
                "started. Mend workingDirectory in its definition"
            )
        return _existing(chosen, "this command's working directory")
    if rule == PROJECT or WORKING_DIRECTORY not in given:
        return project
    text = plain_text(given[WORKING_DIRECTORY], WORKING_DIRECTORY)
    found = inside(text, base=project, roots=[project]) if text else None
    if found is None:
        accepted = "a folder in the project, after all links are followed"
        raise invalid(WORKING_DIRECTORY, text, accepted)
    if not os.path.isdir(found):
        raise invalid(WORKING_DIRECTORY, text, f"a folder that exists; there is no folder {found}")
    return found


def _existing(folder: Path, what: str) -> Path:
    if not os.path.isdir(folder):
        raise CommandUnusable(f"{what} {folder} is not there. Nothing was started")
    return folder
