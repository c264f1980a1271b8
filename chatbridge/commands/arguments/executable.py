"""Finds the file of a command's program, and the folders of its PATH.

Program and PATH come from the owner's settings and a fixed list of system folders, never from the
hub's environment: that may be a client's, with a repository's `node_modules/.bin` in front.

Agents run as the owner, so file modes alone do not tell what an agent could have written. Files and
folders are refused if they lie in a folder where agents work, or if another user could have written
them. Every step of a path counts, symbolic links included.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from chatbridge.commands.arguments.paths import home, owner_path, walk
from chatbridge.core.errors import CommandUnusable
from chatbridge.link.root import is_root

SYSTEM = (
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/snap/bin",
    "/run/current-system/sw/bin",
)
"""Where a system has its programs, after the owner's folders. None of the owner's own is among
them: an agent installs into ~/.local/bin and ~/.cargo/bin without asking anybody."""
UNTRUSTED = ("~/.local/bin", "~/.cargo/bin", "~/bin", "~/go/bin", "/opt/homebrew/bin")
"""Where a program that was not found may be. Nothing is run from there unless the owner says so."""
_MAX_INTERPRETERS = 5
"""The most interpreters of interpreters that Linux follows."""


@dataclass(frozen=True, slots=True)
class Programs:
    own: Sequence[Path] = ()
    """The owner's folders (`commands.path`), which come first."""
    _: KW_ONLY
    projects: Callable[[], Collection[str]] = tuple
    """The folders where agents are known to work, without links."""
    system: Sequence[str] = SYSTEM

    def path(self) -> list[str]:
        wanted = dict.fromkeys([*map(str, self.own), *self.system])
        return [each for each in wanted if os.path.isdir(each) and not self._refusal(each)]

    def refused(self, *others: str) -> dict[str, Refusal]:
        """The owner's folders, and others, that are not used, and why."""
        folders = filter(os.path.isdir, [*map(str, self.own), *others])
        return {folder: why for folder in folders if (why := self._refusal(folder))}

    def find(self, program: str, *, project: Path | None = None) -> str:
        """The whole path of the file that `program` is, without links. Nothing is run from
        `project`, the agent's folder. :raises CommandUnusable:"""
        own = [os.path.realpath(project)] if project else []
        return self._find(program, {*self.projects(), *own}, depth=0)

    def _find(self, program: str, projects: Collection[str], *, depth: int) -> str:
        file = _named(program) if "/" in program or program.startswith("~") else self._look(program)
        try:
            refused = refusal(file, projects=projects)
        except OSError as error:
            refused = Refusal(f"its path cannot be followed ({error})", "mend its path")
        if refused:
            raise CommandUnusable(
                f"the program {file} is not run: {refused.why}. Nothing was started. To mend it: "
                f"{refused.mend}"
            )
        real = os.path.realpath(file)
        for interpreter in _interpreters(real) if depth < _MAX_INTERPRETERS else ():
            try:
                self._find(interpreter, projects, depth=depth + 1)
            except CommandUnusable as error:
                raise CommandUnusable(
                    f"{file} cannot be run, as its first line says: {error}"
                ) from error
        return real

    def _look(self, program: str) -> str:
        searched = self.path()
        for folder in searched:
            if _is_executable(found := os.path.join(folder, program)):
                return found
        raise CommandUnusable(
            f"the program {program} was not found. Looked in {', '.join(searched) or 'no folder'}. "
            f"Nothing was started. {self._hint(program)}"
        )

    def _hint(self, program: str) -> str:
        for folder, refused in self.refused(*self.system).items():
            if _is_executable(os.path.join(folder, program)):
                why, mend = refused.why, refused.mend
                return f"It is in {folder}, which is not used: {why}. To mend it: {mend}"
        # What an agent's client has in its PATH is only worth a hint where it could be trusted.
        of_client = os.environ.get("PATH", "").split(os.pathsep)
        for folder in filter(os.path.isabs, (*map(os.path.expanduser, UNTRUSTED), *of_client)):
            if _is_executable(os.path.join(folder, program)) and not self._refusal(folder):
                return (
                    f'It is in {folder}: if agents may run it, add "{folder}" to commands.path in '
                    "config.toml"
                )
        return (
            "Install it, write its whole path in the command's definition, or add its folder to "
            "commands.path in config.toml"
        )

    def _refusal(self, folder: str) -> Refusal | None:
        if os.pathsep in folder:
            return Refusal("a name in PATH can have no colon", "rename it")
        try:
            return refusal(folder, projects=self.projects())
        except OSError as error:
            return Refusal(f"it cannot be looked at ({error.strerror})", "mend its path")


