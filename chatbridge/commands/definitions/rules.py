"""Checks rules between the fields of a definition, and rules for values beyond their types.

The rules look at the raw values, so that all problems of a file are reported at once. They skip
values of the wrong type, which `problems.shaped` reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from chatbridge.commands.arguments.environment import is_forbidden
from chatbridge.commands.definitions.definition import (
    ARGUMENT,
    BARE,
    PROJECT,
    WORKING_DIRECTORY,
    tool_name,
)
from chatbridge.commands.definitions.patterns import matcher
from chatbridge.commands.definitions.problems import Finding, Where, described

MAX_TOOL_NAME = 64
"""What the models' providers take."""
_LOADERS = re.compile("LD_.*|DYLD_.*|GCONV_PATH|BASH_ENV|ENV|SHELLOPTS|IFS|PS4", re.DOTALL)
"""They make a program load or run what somebody else chose."""

_SHELLS = {"sh", "ash", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"}
_READS_SCRIPT = re.compile("-[A-Za-z]*c[A-Za-z]*")


def rules(raw: Mapping[str, Any]) -> Iterator[Finding]:
    command, folder = raw.get("command"), raw.get("workingDirectory")
    yield from _command(command)
    yield from _environment(raw.get("environment"))
    yield from _working_directory(("workingDirectory",), folder)
    tools: set[str] = set()
    for i, part in parts(raw.get("subcommands")):
        where: Where = ("subcommands", i)
        own = part.get("workingDirectory")
        yield from _working_directory((*where, "workingDirectory"), own)
        # Two of them are twice the same whatever the definition is called.
        name = part.get("name")
        tool = named_tool(raw.get("name", "x"), name) or named_tool("x", name)
        if tool is not None:
            yield from _tool_name((*where, "name"), name, tool, tools)
        if part.get("destructive") is True and part.get("readOnly") is True:
            at, found = (*where, "readOnly"), "both destructive and readOnly"
            yield Finding(at, "conflict", found, "one of the two", "take one of them out")
        named = (folder if own is None else own) == ARGUMENT
        yield from _options((*where, "options"), part.get("options"), folder_named=named)
        yield from _shell(where, part, command)


def named_tool(definition: object, subcommand: object) -> str | None:
    if not isinstance(definition, str) or not isinstance(subcommand, str):
        return None
    return tool_name(definition, subcommand)


def _command(command: object) -> Iterator[Finding]:
    if not isinstance(command, list) or not command or not isinstance(command[0], str):
        return
    program = command[0]
    where: Where = ("command", 0)
    accepted = 'a name such as "git", or a whole path such as "/usr/bin/git" or "~/bin/tool"'
    if whole_path(program) and not program.endswith(("/", "/..", "/.")) and program != "~":
        return
    if "/" in program or program.startswith("~"):
        mend = "write its whole path: a relative one would be looked up in the agent's project"
    elif program.split() != [program] and program.split():
        mend = f"write [{', '.join(described(each) for each in program.split())}]"
    elif program in ("", ".", "..") or program.startswith("-"):
        mend = "write the program first"
    else:
        return
    yield Finding(where, "not_allowed", described(program), accepted, mend)


def _environment(names: object) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, name in enumerate(names if isinstance(names, list) else []):
        if not isinstance(name, str):
            continue
        where: Where = ("environment", i)
        if is_forbidden(name) or _LOADERS.fullmatch(name):
            accepted = "variables that are neither chatbridge's own nor the loader's"
            yield Finding(where, "not_allowed", described(name), accepted, "take it out")
        elif name in seen:
            yield twice(where, name, "take one of them out")
        seen.add(name)


def _working_directory(where: Where, value: object) -> Iterator[Finding]:
    if isinstance(value, str) and value not in ("", PROJECT, ARGUMENT) and not whole_path(value):
        accepted = '"project", "argument", or a whole path such as "/srv/app" or "~/app"'
        mend = 'write "project", or "argument" if the agent is to name a folder inside it'
        yield Finding(where, "not_allowed", described(value), accepted, mend)


def _tool_name(where: Where, name: object, tool: str, seen: set[str]) -> Iterator[Finding]:
    if tool in seen:
        yield twice(where, name, 'rename one of them; "-" and "_" count as the same')
    elif len(tool) > MAX_TOOL_NAME:
        found = f"{described(tool)}, which has {len(tool)}"
        accepted = f"a tool's name of at most {MAX_TOOL_NAME} characters"
        yield Finding(where, "range", found, accepted, "make one of the two names shorter")
    seen.add(tool)


def _shell(where: Where, part: Mapping[str, Any], command: object) -> Iterator[Finding]:
    """An agent's text must not be what a shell reads as its program. Other programs that run what
    they are given cannot all be known; this is the one that people write by habit."""
    name, own = part.get("name"), part.get("argv")
    own = own if own is not None else [] if name == BARE else [name]
    if not isinstance(command, list) or not isinstance(own, list):
        return
    places: list[Where] = [("command", i) for i in range(len(command))]
    places += [(*where, "argv", i) for i in range(len(own))]
    words = [each if isinstance(each, str) else "" for each in (*command, *own)]
    if not any(word.rpartition("/")[2] in _SHELLS for word in words):
        return
    accepted = "a program with arguments of its own, or a script of yours"
    mend = "write the script into a file and that file's path in command"
    if _READS_SCRIPT.fullmatch(words[-1]):
        found = f"{described(words[-1])} at the end of a shell's arguments"
        yield Finding(places[-1], "not_allowed", found, accepted, mend)
    for j, option in parts(part.get("options")):
        flag = option.get("flag")
        if isinstance(flag, str) and _READS_SCRIPT.fullmatch(flag):
            at = (*where, "options", j, "flag")
            yield Finding(at, "not_allowed", f"{described(flag)} of a shell", accepted, mend)


_TEXT_RULES = ("pattern", "minLength", "maxLength", "within")
_NUMBER_RULES = ("minimum", "maximum")
_VALUE_RULES = ("enum", *_TEXT_RULES, *_NUMBER_RULES)
_BOUNDS = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))
_NUMBERS = ("integer", "number")
_TYPES = ("boolean", "string", *_NUMBERS, "array", "object")


