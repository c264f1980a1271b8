"""Reads all definition files of the owner's folders, and keeps their commands and problems.

A file with a problem defines no tools and does not affect other files. A file that somebody else
could have written is not used. No folders are read but the given ones: a project's folder is used
only if the owner has listed it.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from chatbridge.commands.definitions.check import check
from chatbridge.commands.definitions.definition import Command, commands_of
from chatbridge.commands.definitions.json_text import MAX_BYTES
from chatbridge.commands.definitions.problems import Finding, Problem, Unusable
from chatbridge.commands.definitions.rules import named_tool, parts
from chatbridge.tool_names import ASK_HUMAN, TOOLS

log = logging.getLogger(__name__)

OPERATION_TOOLS = ("status", "await", "cancel")
RESERVED = (*TOOLS, ASK_HUMAN, *OPERATION_TOOLS)
ENDING = ".json"
_OTHERS_CAN_WRITE = 0o022
# A pipe or a terminal is opened as well, and holds nobody up.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

Source = tuple[Path, str | Problem]
"""A file and its text, or a file or folder and why it is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFile:
    """One file, or a folder that cannot be used. It has commands or problems, or it is not
    enabled."""

    file: Path
    commands: tuple[Command, ...] = ()
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()
    tools: frozenset[str] = frozenset()
    """What its tools would be called, as far as that can be said of a file with problems."""
    group: str = ""
    """What the names of these begin with."""


@dataclass(slots=True)
class Library:
    dirs: Sequence[Path]
    _: KW_ONLY
    may_be_missing: bool = False
    """The folders are the usual ones, which nobody has named."""
    files: tuple[DefinitionFile, ...] = ()

    @property
    def commands(self) -> Mapping[str, Command]:
        """By the tool's name, in the order of folders, files and subcommands."""
        return {command.tool: command for file in self.files for command in file.commands}

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problem for file in self.files for problem in file.problems)

    def load(self) -> None:
        """Read all files again. Blocks. Until all is read, others see the old contents."""
        folders, missing = _once(self.dirs), self.may_be_missing
        found = [it for folder in folders for it in files_in(folder, may_be_missing=missing)]
        self.files = _read(found)

    def load_files(self, files: Iterable[Path]) -> None:
        """Read these and no others, whoever can write to them: for the owner to look at."""
        self.files = _read([_read_file(path, str(path), None) for path in files])

    def reload(self) -> bool:
        """Whether commands or problems are others now."""
        before = list(self.commands.items()), self.problems
        self.load()
        return before != (list(self.commands.items()), self.problems)

    def broken_tool(self, name: str) -> Problem | None:
        """Why there is no tool of this name, if a file with a problem seems to be its home."""
        broken = [file for file in self.files if file.problems]
        homes = [file for file in broken if name in file.tools]
        homes += [it for it in broken if it.group and f"{name}_".startswith(f"{it.group}_")]
        return homes[0].problems[0] if homes else None


def _once(dirs: Sequence[Path]) -> list[Path]:
    kept: dict[Any, Path] = {}
    for folder in dirs:
        try:
            about = folder.stat()
            kept.setdefault((about.st_dev, about.st_ino), folder)
        except OSError:
            kept.setdefault(folder, folder)
    return list(kept.values())


def _read(found: Sequence[Source]) -> tuple[DefinitionFile, ...]:
    owners = dict.fromkeys(RESERVED, "one of chatbridge's own")
    files = []
    for file, text in found:
        files.append(_file(file, text, owners))
        mine = f"already defined in {file}"
        owners |= {command.tool: mine for command in files[-1].commands}
    return tuple(files)


