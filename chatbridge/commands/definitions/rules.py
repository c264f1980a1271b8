"""What holds between the fields of a definition, or for a value beyond its type.

They look at what was written, whatever its shape, so that all problems of a file are told at once.
What has the wrong type is somebody else's finding (`shape`), and passed over here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chatbridge.commands.arguments import environment
from chatbridge.commands.definitions.command import (
    ARGUMENT,
    BARE,
    PROJECT,
    WORKING_DIRECTORY,
    tool_name,
)
from chatbridge.commands.definitions.option_rules import option_rules, parts, twice, whole_path
from chatbridge.commands.definitions.problems import Finding, Where, shown

LONGEST_TOOL_NAME = 64
"""What the models' providers take."""
_LOADERS = re.compile("LD_.*|DYLD_.*|GCONV_PATH|BASH_ENV|ENV|SHELLOPTS|IFS|PS4", re.DOTALL)
"""They make a program load or run what somebody else chose."""

_SHELLS = {"sh", "ash", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"}
_READS_SCRIPT = re.compile("-[A-Za-z]*c[A-Za-z]*")


def rules(raw: Mapping[str, Any]) -> Iterator[Finding]:
    yield from _command(raw.get("command"))
    yield from _environment(raw.get("environment"))
    yield from _working_directory(("workingDirectory",), raw.get("workingDirectory"))
    yield from _tool_names(raw)
    for i, part in parts(raw.get("subcommands")):
        where: Where = ("subcommands", i)
        yield from _working_directory((*where, "workingDirectory"), part.get("workingDirectory"))
        yield from _subcommand(where, part)
        yield from option_rules((*where, "options"), part.get("options"))
        yield from _reserved(where, part, raw)
        yield from _shell(where, part, raw.get("command"))


def named_tool(definition: object, subcommand: object) -> str | None:
    """What the tool of a subcommand is called, as far as names are texts."""
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
        mend = f"write [{', '.join(shown(each) for each in program.split())}]"
    elif program in ("", ".", "..") or program.startswith("-"):
        mend = "write the program first"
    else:
        return
    yield Finding(where, "not_allowed", shown(program), accepted, mend)


def _environment(names: object) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, name in enumerate(names if isinstance(names, list) else []):
        if not isinstance(name, str):
            continue
        where: Where = ("environment", i)
        if environment.never(name) or _LOADERS.fullmatch(name):
            accepted = "variables that are neither chatbridge's own nor the loader's"
            yield Finding(where, "not_allowed", shown(name), accepted, "take it out")
        elif name in seen:
            yield twice(where, name, "take one of them out")
        seen.add(name)


def _working_directory(where: Where, value: object) -> Iterator[Finding]:
    if isinstance(value, str) and value not in ("", PROJECT, ARGUMENT) and not whole_path(value):
        accepted = '"project", "argument", or a whole path such as "/srv/app" or "~/app"'
        mend = 'write "project", or "argument" if the agent is to name a folder inside it'
        yield Finding(where, "not_allowed", shown(value), accepted, mend)


def _tool_names(raw: Mapping[str, Any]) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, part in parts(raw.get("subcommands")):
        where: Where = ("subcommands", i, "name")
        # Two of them are twice the same whatever the definition is called.
        own = part.get("name")
        tool = named_tool(raw.get("name", "x"), own) or named_tool("x", own)
        if tool is None:
            continue
        if tool in seen:
            yield twice(where, part["name"], 'rename one of them; "-" and "_" count as the same')
        elif len(tool) > LONGEST_TOOL_NAME:
            found = f"{shown(tool)}, which has {len(tool)}"
            accepted = f"a tool's name of at most {LONGEST_TOOL_NAME} characters"
            yield Finding(where, "range", found, accepted, "make one of the two names shorter")
        seen.add(tool)


def _subcommand(where: Where, part: Mapping[str, Any]) -> Iterator[Finding]:
    if part.get("destructive") is True and part.get("readOnly") is True:
        found = "both destructive and readOnly"
        yield Finding(
            (*where, "readOnly"), "conflict", found, "one of the two", "take one of them out"
        )


def _reserved(where: Where, part: Mapping[str, Any], raw: Mapping[str, Any]) -> Iterator[Finding]:
    own = part.get("workingDirectory")
    if (own if own is not None else raw.get("workingDirectory")) != ARGUMENT:
        return
    for j, option in parts(part.get("options")):
        if option.get("name") == WORKING_DIRECTORY:
            found = f"{shown(WORKING_DIRECTORY)}, which workingDirectory adds by itself"
            at = (*where, "options", j, "name")
            yield Finding(
                at, "conflict", found, "another name", "take the option out, or rename it"
            )


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
        found = f"{shown(words[-1])} at the end of a shell's arguments"
        yield Finding(places[-1], "not_allowed", found, accepted, mend)
    for j, option in parts(part.get("options")):
        flag = option.get("flag")
        if isinstance(flag, str) and _READS_SCRIPT.fullmatch(flag):
            at = (*where, "options", j, "flag")
            yield Finding(at, "not_allowed", f"{shown(flag)} of a shell", accepted, mend)