def parts(listing: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a list, with their index; None stands for what is not said."""
    for i, each in enumerate(listing if isinstance(listing, list) else []):
        if isinstance(each, dict):
            yield i, {key: value for key, value in each.items() if value is not None}


def whole_path(text: str) -> bool:
    """As the owner writes it: `~` is their home, and nobody else's."""
    return text.startswith(("/", "~/")) or text == "~"


def _options(where: Where, options: object, *, folder_named: bool) -> Iterator[Finding]:
    """`folder_named`: the agent names the working directory in an argument."""
    for i, option in parts(options):
        if option.get("type") in _TYPES:
            yield from _option((*where, i), option, option["type"])
        if folder_named and option.get("name") == WORKING_DIRECTORY:
            found = f"{described(WORKING_DIRECTORY)}, which workingDirectory adds by itself"
            at, mend = (*where, i, "name"), "take the option out, or rename it"
            yield Finding(at, "conflict", found, "another name", mend)
    yield from _together(where, options)


def _option(where: Where, option: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    yield from _positional(where, option)
    yield from _style(where, option)
    what = f"with {described(kind)}"
    if kind != "array":
        yield from _not_with(where, option, ("items", "join"), what, 'only with "type": "array"')
    if kind not in ("array", "object"):
        sizes = ("minItems", "maxItems")
        yield from _not_with(where, option, sizes, what, "only with an array or an object")
    if kind != "object" and option.get("encode") != "pairs":
        yield from _not_with(where, option, ("encode",), what, 'only with "type": "object"')
    yield from _bounds(where, option)
    if kind in ("boolean", "object"):
        yield from _not_with(where, option, _VALUE_RULES, what, f"nothing of that {what}")
        return
    items: dict[str, Any] = {}
    if kind == "array":
        items = option["items"] if isinstance(option.get("items"), dict) else {}
        kind = str(items.get("type", "string"))
    yield from _value(where, option, kind)
    said = {name: value for name, value in items.items() if value is not None}
    yield from _value((*where, "items"), said, kind)
    yield from _bounds((*where, "items"), said)


def _positional(where: Where, option: Mapping[str, Any]) -> Iterator[Finding]:
    if option.get("positional") is not True:
        return
    for name in ("flag", "style"):
        if name in option:
            found = f"{described(name)} of a positional value"
            mend = f"take out {described(name)} or {described('positional')}"
            yield Finding((*where, name), "conflict", found, "either of the two", mend)
    if option["type"] == "boolean":
        found = "a boolean that is positional"
        accepted = "a boolean with a flag, or a positional value of another type"
        mend = 'take out "positional"'
        yield Finding((*where, "positional"), "conflict", found, accepted, mend)


def _style(where: Where, option: Mapping[str, Any]) -> Iterator[Finding]:
    style, flag = option.get("style"), flag_of(option)
    if style is None or option.get("positional") is True:
        return
    if option["type"] == "boolean":
        found = f"{described(style)} for a boolean, which has no value"
        yield Finding((*where, "style"), "conflict", found, "no style", "take it out")
    elif style == "joined" and flag is not None and len(flag) > 2:
        found = f"{described(style)} with the flag {described(flag)}"
        accepted = '"equals" or "separate"; "joined" only with a dash and one letter'
        mend = "a value joined to it could become another flag: write one of these"
        yield Finding((*where, "style"), "conflict", found, accepted, mend)


def _not_with(
    where: Where, value: Mapping[str, Any], names: tuple[str, ...], what: str, accepted: str
) -> Iterator[Finding]:
    for name in names:
        if name in value:
            found = f"{described(name)} {what}"
            yield Finding((*where, name), "conflict", found, accepted, "take it out")


def _bounds(where: Where, value: Mapping[str, Any]) -> Iterator[Finding]:
    for low, high in _BOUNDS:
        least, most = value.get(low), value.get(high)
        if _number(least) and _number(most) and least > most:
            found = f"{described(low)} {described(least)} above {described(high)} {described(most)}"
            accepted = f"{low} up to {high}"
            yield Finding((*where, low), "conflict", found, accepted, "exchange them")


def _value(where: Where, value: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    what = f"for values of type {described(kind)}"
    if kind == "string":
        yield from _not_with(where, value, _NUMBER_RULES, what, "only with numbers")
        yield from _pattern(where, value.get("pattern"))
        yield from _within(where, value.get("within"))
    elif kind in _NUMBERS:
        yield from _not_with(where, value, _TEXT_RULES, what, "only with strings")
    yield from _enum(where, value.get("enum"), kind)


def _pattern(where: Where, pattern: object) -> Iterator[Finding]:
    if not isinstance(pattern, str):
        return
    try:
        matcher(pattern)
    except ValueError as error:
        found = f"{described(pattern)}: {error}"
        accepted = "a regular expression without look-around and back-references"
        mend = r"mend it; a backslash is written \\ in JSON"
        yield Finding((*where, "pattern"), "not_allowed", found, accepted, mend)


def _within(where: Where, folders: object) -> Iterator[Finding]:
    for i, folder in enumerate(folders if isinstance(folders, list) else []):
        if isinstance(folder, str) and folder != PROJECT and not whole_path(folder):
            accepted = '"project", or a whole path such as "/srv/data" or "~/notes"'
            mend = 'write "project" for the agent\'s project and everything in it'
            at = (*where, "within", i)
            yield Finding(at, "not_allowed", described(folder), accepted, mend)


def _enum(where: Where, values: object, kind: str) -> Iterator[Finding]:
    seen: list[object] = []
    fits: Mapping[str, Any] = {"string": str, "integer": int, "number": (int, float)}
    for i, value in enumerate(values if isinstance(values, list) else []):
        at = (*where, "enum", i)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            continue
        if kind in fits and not isinstance(value, fits[kind]):
            accepted = {"string": "texts", "integer": "whole numbers"}.get(kind, "numbers")
            mend = f"write a value of type {described(kind)}"
            yield Finding(
                at, "conflict", f"{described(value)} for type {described(kind)}", accepted, mend
            )
        elif value in seen:
            yield twice(at, value, "take one of them out")
        seen.append(value)


def flag_of(option: Mapping[str, Any]) -> str | None:
    if isinstance(option.get("flag"), str):
        return str(option["flag"])
    name = option.get("name")
    return f"--{name.replace('_', '-')}" if isinstance(name, str) else None


def _together(where: Where, options: object) -> Iterator[Finding]:
    """Names and flags are there once. Positional values are told apart by their place alone."""
    names: set[str] = set()
    flags: dict[str, str] = {}
    many: str | None = None
    optional: str | None = None
    for i, option in parts(options):
        name = option.get("name")
        if not isinstance(name, str):
            continue
        plain = name.replace("-", "_")
        if plain in names:
            yield twice((*where, i, "name"), name, "rename one of them")
        names.add(plain)
        if option.get("positional") is not True:
            flag = flag_of(option) or ""
            if flags.setdefault(flag, name) != name:
                mend = (
                    f"give it another flag than {described(flags[flag])}, or take one of them out"
                )
                yield twice((*where, i, "flag" if "flag" in option else "name"), flag, mend)
            continue
        at = (*where, i, "positional")
        if many is not None:
            found = f"{described(name)} after {described(many)}, which can be any number of values"
            mend = f"move {described(many)} to the end"
            yield Finding(at, "conflict", found, f"{described(many)} as the last", mend)
        elif optional is not None and option.get("required") is True:
            found = (
                f"{described(name)}, which is required, after {described(optional)}, which is not"
            )
            mend = f'move it before {described(optional)}, or write "required": true there as well'
            yield Finding(at, "conflict", found, "required ones first", mend)
        kind = option.get("type")
        if (kind == "array" and "join" not in option) or (
            kind == "object" and option.get("encode") != "json"
        ):
            many = many or name
        if option.get("required") is not True:
            optional = optional or name


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def twice(where: Where, value: object, mend: str) -> Finding:
    return Finding(where, "duplicate", f"{described(value)} again", "each only once", mend)