def _file(file: Path, text: str | Problem, owners: Mapping[str, str]) -> DefinitionFile:
    """`owners` says whose the tools are that are there already."""
    if isinstance(text, Problem):
        return _broken(file, "", (text,))

    def taken(tool: str) -> str | None:
        return f"the tool {tool} is {owners[tool]}" if tool in owners else None

    try:
        checked = check(text, file=file, taken=taken)
    except Exception:  # one file must not keep all the others, and the hub, from starting
        log.exception("%s could not be checked", file)
        mend = "look for something unusual in it; the hub's log has the details"
        why = Finding((), "unreadable", "chatbridge failed over it", "a definition", mend)
        return _broken(file, text, (why.in_file(file),))
    if checked.definition is None:
        return _broken(file, text, checked.problems)
    commands = tuple(commands_of(checked.definition, file))
    return DefinitionFile(file=file, commands=commands, remarks=checked.remarks)


def _broken(file: Path, text: str, problems: tuple[Problem, ...]) -> DefinitionFile:
    """With what its tools would be called, from whatever can be read of the file."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    whole = whole if isinstance(whole, dict) else {}
    name, listing = whole.get("name"), whole.get("subcommands", whole.get("subcommand"))
    stem = file.stem if is_definition(file.name) else ""  # a folder says nothing
    home = name if isinstance(name, str) else stem
    tools = {named_tool(home, part.get("name")) for _, part in parts(listing)}
    return DefinitionFile(
        file=file,
        problems=problems,
        tools=frozenset(tool for tool in tools if tool is not None),
        group=home.replace("-", "_"),
    )


def is_definition(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith(".")


def files_in(folder: Path, *, may_be_missing: bool) -> list[Source]:
    """In the order of their names. Folders in it are not looked into."""
    try:
        own = os.open(folder, _OPEN | os.O_DIRECTORY)
        try:
            _only_the_owners(folder, os.fstat(own))
            names = sorted(filter(is_definition, os.listdir(own)))
            return [_read_file(folder / name, name, own) for name in names]
        finally:
            os.close(own)
    except FileNotFoundError:
        if may_be_missing:
            return []
        mend = f"make it (mkdir -p {shlex.quote(str(folder))}), or take it out of commands.dirs"
        missing = Unusable("missing", "there is no such folder", "a folder", mend)
        return [_refused(folder, missing)]
    except OSError as error:
        return [_refused(folder, _unreadable(error, "a folder that you can read"))]
    except Unusable as why:
        return [_refused(folder, why)]


def _read_file(path: Path, name: str, folder: int | None) -> Source:
    """`folder`: open, so that nothing else takes its place meanwhile, and a trusted one."""
    try:
        own = os.open(name, _OPEN, dir_fd=folder)
        with os.fdopen(own, "rb") as file:
            about = os.fstat(own)
            if not stat.S_ISREG(about.st_mode):
                raise Unusable("file", "it is not a file", "a file", "take it away from here")
            if folder is not None:
                _only_the_owners(path, about)
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            found, accepted = "more than a megabyte", "a file of at most 1 MB"
            raise Unusable("too_large", found, accepted, "make several files of it")
        return path, data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start + 1:,} is not UTF-8"
        return _refused(path, Unusable("encoding", found, "a text in UTF-8", "save it as UTF-8"))
    except OSError as error:
        return _refused(path, _unreadable(error, "a file that you can read"))
    except Unusable as why:
        return _refused(path, why)


def _only_the_owners(path: Path, about: os.stat_result) -> None:
    """What runs commands in the owner's name is written by nobody else; as with ssh's files."""
    if about.st_uid not in (0, os.geteuid()):
        found = f"it belongs to another user (uid {about.st_uid})"
        mend = "copy what is in it to one of your own, or take it out"
        raise Unusable("owner", found, "what is yours or root's", mend)
    if about.st_mode & _OTHERS_CAN_WRITE:
        found = f"others can write to it (mode {stat.S_IMODE(about.st_mode):04o})"
        accepted = "what only its owner can write to"
        raise Unusable("writable", found, accepted, f"chmod go-w {shlex.quote(str(path))}")


def _unreadable(error: OSError, accepted: str) -> Unusable:
    found = f"it cannot be read ({error.strerror})"
    return Unusable("unreadable", found, accepted, "look at its path, its owner and its mode")


def _refused(path: Path, why: Unusable) -> Source:
    return path, why.finding.in_file(path)