def _named(program: str) -> str:
    file = owner_path(program)
    if file is None:
        raise CommandUnusable(
            f"the program {program} is looked up in no folder, as an agent's project could have "
            "one of that name. Nothing was started. Write its whole path in the definition"
        )
    if not _is_executable(str(file)):
        raise CommandUnusable(
            f"the program {file} is not there, or is no file that may be run. Nothing was started. "
            "Install it, or mend its path in the command's definition"
        )
    return str(file)


def _interpreters(file: str) -> list[str]:
    """The programs that a script's first line names: its interpreter, and what `env` looks for."""
    try:
        with open(file, "rb") as opened:
            first = opened.read(256).partition(b"\n")[0]
    except OSError:
        return []  # a program need not be readable
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if not words:
        return []
    if not os.path.isabs(words[0]):
        raise CommandUnusable(
            f"the script {file} names the interpreter {words[0]}, which is looked for where the "
            "command runs. Nothing was started. Write its whole path in the script's first line"
        )
    if os.path.basename(words[0]) != "env":
        return words[:1]
    return [words[0], *_programs_of_env(words[1:])]


def _programs_of_env(words: list[str]) -> list[str]:
    """The program that `env` starts, and whole paths of others that are started by it."""
    found: list[str] = []
    operand = False
    for each in words:
        word = each.removeprefix("--split-string=").removeprefix("-S")
        if operand or not word or word.startswith("-") or (not found and "=" in word):
            operand = word in ("-u", "-C", "--unset", "--chdir") and not operand
        elif not found or (os.path.isabs(word) and _is_executable(word)):
            found.append(word)
    return found


def _is_executable(file: str) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)


_OTHERS_CAN_WRITE = 0o022
_USE_OWN_FILE = "use a file of yours or of root's, in a folder of yours or of root's"


@dataclass(frozen=True, slots=True)
class Refusal:
    why: str
    mend: str


def refusal(path: str, *, projects: Collection[str] = ()) -> Refusal | None:
    """Why nothing may be run from this whole path; None: it may. `projects` are the real paths of
    folders where agents are known to work; a repository counts even if none is known there. :raises
    OSError: it is not there, or cannot be looked at."""
    target = os.path.realpath(path)
    for place in ("/", *(os.path.join(folder, name) for folder, name in walk(path))):
        about = os.lstat(place)
        if _is_project(place, about, projects):
            return Refusal(
                f"it lies in the project {place}, where agents can write",
                "install or copy it to a folder outside of every project",
            )
        if about.st_uid not in (0, os.geteuid()):
            return Refusal(f"{place} belongs to another user (uid {about.st_uid})", _USE_OWN_FILE)
        # The mode of a link says nothing. In a folder such as /tmp (sticky) others can add files,
        # but replace none of the owner's: so the steps below it decide.
        passed = stat.S_ISLNK(about.st_mode) or (about.st_mode & stat.S_ISVTX and place != target)
        if about.st_mode & _OTHERS_CAN_WRITE and not passed:
            mode = f"{stat.S_IMODE(about.st_mode):04o}"
            return Refusal(
                f"others can write to {place} (mode {mode})", f"chmod go-w {shlex.quote(place)}"
            )
    return None


def _is_project(place: str, about: os.stat_result, known: Collection[str]) -> bool:
    """A folder where agents are known to work, or a repository of the owner's. The home and what is
    above it are none: everything would lie in there. A hidden folder in the home is one only if it
    is known: version managers (~/.nvm, ~/.pyenv) are repositories, too."""
    own = os.path.realpath(home() or "/")
    if not stat.S_ISDIR(about.st_mode) or os.path.commonpath([own, place]) == place:
        return False
    if place in known:
        return True
    above, name = os.path.split(place)
    hidden = above == own and name.startswith(".")
    return not hidden and about.st_uid == os.geteuid() and is_root(place)
